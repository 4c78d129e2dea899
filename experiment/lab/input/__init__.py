"""The effect of key presses and clicks: responses of each task, and answers to questions about the participant."""
