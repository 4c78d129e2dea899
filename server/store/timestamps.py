"""Times as the store writes them: UTC, ISO 8601, with milliseconds, so that texts sort as times do."""

from datetime import UTC, datetime, timedelta


def now() -> str:
    """Return the time now."""
    return as_text(datetime.now(UTC))


def minutes_ago(minutes: float) -> str:
    """Return the time some minutes ago."""
    return as_text(datetime.now(UTC) - timedelta(minutes=minutes))


def as_text(at: datetime) -> str:
    """Return a time as the store writes it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
