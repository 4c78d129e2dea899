"""The store for several servers: PostgreSQL."""
