"""The study in a laboratory: the same plan as on the web, in a PsychoPy window.

`session` runs a visit and `trial` one trial. `screens/` draws every screen as an image, without a window; `input/` says
what a press does to a response; `hardware/` is the machine; `records/` keeps what is beside the responses. Only
`hardware/` and `psychopy_display` need PsychoPy, and only once they are used.
"""
