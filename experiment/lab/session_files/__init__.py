"""Files of a laboratory session beside the store: frames and attempts, and PsychoPy's table."""
