"""A row's logits do not depend on how many rows ride along; where they do, the row is named."""

from pathlib import Path
from typing import Any

import numpy
import pytest

from gates.digest import array_digest
from gates.finding import Finding
from gates.judge import judge
from tests.gates import windows

N01 = Path(__file__).parents[1] / "data" / "N01"


def found(several: list[dict[str, Any]], alone: list[dict[str, Any]], rows: list[int] | None = None) -> Finding:
    """The gate's answer for a candidate that took these steps of 6 rows and of one row."""
    candidate = windows.arm("B", [windows.observed(6, "six"), windows.observed(1, "one")])
    sidecars = {"six": windows.observe(6, several), "one": windows.observe(1, alone)}
    return judge({"gate": "rows"}, windows.window([candidate], sidecars, workload={"rows": rows or [6, 1]}))


def alone(count: int) -> list[dict[str, Any]]:
    return [windows.step(position) for position in range(count)]


def test_rows_that_equal_their_one_row_steps_are_counted() -> None:
    finding = found([windows.step(0, 6, kept=6), windows.step(6, 6, kept=2)], alone(8))
    assert (finding.finding, finding.numbers) == ("met", {"compared": 8})


@pytest.mark.parametrize("row", [0, 3, 5])
def test_a_row_that_differs_is_named_with_its_step_and_position(row: int) -> None:
    step = windows.step(6, 6, kept=6)
    step["logits"][row] = "f" * 16
    finding = found([windows.step(0, 6, kept=6), step], alone(12))
    assert finding.finding == "unmet"
    assert finding.says == (f"row {row} of 6 differs from the one-row step: tape prose, step 1, position {6 + row}")


def test_a_rejected_row_has_no_counterpart_and_is_not_compared() -> None:
    step = windows.step(0, 6, kept=2)
    step["logits"][2:] = ["f" * 16] * 4
    assert found([step], alone(6)).numbers == {"compared": 2}


def test_six_rows_of_a_product_that_splits_by_row_count_are_caught_at_row_4() -> None:
    one, six = (numpy.load(N01 / f"rows{count}.npy") for count in (1, 6))
    several = windows.step(0, 6, kept=6, logits=[array_digest(row)[:16] for row in six])
    single = [windows.step(at, logits=[array_digest(row)[:16]]) for at, row in enumerate(one)]
    finding = found([several], single)
    assert finding.finding == "unmet" and finding.says.startswith("row 4 of 6 differs")


def test_the_same_rows_at_the_same_count_are_equal() -> None:
    first, again = (numpy.load(N01 / f"rows6{name}.npy") for name in ("", "_repeat"))
    assert array_digest(first) == array_digest(again)


@pytest.mark.parametrize("rows", [[6], [1], [6, 2]])
def test_without_a_one_row_pass_nothing_can_be_said(rows: list[int]) -> None:
    finding = found([windows.step(0, 6, kept=6)], alone(6), rows)
    assert (finding.finding, finding.code) == ("void", "missing_pass")


def test_passes_without_a_common_position_say_nothing() -> None:
    finding = found([windows.step(100, 6, kept=6)], alone(6))
    assert (finding.finding, finding.code) == ("void", "missing_pass")
