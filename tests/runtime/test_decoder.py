"""The decode contract, bit for bit, on `tiny` in the product's arithmetic."""

import subprocess
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
import torch

import runtime.draft
from kernels import order
from runtime.cache import Cache
from runtime.decoder import ContextFull, Decoder, Forced, NoDraft, State
from runtime.rules import Drafts
from tests.runtime.decoding import PROMPT, copied, digest, emitted, prefilled, same, tiny

# Positions: past the first wrap of a ring (24) and the first candidate block left out (16), both parities.
LENGTH = 36
ROOT = Path(__file__).parent.parent.parent


class Greedy:
    """The one-row greedy text behind PROMPT: tokens fed, logits, and the state before each."""

    def __init__(self, decoder: Decoder) -> None:
        state = decoder.new_state()
        state.last = PROMPT[0]
        self.tokens, self.logits, self.snapshots, self.tensors = [], [], [], []
        for following in (*PROMPT[1:], *[None] * (LENGTH + 2 - len(PROMPT))):
            self.snapshots.append(state.snapshot())
            self.tensors.append(copied(state))
            forced = Forced((state.last,), kept=1, next=following) if following is not None else None
            step = decoder.step(state, 1, forced)
            self.tokens.append(step.fed[0])
            self.logits.append(step.logits[0].clone())

    def at(self, decoder: Decoder, position: int) -> State:
        state = decoder.new_state()
        state.restore(self.snapshots[position])
        return state


@lru_cache
def greedy() -> Greedy:
    return Greedy(tiny())


def differences(decoder: Decoder, state: State, kept: int, fed: tuple[int, ...]) -> list[str]:
    """Feed rows and keep some; which logits of the kept rows and which state then differ from one-row steps."""
    text, position = greedy(), state.position
    logits = decoder.feed(state, fed).logits
    state.cache.commit(kept)
    state.last = text.tokens[state.position]
    rows = [f"row {row}" for row in range(kept) if not torch.equal(logits[row], text.logits[position + row])]
    expected, found = text.tensors[state.position], state.tensors()
    assert list(expected) == list(found)
    return rows + [name for name in expected if not torch.equal(expected[name], found[name])]


def wrong_behind(tokens: list[int], kept: int, rows: int) -> tuple[int, ...]:
    """`kept` tokens of a text, then others in their place."""
    return tuple(token if row < kept else (token + 7 * row) % 500 for row, token in enumerate(tokens[:rows]))


def after_rejection(decoder: Decoder, state: State, kept: int) -> list[str]:
    """Keep `kept` of six rows, the others wrong, then feed six right ones; what differs."""
    text, position = greedy(), state.position
    fed = wrong_behind(text.tokens[position:], kept, 6)
    first = differences(decoder, state, kept, fed)
    return first + differences(decoder, state, 6, tuple(text.tokens[state.position : state.position + 6]))


@pytest.mark.parametrize("rows", range(1, 9))
def test_rows_of_one_step_equal_one_row_steps_at_every_offset(rows):
    decoder, text = tiny(), greedy()
    first = 0 if rows in (1, 8) else 9  # the shortest contexts once
    for position in range(first, LENGTH - rows + 1):
        state = text.at(decoder, position)
        fed = tuple(text.tokens[position : position + rows])
        assert differences(decoder, state, rows, fed) == [], f"{rows} rows at position {position}"


@pytest.mark.parametrize("kept", range(1, 7))
@pytest.mark.parametrize("position", [15, 22])
def test_rejected_rows_leave_nothing_that_a_later_step_can_tell(position, kept):
    assert after_rejection(tiny(), greedy().at(tiny(), position), kept) == []


def test_a_ring_without_padding_is_told_from_a_sound_one():
    """Negative control: rejected rows overwrite positions that the window still reads."""
    decoder, state = tiny(), tiny().new_state()
    state.cache = Cache(replace(state.cache.layout, ring=decoder.config.sliding_window))
    for token in greedy().tokens[:22]:
        decoder.feed(state, (token,))
        state.cache.commit(1)
    assert after_rejection(decoder, state, kept=2) != []


