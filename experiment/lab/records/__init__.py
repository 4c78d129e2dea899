"""What a laboratory session records beside its responses: frames and attempts, and PsychoPy's table."""
