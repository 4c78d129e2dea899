"""Files of a laboratory session beside the store: the attempts, the frames, and PsychoPy's table."""
