"""The SQL statements for both databases, one module per subject, and the store that runs the statements."""
