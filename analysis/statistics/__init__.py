"""Statistics: numbers in, named numbers out. Nothing here knows of studies, plans or files."""
