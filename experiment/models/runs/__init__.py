"""Runs of language models with inspect-ai: the requests of a study are sent, and each reply is stored as it arrives.

`settings` has the options of a run, `kept_replies` the replies on disk, `budget` the price, `inspect_task` the task of
Inspect. `ask` sends the requests, `finished_runs` makes records of the replies, and `run_model` joins these steps.
"""
