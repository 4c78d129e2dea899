"""Checks of story templates: mistakes that would make a battery invalid, and texts that are hard to read."""
