"""An arm's process as its parent sees it: started fresh, asked over a private pipe, and never outlived."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ladder
from ladder import pipe
from ladder.plan import PlannedArm

Message = dict[str, Any]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
GRACE_S = 5.0
SIGNALS = {number.value: number.name for number in signal.Signals}


@dataclass(eq=False)
class Arm:
    """One planned arm and its process; `ended` says how it came to an end, `replies` what it told until then.

    `limits_s` holds, by kind of work (`boot`, `passes`), for how long the process may work in all.
    """

    root: Path
    planned: PlannedArm
    limits_s: Mapping[str, float]
    log: Path
    replies: list[Message] = field(default_factory=list)
    trouble: list[dict[str, str]] = field(default_factory=list)
    ended: str | None = None
    spent_s: dict[str, float] = field(default_factory=dict)
    _frames: pipe.Frames = field(default_factory=pipe.Frames)
    _process: subprocess.Popen[bytes] | None = None
    _commands: int = -1
    _answers: int = -1
    _work: str | None = None
    _asked: float = 0.0
    _heard: float = 0.0

    @property
    def name(self) -> str:
        """A, B, A2, ..."""
        return self.planned.name

    @property
    def foreign_bytes(self) -> int:
        """Bytes on its pipe that belong to no frame."""
        return self._frames.stray

    def fileno(self) -> int:
        """Where its answers come from, for `select`."""
        return self._answers

    def left_s(self) -> float:
        """For how much longer it may do what it was last asked for."""
        assert self._work is not None
        used = self.spent_s.get(self._work, 0.0) + time.monotonic() - self._asked
        return max(0.0, self.limits_s[self._work] - used)

    def ask(self, message: Message) -> None:
        """Send one request, starting the process for the first."""
        self._work = "boot" if message["do"] == "boot" else "passes"
        self._asked = self._heard = time.monotonic()
        if self._process is None:
            self._start()
        try:
            pipe.send(self._commands, message)
        except OSError:
            self._gone()

    def hear(self) -> list[Message]:
        """What it said since; an end of file, a report of failure or a passed limit ends the arm."""
        found: list[Message] = []
        if select.select([self._answers], [], [], 0)[0]:
            data = os.read(self._answers, 1 << 20)
            found = list(self._frames.feed(data))
            if not data:
                self._gone()
        if found:
            self._heard = time.monotonic()
        for message in found:
            if "failed" in message:
                self.end("crashed", message["failed"], message["says"])
            elif "did" in message:
                self._settle()
                self.replies.append(message)
        if self.ended is None and self._work is not None and self.left_s() <= 0:
            self._too_late()
        return found

    def end(self, ended: str, code: str | None = None, says: str = "") -> None:
        """Close both pipes, and the process if it does not go by itself; the first reason given stays."""
        self._settle()
        if self.ended is None:
            self.ended = ended
            if code:
                self.trouble.append({"code": code, "says": says})
        self._stop(GRACE_S if ended == "done" else 0.0)

    def _start(self) -> None:
        commands_read, self._commands = os.pipe()
        self._answers, answers_write = os.pipe()
        words = [sys.executable, "-m", "ladder.worker", str(commands_read), str(answers_write)]
        self.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(
                    words,
                    cwd=self.root,
                    env=environment(self.root),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=(commands_read, answers_write),
                    start_new_session=True,  # a terminal's Ctrl-C is the parent's to answer
                )
        finally:
            os.close(commands_read)
            os.close(answers_write)

    def _settle(self) -> None:
        if self._work is not None:
            self.spent_s[self._work] = self.spent_s.get(self._work, 0.0) + time.monotonic() - self._asked
            self._work = None

    def _too_late(self) -> None:
        assert self._work is not None
        limit_s, silent_s = self.limits_s[self._work], time.monotonic() - self._heard
        what = "to boot" if self._work == "boot" else "for its passes"
        if silent_s >= min(limit_s, time.monotonic() - self._asked) / 2:
            self.end("hung", "no_answer", f"silent for {silent_s:.0f} s; it had {limit_s:g} s {what}")
        else:
            self.end("over_budget", "budget_spent", f"still at work after the {limit_s:g} s that it had {what}")

    def _gone(self) -> None:
        """The process left without a word of its own."""
        assert self._process is not None
        try:
            status = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.end("crashed", "pipe_closed", "closed its pipe and went on running")
            return
        how = f"was ended by {SIGNALS.get(-status, -status)}" if status < 0 else f"exited with {status}"
        self.end("crashed", "process_gone", f"the process {how}")

    def _stop(self, grace_s: float) -> None:
        if self._process is None:
            return
        if self._commands >= 0:
            commands, self._commands = self._commands, -1
            os.close(commands)  # the worker exits at this end of file
        if grace_s:
            self._drain(grace_s)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        _kill_group(self._process.pid)  # and whatever it may have started
        self._process.wait()
        if self._answers >= 0:
            self._drain(0.0)
            answers, self._answers = self._answers, -1
            os.close(answers)
        self._frames.end()

    def _drain(self, at_most_s: float) -> None:
        """Take what is still in the pipe: only its stray bytes matter now."""
        until = time.monotonic() + at_most_s
        while select.select([self._answers], [], [], max(0.0, until - time.monotonic()))[0]:
            data = os.read(self._answers, 1 << 20)
            if not data:
                return
            self.replies += [message for message in self._frames.feed(data) if "did" in message]


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def environment(root: Path) -> dict[str, str]:
    """All that a worker is given, the same for every arm: nothing of the caller's but where its programs are."""
    packages = Path(ladder.__file__).parent.parent
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([str(root), str(packages)])),
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        **ONE_THREAD,
    }


def attend(jobs: Sequence[tuple[Arm, Sequence[Message]]], at_once: int, heard: Callable[[Arm, Message], None]) -> None:
    """Put each arm through its requests, one after the other, at most `at_once` arms at work at a time.

    An arm that ends is left out from then on; the others go on.
    """
    waiting = [(arm, list(messages)) for arm, messages in jobs if messages and arm.ended is None]
    busy: dict[Arm, list[Message]] = {}
    while waiting or busy:
        while waiting and len(busy) < at_once:
            arm, messages = waiting.pop(0)
            busy[arm] = messages
            arm.ask(messages.pop(0))
        working = [arm for arm in busy if arm.ended is None]
        if working:
            select.select(working, [], [], min(arm.left_s() for arm in working))
        for arm in list(busy):
            answers = arm.hear() if arm.ended is None else []
            for message in answers:
                heard(arm, message)
            if arm.ended is not None:
                del busy[arm]
            elif any("did" in message for message in answers):
                if busy[arm]:
                    arm.ask(busy[arm].pop(0))
                else:
                    del busy[arm]
