"""A gate's answer: met, unmet, or void, which is to say that it could not be judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

UNDECIDED = frozenset({"noise", "clock"})  # void for want of precision: the window is sound, and INCONCLUSIVE


@dataclass(frozen=True)
class Finding:
    """What one gate found, in one line and in numbers; `code` says why a void one is void."""

    gate: str
    finding: Literal["met", "unmet", "void"]
    says: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    code: str | None = None

    @property
    def is_undecided(self) -> bool:
        """Whether the evidence is sound and only too coarse for the question."""
        return self.finding == "void" and self.code in UNDECIDED


class Unjudged(Exception):
    """The evidence cannot carry an answer: a reason code and one line, which become a void finding."""

    def __init__(self, code: str, says: str) -> None:
        super().__init__(says)
        self.code = code
        self.says = says
