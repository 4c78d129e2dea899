"""The tidy table: reading trials from a store, an export or any CSV file; and the columns of this table."""
