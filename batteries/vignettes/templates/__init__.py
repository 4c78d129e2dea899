"""Story templates and tables: the file formats, the reading of a folder, placeholders and labels."""
