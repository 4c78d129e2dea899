"""Tables of other programs, such as Gorilla or PsychoPy, in the form that the analysis reads.

`table_map` describes the columns of a table, `maps` has ready-made maps, `trial_records` reads the trials of a table,
and `view_rows` joins the trials with the items of a battery.
"""
