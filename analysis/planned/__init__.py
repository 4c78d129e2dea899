"""The analyses of a preregistered plan: tables of means, mixed models, tests; also without single exclusion rules."""
