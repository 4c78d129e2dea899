"""Reading and writing files: checked models, CSV that is safe in spreadsheets, atomic writes, and private folders.

Everything that Equipoise writes as CSV goes through `csv_files`. Everything that holds responses or identities is
written through `private_files`.
"""
