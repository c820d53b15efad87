"""The candidate emits the control's tokens, or parts from them at a near-tie that was recorded."""

from typing import Any

import pytest

from gates.finding import Finding
from gates.judge import judge
from tests.gates import windows


def stream(*tokens: int, margins: list[int | None] | None = None) -> dict[str, Any]:
    """One tape decoded a token a step, and how far each choice was from a tie."""
    steps = []
    for at, token in enumerate(tokens):
        margin = {} if margins is None else {"margin_ulp": [margins[at]]}
        steps.append(windows.step(at, emitted=[token], **margin))
    return windows.observe(1, steps)


def found(a: dict[str, Any], b: dict[str, Any], a2: dict[str, Any] | None = None, **gate: Any) -> Finding:
    sidecars = {"A": a, "B": b, "A2": a if a2 is None else a2}
    arms = [windows.arm(name, [windows.observed(1, name)]) for name in sidecars]
    return judge({"gate": "tokens"} | gate, windows.window(arms, sidecars, workload={"rows": [1]}))


def test_equal_streams_are_met() -> None:
    assert found(stream(1, 2, 3), stream(1, 2, 3)).finding == "met"


def test_steps_may_be_cut_otherwise_so_long_as_the_tokens_are_the_same() -> None:
    two = windows.observe(1, [windows.step(0, emitted=[1, 2]), windows.step(2, emitted=[3])])
    assert found(stream(1, 2, 3), two).finding == "met"


def test_the_first_token_that_parts_is_named_with_both_values() -> None:
    finding = found(stream(1, 2, 3), stream(1, 7, 9))
    assert (finding.finding, finding.says) == (
        "unmet",
        "tokens part at tape prose, token 1: control 2, candidate 7, 1 rows",
    )


@pytest.mark.parametrize(("b", "says"), [((1, 2), "candidate ends"), ((1, 2, 3, 4), "candidate goes on")])
def test_a_stream_of_another_length_is_another_stream(b: tuple[int, ...], says: str) -> None:
    finding = found(stream(1, 2, 3), stream(*b))
    assert finding.finding == "unmet" and says in finding.says


@pytest.mark.parametrize(
    ("margin", "allowed", "answer"), [(1, 1, "met"), (2, 1, "unmet"), (0, 0, "met"), (1, 0, "unmet")]
)
def test_a_stream_may_part_where_the_control_was_this_near_a_tie(margin: int, allowed: int, answer: str) -> None:
    control = stream(1, 2, 3, margins=[90, margin, 90])
    assert found(control, stream(1, 7, 9), near_tie_ulp=allowed).finding == answer


def test_a_near_tie_is_recorded_and_what_follows_it_is_not_compared() -> None:
    finding = found(stream(1, 2, 3, margins=[90, 1, 90]), stream(1, 7, 9), near_tie_ulp=1)
    place = {"rows": 1, "tape": "prose", "token": 1, "control": 2, "candidate": 7, "margin_ulp": 1}
    assert finding.numbers == {"near_ties": [place]} and "1 parted at a near-tie" in finding.says


def test_no_margin_is_not_a_near_tie() -> None:
    for control in (stream(1, 2), stream(1, 2, margins=[90, None])):
        finding = found(control, stream(1, 7), near_tie_ulp=1000)
        assert (finding.finding, finding.code) == ("void", "missing_margin")


def test_a_control_that_does_not_repeat_itself_voids_it() -> None:
    finding = found(stream(1, 2), stream(1, 2), a2=stream(1, 3))
    assert (finding.finding, finding.code) == ("void", "controls_apart")


def test_other_tapes_cannot_be_compared() -> None:
    other = stream(1, 2)
    other["tapes"][0]["tape"] = "code"
    assert found(stream(1, 2), other).code == "tapes_differ"
