"""The analyses of a preregistered plan: tables, mixed models, tests, and their sensitivity to exclusion rules."""
