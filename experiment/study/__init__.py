"""The study: `study.yaml`, its timeline, recruitment, analysis plan, and revisions of it."""
