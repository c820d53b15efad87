"""A run: takes the lock, registers, opens the window, puts every arm through its passes, and grades what they left."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from ladder import (
    box,
    checkout,
    checkpoints,
    code,
    instruments,
    interruption,
    lock,
    plan,
    receipt,
    records,
    registration,
)
from ladder.arm import Arm, Message, attend
from ladder.code import Closure
from ladder.errors import LadderError
from ladder.moment import now
from ladder.plan import Plan, PlannedArm
from ladder.progress import Progress
from ladder.records import Record
from ladder.report import Outcome, report
from ladder.turns import DESIGNS, Piece, Turn, pieces

AT_ONCE = 2  # arms that boot and observe at a time; measured is one alone
FILLS = ("5a", "ff")  # a pattern, and NaN in every float format
ARITHMETIC = "product"
PLAYED = {"rows": [6, 1], "observe": {"tapes": 8, "new_tokens": 16}}  # what a script's card may leave out
NOWHERE = {"tapes": 0, "new_tokens": 0}
TIMED = {"tapes": 8, "new_tokens": 32, "skip_steps": 2}


class CannotRun(LadderError):
    """The card asks for what this version cannot do yet."""


def run(root: Path, rung: str, profile: str, *, progress: Progress) -> Outcome:
    """Run one rung's window to its end, whatever end that is; a window that was opened always leaves its receipts."""
    made = plan.make(root, rung, profile)
    _check(made)
    try:
        with lock.held(root), interruption.raised():
            window = _open(root, made, progress)
            try:
                window.fill()
            except interruption.Interrupted as signal:
                window.cut("interrupted", f"{signal} came from outside")
            except BaseException:
                window.cut("interrupted", "the parent failed")
                with interruption.held_off():
                    window.close()
                raise
            with interruption.held_off():
                window.close()
                return report(root, window.start)
    finally:
        progress.close()


def _check(made: Plan) -> None:
    instruments.check(made.instrument)
    if made.design not in DESIGNS:
        raise CannotRun(f"design '{made.design}' is not built yet; here are {', '.join(sorted(DESIGNS))}")
    if any(made.meaning["declares"].values()):
        raise CannotRun("`declares` names differences between the arms, and arms are all given the same yet")


