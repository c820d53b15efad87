"""One allow-list for every name that becomes a path, an argument or a line of a record."""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path

from ladder.errors import BadName, LinkedFolder

PATTERNS = {
    "rung": r"[a-z0-9][a-z0-9_-]{0,47}",
    "profile": r"[a-z0-9][a-z0-9_-]{0,47}",
    "script": r"[a-z0-9][a-z0-9_-]{0,47}",
    "model": r"[a-z0-9][a-z0-9_-]{0,47}",
    "site": r"[a-z][a-z0-9_]{0,47}",
    "operation": r"[a-z][a-z0-9_]{0,47}",
    "kernel": r"reference|(torch|triton|cute|cuda|deepgemm|flashinfer)_[a-z0-9_]{1,40}",
    "arm": r"[A-Z][0-9]?",
    "window": r"[0-9a-f]{8}",
    "digest": r"[0-9a-f]{64}",
}


def shown(value: object) -> str:
    """A value as a message shows it: one line, at most 60 characters."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


def check(kind: str, name: object) -> str:
    """The name itself, or BadName with the pattern that it should match."""
    pattern = PATTERNS[kind]
    if isinstance(name, str) and re.fullmatch(pattern, name):
        return name
    raise BadName(f"{kind} {shown(name)} is not a {kind} name: it must match {pattern} as a whole")


def address(text: object) -> tuple[str, str]:
    """Operation and kernel of an address such as `rmsnorm/torch_split`."""
    parts = text.split("/") if isinstance(text, str) else []
    if len(parts) != 2:
        raise BadName(f"kernel address {shown(text)} is not <operation>/<kernel>, as in rmsnorm/torch_split")
    return check("operation", parts[0]), check("kernel", parts[1])


def real_folder(path: Path) -> Path:
    """The folder, which exists here and is not a link that leads elsewhere."""
    if path.is_symlink():
        raise LinkedFolder(f"{path.name}/ is a symbolic link: records and cards must lie in the checkout itself")
    if path.exists() and not path.is_dir():
        raise LinkedFolder(f"{path.name} is a file, where a folder is wanted")
    return path


def nearest(given: object, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing when no known name is close."""
    options = sorted(known)
    asked = str(given).lower()
    close = difflib.get_close_matches(asked, options, n=1, cutoff=0.6)
    if not close:
        close = difflib.get_close_matches(asked.replace("-", "_"), options, n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""
