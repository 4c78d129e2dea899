"""`equipoise power`: find the power of a study, or the number of participants for a power, from simulated responses."""
