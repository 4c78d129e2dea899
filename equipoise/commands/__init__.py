"""The commands as functions of the public API."""
