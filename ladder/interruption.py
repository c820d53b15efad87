"""Signals during a run: the first one closes the window, and nothing interrupts the closing."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A person or the system asked the run to stop; the text names the signal."""


@contextmanager
def raised() -> Iterator[None]:
    """Each of these signals raises Interrupted here, and does again what it did before once this is over."""

    def interrupt(number: int, _: FrameType | None) -> None:
        raise Interrupted(signal.Signals(number).name)

    with _handled(interrupt):
        yield


@contextmanager
def held_off() -> Iterator[None]:
    """Signals wait until this is over."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, CAUGHT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _handled(handler: object) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in CAUGHT}
    try:
        for number in CAUGHT:
            if before[number] is not signal.SIG_IGN or number == signal.SIGTERM:
                signal.signal(number, handler)  # type: ignore[arg-type]
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
