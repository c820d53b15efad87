"""A bound model as a worker's subject: tapes run freely and hashed, then run again as recorded and timed.

Knows the runtime only by the objects it is given, and torch only by its tensors.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256  # taken before any kernel is imported
from typing import Any

from gates import distance
from ladder import acceptance, forcing, soaking
from ladder.apart import Apart
from ladder.instruments import Message, wall

Tensor = Any
SITE_STEPS = 4  # first steps of a tape whose values are hashed site by site
BESIDE_STEPS = 4  # first steps of a tape on which the control's kernels run beside the candidate's
PACKAGES = ("torch", "numpy", "safetensors")


@dataclass
class Seen:
    """What an observe pass saw in one step, for the measure pass to be held against."""

    fed: tuple[int, ...]
    kept: int
    argmax: tuple[int, ...]
    logits: list[str]
    emitted: tuple[int, ...]
    drafts: tuple[int, ...]


@dataclass
class Decoding:
    """One arm's decoder with its tapes; prompts are fed once and their state is kept."""

    decoder: Any
    at: Any
    tapes: Sequence[Any]
    forced: Callable[..., Any]
    beside_table: Callable[..., Any]
    table_of: Callable[[Mapping[str, str]], Any]
    decoder_of: Callable[[Any], Any]
    model: Message
    tell: Callable[[str], None]
    _prompts: dict[int, Any] = field(default_factory=dict)
    _seen: dict[tuple[int, int], list[Seen]] = field(default_factory=dict)
    _state: Any = None
    _held: Any = None

    def facts(self) -> Message:
        """Every kernel that is bound, by address."""
        import torch

        bound = {site.kernel.address: {"source_sha256": site.kernel.source_sha256} for site in self.at.all()}
        return {
            "kernels": dict(sorted(bound.items())),
            "model": self.model,
            "tapes": [tape.name for tape in self.tapes],
            "process": {"threads": torch.get_num_threads(), "collections_in_range": 0},
            "packages": PACKAGES,
        }

    # Observe

    def observe(self, asked: Message) -> Message:
        """Run the tapes with every output poisoned before every step; tell tokens, digests and launches.

        `reach` goes on behind what is recorded, so that a recorded tape is long enough to be measured.
        """
        import torch

        rows, reach = asked["rows"], asked["reach"]
        passed = _Pass(asked["sites"])
        with torch.inference_mode():
            self._feed_prompts(max(asked["tapes"], reach["tapes"]), int(asked["fill"], 16))
            for index in range(max(asked["tapes"], reach["tapes"])):
                wanted = asked["new_tokens"] if index < asked["tapes"] else 0
                far = reach["new_tokens"] if index < reach["tapes"] else 0
                passed.streams.append(self._observe_tape(index, asked, wanted, far, passed))
                self.tell(f"{rows} rows, fill {asked['fill']}, tape {self.tapes[index].name}")
            ops = self._count_ops(rows) if asked["sites"] else {}
        return {**passed.told(rows, asked, self.decoder.config), "process": ops}

    def _observe_tape(self, index: int, asked: Message, wanted: int, far: int, passed: "_Pass") -> list[Any]:
        rows, fill, tape = asked["rows"], int(asked["fill"], 16), self.tapes[index]
        opening = self._opening(tape, rows, fill) if asked["sites"] else []
        state = self._at_prompt(index)
        self.at.reset_launches()
        steps: list[Message] = []
        seen: list[Seen] = []
        stream: list[Any] = []
        emitted = 0
        while emitted < max(wanted, far):
            is_recorded = emitted < wanted
            values: list[Any] | None = [] if is_recorded and asked["sites"] and len(steps) < SITE_STEPS else None
            step = self._free_step(state, rows, fill, values)
            told = _told(step)
            seen.append(Seen(step.fed, step.kept, step.argmax, told["logits"], tuple(step.emitted), tuple(step.drafts)))
            stream.append([list(step.fed), step.kept, step.emitted[-1]])
            emitted += len(step.emitted)
            if is_recorded:
                steps.append(told)
                passed.saw(step, values)
                if emitted >= wanted:
                    passed.close(tape, steps, _state_digest(state), self.at, opening)
        self._seen.setdefault((rows, index), seen)
        return stream

    def _opening(self, tape: Any, rows: int, fill: int) -> list[Any]:
        """Digests of every value over a prompt's first rows, which nothing has parted before."""
        values: list[Any] = []
        self.at.poison(fill)
        self._hashing(values).prefill(self.decoder.new_state(), tape.prompt[:rows])
        return values

    def _free_step(self, state: Any, rows: int, fill: int, values: list[Any] | None) -> Any:
        self.at.poison(fill)
        return (self.decoder if values is None else self._hashing(values)).step(state, rows, ignore_eos=True)

    def _hashing(self, values: list[Any]) -> Any:
        """The decoder, adding every value that a site writes to `values` as a layer, a name and digests."""
        return self.decoder.observed(lambda layer, _, name, tensor: values.append([layer, name, _rows_hex(tensor, 8)]))

    def _feed_prompts(self, count: int, fill: int) -> None:
        for index in range(count):
            if index not in self._prompts:
                self._state = self._state or self.decoder.new_state()
                fresh = self.decoder.new_state()
                self.at.poison(fill)
                self.decoder.prefill(fresh, self.tapes[index].prompt)
                self._prompts[index] = fresh.snapshot()

    def _at_prompt(self, index: int) -> Any:
        self._state.restore(self._prompts[index])
        return self._state

    # Beside

    def beside(self, asked: Message) -> Message:
        """Run the control's kernel beside the candidate's at each changed site, over the first steps of each tape."""
        import torch

        found = {site: Apart() for site in asked["changed"]}
        place: dict[str, Any] = {}

        def report(layer: int, site: str, value: str, control: Tensor, candidate: Tensor) -> None:
            where = {**place, "layer": layer, "value": value}
            found[site].add(*_bits(control), *_bits(candidate), where)

        with torch.inference_mode():
            decoder = self.decoder_of(self.beside_table(asked["control"], asked["changed"], report))
            self._feed_prompts(asked["tapes"], 0xFF)
            for index in range(asked["tapes"]):
                state = self._at_prompt(index)
                for step in range(BESIDE_STEPS):
                    place.update(tape=self.tapes[index].name, step=step)
                    self.at.poison(0xFF)
                    decoder.step(state, asked["rows"], ignore_eos=True)
        return {"beside": {site: apart.told() for site, apart in found.items()}}

    def _count_ops(self, rows: int) -> dict[str, int]:
        """Torch operations in one step: in all, whatever kernel asked for them."""
        from torch.utils._python_dispatch import TorchDispatchMode

        class Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
            count = 0

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                self.count += 1
                return func(*args, **(kwargs or {}))

        state = self._at_prompt(0)
        with Counting() as counting:  # type: ignore[no-untyped-call]
            self.decoder.step(state, rows, ignore_eos=True)
        return {f"torch_ops_{rows}_rows": counting.count}

    # Forced, repeated, soaked

    def force(self, asked: Message) -> Message:
        """Feed recorded tapes from their prompts on, with own kernels and with each configuration in `against`."""
        import torch

        rows, tapes = asked["rows"], []
        others = {name: self.decoder_of(self.table_of(choices)) for name, choices in asked["against"].items()}
        with torch.inference_mode():
            for tape, stream in zip(self.tapes, asked["streams"], strict=False):
                steps = [self.forced(tuple(fed), kept, then) for fed, kept, then in stream]
                logits = {
                    name: self._forced_logits(decoder, tape, steps, rows)
                    for name, decoder in {"": self.decoder, **others}.items()
                }
                own = logits.pop("")
                tapes.append(forcing.tape(tape.name, forcing.forced_tokens(steps), own, logits, _rows_list))
                self.tell(f"forced tape {tape.name}")
        return {"sidecar": {"kind": "forced", "rows": rows, "tapes": tapes}}

    def _forced_logits(self, decoder: Any, tape: Any, steps: Sequence[Any], rows: int) -> Tensor:
        """Logits [N, V] of every kept row."""
        import torch

        state, kept = decoder.new_state(), []
        decoder.at.poison(0xFF)
        decoder.prefill(state, tape.prompt)
        for step in steps:
            decoder.at.poison(0xFF)
            kept.append(decoder.step(state, rows, forced=step).logits[: step.kept].clone())
        return torch.cat(kept)

    def repeat(self, asked: Message) -> Message:
        """Run the first tape's first step again and again from the same state; count those with other logits."""
        import torch

        rows, calls = asked["rows"], asked["calls"]
        differing, first = 0, None
        with torch.inference_mode():
            self._feed_prompts(1, 0xFF)
            seen = self._seen.get((rows, 0))
            expected = seen[0].logits if seen else None
            for index in range(calls):
                step = self._free_step(self._at_prompt(0), rows, soaking.FILLS[index % 2], None)
                logits = _rows_list(step.logits)
                expected = expected or logits
                if logits != expected:
                    differing, first = differing + 1, index if first is None else first
                if index % 50 == 49:
                    self.tell(f"repeated {index + 1} of {calls} times")
        return {"repeat": {"calls": calls, "differing": differing, "first": first}}

    def soak(self, asked: Message) -> Message:
        """Call each changed site many times on an input of the first tape's first step."""
        import torch

        kept: dict[str, soaking.Kept] = {}

        def keep(at: Any, name: str, call: Any) -> Any:
            return kept.setdefault(name, soaking.Kept(call)) if name in asked["changed"] and name not in kept else call

        with torch.inference_mode():
            self._feed_prompts(1, 0xFF)
            decoder = self.decoder_of(self.at.mapped(keep))
            decoder.step(self._at_prompt(0), asked["rows"], ignore_eos=True)
            found = {
                name: soaking.soak(each, asked["calls"], partial(self._soaked, name))
                for name, each in sorted(kept.items())
                if each.inputs is not None
            }
        return {"soak": found}

    def _soaked(self, name: str, calls: int) -> None:
        self.tell(f"called {name} {calls} times")

    # Measure

    def measure(self, asked: Message) -> Message:
        """Time recorded steps of one tape; outside of what is timed, hold each one's outputs against `observe`.

        Every output is poisoned before each step, so that one which a step leaves out cannot be an older one's.

        A piece that does not begin the tape goes on from the piece before.
        """
        import torch

        rows, index = asked["rows"], asked["tape"]
        with torch.inference_mode():
            if asked["first"] == 0:
                self._at_prompt(index)
                self._held = _Held(self._seen.get((rows, index), []))
            held = self._held.begun(asked["first"])
            recorded = [self.forced(tuple(fed), kept, then) for fed, kept, then in asked["steps"]]

            def run(forced: Any) -> Callable[[], None]:
                return lambda: held.took(self.decoder.step(self._state, rows, forced=forced))

            def behind(index: int) -> None:
                held.compare(index)
                self.at.poison(soaking.FILLS[index % 2])

            compiled = _compiles()
            self.at.poison(soaking.FILLS[1])
            readings = wall.read([run(forced) for forced in recorded], behind)
        return {
            "tape": self.tapes[index].name,
            "wall_ns": readings.wall_ns,
            "cpu_ns": readings.cpu_ns,
            "began_ns": readings.began_ns,
            "ended_ns": readings.ended_ns,
            "compared": held.compared,
            "moved": {"tokens": held.tokens_moved, "logits": held.logits_moved},
            "compiles": _compiles() - compiled,
        }


