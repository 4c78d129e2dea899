"""The commands for language models: write prompts, import replies, run models and baselines, and list runs.

`prompts` writes requests in files. `imports` imports replies from files, and `other_batteries` explains replies that
belong to another battery. `run` asks a model or computes a baseline. `listing` lists runs. `storing` stores runs, with
a summary of each run.
"""
