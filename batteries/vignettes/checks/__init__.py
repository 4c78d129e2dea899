"""Checks of story templates. They find mistakes that make a battery invalid, and texts that are hard to read."""
