"""Checks of story templates: mistakes that would spoil a battery, and texts that read badly."""
