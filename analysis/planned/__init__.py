"""The analyses of the preregistered plan: tables of means, mixed models, tests, and sensitivity to exclusions."""
