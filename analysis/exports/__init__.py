"""Exports of a study's data: the tables with their codebook, in the formats of journals, archives and other programs.

`codebook` describes every column, `coarse` removes what could identify a person, `table_files`, `spss`, `psych_ds` and
`bids` write the formats, `documents` writes the files for readers, and `reading` reads an export back.
"""