@pytest.mark.parametrize("kept", [1, 3, 5])
def test_forgetting_the_pending_pair_is_told(kept):
    """Negative control: the open pair must come from the rows that were kept."""

    class Forgetful(Cache):
        def commit(self, kept):
            self.next_position += kept

    decoder, state = tiny(), tiny().new_state()
    state.cache = Forgetful(state.cache.layout)
    state.restore(greedy().snapshots[22])
    assert after_rejection(decoder, state, kept) != []


def test_ties_left_to_the_library_break_row_invariance(monkeypatch):
    """Negative control: torch.topk orders ties by the length of the row."""
    monkeypatch.setattr(order, "top_k", lambda scores, k: torch.topk(scores, min(k, scores.shape[-1])).indices)
    decoder, text = tiny(), greedy()
    found = []
    for position in range(16, LENGTH - 8):
        found += differences(decoder, text.at(decoder, position), 8, tuple(text.tokens[position : position + 8]))
    assert found != []


@lru_cache
def one_row_text(length: int) -> tuple[list[int], dict[str, torch.Tensor]]:
    state = prefilled(tiny())
    return emitted(list(tiny().generate(state, length, rows=1, ignore_eos=True))), copied(state)


@pytest.mark.parametrize("rows", range(2, 9))
def test_the_speculative_text_is_the_greedy_one(rows):
    decoder, (expected, tensors) = tiny(), one_row_text(36)
    state = prefilled(decoder)
    steps = list(decoder.generate(state, 36, rows=rows, ignore_eos=True))
    assert emitted(steps) == expected
    assert same(state.tensors(), tensors)
    assert {len(step.drafts) for step in steps} == {rows - 1}
    assert max(step.accepted for step in steps) >= min(rows - 1, 3), "too few were accepted: nothing was tested"


def test_row_counts_can_change_within_a_text():
    """Drafts left from a step of other rows are of another block; what is accepted may differ, the text does not."""
    decoder, (expected, tensors) = tiny(), one_row_text(36)
    state, text = prefilled(decoder), []
    for rows in (8, 6, 3, 7, 1, 5) * 9:
        if len(text) == 36:
            break
        text += decoder.step(state, rows, ignore_eos=True, cap=36 - len(text)).emitted
    assert text == expected
    assert same(state.tensors(), tensors)


def test_up_to_the_trained_block_fewer_drafts_are_the_first_of_more():
    decoder, state = tiny(), greedy().at(tiny(), 20)
    drafts = [decoder.propose(state, count).tokens for count in range(1, 8)]
    assert [len(each) for each in drafts] == list(range(1, 8))
    assert all(each == drafts[4][: len(each)] for each in drafts[:5])


def test_a_longer_block_has_the_shorter_ones_rows_see_more():
    """Its first row's logits move: the block is not causal, so a longer one must be drafted whole."""
    decoder, state = tiny(), greedy().at(tiny(), 20)
    first = [
        runtime.draft.block_logits(decoder.weights, decoder.at, state.cache, state.last, block)[0].clone()
        for block in (5, 7)
    ]
    assert not torch.equal(*first)


def test_a_restored_state_decodes_the_same_bits_again():
    decoder = tiny()
    state = prefilled(decoder)
    snapshot = state.snapshot()
    first = [step.logits.clone() for step in decoder.generate(state, 12, rows=6, ignore_eos=True)]
    ended = digest(state)
    state.restore(snapshot)
    second = [step.logits.clone() for step in decoder.generate(state, 12, rows=6, ignore_eos=True)]
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert digest(state) == ended


def test_a_recorded_text_replays_as_forced_steps():
    decoder = tiny()
    state, replayed = prefilled(decoder), prefilled(decoder)
    for step in decoder.generate(state, 16, rows=6, ignore_eos=True):
        logits = step.logits.clone()
        again = decoder.step(replayed, 6, Forced(step.fed, step.kept, step.emitted[-1]))
        assert torch.equal(again.logits, logits)
        assert (again.emitted, again.drafts, again.accepted) == (step.emitted, step.drafts, step.accepted)
    assert same(state.tensors(), replayed.tensors())


