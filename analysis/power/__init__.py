"""Power by simulation: simulated responses, and how often the planned analyses find an effect in them."""
