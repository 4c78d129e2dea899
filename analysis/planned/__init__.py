"""The analyses of a preregistered plan: tables, mixed models and tests, also with other exclusion rules."""
