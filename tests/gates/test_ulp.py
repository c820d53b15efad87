"""The ulp gate, over what a site gave beside its control."""

from typing import Any

import pytest

from gates import ulp
from tests.gates.windows import arm, window

FIRST = {"tape": "prose", "step": 0, "layer": 3, "value": "head", "row": 1, "element": 7}
FIRST |= {"control": "3f80", "candidate": "3f81"}


def finding(bar: int, share: float | None = None, **told: Any) -> Any:
    beside = {"compared": 1000, "differing": 0, "max_ulp": 0, "first": None, **told}
    gate = {"gate": "ulp", "max_ulp": bar} | ({} if share is None else {"share_ppm": share})
    return ulp.judge(gate, window([arm("A", []), arm("A2", []), arm("B", [], beside={"head": beside})]))


@pytest.mark.parametrize(
    ("bar", "share", "told", "expected"),
    [
        (0, None, {}, "met"),
        (1, None, {"differing": 3, "max_ulp": 1, "first": FIRST}, "met"),
        (0, None, {"differing": 3, "max_ulp": 1, "first": FIRST}, "unmet"),
        (0, None, {"differing": 1, "max_ulp": 0, "first": FIRST}, "met"),  # -0 for +0: other bits, no distance
        (0, 999, {"differing": 1, "max_ulp": 0, "first": FIRST}, "unmet"),
        (4, 3000, {"differing": 3, "max_ulp": 1, "first": FIRST}, "met"),
        (4, 2999, {"differing": 3, "max_ulp": 1, "first": FIRST}, "unmet"),
        (2**32 - 1, None, {"differing": 1, "max_ulp": None, "first": FIRST}, "unmet"),  # NaN, or overflow
        (2**32 - 1, None, {"differing": 1000, "max_ulp": None, "unlike": "head is f32 [6, 1]"}, "unmet"),
    ],
)
def test_the_bar_holds_for_distance_and_for_share(bar: int, share: Any, told: Any, expected: str) -> None:
    assert finding(bar, share, **told).finding == expected


def test_another_shape_is_named_before_any_value() -> None:
    says = finding(9, differing=1000, max_ulp=None, unlike="head is f32 [6, 1], the control's f32 [6, 8]").says
    assert says == "site head: head is f32 [6, 1], the control's f32 [6, 8]"


def test_the_first_place_is_named_with_both_values() -> None:
    says = finding(0, differing=1, max_ulp=1, first=FIRST).says
    assert "layer 3, head, row 1, element 7: control 3f80 (1), candidate 3f81 (1.00781)" in says


def test_a_site_that_was_not_compared_is_void() -> None:
    gate = {"gate": "ulp", "max_ulp": 9}
    for beside in ({}, {"head": {"compared": 0, "differing": 0, "max_ulp": 0, "first": None}}):
        with pytest.raises(Exception, match="was not run beside its control"):
            ulp.judge(gate, window([arm("B", [], beside=beside)]))
