"""What a run is doing, told to stderr: a bar on a terminal, plain lines elsewhere, and never an error."""

import contextlib
import sys
from typing import Any, Protocol, TextIO


class Progress(Protocol):
    """Where a run tells how far it is."""

    def say(self, text: str) -> None:
        """A line that stays."""

    def begin(self, text: str, total: int) -> None:
        """A stage of `total` parts; it replaces the one before."""

    def advance(self, text: str) -> None:
        """One part is done."""

    def note(self, text: str) -> None:
        """What goes on at this moment; of no interest afterwards."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Silent:
    """Tells nothing."""

    def say(self, text: str) -> None: ...
    def begin(self, text: str, total: int) -> None: ...
    def advance(self, text: str) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


class Lines:
    """Plain lines for logs: every stage, and every quarter of one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._text, self._total, self._done = "", 0, 0

    def say(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            print(text, file=self._stream, flush=True)
        except (OSError, ValueError):  # whoever read this has gone; the run goes on
            self._stream = None

    def begin(self, text: str, total: int) -> None:
        self._text, self._total, self._done = text, total, 0
        self.say(text)

    def advance(self, text: str) -> None:
        self._done += 1
        if self._done * 4 // max(self._total, 1) > (self._done - 1) * 4 // max(self._total, 1):
            self.say(f"{self._text}: {self._done} of {self._total}")

    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


class Live:
    """A bar and a line on a terminal, through `rich`."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[now]}", markup=False),
        )
        console = Console(file=stream, highlight=False)
        self._bars: Any = Progress(*columns, console=console, transient=True, refresh_per_second=4)
        self._task: Any = None
        with contextlib.suppress(OSError):
            self._bars.start()

    def say(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._bars.console.print(text, markup=False)

    def begin(self, text: str, total: int) -> None:
        with contextlib.suppress(OSError):
            if self._task is not None:
                self._bars.remove_task(self._task)
            self._task = self._bars.add_task(text, total=total, now="")

    def advance(self, text: str) -> None:
        self._update(advance=1, now=text)

    def note(self, text: str) -> None:
        self._update(now=text)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._bars.stop()

    def _update(self, **what: Any) -> None:
        if self._task is not None:
            with contextlib.suppress(OSError):
                self._bars.update(self._task, **what)


def for_terminal(stream: TextIO | None = None) -> Progress:
    """Live on a terminal, lines elsewhere; both on stderr, since stdout is the answer's."""
    stream = stream or sys.stderr
    return Live(stream) if stream.isatty() else Lines(stream)