@dataclass
class Window:
    """A window that is open: its arms, and what is still to be asked of them."""

    root: Path
    made: Plan
    start: Record
    arms: Sequence[Arm]
    closure: Closure
    schedule: Sequence[Turn]
    checkpoint: Path | None
    progress: Progress
    opened_ns: int = field(default_factory=time.perf_counter_ns)
    _written: set[str] = field(default_factory=set)
    _measured: int = 0

    def fill(self) -> None:
        """Put every arm through its passes, as the design has it."""
        if self.made.design == "turns":
            self._observe(self.arms, AT_ONCE)
            self._probe(self.arms, AT_ONCE)
            self._measure(self.schedule)
            self._dismiss(self.arms)
        else:
            for arm in self.arms:
                self._observe([arm], 1)
                self._probe([arm], 1)
                self._measure([turn for turn in self.schedule if turn.arm == arm.name])
                self._dismiss([arm])

    def cut(self, ended: str, says: str) -> None:
        """End every arm that still lives."""
        for arm in self.arms:
            if arm.ended is None:
                arm.end(ended, "window_cut", says)

    def close(self) -> None:
        """No process is left and every arm has its receipt, whatever came before."""
        self.cut("interrupted", "the window was closed")
        self._write()

    def _observe(self, arms: Sequence[Arm], at_once: int) -> None:
        jobs = [(arm, [self._boot(arm), *self._passes(arm)]) for arm in arms if arm.ended is None]
        jobs.sort(key=lambda job: len(job[1]), reverse=True)  # the longest first, so that the last ones end together
        self.progress.begin(f"observing {' '.join(arm.name for arm in arms)}", sum(len(asked) for _, asked in jobs))
        attend(jobs, at_once, self._heard)

    def _probe(self, arms: Sequence[Arm], at_once: int) -> None:
        """What some gates ask beside: forced tokens, repeated steps, soaked sites."""
        self._stop_if_undecidable()
        jobs = [(arm, list(self._probes(arm))) for arm in arms if arm.ended is None]
        asked = sum(len(each) for _, each in jobs)
        if asked:
            self.progress.begin(f"probing {' '.join(arm.name for arm, each in jobs if each)}", asked)
            attend([job for job in jobs if job[1]], at_once, self._heard)
        self._dismiss([arm for arm in arms if "measure" not in arm.planned.passes])

    def _measure(self, schedule: Sequence[Turn]) -> None:
        """One piece of a turn at a time, every other arm blocked on its pipe."""
        self._stop_if_undecidable()
        by_name = {arm.name: arm for arm in self.arms if arm.ended is None}
        if not all(turn.arm in by_name for turn in schedule):
            return
        streams = self._streams()
        whole = list(pieces(schedule, lambda turn: len(streams[turn.rows][turn.tape])))
        self.progress.begin(f"measuring {' '.join(sorted({turn.arm for turn in schedule}))}", len(whole))
        for piece in whole:
            arm = by_name[piece.turn.arm]
            if arm.ended is None:
                attend([(arm, [self._piece(piece, streams[piece.turn.rows][piece.turn.tape])])], 1, self._heard)
            self._stop_if_undecidable()

    def _dismiss(self, arms: Sequence[Arm]) -> None:
        living = [arm for arm in arms if arm.ended is None]
        attend([(arm, [{"do": "close"}]) for arm in living], 1, self._heard)
        for arm in living:
            if arm.ended is None:
                arm.end("done")
        self._write()

    def _stop_if_undecidable(self) -> None:
        """Nothing can be decided without all measured arms: do not spend the machine's time on the rest."""
        gone = [arm.name for arm in self.arms if arm.ended not in {None, "done"} and "measure" in arm.planned.passes]
        if gone:
            self.cut("interrupted", f"arm {gone[0]} was lost, and nothing can be decided without it")

    def _heard(self, arm: Arm, message: Message) -> None:
        if "progress" in message:
            self.progress.note(f"{arm.name}: {message['progress']}")
        elif "did" in message:
            self.progress.advance(f"{arm.name}: {message['did']}")
        elif "failed" in message:
            self.progress.say(f"arm {arm.name} failed: {' '.join(str(message.get('says')).split())[:200]}")

    def _write(self) -> None:
        """A receipt for every arm that has ended; one that cannot be written does not keep the others from it."""
        failures = []
        for arm in self.arms:
            if arm.ended is not None and arm.name not in self._written:
                self._written.add(arm.name)
                try:
                    receipt.write(self.start, arm, self.closure.files, self.opened_ns)
                except OSError as error:
                    failures.append(error)
        if failures:
            raise failures[0]

    # What is asked

    def _boot(self, arm: Arm) -> Message:
        workload = self.made.workload
        return {
            "do": "boot",
            "arm": arm.name,
            "role": arm.planned.role,
            "choices": arm.planned.choices,
            "instrument": self.made.instrument,
            "rows": _rows(workload),
            "new_tokens": max(_observe(workload)["new_tokens"], _timed(workload)["new_tokens"]),
            "script": workload.get("script"),
            "model": workload.get("model"),
            "checkpoint": self.checkpoint.as_posix() if self.checkpoint else None,
            "arithmetic": ARITHMETIC,
        }

    def _passes(self, arm: Arm) -> Iterator[Message]:
        """What an arm observes; the first pass at a row count reaches as far as its tapes are measured."""
        rows, observe, timed = _rows(self.made.workload), _observe(self.made.workload), _timed(self.made.workload)
        measures = "measure" in arm.planned.passes
        for count in rows if measures else rows[:1]:
            fills = self._fills(arm, is_largest=count == rows[0])
            for fill in fills:
                reaches = measures and fill == fills[0]
                far = timed if count == rows[0] else observe  # fewer rows repeat as many steps, so fewer tokens
                yield {
                    "do": "observe",
                    "rows": count,
                    "fill": fill,
                    "tapes": observe["tapes"],
                    "new_tokens": observe["new_tokens"],
                    "sites": reaches and count == rows[0],
                    "reach": {"tapes": timed["tapes"], "new_tokens": far["new_tokens"]} if reaches else NOWHERE,
                }
        if measures and arm.planned.role == "treatment" and self._is_first(arm):
            tapes = {"rows": rows[0], "tapes": observe["tapes"]}
            yield {"do": "beside", "control": self.made.control, "changed": self.made.changed, **tapes}

    def _probes(self, arm: Arm) -> Iterator[Message]:
        """One request for each gate that needs more than the two passes give."""
        rows = _rows(self.made.workload)[0]
        gates = {gate["gate"] for gate in self.made.gates}
        treats = arm.planned.role == "treatment"
        if "drift" in gates and "measure" in arm.planned.passes and (self._is_first(arm) or not treats):
            told = [reply for reply in self.arms[0].replies if reply["did"] == "observe"]
            tapes = _observe(self.made.workload)["tapes"]
            against = {"parent": self.made.control, "reference": {}} if treats else {}
            yield {"do": "force", "rows": rows, "streams": told[0]["streams"][:tapes], "against": against}
        if treats and self._is_first(arm) and (calls := _most(self.made.gates, "repeat")):
            yield {"do": "repeat", "rows": rows, "calls": calls}
        if treats and (calls := _most(self.made.gates, "calls")):
            yield {"do": "soak", "rows": rows, "calls": calls, "changed": self.made.changed}

    def _fills(self, arm: Arm, *, is_largest: bool) -> tuple[str, ...]:
        """The candidate is tried under every fill; the control repeats itself once, at the largest row count.

        A relaunch takes the other fill: whatever differs between processes or fills shows there too, at half the
        time.
        """
        if not self._is_first(arm):
            return FILLS[1:]
        return FILLS if is_largest or arm.planned.role == "treatment" else FILLS[:1]

    def _is_first(self, arm: Arm) -> bool:
        """Whether no earlier arm plays the same part."""
        return arm is next(other for other in self.arms if other.planned.role == arm.planned.role)

    def _streams(self) -> Mapping[int, Sequence[Any]]:
        """Arm A's recorded rows, kept counts and tokens, by row count and tape.

        Every row count is timed over as many steps of a tape as the first one has: the question is what a step
        costs, and one-row steps are many.
        """
        told = [reply for reply in self.arms[0].replies if reply["did"] == "observe"]
        streams = {reply["asked"]["rows"]: reply["streams"] for reply in reversed(told)}  # the first fill's stay
        steps = [len(tape) for tape in streams[_rows(self.made.workload)[0]]]
        return {rows: [tape[:most] for tape, most in zip(tapes, steps, strict=True)] for rows, tapes in streams.items()}

    def _piece(self, piece: Piece, steps: Sequence[Any]) -> Message:
        """A tape's first steps are not counted, nor is the first one behind a pause."""
        self._measured += 1
        skip = _timed(self.made.workload)["skip_steps"] if piece.first == 0 else 1
        return {
            "do": "measure",
            "rows": piece.turn.rows,
            "tape": piece.turn.tape,
            "turn": self._measured - 1,
            "skip": min(skip, piece.end - piece.first - 1),
            "first": piece.first,
            "steps": steps[piece.first : piece.end],
        }