class _Held:
    """A measured tape held against the same tape as observed, for as long as both went the same way."""

    def __init__(self, seen: Sequence[Seen]) -> None:
        self._seen = seen
        self._parted = False
        self._step: Any = None

    def begun(self, first: int) -> "_Held":
        """A piece begins, at this step of the tape."""
        self.compared = 0
        self.tokens_moved = False
        self.logits_moved = False
        self._first = first
        return self

    def took(self, step: Any) -> None:
        """Keep what a timed step gave: nothing else is done within the time."""
        self._step = step

    def compare(self, index: int) -> None:
        """Compare what the step gave: tokens, drafts, and every row's logits."""
        place = self._first + index
        if self._parted or place >= len(self._seen):
            return
        step, seen = self._step, self._seen[place]
        self._parted = tuple(step.fed) != tuple(seen.fed)
        if self._parted:
            return
        self.compared += 1
        self.tokens_moved |= tuple(step.argmax) != tuple(seen.argmax)
        self.logits_moved |= _rows_list(step.logits) != seen.logits
        if tuple(step.emitted) == seen.emitted:  # another arm's recorded token is followed by other drafts
            self.tokens_moved |= tuple(step.drafts) != seen.drafts
        self._parted = step.kept != seen.kept


class _Pass:
    """What an observe pass gathers over its tapes."""

    def __init__(self, with_sites: bool) -> None:
        self.streams: list[Any] = []
        self._sites: list[Message] | None = [] if with_sites else None
        self._tapes: list[Message] = []
        self._values: list[Any] = []
        self._experts: list[list[int]] = []
        self._by_site: dict[str, dict[str, int]] = {}

    def saw(self, step: Any, values: list[Any] | None) -> None:
        self._experts.append(list(step.experts))
        if values is not None:
            self._values.append(values)

    def close(self, tape: Any, steps: list[Message], state: str, at: Any, opening: list[Any]) -> None:
        """A tape's recorded part is over."""
        prompt = sha256(repr(tuple(tape.prompt)).encode()).hexdigest()[:16]
        self._tapes.append({"tape": tape.name, "prompt": prompt, "steps": steps, "state": state})
        if self._sites is not None:
            self._sites.append({"tape": tape.name, "prompt": opening, "steps": self._values})
            self._values = []
        for site in at.all():
            if site.calls:
                calls = self._by_site.setdefault(site.name, {})
                calls[site.kernel.address] = calls.get(site.kernel.address, 0) + site.calls

    def told(self, rows: int, asked: Message, config: Any) -> Message:
        steps = [step for tape in self._tapes for step in tape["steps"]]
        by_kernel: dict[str, int] = {}
        for calls in self._by_site.values():
            for address, count in calls.items():
                by_kernel[address] = by_kernel.get(address, 0) + count
        by_layer = [round(1000 * sum(layer) / len(layer)) for layer in zip(*self._experts, strict=True)]
        union = acceptance.union(by_layer, config.n_routed_experts, config.num_experts_per_tok, rows)
        return {
            "item": {
                "rows": rows,
                "fill": asked["fill"],
                "tapes": len(self._tapes),
                "steps": len(steps),
                "emitted": sum(len(step["emitted"]) for step in steps),
                "launches": {"total": sum(by_kernel.values()), "by_kernel": by_kernel, "by_site": self._by_site},
                "experts_by_layer": by_layer,
                "acceptance": {**acceptance.counted(steps, rows), **union},
            },
            "sidecar": {"kind": "observe", "rows": rows, "tapes": self._tapes},
            "sites": None if self._sites is None else {"kind": "sites", "rows": rows, "tapes": self._sites},
            "streams": self.streams,
        }


