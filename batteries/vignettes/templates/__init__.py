"""Story templates and their tables: their format, reading a folder of them, placeholders and labels."""
