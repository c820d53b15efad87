"""Decoding: the prompt in groups of rows, then step after step, alone or with drafts to verify.

One step: feed the newest token and the drafts as rows, let the accept rule choose, commit the kept rows, write the
draft's context, draft again. An R-row step equals R one-row steps bit for bit, so a greedy text does not depend on how
many rows decoded it, and a sampled one only by which draws decided it: its distribution does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.accept import cut
from runtime.cache import Cache, Layout
from runtime.config import ModelConfig
from runtime.draft import draft_tokens, write_context
from runtime.errors import RuntimeFault
from runtime.model import Pass, Weights, forward
from runtime.rules import GREEDY, Drafts, Rule
from runtime.sites import Sites


class ContextFull(RuntimeFault):
    """A step does not fit behind what the sequence already holds."""


class NoDraft(RuntimeFault):
    """More rows were asked for than drafts can fill: without draft stages, one; with them, what the decoder holds."""


@dataclass(frozen=True)
class Forced:
    """A recorded step: the rows it fed, how many of them it kept, and the token it went on from."""

    tokens: tuple[int, ...]
    kept: int
    next: int


@dataclass(frozen=True)
class Step:
    """What one step did.

    position  position of the first row
    fed       token of each row, R of them
    logits    [R, V] f32, a view that the next step overwrites
    argmax    the model's choice at each row, the lowest id on a tie
    accepted  drafts the rule accepted, before any cut at the text's end
    kept      rows whose state stays, as forced or one for each emitted token
    emitted   tokens added to the text
    finished  the text ended inside this step
    drafts    for a next step of as many rows; empty after a one-row step
    experts   how many different experts each backbone layer used
    """

    position: int
    fed: tuple[int, ...]
    logits: Tensor
    argmax: tuple[int, ...]
    accepted: int
    kept: int
    emitted: tuple[int, ...]
    finished: bool
    drafts: tuple[int, ...]
    experts: list[int]


@dataclass(frozen=True)
class Snapshot:
    """A copy of a state between steps."""

    cache: tuple[int, list[Tensor]]
    last: int
    round: int
    drafts: Drafts


class State:
    """One sequence: its cache, the newest token, not yet fed, and the drafts that guess on from there.

    round  number of the next step, which names the draws of sampling rules
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.last = -1
        self.round = 0
        self.offered = Drafts()

    @property
    def position(self) -> int:
        """Where `last` will be fed."""
        return self.cache.next_position

    @property
    def drafts(self) -> tuple[int, ...]:
        """The drafts' tokens."""
        return self.offered.tokens

    def snapshot(self) -> Snapshot:
        """A copy that later steps do not touch."""
        return Snapshot(self.cache.snapshot(), self.last, self.round, self.offered)

    def restore(self, snapshot: Snapshot) -> None:
        """Become what `snapshot` saw, bit for bit, in the buffers that are there."""
        self.cache.restore(snapshot.cache)
        self.last = snapshot.last
        self.round = snapshot.round
        self.offered = snapshot.drafts

    def tensors(self) -> dict[str, Tensor]:
        """What a later greedy step can read, by name, for digests; drafts follow from it and are left out."""
        return self.cache.tensors() | {"last": torch.tensor([self.last])}


