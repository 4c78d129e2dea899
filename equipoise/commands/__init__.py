"""What each command does, as functions of the public API."""
