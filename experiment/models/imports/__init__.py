"""Import of model runs from files: recognition of the format, a reader for each format, and runs made of the replies.

Each reader yields records: an `ImportedReply` for each reply, and a `Problem` for each line without a usable reply.
`collect` sorts the replies by model and condition in a temporary database, and `runs` makes a `Run` of each group. All
bad lines are counted, the first bad lines of each kind are named, and the other lines are still imported.
"""