class Decoder:
    """Decodes with one set of weights and one choice of kernels; holds nothing of any sequence.

    rows     most rows of a step, as bound in `at`
    context  most positions of a sequence
    rule     chooses tokens and accepts drafts
    """

    def __init__(self, weights: Weights, at: Sites, rows: int = 8, context: int = 512, rule: Rule = GREEDY) -> None:
        self.weights = weights
        self.at = at
        self.rows = rows
        self.context = context
        self.rule = rule

    @property
    def config(self) -> ModelConfig:
        """Sizes and schedule of the model being decoded."""
        return self.weights.config

    @property
    def has_draft(self) -> bool:
        """Whether the checkpoint holds draft stages; without them only one-row and forced steps run."""
        return self.weights.has_draft

    def observed(self, callback: Callable[..., None]) -> Decoder:
        """The same decoder, calling `callback(layer, site, value_name, tensor)` behind every site."""
        return Decoder(self.weights, self.at.observed(callback), self.rows, self.context, self.rule)

    def new_state(self) -> State:
        """An empty sequence, to be started with `prefill`."""
        layout = Layout.of(self.config, self.rows, self.context, draft=self.has_draft)
        return State(Cache(layout, self.weights.device))

    def prefill(self, state: State, prompt: Sequence[int], group: int | None = None) -> None:
        """Feed a prompt, `group` rows at a time (it does not matter how many), and draft behind its last token."""
        assert prompt, "a prompt holds at least one token"
        group = group or self.rows
        for start in range(0, len(prompt), group):
            tokens = tuple(prompt[start : start + group])
            logits = self.feed(state, tokens).logits
            state.cache.commit(len(tokens))
        state.last = self.rule.choose(logits[-1], state.round, state.position)
        state.round += 1
        state.offered = self.propose(state)

    def step(
        self,
        state: State,
        rows: int = 1,
        forced: Forced | None = None,
        *,
        eos: int | None = None,
        ignore_eos: bool = False,
        cap: int | None = None,
    ) -> Step:
        """Verify `rows - 1` drafts behind the newest token and go on from what the model chose.

        A forced step does the same work on recorded rows, keeps as many as recorded whatever it would have
        accepted, and goes on from the recorded token. A one-row step leaves the drafting out.
        """
        offered = _recorded(state, forced) if forced else self._drafts(state, rows - 1)
        fed = forced.tokens if forced else (state.last, *offered.tokens)
        assert len(fed) == rows
        position = state.position
        done = self.feed(state, fed)
        argmax = _argmax(done.logits)
        settled = self.rule.settle(offered, done.logits, argmax, state.round, position + 1)
        chosen = cut(settled.accepted, settled.tokens, eos, ignore_eos, cap)
        if forced:
            kept = forced.kept
            emitted = (*fed[1:kept], forced.next)
        else:
            kept, emitted = chosen.kept, chosen.emitted
        state.cache.commit(kept)
        state.last = emitted[-1]
        state.round += 1
        state.offered = self.propose(state, rows - 1) if rows > 1 else Drafts()
        return Step(
            position,
            fed,
            done.logits,
            argmax,
            chosen.accepted,
            kept,
            emitted,
            chosen.finished and not forced,
            state.drafts,
            done.experts,
        )

    def generate(
        self, state: State, new_tokens: int, rows: int, *, eos: int | None = None, ignore_eos: bool = False
    ) -> Iterator[Step]:
        """Step until the steps emitted `new_tokens` tokens or the text ends.

        The text's first token is the one that prefill chose, `state.last`; steps emit those behind it. `eos` is
        the model's own unless given.
        """
        eos = self.config.eos_token_id if eos is None else eos
        left = 0 if state.last == eos and not ignore_eos else new_tokens
        while left > 0:
            step = self.step(state, rows, eos=eos, ignore_eos=ignore_eos, cap=left)
            left = 0 if step.finished else left - len(step.emitted)
            yield step

    # Parts of a step

    def feed(self, state: State, tokens: Sequence[int]) -> Pass:
        """Run rows through the model and write all their state, the draft's context included; commit nothing."""
        cache = state.cache
        if state.position + len(tokens) > self.context:
            raise ContextFull(
                f"{len(tokens)} rows at position {state.position} do not fit a context of {self.context}; "
                f"make the decoder with a larger one"
            )
        positions = cache.begin(len(tokens))
        done = forward(self.weights, self.at, cache, torch.tensor(tokens), positions)
        if self.has_draft:
            write_context(self.weights, self.at, cache, positions, done.taps)
        return done

    def _drafts(self, state: State, count: int) -> Drafts:
        """`count` drafts behind the newest token, made now if the last step did not make them."""
        if count == 0:
            return Drafts()
        if not self.has_draft:
            raise NoDraft(f"{count + 1} rows need {count} drafts, and this checkpoint has no draft stages")
        if count >= self.rows:
            raise NoDraft(f"{count + 1} rows need {count} drafts, and this decoder was made for {self.rows} rows")
        have = len(state.drafts)
        if not (have == count or count <= have <= self.config.dspark_block_size):  # else they are of another block
            state.offered = self.propose(state, count)
        return state.offered.first(count)

    def propose(self, state: State, count: int | None = None) -> Drafts:
        """Drafts behind the newest token, as many as the trained block holds unless told; none without draft stages.

        A function of the committed state and the count, and of the round where the rule draws.
        """
        if not self.has_draft:
            return Drafts()
        likely: list[Tensor | None] = []

        def choose(logits: Tensor, place: int) -> int:
            token, weights = self.rule.draft(logits, state.round, state.position + 1 + place)
            likely.append(weights)
            return token

        count = self.config.dspark_block_size if count is None else count
        tokens = draft_tokens(self.weights, self.at, state.cache, state.last, count, choose)
        known = [weights for weights in likely if weights is not None]
        return Drafts(tokens, torch.stack(known) if known else None)


def _recorded(state: State, forced: Forced) -> Drafts:
    """A recorded step's drafts, with the distributions that the state holds for as many, else as certain ones."""
    tokens = forced.tokens[1:]
    return Drafts(tokens, state.offered.weights if len(state.drafts) == len(tokens) else None)


def _argmax(logits: Tensor) -> tuple[int, ...]:
    """The highest logit of each row; on a tie, torch's argmax over a dimension takes the lowest index."""
    return tuple(logits.argmax(-1).tolist())
