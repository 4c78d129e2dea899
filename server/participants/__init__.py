"""The participant's side: consent, plan, responses, practice, completion, withdrawal."""
