"""Models as participants: runs stored elsewhere and read in, and computational baselines run here."""