def _most(gates: Sequence[Mapping[str, Any]], key: str) -> int:
    """The most that any gate asks for under this key; 0 where none does."""
    return max((gate.get(key, 0) for gate in gates), default=0)


def _rows(workload: Mapping[str, Any]) -> list[int]:
    return list(workload.get("rows", PLAYED["rows"]))


def _observe(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = workload.get("observe", PLAYED["observe"])
    return found


def _timed(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = workload.get("measure", TIMED)
    return found


def _open(root: Path, made: Plan, progress: Progress) -> Window:
    """Register, make what all arms share, and write down that a window is open, before anything boots."""
    closure = code.of_plan(root, made)
    if made.instrument == "script":
        from ladder.instruments import script

        script.load(root, made.workload["script"])
    stands = registration.for_run(root, made, closure)
    for why in stands.exploratory:
        progress.say(f"exploratory: {why}")
    model = made.workload.get("model")
    checkpoint = checkpoints.ready(root, model) if model and made.instrument != "script" else None
    seed = secrets.token_hex(16)
    measured = [arm.name for arm in made.arms if "measure" in arm.passes]
    schedule = DESIGNS[made.design](measured, _rows(made.workload), _timed(made.workload)["tapes"], seed)
    value = _start(root, made, stands, seed, schedule)
    start = records.write_start(checkout.receipts_folder(root, made.rung), value)
    progress.say(f"window {start.d8} of {made.rung} ({made.profile}) is open")
    arms = [_arm(root, made, start, planned) for planned in made.arms]
    return Window(root, made, start, arms, closure, schedule, checkpoint, progress)


def _start(
    root: Path, made: Plan, stands: registration.Standing, seed: str, schedule: Sequence[Turn]
) -> dict[str, Any]:
    return {
        "record": "start",
        "format": 1,
        "prev": records.heads(root),
        "at": now(),
        "rung": made.rung,
        "profile": made.profile,
        "registration": stands.record.sha256 if stands.record else None,
        "exploratory": list(stands.exploratory),
        "meaning": made.meaning,
        "arms": {arm.name: arm.choices for arm in made.arms},
        "design": made.design,
        "instrument": made.instrument,
        "seeds_sha256": sha256(seed.encode()).hexdigest(),
        "schedule": [str(turn) for turn in schedule],
        "box": box.machine(),
        "commit": stands.commit,
        "dirty": stands.dirty,
        **({"note": receipt.SCRIPT} if made.instrument == "script" else {}),
    }


def _arm(root: Path, made: Plan, start: Record, planned: PlannedArm) -> Arm:
    logs = root / lock.FOLDER / "logs" / f"{made.rung}-{start.d8}"
    limits_s = {"boot": float(made.budget["boot_s"]), "passes": float(made.budget["measure_s"])}
    return Arm(root, planned, limits_s, logs / f"{planned.name}.log")
