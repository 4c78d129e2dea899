"""Codes of open answers: by a rule or from coders, their agreement, and the column `coded_as` of the tidy table."""
