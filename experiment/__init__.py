"""The study, the session plan, and the three ways to run a session: laboratory, browser and models.

`load_study` reads `study.yaml`, and `plan` makes the trials of one session. `records` defines the records of a session
in the store. Sessions run in `lab/` (PsychoPy), `web/` (browser) and `models/` (language models and baselines).
`simulated_participants` runs programs as participants, which the data always label as simulated.
"""
