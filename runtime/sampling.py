"""Sampling and the verification of sampled drafts, in integers wherever something is summed.

A distribution is a row of integer weights: the highest logit has 2^32, and a token's probability is its weight's share
of the row. Sums of integers have one value in any order, and what is left over is elementwise f64, which IEEE 754
settles; so every device draws the same token and accepts the same drafts.

Two ways to verify k drafts x_1..x_k, drawn from the draft's distributions, against the model's; either way the text is
distributed as the model alone would have written it:

token  each draft on its own: accepted with min(1, model / draft), up to the first that is not (Leviathan et al., Fast
       Inference from Transformers via Speculative Decoding)
block  the drafts together: what one accepted draft had to spare counts for the next (Sun et al., Block Verification
       Accelerates Speculative Decoding, Algorithm 2). Accepts at least as many in the mean.

Leading dimensions [...] hold sequences that have nothing to do with one another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

WEIGHT_BITS = 32
SHARE = 2.0**52  # a probability of 1 as a residual weight: its sums are exact in int64 and in f64
TERMS = 16  # of 2^f's series: the first left out is below 2^-60


def weights(logits: Tensor, temperature: float) -> Tensor:
    """Integer weights [..., V] int64 of f32 logits [..., V]: 2^32 exp((logit - highest) / temperature), rounded down.

    At temperature 0 the highest logit has all, the lowest id on a tie. A logit 22.2 temperatures below the highest has
    none.
    """
    if temperature == 0:
        return certain(logits.argmax(-1), logits.shape[-1])
    wide = logits.double()
    exponent = (wide - wide.amax(-1, keepdim=True)) * (math.log2(math.e) / temperature)
    exponent = exponent.clamp(min=-62)  # a shift by more is not defined, and nothing is left long before
    whole = exponent.floor()
    scaled = (_two_to(exponent - whole) * 2.0**WEIGHT_BITS).round().long()
    return scaled >> (-whole).long()


def certain(tokens: Tensor, vocabulary: int) -> Tensor:
    """The distribution [..., V] int64 that has nothing but tokens [...] int64."""
    return torch.nn.functional.one_hot(tokens, vocabulary) << WEIGHT_BITS


def _two_to(fraction: Tensor) -> Tensor:
    """2^f for f64 f in [0, 1), by its series: one elementwise operation at a time, so no device contracts two."""
    x = fraction * math.log(2)
    value = torch.ones_like(x)
    for term in range(TERMS, 0, -1):
        value = value * (x / term) + 1
    return value


def pick(weights: Tensor, draws: Tensor) -> Tensor:
    """A token [...] int64 for each row of weights [..., V] int64, not all of them 0, and draw [...] in [0, 1)."""
    upto = weights.cumsum(-1)
    reached = (draws * upto[..., -1].double()).floor().long()
    return (upto <= reached[..., None]).sum(-1)


@dataclass(frozen=True)
class Settled:
    """What verification came to: accepted [...] drafts, and the token [...] that stands behind them."""

    accepted: Tensor
    token: Tensor


@dataclass(frozen=True)
class Offer:
    """Drafts before verification.

    tokens  [..., k] int64, x_1..x_k
    draft   [..., k, V] f64, row i the distribution that x_(i+1) was drawn from
    model   [..., k + 1, V] f64, row i the model's behind x_1..x_i
    """

    tokens: Tensor
    draft: Tensor
    model: Tensor

    def ratio(self, at: int, carried: Tensor | float) -> Tensor:
        """min(1, carried model(x) / draft(x)) for draft `at` [...]; 1 for a draft that had no chance of being drawn."""
        token = self.tokens[..., at, None]
        model, draft = (each[..., at, :].gather(-1, token)[..., 0] for each in (self.model, self.draft))
        model = model * carried
        return torch.where(model < draft, model / draft, 1.0)


def residual(carried: Tensor, model: Tensor, draft: Tensor) -> Tensor:
    """What the model has beyond the draft: max(carried model - draft, 0) [..., V] int64, a probability of 1 as 2^52."""
    beyond = carried[..., None] * model - draft
    return (beyond.clamp(min=0) * SHARE).round().long()


@dataclass(frozen=True)
class Bars:
    """What each draft has to stay below, and how much of the model's distribution is carried on behind it.

    below    [..., k] f64, draft i is passed when its draw is smaller
    carried  [..., k + 1] f64, behind 0..k accepted drafts
    """

    below: Tensor
    carried: Tensor


def token_bars(offer: Offer) -> Bars:
    """Each draft judged alone."""
    below = [offer.ratio(at, 1.0) for at in range(offer.tokens.shape[-1])]
    return Bars(torch.stack(below, -1), torch.ones_like(offer.model[..., 0]))


def block_bars(offer: Offer) -> Bars:
    """Behind P_i = min(1, P_(i-1) model(x_i) / draft(x_i)) and its residual's sum R_i, the bar R_i / (R_i + 1 - P_i).

    The last draft has no residual behind it, and P_k for a bar.
    """
    count = offer.tokens.shape[-1]
    carried = [torch.ones_like(offer.model[..., 0, 0])]
    below = []
    for at in range(count):
        p = offer.ratio(at, carried[-1])
        carried.append(p)
        if at + 1 == count:
            below.append(p)
            continue
        left = residual(p, offer.model[..., at + 1, :], offer.draft[..., at + 1, :]).sum(-1).double() / SHARE
        of = left + 1 - p
        below.append(torch.where(of > 0, left / of, 1.0))
    return Bars(torch.stack(below, -1), torch.stack(carried, -1))


def first_failure(passed: Tensor) -> Tensor:
    """Drafts accepted [...] int64 of passed [..., k] bool when nothing behind a failed one counts."""
    return passed.long().cumprod(-1).sum(-1)


def last_pass(passed: Tensor) -> Tensor:
    """Drafts accepted [...] int64 when the last one that passed takes all before it along."""
    places = torch.arange(1, passed.shape[-1] + 1, device=passed.device)
    return (passed * places).amax(-1)


@dataclass(frozen=True)
class Verification:
    """A way to verify: bars for the drafts, and how many are accepted when it is known which passed theirs."""

    bars: Callable[[Offer], Bars]
    accepted: Callable[[Tensor], Tensor]


VERIFICATIONS = {
    "token": Verification(token_bars, first_failure),
    "block": Verification(block_bars, last_pass),
}


def settle(
    how: Verification, tokens: Tensor, draft: Tensor, model: Tensor, accept_draws: Tensor, token_draws: Tensor
) -> Settled:
    """Verify k >= 0 drafts and choose the token behind those accepted.

    tokens        [..., k] int64
    draft         [..., k, V] int64, weights that the drafts were drawn from
    model         [..., k + 1, V] int64, the model's weights at every row
    accept_draws  [..., k] f64, for the drafts
    token_draws   [..., k + 1] f64, for the token behind 0..k accepted drafts
    """
    count = tokens.shape[-1]
    if count == 0:
        return Settled(torch.zeros_like(token_draws[..., 0]).long(), pick(model[..., 0, :], token_draws[..., 0]))
    offer = Offer(tokens, shares(draft), shares(model))
    bars = how.bars(offer)
    accepted = how.accepted(accept_draws < bars.below)
    return Settled(accepted, pick(_behind(offer, bars.carried, model, accepted), _at(token_draws, accepted)))


def _behind(offer: Offer, carried: Tensor, model: Tensor, accepted: Tensor) -> Tensor:
    """Weights [..., V] int64 of the token behind the accepted drafts.

    The residual's where a draft was rejected, unless rounding left none of it; the model's where none was.
    """
    nothing = torch.zeros_like(offer.draft[..., :1, :])
    beyond = residual(
        _at(carried, accepted),
        _row(offer.model, accepted),
        _row(torch.cat((offer.draft, nothing), -2), accepted),
    )
    rejected = accepted < offer.tokens.shape[-1]
    is_left = rejected[..., None] & (beyond.sum(-1, keepdim=True) > 0)
    return torch.where(is_left, beyond, _row(model, accepted))


def _at(values: Tensor, place: Tensor) -> Tensor:
    """values [..., n] at place [...] -> [...]."""
    return values.gather(-1, place[..., None])[..., 0]


def _row(rows: Tensor, place: Tensor) -> Tensor:
    """rows [..., n, V] at place [...] -> [..., V]."""
    index = place[..., None, None].expand(*place.shape, 1, rows.shape[-1])
    return rows.gather(-2, index)[..., 0, :]


def shares(weights: Tensor) -> Tensor:
    """Probabilities [..., V] f64 of integer weights [..., V]."""
    return weights.double() / weights.sum(-1, keepdim=True).double()
