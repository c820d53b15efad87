"""A cache that rejected rows passed through holds what one-token decoding would have left."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.cache import Cache, Layout

SETS = json.loads((Path(__file__).parent.parent / "data" / "S04" / "sets.json").read_text())
LAYOUT = Layout(
    windows=1,
    window=SETS["window"],
    ring=SETS["ring"],
    head_dim=1,
    index_dim=1,
    ratios={0: 1, 1: 2, 2: 4},
    rows=SETS["rows"],
    context=96,
)


def toy_step(cache: Cache, rows: int, kept: int) -> None:
    """Every value is its own position number; rows that will be rejected write -1 instead.

    Ratio 2 pools its pairs by a sum; ratio 4, which the model does not have, writes the number of its slot.
    """
    positions = cache.begin(rows)
    values = torch.where(torch.arange(rows) < kept, positions, -1)[:, None].float()
    cache.write_window(0, positions, values)
    cache.write_history(positions, values[:, 0].long())
    cache.write_compressed(0, values, values)
    pairs = cache.pairs(1, values, -values)
    cache.write_compressed(1, pairs.k.sum(1), pairs.s.sum(1))
    slots = torch.tensor(cache.closing(2), dtype=torch.float32)[:, None]
    cache.write_compressed(2, slots, slots)
    cache.commit(kept)


def one_at_a_time(length: int) -> Cache:
    cache = Cache(LAYOUT)
    for _ in range(length):
        toy_step(cache, rows=1, kept=1)
    return cache


def same(a: Cache, b: Cache) -> bool:
    left, right = a.tensors(), b.tensors()
    return list(left) == list(right) and all(torch.equal(left[name], right[name]) for name in left)


def readable(cache: Cache) -> list[int]:
    """Positions that a row at the last committed position sees, from the values themselves."""
    kv, visible = cache.read_window(0, torch.tensor([cache.next_position - 1]))
    return kv[visible][:, 0].int().tolist()


@pytest.mark.parametrize("run", SETS["starts"], ids=lambda run: f"start {run['start']}")
def test_after_each_step_the_listed_positions_and_no_rejected_one_can_be_read(run):
    cache = one_at_a_time(run["start"])
    for expected in run["steps"]:
        toy_step(cache, SETS["rows"], kept=expected["accepted"] + 1)
        assert cache.next_position == expected["length"]
        assert readable(cache) == expected["window"]
        assert not set(readable(cache)) & set(expected["rejected"])
        assert len(cache.tensors()["latents.2"]) == expected["blocks_of_4"]
        assert same(cache, one_at_a_time(expected["length"]))


@settings(max_examples=40, deadline=None)
@given(start=st.integers(0, 17), steps=st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), max_size=9))
def test_no_sequence_of_row_counts_and_rejections_leaves_a_trace(start, steps):
    cache = Cache(replace(LAYOUT, rows=8))
    for _ in range(start):
        toy_step(cache, 1, 1)
    for rows, kept in steps:
        toy_step(cache, rows, min(kept, rows))
    assert same(cache, one_at_a_time(cache.next_position))


def test_a_ring_without_room_for_the_rejected_rows_loses_history():
    """Negative control: with ring = window, rejected rows overwrite what the next step still reads."""
    cache = Cache(replace(LAYOUT, ring=LAYOUT.window))
    for kept in (6, 6, 1):
        toy_step(cache, 6, kept)
    assert readable(cache) != list(range(5, 13))


def test_forgetting_the_pending_pair_is_seen():
    """Negative control: a commit that only moves the position leaves a wrong partner for the next row."""

    class Forgetful(Cache):
        def commit(self, kept):
            self.next_position += kept

    cache = Forgetful(LAYOUT)
    for kept in (3, 3):
        toy_step(cache, 6, kept)
    assert not same(cache, one_at_a_time(6))


def test_restore_takes_back_every_buffer():
    cache = one_at_a_time(21)
    snapshot = cache.snapshot()
    before = {name: tensor.clone() for name, tensor in cache.tensors().items()}
    toy_step(cache, 6, 4)
    cache.restore(snapshot)
    after = cache.tensors()
    assert list(before) == list(after)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_rows_of_one_step_see_each_other_and_nothing_later():
    cache = one_at_a_time(5)
    positions = cache.begin(6)
    cache.write_window(0, positions, positions[:, None].float())
    kv, visible = cache.read_window(0, positions)
    seen = [kv[row][visible[row]][:, 0].int().tolist() for row in range(6)]
    assert seen == [list(range(max(0, p - 7), p + 1)) for p in range(5, 11)]
