"""The HTTP API for participants: consent, plan, responses, practice, completion, withdrawal."""
