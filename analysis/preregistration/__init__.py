"""Lock an analysis plan before data are seen, and list the deviations of an analysis from the locked plan."""
