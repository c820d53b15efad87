"""Sampling against exact arithmetic: shares of weights, the bars of both verifications, and what texts come of them.

The oracle is `fractions`: no rounding, and written from the papers' formulas rather than from the code.
"""

import itertools
import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import rules, sampling
from runtime.accept import agreeing
from runtime.draws import Purpose, uniform
from runtime.sampling import VERIFICATIONS, Offer, certain, pick, shares, weights

ALPHABET = 5
# Weights of the next token by the last one; unlike enough that drafts are often rejected, and that several tokens
# can then stand in their place.
MODEL = ((6, 1, 4, 2, 7), (1, 5, 2, 7, 5), (4, 4, 2, 5, 5), (5, 2, 6, 1, 6), (2, 6, 3, 6, 3))
DRAFT = ((2, 8, 1, 8, 1), (7, 2, 6, 3, 2), (1, 1, 9, 1, 8), (1, 7, 2, 8, 2), (9, 2, 6, 1, 2))
START = 0


# Weights and choices


def test_weights_are_the_softmaxs_shares():
    logits = torch.tensor([[0.0, -1.0, 3.5, -20.0, 3.25], [100.0, 99.0, -400.0, 101.5, 80.0]])
    for temperature in (0.3, 1.0, 2.5):
        found = shares(weights(logits, temperature))
        for row, expected in zip(found.tolist(), logits.tolist(), strict=True):
            powers = [math.exp((logit - max(expected)) / temperature) for logit in expected]
            assert all(abs(a - b / sum(powers)) < 2**-31 for a, b in zip(row, powers, strict=True))


def test_the_highest_logit_has_two_to_the_32_and_lost_ones_nothing():
    found = weights(torch.tensor([5.0, float("-inf"), 5.0 - 22.2, 5.0 - 22.1]), 1.0).tolist()
    assert found == [2**32, 0, 0, 1]


def test_a_rows_weights_do_not_depend_on_the_rows_beside_it():
    logits = torch.randn(8, 517, generator=torch.Generator().manual_seed(1)) * 5
    whole = weights(logits, 0.8)
    for rows in range(1, 9):
        assert torch.equal(weights(logits[:rows], 0.8), whole[:rows])
    assert torch.equal(weights(logits[3], 0.8), whole[3])


def test_at_temperature_zero_the_lowest_of_the_highest_has_all():
    found = weights(torch.tensor([[1.0, 4.0, 4.0], [0.0, 0.0, 0.0]]), 0)
    assert torch.equal(found, certain(torch.tensor([1, 0]), 3))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any), st.integers(0, 2**40 - 1))
def test_a_token_is_where_the_draw_falls_among_the_weights(own, numerator):
    upto = list(itertools.accumulate(own))
    expected = next(at for at, upper in enumerate(upto) if Fraction(numerator, 2**40) * upto[-1] < upper)
    assert int(pick(torch.tensor(own), torch.tensor(numerator / 2**40, dtype=torch.float64))) == expected


def test_the_largest_draw_still_picks_a_token_that_has_weight():
    own = torch.tensor([2**51, 2**51 - 1, 0])
    assert int(pick(own, torch.tensor(1 - 2.0**-53, dtype=torch.float64))) == 1


# Exact enumeration


def table(rows):
    return [[Fraction(weight, sum(row)) for weight in row] for row in rows]


def chance(tables, before, text):
    """Of a text behind the token before it."""
    return math.prod((tables[last][token] for last, token in itertools.pairwise((before, *text))), start=Fraction(1))


def exact_bars(how, text, model, draft):
    """Bars and carried shares of a drafted text behind START, by the papers' formulas."""
    path = (START, *text)
    below, carried = [], [Fraction(1)]
    for i in range(1, len(path)):
        last, token = path[i - 1], path[i]
        before = carried[-1] if how == "block" else Fraction(1)
        p = min(before * model[last][token] / draft[last][token], Fraction(1))
        if how == "token":
            below.append(p)
            carried.append(Fraction(1))
            continue
        carried.append(p)
        if i == len(text):
            below.append(p)
            continue
        rest = sum(max(p * model[token][x] - draft[token][x], Fraction(0)) for x in range(len(model)))
        below.append(rest / (rest + 1 - p) if rest + 1 - p else Fraction(1))
    return below, carried


def chances_to_accept(how, below):
    """Of accepting 0..k drafts."""
    if how == "token":
        passed = [math.prod(below[:i], start=Fraction(1)) for i in range(len(below) + 1)]
        return [a - b for a, b in zip(passed, (*passed[1:], 0), strict=True)]
    failed = [math.prod((1 - h for h in below[i:]), start=Fraction(1)) for i in range(len(below) + 1)]
    return [failed[0], *(h * failed[i + 1] for i, h in enumerate(below))]