def _told(step: Any) -> Message:
    """A step as the observe sidecar tells it."""
    return {
        "position": step.position,
        "fed": list(step.fed),
        "logits": _rows_list(step.logits),
        "argmax": list(step.argmax),
        "margin_ulp": list(_margins(step.logits)),
        "accepted": step.accepted,
        "kept": step.kept,
        "emitted": list(step.emitted),
        "drafts": list(step.drafts),
    }


def _margins(logits: Tensor) -> Iterator[int | None]:
    """How many f32 numbers lie between the two highest logits of each row; None beside a NaN."""
    import torch

    highest = logits.topk(2).values.contiguous().view(torch.int32)
    for first, second in highest.tolist():
        yield distance.ulps(first & 0xFFFFFFFF, second & 0xFFFFFFFF, "f32")


def _rows_list(tensor: Tensor) -> list[str]:
    """The first 16 hex digits of sha256 of each row's bytes."""
    return [sha256(row).hexdigest()[:16] for row in _bytes(tensor)]


def _rows_hex(tensor: Tensor, digits: int) -> str:
    return "".join(sha256(row).hexdigest()[:digits] for row in _bytes(tensor))


def _bytes(tensor: Tensor) -> Any:
    """A tensor [R, ...] as numpy bytes [R, n]."""
    import torch

    return tensor.contiguous().view(torch.uint8).reshape(len(tensor), -1).numpy()


def _state_digest(state: Any) -> str:
    """Over every visible tensor of the state: name, dtype, shape, bytes."""
    whole = sha256()
    for name, tensor in sorted(state.tensors().items()):
        whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        whole.update(_bytes(tensor.reshape(1, -1)))
    return whole.hexdigest()[:16]


FLOATS = {"torch.bfloat16": "bf16", "torch.float16": "f16", "torch.float32": "f32", "torch.float64": "f64"}


def _bits(tensor: Tensor) -> tuple[Any, str | None]:
    """A tensor's bits as numpy integers of its shape, and the name of its float format, None for other numbers."""
    import torch

    widths = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}
    return tensor.contiguous().view(widths[tensor.element_size()]).numpy(), FLOATS.get(str(tensor.dtype))


def _compiles() -> int:
    """Graphs that torch has compiled in this process; its compiler is not even loaded until something asks for it."""
    import sys

    dynamo = sys.modules.get("torch._dynamo.utils")
    counters: Mapping[str, Mapping[str, int]] = getattr(dynamo, "counters", {})
    return int(counters.get("stats", {}).get("unique_graphs", 0))
