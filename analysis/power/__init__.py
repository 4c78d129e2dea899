"""Power by simulation: simulated responses, and the share of studies in which the planned analyses find an effect."""
