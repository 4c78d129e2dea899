"""Runs of language models with inspect-ai: the requests of a study are sent, and each reply is stored as it arrives.

`settings` has the options of a run. `kept_replies` keeps the replies on disk. `budget` keeps the limit of the price.
`ask` sends the requests, `finished_runs` makes records of the replies, `run_log` writes the logs of Inspect, and
`run_model` joins these steps. `inspect_task` makes messages, scores and a task in the form of Inspect.
"""
