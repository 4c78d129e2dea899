"""The analyses of a preregistered plan: tables of means, mixed models, tests, and results without exclusion rules."""
