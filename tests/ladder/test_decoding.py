"""A decoder as a worker's subject: what is hashed, counted, poisoned and held against what was seen before."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ladder import forcing, soaking
from ladder.apart import Apart
from ladder.decoding import Decoding, _bits

VOCABULARY = 16


@dataclass
class Forced:
    tokens: tuple[int, ...]
    kept: int
    next: int


class Site:
    """A place whose output buffer a step writes; `leaves` of its elements it forgets to."""

    def __init__(self, address: str) -> None:
        self.name, self.calls, self.buffer = "head", 0, torch.zeros(6, VOCABULARY)
        self.kernel = SimpleNamespace(address=address, source_sha256="a" * 64)


@dataclass
class Table:
    site: Site = field(default_factory=lambda: Site("head/reference"))
    poisoned: list[int] = field(default_factory=list)

    def all(self) -> list[Site]:
        return [self.site]

    def reset_launches(self) -> None:
        self.site.calls = 0

    def poison(self, byte: int) -> None:
        self.poisoned.append(byte)
        self.site.buffer.view(torch.uint8).fill_(byte)


@dataclass
class State:
    last: int = 0
    position: int = 0

    def snapshot(self) -> tuple[int, int]:
        return self.last, self.position

    def restore(self, snapshot: tuple[int, int]) -> None:
        self.last, self.position = snapshot

    def tensors(self) -> dict[str, torch.Tensor]:
        return {"last": torch.tensor([self.last, self.position])}


@dataclass
class Decoder:
    """Counts upwards, two tokens a step of several rows; `forgets` one element of its output, `drifts` with time."""

    at: Table
    config: Any = field(default_factory=lambda: SimpleNamespace(n_routed_experts=16, num_experts_per_tok=4))
    forgets: bool = False
    drifts: bool = False
    callback: Callable[..., None] | None = None
    steps: int = 0
    temper: float = 1.0  # what another configuration multiplies its logits by

    def new_state(self) -> State:
        return State()

    def prefill(self, state: State, prompt: tuple[int, ...]) -> None:
        state.last, state.position = prompt[-1], len(prompt)

    def observed(self, callback: Callable[..., None]) -> "Decoder":
        return Decoder(self.at, self.config, self.forgets, self.drifts, callback)

    def step(self, state: State, rows: int, forced: Forced | None = None, ignore_eos: bool = False) -> Any:
        fed = forced.tokens if forced else tuple((state.last + row) % VOCABULARY for row in range(rows))
        self.steps += 1
        logits = self.at.site.buffer[:rows]
        logits[:, int(self.forgets) :] = torch.nn.functional.one_hot((torch.tensor(fed) + 1) % VOCABULARY, VOCABULARY)[
            :, int(self.forgets) :
        ].float()
        logits *= self.temper
        if self.drifts:
            logits[0, 3] = self.steps / 100
        self.at.site.calls += 1
        if self.callback:
            self.callback(0, "head", "head", logits)
        argmax = tuple((token + 1) % VOCABULARY for token in fed)
        kept = forced.kept if forced else min(rows, 2)
        emitted = argmax[:kept]
        position = state.position
        state.last, state.position = emitted[-1], position + kept
        facts = {"position": position, "fed": fed, "logits": logits, "argmax": argmax, "accepted": kept - 1}
        return SimpleNamespace(**facts, kept=kept, emitted=emitted, drafts=(), experts=[4, 6])


def decoding(temper: float = 1.0, **decoder: Any) -> Decoding:
    table = Table()
    tapes = [SimpleNamespace(name=name, prompt=(1, 2, 3 + at)) for at, name in enumerate(("prose", "code"))]
    return Decoding(
        decoder=Decoder(table, **decoder),
        at=table,
        tapes=tapes,
        forced=Forced,
        beside_table=lambda *_: table,
        table_of=lambda _: Table(),
        decoder_of=lambda bound: Decoder(bound, temper=temper),
        model={"name": "tiny", "checkpoint_sha256": None, "arithmetic": "product"},
        tell=lambda _: None,
    )


def observe(subject: Decoding, fill: str = "5a", rows: int = 6, reach: int = 12) -> dict[str, Any]:
    asked = {"rows": rows, "fill": fill, "tapes": 2, "new_tokens": 6, "sites": fill == "5a"}
    return subject.observe({**asked, "reach": {"tapes": 2, "new_tokens": reach}})


def measure(subject: Decoding, steps: list[Any], first: int = 0, is_last: bool = True) -> dict[str, Any]:
    return subject.measure({"rows": 6, "tape": 0, "steps": steps, "first": first})


def test_both_fills_give_the_same_sidecar_and_every_step_is_poisoned() -> None:
    subject = decoding()
    told = [observe(subject, fill)["sidecar"] for fill in ("5a", "ff")]
    assert told[0] == told[1]
    assert {0x5A, 0xFF} == set(subject.at.poisoned) and len(subject.at.poisoned) >= subject.decoder.steps


def test_an_element_that_is_never_written_shows_between_fills() -> None:
    subject = decoding(forgets=True)
    told = [observe(subject, fill)["sidecar"] for fill in ("5a", "ff")]
    assert told[0]["tapes"][0]["steps"][0]["logits"] != told[1]["tapes"][0]["steps"][0]["logits"]


def test_only_the_recorded_part_is_told_and_counted_though_the_tape_goes_on() -> None:
    told = observe(decoding())
    assert told["item"]["steps"] == told["item"]["launches"]["total"] == 6  # three of two tokens, two tapes
    assert told["item"]["launches"]["by_site"] == {"head": {"head/reference": 6}}
    assert [len(stream) for stream in told["streams"]] == [6, 6]
    assert told["item"]["experts_by_layer"] == [4000, 6000]


def test_drafts_and_experts_are_counted_over_the_recorded_part() -> None:
    """Two tokens a step: the first draft hits, the second does not, and none behind it is attempted."""
    told = observe(decoding())["item"]["acceptance"]
    assert (told["attempts"], told["hits"]) == ([6, 6, 0, 0, 0], [6, 0, 0, 0, 0])
    assert (told["accepted_by_verifier"], told["committed"], told["emitted"], told["steps"]) == (6, 12, 12, 6)
    assert told["experts_alone"] == round(16_000 * (1 - 0.75**6))
    assert told["union_per_mille"] == [round(4000 / 16 / (1 - 0.75**6)), round(6000 / 16 / (1 - 0.75**6))]


def test_the_first_steps_are_hashed_value_by_value_and_row_by_row() -> None:
    steps = observe(decoding())["sites"]["tapes"][0]["steps"]
    assert len(steps) == 3 and steps[0][0][:2] == [0, "head"] and len(steps[0][0][2]) == 6 * 8


def test_measured_steps_are_held_against_the_observed_ones_piece_by_piece() -> None:
    subject = decoding()
    steps = observe(subject)["streams"][0]
    told = [measure(subject, steps[:4], is_last=False), measure(subject, steps[4:], first=4)]
    assert [each["compared"] for each in told] == [4, 2]
    assert not any(each["moved"]["tokens"] or each["moved"]["logits"] for each in told)
    assert all(ns > 0 for each in told for ns in each["wall_ns"])


def test_logits_that_move_between_the_passes_are_noticed_at_the_tapes_end() -> None:
    subject = decoding(drifts=True)
    steps = observe(subject)["streams"][0]
    assert measure(subject, steps)["moved"] == {"tokens": False, "logits": True}


def test_forced_tokens_are_told_with_their_logprobs_and_the_distance_to_another_configuration() -> None:
    """Against fp64: one logit is 1 and fifteen are 0; the other configuration doubles the one."""
    subject = decoding(temper=2.0)
    streams = observe(subject)["streams"]
    told = subject.force({"rows": 6, "streams": streams, "against": {"parent": {}}})["sidecar"]
    assert (told["kind"], [tape["tape"] for tape in told["tapes"]]) == ("forced", ["prose", "code"])
    tape, other = told["tapes"][0], told["tapes"][0]["against"]["parent"]
    assert tape["token"] == tape["top"] == [(3 + at + 1) % VOCABULARY for at in range(12)]
    own, theirs = (value - math.log(math.exp(value) + 15) for value in (1.0, 2.0))
    rest, others = own - 1, theirs - 2
    kl = math.exp(theirs) * (theirs - own) + 15 * math.exp(others) * (others - rest)
    assert tape["logprob_nano"] == [round(own * 1e9)] * 12
    assert other["logprob_nano"] == [round(theirs * 1e9)] * 12
    assert other["kl_nano"] == [pytest.approx(kl * 1e9, abs=1)] * 12
    assert tape["logits"] != other["logits"]


def test_what_is_no_number_has_no_logprob() -> None:
    told = forcing.tape("prose", [0], torch.full((1, 4), torch.nan), {}, lambda rows: [])
    assert told["logprob_nano"] == [None]


def test_a_step_that_changes_from_call_to_call_is_counted() -> None:
    for drifts in (False, True):
        subject = decoding(drifts=drifts)
        observe(subject)
        told = subject.repeat({"rows": 6, "calls": 8})["repeat"]
        assert (told["calls"], told["differing"] > 0, told["first"] is not None) == (8, drifts, drifts)


class Counting:
    """A site that gives another output at every hundredth call."""

    def __init__(self, late: bool) -> None:
        self.late, self.calls, self.buffers = late, 0, (torch.zeros(2, 3),)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.buffers[0].copy_(x)
        if self.late and self.calls % 100 == 0:
            self.buffers[0][1, 2] = torch.nextafter(self.buffers[0][1, 2], torch.tensor(9.0))
        return self.buffers[0]


@pytest.mark.parametrize(("late", "differing", "first"), [(False, 0, None), (True, 9, 98)])
def test_every_hundredth_unlike_call_of_a_soak_is_counted(late: bool, differing: int, first: int | None) -> None:
    kept = soaking.Kept(Counting(late))
    x = torch.ones(2, 3)
    kept(x)
    x.zero_()  # what is kept is a copy
    told = soaking.soak(kept, 950, lambda calls: None)
    assert (told["calls"], told["differing"], told["first"]) == (950, differing, first)


def test_a_tape_of_another_arm_is_compared_only_as_far_as_it_is_ones_own() -> None:
    subject = decoding()
    steps = observe(subject)["streams"][0]
    steps[2] = [[7, 7, 7, 7, 7, 7], *steps[2][1:]]
    assert measure(subject, steps)["compared"] == 2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int64, torch.bool], ids=str)
def test_equal_tensors_of_any_kind_are_nowhere_apart(dtype: torch.dtype) -> None:
    apart, tensor = Apart(), torch.ones(3, 5).to(dtype)
    apart.add(*_bits(tensor), *_bits(tensor.clone()), {})
    assert (apart.compared, apart.differing, apart.first) == (15, 0, None)


def test_the_first_unlike_element_is_told_with_its_place_and_both_values() -> None:
    apart, control = Apart(), torch.ones(3, 5).bfloat16()
    candidate = control.clone()
    candidate[1, 2] += 2**-7
    apart.add(*_bits(control), *_bits(candidate), {"tape": "prose"})
    assert apart.first == {"tape": "prose", "row": 1, "element": 2, "control": "3f80", "candidate": "3f81"}
    assert (apart.differing, apart.max_ulp, apart.histogram) == (1, 1, {"0": 14, "1": 1})


def test_another_shape_or_dtype_is_told_in_words_and_no_value_is_compared() -> None:
    reference = torch.ones(6, 8)
    others = {"[6, 1]": reference[:, :1], "[48]": reference.flatten(), "[]": reference[0, 0], "f64": reference.double()}
    for named, other in others.items():
        apart = Apart()
        apart.add(*_bits(reference), *_bits(other), {"value": "head"})
        assert apart.told()["unlike"].startswith("head is f") and named in apart.told()["unlike"]
        assert apart.max_ulp is None and apart.differing == 48


def test_infinities_and_nan_are_counted_on_either_side() -> None:
    apart, control = Apart(), torch.tensor([[1.0, torch.inf, torch.nan]])
    apart.add(*_bits(control), *_bits(torch.tensor([[1.0, -torch.inf, torch.nan]])), {})
    assert apart.told()["nonfinite"] == [2, 2]
    assert (apart.differing, apart.max_ulp) == (1, None)


def test_whole_numbers_that_differ_have_no_distance() -> None:
    apart = Apart()
    apart.add(*_bits(torch.tensor([[1, 2]])), *_bits(torch.tensor([[1, 3]])), {})
    assert (apart.differing, apart.max_ulp) == (1, None)
