"""The study: the parts of `study.yaml` (timeline, recruitment, analysis plan, ...) and revisions of the study."""
