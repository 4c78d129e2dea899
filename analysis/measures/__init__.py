"""What is measured in the trials: accuracy, agreement of people and models, difficulty, signal detection."""
