"""Exact greedy acceptance: which drafts the model agrees with, and what a step therefore emits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Acceptance:
    """What one step settles.

    accepted  drafts the verifier agreed with, before any cut; for the per-position histogram
    emitted   tokens that the step adds to the text: what greedy decoding one token at a time would add
    kept      input rows whose state stays, one for each emitted token; for tokens per step
    finished  the text ended: an end token was emitted or the cap was reached
    """

    accepted: int
    emitted: tuple[int, ...]
    kept: int
    finished: bool


def accept(
    drafts: Sequence[int],
    argmax: Sequence[int],
    eos: int | None = None,
    ignore_eos: bool = False,
    cap: int | None = None,
) -> Acceptance:
    """Accept the longest prefix of `drafts` that equals the model's own choices.

    `argmax` holds one choice more than there are drafts: choice i is the model's token in place of draft i.
    Emission is cut behind the first `eos` (unless ignored) and at `cap` tokens.
    """
    assert len(argmax) == len(drafts) + 1
    assert cap is None or cap >= 1
    agrees = [draft == choice for draft, choice in zip(drafts, argmax, strict=False)] + [False]
    accepted = agrees.index(False)
    emitted = tuple(argmax[: accepted + 1])
    if eos is not None and not ignore_eos and eos in emitted:
        emitted = emitted[: emitted.index(eos) + 1]
        finished = True
    else:
        finished = False
    if cap is not None and len(emitted) >= cap:
        emitted = emitted[:cap]
        finished = True
    return Acceptance(accepted, emitted, kept=len(emitted), finished=finished)
