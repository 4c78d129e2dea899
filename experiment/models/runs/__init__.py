"""Runs of language models with inspect-ai: the requests of a study are sent, and each reply is stored as it arrives.

`settings` has the options of a run. `kept_replies` keeps the replies on disk. `budget` keeps the limit of the price.
`inspect_task` makes the task of Inspect. `ask` sends the requests, `finished_runs` makes records of the replies, and
`run_model` joins these steps.
"""
