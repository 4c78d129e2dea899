"""Lock an analysis plan before data are seen, and find the deviations of an analysis from the locked plan."""
