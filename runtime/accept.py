"""What a step emits of what was accepted, and exact greedy acceptance: which drafts the model agrees with."""

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
    accepted = agreeing(drafts, argmax)
    return cut(accepted, argmax[: accepted + 1], eos, ignore_eos, cap)


def agreeing(drafts: Sequence[int], argmax: Sequence[int]) -> int:
    """How many drafts there are before the first that is not the model's own choice."""
    assert len(argmax) == len(drafts) + 1
    return [*(draft == choice for draft, choice in zip(drafts, argmax, strict=False)), False].index(False)


def cut(
    accepted: int,
    tokens: Sequence[int],
    eos: int | None = None,
    ignore_eos: bool = False,
    cap: int | None = None,
) -> Acceptance:
    """Emit `tokens`, the accepted drafts and one more, up to the first `eos` (unless ignored) or to `cap` tokens."""
    assert len(tokens) == accepted + 1
    assert cap is None or cap >= 1
    emitted = tuple(tokens)
    finished = eos is not None and not ignore_eos and eos in emitted
    if finished:
        emitted = emitted[: emitted.index(eos) + 1]
    if cap is not None and len(emitted) >= cap:
        emitted = emitted[:cap]
        finished = True
    return Acceptance(accepted, emitted, kept=len(emitted), finished=finished)
