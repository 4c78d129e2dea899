"""Origin of the numbers in a report: digests of the data, versions of the study, and changes of items."""
