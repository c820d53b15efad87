"""Does git prove that a window's gates were written before it was opened? A layer of its own over the verdict."""

import subprocess
from pathlib import Path
from typing import Literal

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


def _git(root: Path, *words: str) -> tuple[int, str]:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return 1, ""
    return done.returncode, done.stdout.strip()


def _brought(root: Path, path: Path) -> str | None:
    """The oldest commit in HEAD's history that added this file; None when none did."""
    code, out = _git(root, "log", "--diff-filter=A", "--format=%H", "--", str(path.relative_to(root)))
    return out.splitlines()[-1] if code == 0 and out else None


def _is_shallow(root: Path) -> bool:
    return _git(root, "rev-parse", "--is-shallow-repository") != (0, "false")


def _is_ancestor(root: Path, older: str, newer: str) -> bool:
    return _git(root, "merge-base", "--is-ancestor", older, newer)[0] == 0
