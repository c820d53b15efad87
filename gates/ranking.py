"""Which entries were chosen, and whether two choices differ as sets or in order alone."""

from collections.abc import Sequence


def top(scores: Sequence[float], k: int) -> list[int]:
    """Indices of the k largest scores: larger first, the lower index wins a tie, -0.0 equals +0.0."""
    return sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:k]


def difference(expected: Sequence[int], given: Sequence[int]) -> str | None:
    """None when equal, `order` when the same set comes in another order (which still changes a sum), else `set`."""
    if list(expected) == list(given):
        return None
    return "order" if sorted(expected) == sorted(given) else "set"
