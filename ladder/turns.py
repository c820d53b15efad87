"""Who is measured when: an order drawn before the window, so that no arm can have the quiet moments to itself."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

PIECE_STEPS = 4  # under half a second on the CPU: what disturbs a machine for longer falls on every arm alike


@dataclass(frozen=True)
class Turn:
    """One arm's run over one tape at one row count; `tape` is the tape's number."""

    arm: str
    rows: int
    tape: int

    def __str__(self) -> str:
        return f"{self.arm} rows {self.rows} tape {self.tape}"


def alternating(arms: Sequence[str], rows: Sequence[int], tapes: int, seed: str) -> list[Turn]:
    """Blocks of a tape and a row count in seeded order; in each block every arm once, next to each other in time.

    Orders within the blocks of a row count go through all permutations of the arms before any comes again, so that
    every arm is first, middle and last about equally often.
    """
    draw = random.Random(seed)
    blocks = [(count, tape, order) for count in rows for tape, order in enumerate(_orders(arms, tapes, draw))]
    draw.shuffle(blocks)
    return [Turn(arm, count, tape) for count, tape, order in blocks for arm in order]


def in_sequence(arms: Sequence[str], rows: Sequence[int], tapes: int, seed: str) -> list[Turn]:
    """One arm after the other, each through the same seeded order of tapes and row counts."""
    blocks = [(count, tape) for count in rows for tape in range(tapes)]
    random.Random(seed).shuffle(blocks)
    return [Turn(arm, count, tape) for arm in arms for count, tape in blocks]


def _orders(arms: Sequence[str], count: int, draw: random.Random) -> list[tuple[str, ...]]:
    every = list(itertools.permutations(arms))
    found: list[tuple[str, ...]] = []
    while len(found) < count:
        draw.shuffle(every)
        found += every
    return found[:count]


@dataclass(frozen=True)
class Piece:
    """Consecutive steps of a turn, `first` to before `end`, measured without a pause."""

    turn: Turn
    first: int
    end: int


def pieces(schedule: Sequence[Turn], steps_of: Callable[[Turn], int]) -> Iterator[Piece]:
    """The schedule as it is measured: where arms take turns at a tape, they do so every PIECE_STEPS steps or less.

    The arms' order is turned round from piece to piece, so that a straight drift falls on none of them.
    """
    for _, group in itertools.groupby(schedule, lambda turn: (turn.rows, turn.tape)):
        block = list(group)
        steps = steps_of(block[0])
        count = max(1, -(-steps // PIECE_STEPS)) if len(block) > 1 else 1
        edges = [steps * index // count for index in range(count + 1)]
        for index, (first, end) in enumerate(itertools.pairwise(edges)):
            for turn in block if index % 2 == 0 else reversed(block):
                yield Piece(turn, first, end)


DESIGNS = {"turns": alternating, "A-B-A2": in_sequence}
