"""Names of the store's schema versions: the server applies them, the analysis refuses what it does not know."""

KNOWN_MIGRATIONS: tuple[str, ...] = ("m001_studies_sessions_responses",)
