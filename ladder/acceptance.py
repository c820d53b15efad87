"""What became of the drafts of an observe pass, counted draft by draft, in integers.

Draft i of a step was attempted where every draft before it was accepted and the text went on: those behind a rejected
one, an end of the text or a cap never had a chance. So hits over attempts is what a draft is worth that is looked at,
and steps of unlike ends can be added up.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def counted(steps: Sequence[Mapping[str, Any]], rows: int) -> dict[str, Any]:
    """Counts over steps as an observe sidecar tells them, each of `rows` rows.

    attempts, hits        by draft position, `rows - 1` of each
    accepted_by_verifier  drafts that were accepted, before any cut at the text's end
    committed             rows that were kept, one for each emitted token
    """
    reached = [_reached(step, rows - 1) for step in steps]
    return {
        "steps": len(steps),
        "emitted": sum(len(step["emitted"]) for step in steps),
        "attempts": [sum(attempts > place for attempts, _ in reached) for place in range(rows - 1)],
        "hits": [sum(hits > place for _, hits in reached) for place in range(rows - 1)],
        "accepted_by_verifier": sum(step["accepted"] for step in steps),
        "committed": sum(step["kept"] for step in steps),
    }


def _reached(step: Mapping[str, Any], drafts: int) -> tuple[int, int]:
    """How many drafts were attempted, and how many of them hit; a cut step emitted nothing but accepted drafts."""
    accepted, kept = step["accepted"], step["kept"]
    if kept <= accepted:
        return kept, kept
    return min(accepted + 1, drafts), accepted


def union(experts_by_layer: Sequence[int], experts: int, chosen: int, rows: int) -> dict[str, Any]:
    """How the experts that a step used compare with rows that chose `chosen` of `experts` alike and each alone.

    experts_alone     mean number that such rows would use, in thousandths: E (1 - (1 - k / E)^R)
    union_per_mille   by layer, what was used of it
    """
    alone = _nearest(1000 * (experts**rows - (experts - chosen) ** rows), experts ** (rows - 1))
    return {"experts_alone": alone, "union_per_mille": per_mille(experts_by_layer, alone)}


def per_mille(experts_by_layer: Sequence[int], alone: int) -> list[int]:
    """Thousandths of `alone` by layer."""
    return [_nearest(1000 * used, alone) for used in experts_by_layer]


def _nearest(numerator: int, denominator: int) -> int:
    """The whole number nearest to a ratio, the larger one from the middle between two."""
    return (2 * numerator + denominator) // (2 * denominator)
