"""The preregistered exclusions: each rule, the flow of participants and trials, and what each group lost."""
