"""A model fed recorded tokens: what it says of each, in whole numbers, and how far another configuration says else."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ladder.instruments import Message

Tensor = Any
NANO = 1e9


def tape(
    name: str, tokens: Sequence[int], own: Tensor, others: Mapping[str, Tensor], rows_hex: Callable[..., Any]
) -> Message:
    """One tape as the `forced` sidecar holds it.

    tokens  the N tokens that were forced
    own     [N, V] f32, the logits that chose each
    others  the same of other configurations, by name
    """
    return {
        "tape": name,
        "token": list(tokens),
        **_said(tokens, own, rows_hex),
        "against": {
            other: {**_said(tokens, logits, rows_hex), "kl_nano": _kl_nano(logits, own)}
            for other, logits in others.items()
        },
    }


def forced_tokens(steps: Sequence[Any]) -> list[int]:
    """The tokens that the kept rows of recorded steps go on with: the kept drafts, then the recorded next one."""
    return [token for step in steps for token in (*step.tokens[1 : step.kept], step.next)]


def _said(tokens: Sequence[int], logits: Tensor, rows_hex: Callable[..., Any]) -> Message:
    import torch

    logprobs = torch.log_softmax(logits.double(), -1)
    picked = logprobs[torch.arange(len(tokens)), torch.tensor(tokens)]
    return {
        "logprob_nano": [_nano(value) for value in picked.tolist()],
        "top": logits.argmax(-1).tolist(),
        "logits": rows_hex(logits),
    }


def _kl_nano(other: Tensor, own: Tensor) -> list[int | None]:
    """KL(other || own) of each row over the whole vocabulary, in f64."""
    import torch

    p, q = (torch.log_softmax(logits.double(), -1) for logits in (other, own))
    return [_nano(value) for value in (p.exp() * (p - q)).sum(-1).tolist()]


def _nano(nats: float) -> int | None:
    """Nats in whole thousand-millionths; None for what is no number or beyond a record's integers."""
    return round(nats * NANO) if abs(nats) < 9e6 else None  # false for NaN
