"""The study: what `study.yaml` says, its timeline, recruitment, analysis plan, and revisions of it."""
