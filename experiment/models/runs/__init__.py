"""Runs of language models with the package inspect-ai ("Inspect"). Each reply is stored as soon as it arrives.

`settings` has the options of a run. `ask` sends the requests, `kept_replies` keeps the replies on disk, and `budget`
stops a run before it is too expensive. `finished_runs` makes records of complete runs, and `run_log` writes logs for
Inspect. `run_model` joins these steps. `inspect_task` makes messages, scores and a task in the form of Inspect.
"""
