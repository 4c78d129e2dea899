"""Provenance of the numbers: digests, study versions, and changes of items between them."""
