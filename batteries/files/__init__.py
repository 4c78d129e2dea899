"""Reading and writing of files: checked models, CSV that is safe in spreadsheets, atomic writes, private folders.

All CSV files are written with `csv_files`. All files with responses or identities are written with `private_files`.
"""
