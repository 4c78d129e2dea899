"""Recruitment panels: the study at Prolific, Prolific's API and signed links, and the comparison of submissions."""
