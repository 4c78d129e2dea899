"""Power by simulation: the share of simulated studies in which a planned analysis finds an effect."""
