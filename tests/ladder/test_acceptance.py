"""Drafts are counted as what happened to each, over those that had a chance."""

import random
from typing import Any

import pytest

from ladder.acceptance import counted, union

DRAFTS = 5


def step(accepted: int, kept: int | None = None, drafts: int = DRAFTS) -> dict[str, Any]:
    kept = accepted + 1 if kept is None else kept
    return {"fed": list(range(drafts + 1)), "accepted": accepted, "kept": kept, "emitted": [7] * kept}


@pytest.mark.parametrize(
    ("accepted", "kept", "attempts", "hits"),
    [
        (0, 1, [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
        (3, 4, [1, 1, 1, 1, 0], [1, 1, 1, 0, 0]),
        (5, 6, [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
        (5, 3, [1, 1, 1, 0, 0], [1, 1, 1, 0, 0]),
        (3, 3, [1, 1, 1, 0, 0], [1, 1, 1, 0, 0]),
        (5, 5, [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
        (5, 1, [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]),
    ],
    ids=[
        "none",
        "some",
        "all",
        "an end inside",
        "an end in place of a rejection",
        "a cap at the bonus",
        "a cap of one",
    ],
)
def test_a_draft_behind_a_rejection_or_an_end_was_never_attempted(
    accepted: int, kept: int, attempts: list[int], hits: list[int]
) -> None:
    told = counted([step(accepted, kept)], DRAFTS + 1)
    assert (told["attempts"], told["hits"]) == (attempts, hits)
    assert (told["accepted_by_verifier"], told["committed"], told["emitted"]) == (accepted, kept, kept)


def test_counts_are_sums_over_steps() -> None:
    told = counted([step(0), step(3), step(5), step(5, 2)], DRAFTS + 1)
    assert told["attempts"] == [4, 3, 2, 2, 1] and told["hits"] == [3, 3, 2, 1, 1]
    assert (told["steps"], told["emitted"], told["accepted_by_verifier"], told["committed"]) == (4, 13, 13, 13)


def test_without_cuts_tokens_a_step_are_one_and_every_drafts_share_of_steps() -> None:
    draw = random.Random(3)
    told = counted([step(draw.randrange(8), drafts=7) for _ in range(200)], 8)
    assert told["emitted"] == told["steps"] + sum(told["hits"])
    assert told["attempts"] == [told["steps"], *told["hits"][:-1]]


def test_ends_leave_what_a_draft_is_worth_as_it_was() -> None:
    """Each draft hits with 0.7; texts end anywhere. Counting rejected and cut steps alike would say less."""
    draw = random.Random(5)
    steps = []
    for _ in range(20_000):
        accepted = next((i for i in range(DRAFTS) if draw.random() > 0.7), DRAFTS)
        steps.append(step(accepted, min(accepted + 1, draw.randint(1, 9))))
    told = counted(steps, DRAFTS + 1)
    marginals = [hits / attempts for hits, attempts in zip(told["hits"], told["attempts"], strict=True)]
    assert marginals == pytest.approx([0.7] * DRAFTS, abs=0.02)
    naive = sum(each["kept"] > DRAFTS - 1 and each["accepted"] == DRAFTS for each in steps) / len(steps)
    assert naive < 0.7**DRAFTS - 0.04


def test_one_row_has_no_drafts() -> None:
    assert counted([step(0, drafts=0)] * 3, 1)["attempts"] == []


@pytest.mark.parametrize(("experts", "chosen", "rows"), [(32, 4, 6), (384, 6, 6), (384, 6, 9), (16, 2, 1)])
def test_rows_that_choose_alone_use_as_many_experts_as_such_rows_do(experts: int, chosen: int, rows: int) -> None:
    draw = random.Random(experts + rows)
    used = [len({e for _ in range(rows) for e in draw.sample(range(experts), chosen)}) for _ in range(4000)]
    told = union([1000 * chosen], experts, chosen, rows)
    assert told["experts_alone"] / 1000 == pytest.approx(sum(used) / len(used), rel=0.01)
    assert told["union_per_mille"] == [round(1e6 * chosen / told["experts_alone"])]