def drafted(count):
    return list(itertools.product(range(ALPHABET), repeat=count))


def exact_length(how, count, model, draft):
    """Mean number of accepted drafts."""
    return sum(
        chance(draft, START, text) * sum(i * p for i, p in enumerate(chances_to_accept(how, bars)))
        for text in drafted(count)
        for bars in [exact_bars(how, text, model, draft)[0]]
    )


def offer(texts, model=MODEL, draft=DRAFT):
    tokens = torch.tensor(texts)
    before = torch.cat((torch.full_like(tokens[:, :1], START), tokens), 1)
    return Offer(tokens, shares(torch.tensor(draft)[before[:, :-1]]), shares(torch.tensor(model)[before]))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("how", ["token", "block"])
def test_the_bars_are_the_papers(how, count):
    texts = drafted(count)
    bars = VERIFICATIONS[how].bars(offer(texts))
    for at, text in enumerate(texts):
        below, carried = exact_bars(how, text, table(MODEL), table(DRAFT))
        assert bars.below[at].tolist() == pytest.approx([float(bar) for bar in below], abs=1e-14)
        assert bars.carried[at].tolist() == pytest.approx([float(p) for p in carried], abs=1e-14)


def texts_from(how, count, model, draft):
    """Exact chance of each text of count + 1 tokens: drafted, accepted, gone on from the residual, then the model."""
    found = dict.fromkeys(drafted(count + 1), Fraction(0))
    for text in drafted(count):
        below, carried = exact_bars(how, text, model, draft)
        for accepted, share in enumerate(chances_to_accept(how, below)):
            last = (START, *text)[accepted]
            behind = list(model[last])
            if accepted < count:
                left = [max(carried[accepted] * model[last][x] - draft[last][x], Fraction(0)) for x in range(ALPHABET)]
                behind = [each / sum(left) for each in left] if sum(left) else behind
            for token, rest in itertools.product(range(ALPHABET), drafted(count - accepted)):
                whole = (*text[:accepted], token, *rest)
                found[whole] += chance(draft, START, text) * share * behind[token] * chance(model, token, rest)
    return found


@pytest.mark.parametrize("how", ["token", "block"])
def test_the_formulas_leave_every_texts_chance_exactly_what_the_model_gives_it(how):
    model, draft = table(MODEL), table(DRAFT)
    assert texts_from(how, 2, model, draft) == {text: chance(model, START, text) for text in drafted(3)}


def found_length(how, count, model=MODEL, draft=DRAFT):
    """Mean number of accepted drafts by the code's own bars."""
    texts = drafted(count)
    below = VERIFICATIONS[how].bars(offer(texts, model, draft)).below
    chances = [float(chance(table(draft), START, text)) for text in texts]
    return sum(
        p * sum(i * q for i, q in enumerate(chances_to_accept(how, bars)))
        for p, bars in zip(chances, below.tolist(), strict=True)
    )


