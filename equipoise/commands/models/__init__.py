"""The commands for language models: write prompts, import replies, and run models and baselines.

`prompts` writes requests in files. `imports` imports replies from files, and `other_batteries` explains replies that
belong to another battery. `run` asks a model or computes a baseline. `storing` stores runs, with a summary of each run.
"""
