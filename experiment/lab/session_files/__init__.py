"""Files that a laboratory session writes in addition to the store: attempts, frames, and PsychoPy's table."""
