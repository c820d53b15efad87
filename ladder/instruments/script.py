"""Plays readings and observations from a file, so that the pipeline can be tried without a model: not a measurement.

`rungs/scripts/<name>.json` holds

    script     1
    readings   {"step_ns", "boot_sd_ns", "step_sd_ns", "effect_ns", "seed"} simulated, or {"A": [ns, ...], ...} as they
               stand, repeated to the length wanted; the key may be a role (`control`, `treatment`) too
    launches   a step, by arm or role; 40 where none are given
    differs    by arm or role: {"tape", "position", "tokens": bool}, from where on its logits are others
    beside     by arm or role: {"max_ulp", "differing", "unlike"} at every changed site, of 1000 elements
    drift      by arm or role: {"dlogprob_nano", "kl_nano", "flips"} on forced tokens
    repeat     by arm or role: {"differing", "first"}
    soak       by arm or role: {"differing", "first", "output"} at every changed site
    boot       by arm or role: {"boot_ns", "peak_bytes"}, as they are told
    faults     by arm or role: {"crash_after" | "hang" | "garbage" | "fails": "boot" | "observe" | "beside" | "measure"}
"""

import os
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from ladder import acceptance, records
from ladder.errors import LadderError
from ladder.instruments import Message
from ladder.names import check

TAPES = ("prose", "code", "math", "json", "shell", "tool", "long", "story")
PROMPT = 10  # positions before the first step
COMPARED = 1000
KEYS = {"script", "readings", "launches", "differs", "beside", "drift", "repeat", "soak", "boot", "faults"}
SIMULATED = {"step_ns": 10_000_000, "boot_sd_ns": 0, "step_sd_ns": 0, "effect_ns": 0, "seed": 1}
FAULTS = {"crash_after", "hang", "garbage", "fails"}


class BadScript(LadderError):
    """The file is no script; the text names its key."""


def load(root: Path, name: str) -> dict[str, Any]:
    """The script of this name, which exists and says only what can be played."""
    path = root / "rungs" / "scripts" / f"{check('script', name)}.json"
    if not path.is_file():
        raise BadScript(f"no script rungs/scripts/{name}.json")
    script = records.parse(f"rungs/scripts/{path.name}", path.read_bytes(), floats=False)
    if script.get("script") != 1:
        raise BadScript(f"{path.name}: script is {script.get('script')!r}: this version plays 1")
    unknown = sorted(set(script) - KEYS)
    for key in KEYS - {"script"}:
        if not isinstance(script.get(key, {}), dict):
            raise BadScript(f"{path.name}: {key} is a {type(script[key]).__name__}; a mapping by arm or role is wanted")
    listed = {arm: value for arm, value in script.get("readings", {}).items() if arm not in SIMULATED}
    if bad := sorted(arm for arm, value in listed.items() if not (isinstance(value, list) and value)):
        raise BadScript(f"{path.name}: readings.{bad[0]} is no list of readings in ns")
    if bad := sorted(arm for arm, each in script.get("faults", {}).items() if not isinstance(each, dict)):
        raise BadScript(f"{path.name}: faults.{bad[0]} is no mapping of faults")
    faults = sorted({fault for each in script.get("faults", {}).values() for fault in each} - FAULTS)
    for where, names in (("", unknown), ("faults.", faults)):
        if names:
            raise BadScript(f"{path.name}: unknown key {where}{names[0]}")
    return script


