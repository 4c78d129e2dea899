"""Trials that Python classes of a study draw (task `psychopy`): the class to inherit from, loading, and running."""
