"""Accept rules under the decoder: what sampling does to a text of `tiny`, and what it leaves as it was."""

from collections import Counter

import pytest
import torch

from runtime import rules
from runtime.decoder import Decoder, Forced, State
from runtime.draws import Purpose, uniform
from runtime.rules import GREEDY, BadRule, Rule, rule
from runtime.sampling import VERIFICATIONS, certain, shares, weights
from tests.runtime.decoding import PROMPT, ROWS, emitted, prefilled, same, tiny

WARM = 0.25  # where `tiny` accepts two drafts a step and leaves the greedy text within a few tokens


def under(chosen: Rule) -> Decoder:
    return Decoder(tiny().weights, tiny().at, rows=ROWS, context=128, rule=chosen)


def text(decoder: Decoder, rows: int, length: int = 12) -> tuple[list[int], State]:
    state = prefilled(decoder)
    first = state.last
    return [first, *emitted(list(decoder.generate(state, length, rows, ignore_eos=True)))], state


@pytest.mark.parametrize(("name", "rows"), [("block", 1), ("block", 6), ("block", 8), ("token", 6)])
def test_at_temperature_zero_a_sampling_rule_decodes_the_greedy_bits(name, rows):
    greedy, sampled = under(GREEDY), under(rule(name, temperature=0, seed=11))
    states = [prefilled(decoder) for decoder in (greedy, sampled)]
    for _ in range(5):
        steps = [
            decoder.step(state, rows, ignore_eos=True) for decoder, state in zip((greedy, sampled), states, strict=True)
        ]
        facts = [(s.fed, s.argmax, s.accepted, s.kept, s.emitted, s.drafts) for s in steps]
        assert facts[0] == facts[1]
    assert same(states[0].tensors(), states[1].tensors())


def test_a_sampled_text_follows_from_its_seed_alone():
    texts = {seed: text(under(rule("block", WARM, seed)), rows=6)[0] for seed in (1, 2)}
    assert texts[1] == text(under(rule("block", WARM, 1)), rows=6)[0]
    assert texts[1] != texts[2]
    assert texts[1] != text(under(GREEDY), rows=6)[0]


def test_a_one_row_text_is_the_models_tokens_by_their_own_draws():
    decoder = under(rule("block", WARM, seed=5))
    state = prefilled(decoder)
    for round_ in range(1, 13):
        step = decoder.step(state, 1, ignore_eos=True)
        place = (torch.tensor(part) for part in (5, round_, step.position + 1))
        draw, upto = float(uniform(*place, Purpose.TOKEN)), shares(weights(step.logits[0], WARM)).cumsum(-1)
        token = step.emitted[0]
        assert (float(upto[token - 1]) if token else 0.0) - 1e-9 <= draw < float(upto[token]) + 1e-9


@pytest.mark.parametrize("name", ["block", "token"])
def test_a_restored_state_draws_the_same_text_again(name):
    decoder = under(rule(name, WARM, seed=4))
    state = prefilled(decoder)
    for _ in range(2):
        decoder.step(state, 6, ignore_eos=True)
    snapshot = state.snapshot()
    first = emitted(list(decoder.generate(state, 12, rows=6, ignore_eos=True)))
    state.restore(snapshot)
    assert emitted(list(decoder.generate(state, 12, rows=6, ignore_eos=True))) == first


def test_a_recorded_sampled_text_replays_as_forced_steps():
    decoder = under(rule("block", WARM, seed=4))
    state, replayed = prefilled(decoder), prefilled(decoder)
    for step in decoder.generate(state, 12, rows=6, ignore_eos=True):
        again = decoder.step(replayed, 6, Forced(step.fed, step.kept, step.emitted[-1]))
        assert (again.emitted, again.drafts, again.accepted) == (step.emitted, step.drafts, step.accepted)
    assert same(state.tensors(), replayed.tensors())


def names_drawn(decoder: Decoder, monkeypatch) -> Counter:
    """How often each (round, position, purpose) was drawn over a text of several steps."""
    drawn: Counter = Counter()

    def noted(seeds, rounds, positions, purpose):
        whole = torch.broadcast_tensors(rounds, positions)
        drawn.update((r, p, purpose) for r, p in zip(*(each.flatten().tolist() for each in whole), strict=True))
        return uniform(seeds, rounds, positions, purpose)

    monkeypatch.setattr(rules, "uniform", noted)
    state = prefilled(decoder)
    steps = list(decoder.generate(state, 16, rows=6, ignore_eos=True))
    assert min(step.accepted for step in steps) < 5, "nothing was drafted twice"
    return drawn