def test_a_forced_step_keeps_what_was_recorded_whatever_it_would_accept():
    decoder, text = tiny(), greedy()
    state = text.at(decoder, 20)
    step = decoder.step(state, 6, Forced(tuple(text.tokens[20:26]), kept=2, next=text.tokens[22]))
    assert (step.accepted, step.kept, state.position, state.last) == (5, 2, 22, text.tokens[22])
    assert same(state.tensors(), text.tensors[22])


SCRIPT = """
from runtime.rules import Drafts
from tests.runtime.decoding import digest, emitted, prefilled, tiny
state = prefilled(tiny())
print(emitted(list(tiny().generate(state, 12, rows=6, ignore_eos=True))), digest(state))
"""


def test_a_fresh_process_decodes_the_same_bits():
    state = prefilled(tiny())
    here = f"{emitted(list(tiny().generate(state, 12, rows=6, ignore_eos=True)))} {digest(state)}"
    there = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert there.stdout.strip() == here, there.stderr


def test_how_a_prompt_is_grouped_does_not_matter():
    """Draft rings included: one row a group is decoding step by step."""
    decoder = tiny()
    prompt = tuple(greedy().tokens[:27])
    states = [prefilled(decoder, prompt, group) for group in (1, 3, 8)]
    assert all(same(states[0].tensors(), other.tensors()) for other in states[1:])
    assert len({state.drafts for state in states}) == 1
    assert any(name.startswith("window.12") for name in states[0].tensors())


def test_drafts_follow_from_the_committed_state_alone():
    decoder = tiny()
    state = prefilled(decoder)
    step = decoder.step(state, 6)
    expected = step.drafts
    state.offered = Drafts()
    assert decoder.propose(state).tokens == expected


def test_a_causal_draft_block_drafts_otherwise(monkeypatch):
    """Negative control: every row of the block sees the whole block, so all but the last row's logits move."""
    decoder, state = tiny(), greedy().at(tiny(), 20)

    def logits():
        return runtime.draft.block_logits(decoder.weights, decoder.at, state.cache, state.last, 5).clone()

    sound = logits()
    monkeypatch.setattr(runtime.draft, "block_visible", lambda rows: torch.ones(rows, rows).tril().bool())
    assert not torch.equal(logits()[0], sound[0])


def test_a_text_ends_behind_its_end_token_inside_a_block():
    decoder = tiny()
    state = prefilled(decoder)
    start = state.snapshot()
    steps = list(decoder.generate(state, 40, rows=6, ignore_eos=True))
    long = max(steps, key=lambda step: len(step.emitted))
    tokens = emitted(steps)
    eos = next(token for token in long.emitted[1:] if tokens.index(token) == tokens.index(long.emitted[0]) + 1)
    cut = tokens[: tokens.index(eos) + 1]
    ended = {}
    for rows in (1, 6):
        state.restore(start)
        assert emitted(list(decoder.generate(state, 40, rows, eos=eos))) == cut
        ended[rows] = copied(state)
    assert same(ended[1], ended[6])


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
def test_a_length_cap_ends_a_text_where_one_row_would(length):
    decoder = tiny()
    one, many = prefilled(decoder), prefilled(decoder)
    expected = emitted(list(decoder.generate(one, length, rows=1, ignore_eos=True)))
    assert emitted(list(decoder.generate(many, length, rows=6, ignore_eos=True))) == expected
    assert len(expected) == length
    assert same(one.tensors(), many.tensors())


def test_a_full_context_and_too_many_rows_are_said():
    decoder = Decoder(tiny().weights, tiny().at, rows=8, context=len(PROMPT) + 3)
    state = prefilled(decoder)
    with pytest.raises(ContextFull, match="6 rows at position 10 do not fit a context of 13"):
        decoder.step(state, 6)
    with pytest.raises(NoDraft, match="9 rows need 8 drafts, and this decoder was made for 8 rows"):
        decoder.step(state, 9)
