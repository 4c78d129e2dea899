"""Language models and computational baselines as participants. Runs of language models are imported from files."""
