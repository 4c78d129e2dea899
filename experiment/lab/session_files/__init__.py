"""Files of a laboratory session in addition to the store: the attempts, the frames, and PsychoPy's table."""