@dataclass(frozen=True)
class Script:
    """One arm of a script, answering as a worker with a model would."""

    root: Path
    arm: str
    role: str
    choices: Mapping[str, str]
    script: Mapping[str, Any]
    answers: int  # where garbage goes

    @classmethod
    def boot(cls, root: Path, asked: Message, answers: int) -> "Script":
        """The arm that a worker was asked to be."""
        return cls(root, asked["arm"], asked["role"], asked["choices"], load(root, asked["script"]), answers)

    def facts(self) -> Message:
        """No model, and the digests of the kernels that would have been bound."""
        kernels = {address: {"source_sha256": self._source(address)} for address in sorted(set(self.choices.values()))}
        process = {"threads": 1, **self._own("boot", {})}
        return {"kernels": kernels, "model": None, "tapes": list(TAPES), "process": process, "packages": []}

    def observe(self, asked: Message) -> Message:
        """Every tape at two tokens a step, or one at one row."""
        rows, tokens = asked["rows"], asked["new_tokens"]
        names = TAPES[: asked["tapes"]]
        tapes = [{"tape": name, "prompt": _hex("prompt", name), **self._tape(name, rows, tokens)} for name in names]
        told = [step for tape in tapes for step in tape["steps"]]
        steps = len(told)
        launches = self._own("launches", 40) * steps
        by_site = {site: {address: steps} for site, address in sorted(self.choices.items())}
        reach = asked["reach"]
        return {
            "item": {
                "rows": rows,
                "fill": asked["fill"],
                "tapes": len(tapes),
                "steps": steps,
                "emitted": sum(len(step["emitted"]) for step in told),
                "launches": {
                    "total": launches,
                    "by_kernel": {address: steps for address in sorted(set(self.choices.values()))},
                    "by_site": by_site,
                },
                "experts_by_layer": [],
                "acceptance": {**acceptance.counted(told, rows), "experts_alone": 0, "union_per_mille": []},
            },
            "sidecar": {"kind": "observe", "rows": rows, "tapes": tapes},
            "sites": None,
            "streams": [_stream(self._tape(name, rows, reach["new_tokens"])) for name in TAPES[: reach["tapes"]]],
        }

    def beside(self, asked: Message) -> Message:
        """What the script says, of 1000 elements a site; nothing runs, so without a word nothing is compared."""
        told = self._own("beside", None)
        if told is None:
            return {"beside": {}}
        found = {"compared": COMPARED, "differing": 0, "max_ulp": 0, "first": None, **told}
        found["histogram"] = {"0": COMPARED - found["differing"]}
        return {"beside": {site: dict(found) for site in asked["changed"]}}

    def force(self, asked: Message) -> Message:
        """The recorded tokens, each said with the same logprob by every arm, but for the script's drift."""
        names = TAPES[: len(asked["streams"])]
        tapes = [
            self._forced(name, stream, asked["against"]) for name, stream in zip(names, asked["streams"], strict=True)
        ]
        return {"sidecar": {"kind": "forced", "rows": asked["rows"], "tapes": tapes}}

    def repeat(self, asked: Message) -> Message:
        """As often as asked for."""
        return {"repeat": {"calls": asked["calls"], "differing": 0, "first": None, **self._own("repeat", {})}}

    def soak(self, asked: Message) -> Message:
        """As often as asked for, at every changed site."""
        found = {"calls": asked["calls"], "differing": 0, "first": None, "input": _hex("in"), "output": _hex("out")}
        return {"soak": {site: {**found, **self._own("soak", {})} for site in asked["changed"]}}

    def measure(self, asked: Message) -> Message:
        """The readings that the script holds for this arm, as many as the tape has steps."""
        began_ns = perf_counter_ns()
        wall_ns = self._readings(asked)
        return {
            "tape": TAPES[asked["tape"]],
            "wall_ns": wall_ns,
            "cpu_ns": wall_ns,
            "began_ns": began_ns,
            "ended_ns": perf_counter_ns(),
            "compared": len(wall_ns),
            "moved": {"tokens": False, "logits": False},
            "compiles": 0,
        }

    def fault(self, kind: str, work: str) -> bool:
        """Whether the script wants this fault at this kind of work."""
        return bool(self._own("faults", {}).get(kind) == work)

    def before(self, work: str) -> None:
        """Misbehave as the script says, before the work is done."""
        if self.fault("garbage", work):
            os.write(self.answers, b"stray words on the pipe\n")
        if self.fault("fails", work):
            raise ArithmeticError(f"scripted failure in {work}")
        while self.fault("hang", work):
            time.sleep(1)

    def after(self, work: str) -> None:
        """Leave without a word, if the script says so."""
        if self.fault("crash_after", work):
            os._exit(70)

    def _own(self, key: str, default: Any) -> Any:
        table = self.script.get(key, {})
        return table.get(self.arm, table.get(self.role, default))

    def _tape(self, name: str, rows: int, tokens: int) -> dict[str, Any]:
        steps = list(self._steps(name, rows, tokens))
        return {"steps": steps, "state": _hex("state", name, [step["logits"] for step in steps])}

    def _steps(self, name: str, rows: int, tokens: int) -> Iterator[dict[str, Any]]:
        position, emitted = PROMPT, 0
        while emitted < tokens:
            kept = min(rows, 2)
            text = [self._token(name, position + row) for row in range(rows + 1)]
            fed = [*text[:kept], *(_token("draft", name, position + row) for row in range(kept, rows))]
            yield {
                "position": position,
                "fed": fed,
                "logits": [self._logits(name, position + row, row < kept) for row in range(rows)],
                "argmax": text[1:],
                "margin_ulp": [1000] * rows,
                "accepted": kept - 1,
                "kept": kept,
                "emitted": text[1 : kept + 1],
                "drafts": [self._token(name, position + kept + row) for row in range(1, rows)],
            }
            position, emitted = position + kept, emitted + kept

    def _forced(self, name: str, stream: Any, against: Mapping[str, Any]) -> Message:
        tokens = [token for fed, kept, then in stream for token in (*fed[1:kept], then)]
        drift = {"dlogprob_nano": 0, "kl_nano": 0, "flips": 0, **self._own("drift", {})}
        plain = {"logprob_nano": [-token for token in tokens], "top": tokens}
        plain["logits"] = [_hex("forced", name, index) for index in range(len(tokens))]
        own = dict(plain)
        if any(drift.values()):
            own["logprob_nano"] = [value + drift["dlogprob_nano"] for value in plain["logprob_nano"]]
            own["top"] = [token + (index < drift["flips"]) for index, token in enumerate(tokens)]
            own["logits"] = [_hex("drifted", name, index) for index in range(len(tokens))]
        theirs = {**plain, "kl_nano": [drift["kl_nano"]] * len(tokens)}
        return {"tape": name, "token": tokens, **own, "against": {other: theirs for other in sorted(against)}}

    def _differs(self, name: str, position: int) -> Mapping[str, Any] | None:
        place = self._own("differs", None)
        return place if place and place["tape"] == name and position >= place["position"] else None

    def _token(self, name: str, position: int) -> int:
        place = self._differs(name, position - 1)
        return _token("text", name, position) + (1 if place and place.get("tokens") else 0)

    def _logits(self, name: str, position: int, is_kept: bool) -> str:
        return _hex("logits", name, position, is_kept, is_kept and bool(self._differs(name, position)))

    def _readings(self, asked: Message) -> list[int]:
        count = len(asked["steps"])
        readings = self.script.get("readings", {})
        listed = readings.get(self.arm, readings.get(self.role))
        if listed is not None:
            return [listed[(asked["first"] + index) % len(listed)] for index in range(count)]
        told = {**SIMULATED, **readings}
        boot = random.Random(f"{told['seed']}/{self.arm}").gauss(0, told["boot_sd_ns"])
        effect = told["effect_ns"] if self.role == "treatment" else 0
        draw = random.Random(f"{told['seed']}/{self.arm}/{asked['rows']}/{asked['tape']}/{asked['first']}")
        steps = (told["step_ns"] + boot + effect + draw.gauss(0, told["step_sd_ns"]) for _ in range(count))
        return [max(1, round(step_ns)) for step_ns in steps]

    def _source(self, address: str) -> str:
        return sha256((self.root / "kernels" / f"{address}.py").read_bytes()).hexdigest()


def _stream(tape: Mapping[str, Any]) -> list[Any]:
    return [[step["fed"], step["kept"], step["emitted"][-1]] for step in tape["steps"]]


def _hex(*what: Any) -> str:
    return sha256(repr(what).encode()).hexdigest()[:16]


def _token(*what: Any) -> int:
    return int(_hex(*what)[:4], 16)
