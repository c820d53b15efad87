"""Accept rules: how a token is chosen from logits, how drafts are, and which of them a step accepts.

A rule is chosen when the decoder is made, and holds nothing of any sequence. `greedy` takes the highest logit. `block`
and `token` sample at a temperature; what they draw is named by seed, round, position and purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from runtime import sampling
from runtime.accept import agreeing
from runtime.draws import Purpose, uniform
from runtime.errors import RuntimeFault
from runtime.sampling import VERIFICATIONS, Verification

COOLEST, HOTTEST = 1e-3, 1e3


class BadRule(RuntimeFault):
    """An accept rule that does not exist, or a temperature or seed that it cannot use."""


@dataclass(frozen=True)
class Drafts:
    """What is offered to a step.

    tokens   k drafts
    weights  [k, V] int64, the distributions they were drawn from; None where each was certain
    """

    tokens: tuple[int, ...] = ()
    weights: Tensor | None = None

    def first(self, count: int) -> Drafts:
        """The first `count` of them."""
        return Drafts(self.tokens[:count], None if self.weights is None else self.weights[:count])


@dataclass(frozen=True)
class Chosen:
    """What a rule makes of a step's logits, before the text's end is looked for.

    accepted  drafts accepted
    tokens    those drafts and the token behind them
    """

    accepted: int
    tokens: tuple[int, ...]


class Rule(Protocol):
    """Chooses tokens; `round_` numbers the sequence's steps, `position` is where the first chosen token will stand."""

    def choose(self, logits: Tensor, round_: int, position: int) -> int:
        """A token of logits [V] f32 with no draft to judge."""

    def draft(self, logits: Tensor, round_: int, position: int) -> tuple[int, Tensor | None]:
        """A draft of logits [V] f32, with its distribution [V] int64 unless it was certain."""

    def settle(self, drafts: Drafts, logits: Tensor, argmax: Sequence[int], round_: int, position: int) -> Chosen:
        """Which of k drafts the logits [k + 1, V] f32 accept, `argmax` being their highest, and what stands behind."""


class Greedy:
    """The highest logit, the lowest id on a tie; a draft is accepted when it is that token."""

    def choose(self, logits: Tensor, round_: int, position: int) -> int:
        return int(logits.argmax(-1))

    def draft(self, logits: Tensor, round_: int, position: int) -> tuple[int, Tensor | None]:
        return int(logits.argmax(-1)), None

    def settle(self, drafts: Drafts, logits: Tensor, argmax: Sequence[int], round_: int, position: int) -> Chosen:
        accepted = agreeing(drafts.tokens, argmax)
        return Chosen(accepted, tuple(argmax[: accepted + 1]))


@dataclass(frozen=True)
class Sampled:
    """Samples the model at `temperature`, and drafts at `draft_temperature`, where 0 makes each draft certain."""

    verification: Verification
    temperature: float
    draft_temperature: float
    seed: int

    def choose(self, logits: Tensor, round_: int, position: int) -> int:
        return int(self._pick(sampling.weights(logits, self.temperature), round_, position, Purpose.TOKEN))

    def draft(self, logits: Tensor, round_: int, position: int) -> tuple[int, Tensor | None]:
        weights = sampling.weights(logits, self.draft_temperature)
        return int(self._pick(weights, round_, position, Purpose.DRAFT)), weights

    def settle(self, drafts: Drafts, logits: Tensor, argmax: Sequence[int], round_: int, position: int) -> Chosen:
        tokens = torch.tensor(drafts.tokens, dtype=torch.int64, device=logits.device)
        offered = sampling.certain(tokens, logits.shape[-1]) if drafts.weights is None else drafts.weights
        where = (torch.tensor(part, device=logits.device) for part in (self.seed, round_, position))
        settled = verify(self.verification, tokens, offered, sampling.weights(logits, self.temperature), *where)
        accepted = int(settled.accepted)
        return Chosen(accepted, (*drafts.tokens[:accepted], int(settled.token)))

    def _pick(self, weights: Tensor, round_: int, position: int, purpose: Purpose) -> Tensor:
        seed, rounds, at = (torch.tensor(part, device=weights.device) for part in (self.seed, round_, position))
        return sampling.pick(weights, uniform(seed, rounds, at, purpose))


def verify(
    how: Verification, tokens: Tensor, draft: Tensor, model: Tensor, seeds: Tensor, rounds: Tensor, first: Tensor
) -> sampling.Settled:
    """`sampling.settle` with the draws of seeds, rounds and first positions [...] int64."""
    positions = first[..., None] + torch.arange(model.shape[-2], device=model.device)
    seeds, rounds = seeds[..., None], rounds[..., None]
    accepts = uniform(seeds, rounds, positions[..., :-1], Purpose.ACCEPT)
    return sampling.settle(how, tokens, draft, model, accepts, uniform(seeds, rounds, positions, Purpose.TOKEN))


GREEDY: Rule = Greedy()


def rule(name: str, temperature: float = 0.0, seed: int = 0, draft_temperature: float | None = None) -> Rule:
    """The accept rule `greedy`, `block` or `token`; the draft's temperature is the model's unless given."""
    if name == "greedy":
        if temperature:
            raise BadRule(f"greedy has no temperature, and {temperature} was given: `block` and `token` sample")
        return GREEDY
    if name not in VERIFICATIONS:
        raise BadRule(f"there is no accept rule {name!r}; there are greedy, {', '.join(sorted(VERIFICATIONS))}")
    cooler = temperature if draft_temperature is None else draft_temperature
    for given in (temperature, cooler):
        if not (given == 0 or COOLEST <= given <= HOTTEST):
            raise BadRule(f"temperature {given} is neither 0 nor between {COOLEST:g} and {HOTTEST:g}")
    if not 0 <= seed < 2**63:
        raise BadRule(f"seed {seed} is not a whole number from 0 to 2^63 - 1")
    return Sampled(VERIFICATIONS[name], temperature, cooler, seed)
