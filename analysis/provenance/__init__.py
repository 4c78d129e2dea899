"""Provenance of the numbers: digests of the data, versions of the study, and changes of items."""
