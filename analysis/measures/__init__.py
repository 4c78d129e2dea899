"""Measures computed from the trials: accuracy, agreement between people and models, difficulty, signal detection."""
