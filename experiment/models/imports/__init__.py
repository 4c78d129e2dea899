"""Import of model runs from files: recognition of the format, a reader for each format, and runs made of the replies.

Each reader yields one record for each line: an `ImportedReply` or a `Problem`. `collect` sorts the replies by model and
condition in a temporary database, and `runs` makes a `Run` of each group. A bad line is counted and named, and the
other lines are still imported.
"""
