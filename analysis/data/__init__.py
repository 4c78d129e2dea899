"""The tidy table: its columns, and how trials are read from a store, an export or any CSV file."""
