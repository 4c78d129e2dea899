"""The HTML report: its sections, sentences, tables, methods and references."""
