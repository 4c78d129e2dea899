"""The study in a laboratory: the same plan as on the web, in a PsychoPy window.

`session` runs a visit: one participant's session, or a part of it. `trial` runs one trial. `screens/` draws every
screen as an image, without a window. `input/` turns key presses and clicks into responses. `hardware/` controls the
machine. The server stores the responses, and `session_files/` writes further files for each session. Only `hardware/`
and `psychopy_display` need PsychoPy. They import PsychoPy when they are used.
"""
