"""The analyses of a preregistered plan: tables of means, mixed models, tests, and sensitivity to exclusion rules."""
