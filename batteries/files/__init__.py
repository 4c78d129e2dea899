"""Writing files: CSV whose texts no spreadsheet runs, files that are whole or absent, and folders for one owner.

Everything that Equipoise writes as CSV goes through `csv_files`; everything that holds answers or identities is
written through `private_files`.
"""
