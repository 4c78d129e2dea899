"""The study in a laboratory: the same plan as on the web, in a PsychoPy window.

`session` runs a visit, and `trial` runs one trial. `screens/` draws every screen as an image, without a window.
`input/` turns key presses and clicks into responses. `hardware/` controls the machine. `session_files/` writes
files of a session in addition to the store. Only `hardware/` and `psychopy_display` need PsychoPy. They import PsychoPy
when they are used.
"""
