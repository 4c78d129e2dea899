"""Locking a plan before data are seen, and the deviations from a locked plan."""
