"""The date as records write it."""

from datetime import UTC, datetime


def now() -> str:
    """UTC to the second: `2026-12-01T07:20:00Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
