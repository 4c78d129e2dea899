"""What a press means: keys of each task's response, and of the questions about the participant."""
