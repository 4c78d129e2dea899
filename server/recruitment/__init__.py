"""Recruitment panels: Prolific's signed links."""
