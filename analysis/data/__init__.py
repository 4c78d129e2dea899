"""The tidy table: reading trials from a store, an export or any CSV, and its columns."""
