"""The study in a laboratory: the same plan as on the web, in a PsychoPy window.

`pictures/` makes every screen as an image, without a window; `answering` says what a press does to an answer. PsychoPy
is needed only by the files that open a window, and only once they are used.
"""
