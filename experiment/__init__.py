"""The study, the plan of one session, and the three ways to run a session: laboratory, browser and models.

`study` reads `study.yaml`, and `plan` makes the trials of one session. `records` defines what a session leaves in the
store. Sessions run in `lab/` (PsychoPy), `web/` (browser) and `models/` (stored runs and baselines).
`simulated_participants` are programs, always labelled as simulated.
"""
