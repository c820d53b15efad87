"""One run at a time: two windows on one device would measure each other."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ladder.errors import LadderError
from ladder.names import real_folder

FOLDER = ".ladder"


class RunningAlready(LadderError):
    """Another run holds the checkout's lock."""


@contextmanager
def held(root: Path) -> Iterator[None]:
    """Hold the checkout's lock; the system lets go of it however this process ends."""
    folder = real_folder(root / FOLDER)
    folder.mkdir(exist_ok=True)
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunningAlready("another run is at work in this checkout: wait for it to end, or end it") from None
        yield
    finally:
        os.close(handle)
