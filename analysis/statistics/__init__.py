"""Statistics: numbers in, named numbers out. Nothing here depends on studies, plans or files."""
