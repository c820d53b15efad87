"""The byte formula against the released totals."""

import pytest

from runtime import footprint
from runtime.config import named

FULL = named("full")


def test_a_routed_expert_has_18_800_640_bytes():
    assert footprint.expert_bytes(FULL) == 17_694_720 + 1_105_920


def test_the_released_checkpoint_adds_up():
    parts = footprint.stored_bytes(FULL)
    assert parts["experts"] / 2**30 == pytest.approx(268.95, abs=0.005)
    assert parts["engram"] == (384_006_168 + 384_016_682) * 264
    assert parts["draft"] / 1e9 == pytest.approx(7.93, abs=0.005)
    assert parts["all"] / 1e9 == pytest.approx(509.3, abs=0.05)


def test_one_row_reads_what_was_published():
    step = footprint.step(FULL, [6] * 40, head_bytes=footprint.F32_BYTES)
    assert step.projection_count == 290
    gigabytes = [step.projections, step.output_a, step.glue, step.head, step.experts]
    assert [round(size / 1e9, 2) for size in gigabytes] == [5.50, 2.68, 0.36, 2.65, 4.51]
    assert 15.65 < step.verify / 1e9 < 15.95


def test_six_rows_read_what_was_published():
    step = footprint.step(FULL, [22] * 40, [14.3] * 3)
    assert step.verify / 1e9 == pytest.approx(26.4, abs=0.05)
    assert step.total / 1e9 == pytest.approx(29.6, abs=0.1)


@pytest.mark.parametrize(("rows", "expected"), [(1, 6.0), (2, 11.9), (3, 17.7), (6, 34.6), (9, 50.7)])
def test_independent_rows_would_use_so_many_experts(rows, expected):
    assert footprint.uniform_union(384, 6, rows) == pytest.approx(expected, abs=0.05)


def test_a_slice_reads_its_share():
    assert footprint.step(named("slice10"), [22] * 10).verify / 1e9 == pytest.approx(7.8, abs=0.1)


def test_the_markov_head_is_read_once_a_draft():
    one, five, seven = (footprint.step(FULL, [22] * 40, [14.3] * 3, drafts=count).draft for count in (1, 5, 7))
    head = 2 * 129_280 * 256
    assert (five - one, seven - five) == (4 * head, 2 * head)
    assert footprint.step(FULL, [22] * 40, [14.3] * 3).draft == five
