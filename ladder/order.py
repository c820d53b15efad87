"""Does git prove that a window's gates were written before it was opened? A layer of its own over the verdict."""

from pathlib import Path
from typing import Literal

from ladder import git, window
from ladder.records import Record

Order = Literal["proven", "unproven", "contradicted"]


def order(root: Path, registration: Record | None, start: Record) -> Order:
    """What git's history says of one window; it never changes an outcome.

    proven        the commit that brought the registration is an ancestor of the one that brought the start
    contradicted  the other way round, or the registration's own clock is later than the start's
    unproven      git cannot tell: no git, a shallow or squashed history, both in one commit, or not committed yet

    The start names the registration by digest, so the registration's bytes were fixed first in any case; git adds that
    somebody else could have seen them. Nothing here proves that no earlier window was run and thrown away.
    """
    if registration is None:
        return "unproven"
    if registration.value["at"] > start.value["at"]:
        return "contradicted"
    first, second = _brought(root, registration.path), _brought(root, start.path)
    if first is None or second is None or first == second or _is_shallow(root):
        return "unproven"
    if _is_ancestor(root, first, second):
        return "proven"
    return "contradicted" if _is_ancestor(root, second, first) else "unproven"


SPOKEN = {
    "proven": "proven: git had the registration before the window",
    "unproven": "unproven: git does not show that the registration came first",
    "contradicted": "CONTRADICTED: the registration came after the window",
}


def spoken(found: Order) -> str:
    """An order in words."""
    return SPOKEN[found]


def of_window(root: Path, rung: str, start: Record) -> Order:
    """What git says of a window and the registration that it names."""
    return order(root, window.load(root, rung, start.d8).registration, start)


def _brought(root: Path, path: Path) -> str | None:
    """The oldest commit in HEAD's history that added this file; None when none did."""
    out = git.line(root, "log", "--diff-filter=A", "--format=%H", "--", str(path.relative_to(root)))
    return out.splitlines()[-1] if out else None


def _is_shallow(root: Path) -> bool:
    return git.line(root, "rev-parse", "--is-shallow-repository") != "false"


def _is_ancestor(root: Path, older: str, newer: str) -> bool:
    return git.ask(root, "merge-base", "--is-ancestor", older, newer) is not None
