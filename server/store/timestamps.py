"""Times in the store's form: UTC, ISO 8601, with milliseconds, so that texts sort like times."""

from datetime import UTC, datetime, timedelta


def now() -> str:
    """Return the present time."""
    return as_text(datetime.now(UTC))


def minutes_ago(minutes: float) -> str:
    """Return the time some minutes ago."""
    return as_text(datetime.now(UTC) - timedelta(minutes=minutes))


def as_text(at: datetime) -> str:
    """Return a time in the store's form."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
