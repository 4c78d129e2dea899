"""Measures computed from the trials: accuracy, agreement of people and models, difficulty, signal detection."""
