"""Schedules: every arm gets every tape once, and none gets the better places."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.turns import DESIGNS, PIECE_STEPS, Turn, alternating, in_sequence, pieces

ARMS = ["A", "B", "A2"]
SEEDS = st.text(max_size=8)


@pytest.mark.parametrize("design", sorted(DESIGNS))
@given(tapes=st.integers(1, 8), seed=SEEDS)
def test_every_arm_measures_every_tape_at_every_row_count_once(design: str, tapes: int, seed: str) -> None:
    turns = DESIGNS[design](ARMS, [6, 1], tapes, seed)
    assert Counter(turns) == Counter(Turn(*each) for each in itertools.product(ARMS, [6, 1], range(tapes)))


@given(tapes=st.integers(1, 8), seed=SEEDS)
def test_in_turns_the_arms_of_a_tape_stand_next_to_each_other(tapes: int, seed: str) -> None:
    turns = alternating(ARMS, [6, 1], tapes, seed)
    for at in range(0, len(turns), len(ARMS)):
        block = turns[at : at + len(ARMS)]
        assert len({(turn.rows, turn.tape) for turn in block}) == 1
        assert {turn.arm for turn in block} == set(ARMS)


@given(seed=SEEDS)
def test_in_turns_every_order_comes_before_any_comes_again(seed: str) -> None:
    turns = alternating(ARMS, [6], 6, seed)
    orders = {tuple(turn.arm for turn in turns[at : at + 3]) for at in range(0, len(turns), 3)}
    assert len(orders) == 6


@given(seed=SEEDS)
def test_in_sequence_the_arms_go_through_the_same_tapes_in_the_same_order(seed: str) -> None:
    turns = in_sequence(ARMS, [6, 1], 8, seed)
    assert [turn.arm for turn in turns] == [arm for arm in ARMS for _ in range(16)]
    by_arm = [[(turn.rows, turn.tape) for turn in turns if turn.arm == arm] for arm in ARMS]
    assert by_arm[0] == by_arm[1] == by_arm[2]


@given(tapes=st.integers(1, 4), steps=st.integers(1, 70), seed=SEEDS)
def test_every_arm_measures_every_step_once_and_in_order_whatever_the_pieces(tapes: int, steps: int, seed: str) -> None:
    found = list(pieces(alternating(ARMS, [6], tapes, seed), lambda _: steps))
    for arm, tape in itertools.product(ARMS, range(tapes)):
        mine = [piece for piece in found if (piece.turn.arm, piece.turn.tape) == (arm, tape)]
        assert [step for piece in mine for step in range(piece.first, piece.end)] == list(range(steps))
    assert max(piece.end - piece.first for piece in found) <= PIECE_STEPS


@given(steps=st.integers(9, 70), seed=SEEDS)
def test_arms_take_turns_at_each_piece_in_an_order_that_turns_round(steps: int, seed: str) -> None:
    found = list(pieces(alternating(ARMS, [6], 1, seed), lambda _: steps))
    orders = [[piece.turn.arm for piece in found[at : at + 3]] for at in range(0, len(found), 3)]
    assert all(order == (orders[0] if index % 2 == 0 else orders[0][::-1]) for index, order in enumerate(orders))


def test_in_sequence_a_tape_is_measured_without_a_pause() -> None:
    assert len(list(pieces(in_sequence(ARMS, [6], 8, "a"), lambda _: 32))) == 24


def test_the_seed_alone_decides_the_order() -> None:
    drawn = [alternating(ARMS, [6, 1], 8, seed) for seed in ("a", "a", "b")]
    assert drawn[0] == drawn[1] != drawn[2]
