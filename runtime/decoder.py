"""Decoding: the prompt in groups of rows, then step after step, alone or with drafts to verify.

One step: feed the newest token and the drafts as rows, let the model choose at each row, accept, commit the kept
rows, write the draft's context, draft again. An R-row step equals R one-row steps bit for bit, so a text does not
depend on how many rows decoded it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.accept import accept
from runtime.cache import Cache, Layout
from runtime.config import ModelConfig
from runtime.draft import draft_tokens, write_context
from runtime.errors import RuntimeFault
from runtime.model import Pass, Weights, forward
from runtime.sites import Sites


class ContextFull(RuntimeFault):
    """A step does not fit behind what the sequence already holds."""


class NoDraft(RuntimeFault):
    """More rows were asked for than the checkpoint's draft stages can fill."""


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
    accepted  drafts the verifier agreed with
    kept      rows whose state stays, as forced or one for each emitted token
    emitted   tokens added to the text
    finished  the text ended inside this step
    drafts    for the next step; empty after a one-row step
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
    drafts: tuple[int, ...]


class State:
    """One sequence: its cache, the newest token, not yet fed, and the drafts that guess on from there."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.last = -1
        self.drafts: tuple[int, ...] = ()

    @property
    def position(self) -> int:
        """Where `last` will be fed."""
        return self.cache.next_position

    def snapshot(self) -> Snapshot:
        """A copy that later steps do not touch."""
        return Snapshot(self.cache.snapshot(), self.last, self.drafts)

    def restore(self, snapshot: Snapshot) -> None:
        """Become what `snapshot` saw, bit for bit, in the buffers that are there."""
        self.cache.restore(snapshot.cache)
        self.last = snapshot.last
        self.drafts = snapshot.drafts

    def tensors(self) -> dict[str, Tensor]:
        """What a later step can read, by name, for digests; drafts follow from it and are left out."""
        return self.cache.tensors() | {"last": torch.tensor([self.last])}


class Decoder:
    """Decodes with one set of weights and one choice of kernels; holds nothing of any sequence.

    rows     most rows of a step, as bound in `at`
    context  most positions of a sequence
    """

    def __init__(self, weights: Weights, at: Sites, rows: int = 8, context: int = 512) -> None:
        self.weights = weights
        self.at = at
        self.rows = rows
        self.context = context

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
        return Decoder(self.weights, self.at.observed(callback), self.rows, self.context)

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
            choices = _argmax(self.feed(state, tokens).logits)
            state.cache.commit(len(tokens))
        state.last = choices[-1]
        state.drafts = self.propose(state)

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
        fed = forced.tokens if forced else (state.last, *self._drafts(state, rows - 1))
        assert len(fed) == rows
        position = state.position
        done = self.feed(state, fed)
        argmax = _argmax(done.logits)
        chosen = accept(fed[1:], argmax, eos, ignore_eos, cap)
        if forced:
            kept = forced.kept
            emitted = (*fed[1:kept], forced.next)
        else:
            kept, emitted = chosen.kept, chosen.emitted
        state.cache.commit(kept)
        state.last = emitted[-1]
        state.drafts = self.propose(state) if rows > 1 else ()
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

    def _drafts(self, state: State, count: int) -> tuple[int, ...]:
        """The first `count` drafts behind the newest token, made now if the last step made none."""
        if count == 0:
            return ()
        most = self.config.draft_tokens if self.has_draft else 0
        if count > most:
            raise NoDraft(f"{count + 1} rows need {count} drafts, and this checkpoint drafts {most} a step")
        if not state.drafts:
            state.drafts = self.propose(state)
        return state.drafts[:count]

    def propose(self, state: State) -> tuple[int, ...]:
        """Drafts behind the newest token, a function of the committed state alone; none without draft stages."""
        if not self.has_draft:
            return ()
        return draft_tokens(self.weights, self.at, state.cache, state.last)


def _argmax(logits: Tensor) -> tuple[int, ...]:
    """The highest logit of each row; on a tie, torch's argmax over a dimension takes the lowest index."""
    return tuple(logits.argmax(-1).tolist())
