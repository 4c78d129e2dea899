"""Pictures, sounds and videos of a study's items: reading, checking and decoding, without a window."""
