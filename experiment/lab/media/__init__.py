"""Pictures, sounds and videos of a study's items: reading, checking and decoding. No window or sound output is needed."""
