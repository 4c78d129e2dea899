"""The preregistered exclusions: each rule, the flow of participants and trials, and the exclusions by group."""
