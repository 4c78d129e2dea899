"""Rules that turn key presses and clicks into responses, and into answers to questions about the participant."""
