"""The study in a laboratory: the same plan as on the web, in a PsychoPy window.

`session` runs a visit and `trial` one trial. `screens/` draws every screen as an image, without a window. `input/`
turns key presses and clicks into responses. `hardware/` is the machine. `records/` writes files beside the store. Only
`hardware/` and `psychopy_display` need PsychoPy, and only once they are used.
"""
