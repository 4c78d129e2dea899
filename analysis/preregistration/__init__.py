"""Lock a plan before data are seen, and find the deviations from a locked plan."""