@pytest.mark.parametrize("how", ["token", "block"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_mean_accepted_length_is_the_exact_one(how, count):
    assert found_length(how, count) == pytest.approx(float(exact_length(how, count, table(MODEL), table(DRAFT))))


def test_block_verification_accepts_strictly_more_from_two_drafts_on():
    assert found_length("block", 1) == pytest.approx(found_length("token", 1))
    for count in (2, 3, 4):
        assert found_length("block", count) > found_length("token", count) + 0.01


ROWS = st.lists(st.lists(st.integers(1, 9), min_size=ALPHABET, max_size=ALPHABET), min_size=ALPHABET, max_size=ALPHABET)


@settings(max_examples=40, deadline=None)
@given(ROWS, ROWS, st.integers(1, 3))
def test_block_verification_never_accepts_fewer_in_the_mean(model, draft, count):
    assert found_length("block", count, model, draft) >= found_length("token", count, model, draft) - 1e-12


# Temperature 0


@settings(max_examples=80, deadline=None)
@given(st.data())
@pytest.mark.parametrize("how", ["token", "block"])
def test_at_temperature_zero_any_draws_settle_as_greedy_does(how, data):
    count, vocabulary = data.draw(st.integers(0, 7)), data.draw(st.integers(1, 4))
    level = st.integers(0, 2)  # ties are common
    logits = torch.tensor([[data.draw(level) for _ in range(vocabulary)] for _ in range(count + 1)]).float()
    drafts = [data.draw(st.integers(0, vocabulary - 1)) for _ in range(count)]
    draws = torch.tensor(
        [data.draw(st.sampled_from((0.0, 2.0**-53, 0.5, 1 - 2.0**-53))) for _ in range(2 * count + 1)],
        dtype=torch.float64,
    )
    tokens = torch.tensor(drafts, dtype=torch.int64)
    settled = sampling.settle(
        VERIFICATIONS[how], tokens, certain(tokens, vocabulary), weights(logits, 0), draws[:count], draws[count:]
    )
    argmax = logits.argmax(-1).tolist()
    accepted = agreeing(drafts, argmax)
    assert (int(settled.accepted), int(settled.token)) == (accepted, argmax[accepted])


# Texts over several rounds

LENGTH, DRAFTS, SEEDS = 3, 3, 20_000


def decoded(how, draft=DRAFT):
    """Texts [SEEDS, LENGTH] behind START, each sequence drafting and verifying for itself until it is long enough."""
    seeds = torch.arange(SEEDS)
    texts = torch.full((SEEDS, 1 + LENGTH + DRAFTS + 1), START)
    done = torch.zeros(SEEDS, dtype=torch.int64)  # tokens behind START
    for number in itertools.count():
        if int(done.min()) >= LENGTH:
            return texts[:, 1 : LENGTH + 1]
        done = _round(how, texts, done, seeds, torch.full_like(seeds, number), draft)


def _round(how, texts, done, seeds, rounds, draft):
    done = done.clamp(max=LENGTH)  # a finished text may go round again behind its end
    before = [texts.gather(1, done[:, None])[:, 0]]
    for place in range(DRAFTS):
        draws = rules.uniform(seeds, rounds, done + 1 + place, Purpose.DRAFT)
        before.append(pick(torch.tensor(draft)[before[-1]], draws))
    paths = torch.stack(before, 1)
    tokens = paths[:, 1:]
    settled = rules.verify(
        VERIFICATIONS[how],
        tokens,
        torch.tensor(draft)[paths[:, :-1]],
        torch.tensor(MODEL)[paths],
        seeds,
        rounds,
        done + 1,
    )
    for place in range(DRAFTS):
        kept = settled.accepted > place
        texts[kept, (done + 1 + place)[kept]] = tokens[kept, place]
    behind = done + 1 + settled.accepted
    texts[torch.arange(SEEDS), behind] = settled.token
    return behind


def chi_square(texts):
    """Distance of the texts' counts from what the model alone gives, and its chance to be that large."""
    expected = torch.tensor([float(SEEDS * chance(table(MODEL), START, text)) for text in drafted(LENGTH)])
    place = (texts * torch.tensor([ALPHABET**at for at in reversed(range(LENGTH))])).sum(1)
    counts = torch.bincount(place, minlength=ALPHABET**LENGTH)
    distance = float(((counts - expected) ** 2 / expected).sum())
    freedom = ALPHABET**LENGTH - 1
    assert freedom % 2 == 0  # then the tail is a Poisson sum (Abramowitz & Stegun 26.4.21)
    logs = [i * math.log(distance / 2) - distance / 2 - math.lgamma(i + 1) for i in range(freedom // 2)]
    return distance, sum(map(math.exp, logs))


@pytest.mark.parametrize("how", ["token", "block"])
def test_texts_of_many_seeds_are_spread_as_the_models_own(how):
    distance, tail = chi_square(decoded(how))
    assert tail > 0.01, distance


@pytest.mark.parametrize("how", ["token", "block"])
def test_texts_of_certain_drafts_are_spread_as_the_models_own(how):
    """A draft that is always one token, as a greedy draft is."""
    distance, tail = chi_square(decoded(how, draft=torch.eye(ALPHABET).roll(1, 0).long().tolist()))
    assert tail > 0.01, distance


def test_draws_that_do_not_name_the_round_spoil_the_spread(monkeypatch):
    """Negative control: a position that is drafted again meets the draw that has failed there before.

    Token by token the fault would not show: whether a draft is accepted says nothing of the draws behind it.
    """
    monkeypatch.setattr(
        rules, "uniform", lambda seeds, rounds, positions, purpose: uniform(seeds, rounds * 0, positions, purpose)
    )
    assert chi_square(decoded("block"))[1] < 1e-6


@pytest.mark.parametrize("how", ["token", "block"])
def test_a_replacement_drawn_with_the_accept_draw_spoils_the_spread(how, monkeypatch):
    """Negative control: the draw that rejected a draft is a large one, and picks late tokens."""
    one = {Purpose.TOKEN: Purpose.ACCEPT}
    monkeypatch.setattr(
        rules, "uniform", lambda seeds, rounds, at, purpose: uniform(seeds, rounds, at, one.get(purpose, purpose))
    )
    assert chi_square(decoded(how))[1] < 1e-6
