"""Effects of key presses and clicks on responses, and on answers to questions about the participant."""
