"""The preregistered exclusion rules, and the numbers of excluded participants and trials by rule and by group."""
