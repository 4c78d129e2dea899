"""Models as participants: imported runs from elsewhere, and computational baselines."""
