"""How it is asked: the study, the plan of one session, and the faces a session can have.

`study` reads `study.yaml`; `plan` makes the trials of one session; `records` are the words for what a session leaves
behind; `preregistration` is what is fixed before data are seen. Faces: `web/` (browser), `models/` (stored runs and
baselines) and `simulated` (participants that are programs, always labelled so).
"""
