"""Import of model runs from files. `recognise` finds the format of a file, and each format has a reader.

Each reader yields an `ImportedReply` for each reply, and a `Problem` for each line without a usable reply. `collect`
sorts the replies by model and condition in a temporary database. For each model and condition, `runs` makes a `Run`.
Lines with problems are counted, and the first lines of each kind are named. All other lines are still imported.
"""