def test_no_draw_of_a_text_is_used_twice_though_positions_are_drafted_again(monkeypatch):
    drawn = names_drawn(under(rule("block", WARM, seed=4)), monkeypatch)
    assert max(drawn.values()) == 1
    again = Counter(position for _, position, purpose in drawn if purpose is Purpose.DRAFT)
    assert max(again.values()) > 1
    assert {round_ for round_, _, _ in drawn} == set(range(max(round_ for round_, _, _ in drawn) + 1))


def test_a_draft_is_drawn_and_judged_under_the_position_that_it_is_fed_at(monkeypatch):
    drawn = names_drawn(under(rule("block", WARM, seed=4)), monkeypatch)
    first = len(PROMPT) + 1  # behind the prompt stands the token that the prompt chose
    for purpose in (Purpose.DRAFT, Purpose.ACCEPT):
        assert [p for r, p, of in sorted(drawn) if r == 1 and of is purpose] == list(range(first, first + 5))
    assert (0, len(PROMPT), Purpose.TOKEN) in drawn


def test_a_state_that_forgets_its_round_draws_twice(monkeypatch):
    """Negative control for the two above."""
    monkeypatch.setattr(State, "round", property(lambda self: 1, lambda self, value: None), raising=False)
    assert max(names_drawn(under(rule("block", WARM, seed=4)), monkeypatch).values()) > 1


def test_a_certain_draft_is_one_whose_distribution_has_nothing_else():
    logits = torch.randn(4, 32, generator=torch.Generator().manual_seed(2))
    tokens = torch.tensor([int(logits[0].argmax()), 3, 9])
    certainly = rules.Drafts(tuple(tokens.tolist()))
    told = rules.Drafts(certainly.tokens, certain(tokens, 32))
    for name in VERIFICATIONS:
        for round_ in range(20):
            chosen = [rule(name, 0.7, 3).settle(drafts, logits, (0,) * 4, round_, 10) for drafts in (certainly, told)]
            assert chosen[0] == chosen[1]


def test_drafts_can_be_certain_while_the_text_is_sampled():
    decoder = under(rule("block", WARM, seed=4, draft_temperature=0))
    state = prefilled(decoder)
    expected = tiny().propose(state).tokens
    assert decoder.propose(state).tokens == expected
    assert torch.equal(decoder.propose(state).weights, certain(torch.tensor(expected), decoder.config.vocab_size))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "lucky"}, "there is no accept rule 'lucky'; there are greedy, block, token"),
        ({"name": "greedy", "temperature": 1.0}, "greedy has no temperature, and 1.0 was given"),
        ({"name": "block", "temperature": -1.0}, "temperature -1.0 is neither 0 nor between 0.001 and 1000"),
        ({"name": "token", "temperature": float("nan")}, "temperature nan is neither"),
        ({"name": "block", "temperature": 1.0, "draft_temperature": 1e-9}, "temperature 1e-09 is neither"),
        ({"name": "block", "seed": -1}, "seed -1 is not a whole number"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(given, says):
    with pytest.raises(BadRule, match=says):
        rule(**given)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["block", "token"])
def test_a_gpu_draws_and_verifies_to_the_same_bits(name):
    generator = torch.Generator().manual_seed(7)
    model, draft = torch.randn(64, 8, 4096, generator=generator), torch.randn(64, 7, 4096, generator=generator)
    model[:, :7] = 0.3 * model[:, :7] + draft  # near enough that drafts are accepted
    found = []
    for device in ("cpu", "cuda"):
        own = [weights(logits.to(device), 0.5) for logits in (draft, model)]
        seeds = torch.arange(64, device=device)
        at = (seeds[:, None], seeds[:, None] * 0, torch.arange(7, device=device))
        tokens = rules.sampling.pick(own[0], uniform(*at, Purpose.DRAFT))
        settled = rules.verify(VERIFICATIONS[name], tokens, *own, seeds, seeds * 0, seeds * 0)
        found.append([each.cpu() for each in (*own, tokens, settled.accepted, settled.token)])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert found[0][3].min() == 0 and found[0][3].max() > 2
