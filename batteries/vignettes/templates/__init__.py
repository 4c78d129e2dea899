"""Story templates and their tables: their format, the reading of a folder, placeholders and labels."""
