"""Draws are functions of their names, alike whatever else is drawn, and spread as uniform numbers are."""

import itertools

import torch

from runtime import draws
from runtime.draws import Purpose, uniform

MASK = 2**64 - 1


def hashed(key: int, place: int) -> int:
    """splitmix64's output in Python's own integers."""
    z = (place * (draws.GOLDEN & MASK) + key) & MASK
    z = ((z ^ z >> 30) * (draws.MIX_1 & MASK)) & MASK
    z = ((z ^ z >> 27) * (draws.MIX_2 & MASK)) & MASK
    return z ^ z >> 31


def by_hand(seed: int, round_: int, position: int, purpose: int) -> float:
    whole = draws.key(0, "decoding") & MASK
    for part in (seed, round_, position, purpose):
        whole = hashed(whole, part)
    return (whole >> 11) / 2**53


def drawn(seed: int, round_: int, positions: range, purpose: Purpose) -> list[float]:
    return uniform(torch.tensor(seed), torch.tensor(round_), torch.tensor(list(positions)), purpose).tolist()


def test_a_draw_is_the_hash_of_its_name():
    for seed, round_, purpose in itertools.product((0, 7, 2**63 - 1), (0, 5), Purpose):
        expected = [by_hand(seed, round_, position, purpose) for position in range(4)]
        assert drawn(seed, round_, range(4), purpose) == expected


def test_how_many_are_drawn_at_once_does_not_matter():
    eight = drawn(3, 2, range(10, 18), Purpose.ACCEPT)
    for rows in range(1, 9):
        assert drawn(3, 2, range(10, 10 + rows), Purpose.ACCEPT) == eight[:rows]


def test_names_that_differ_in_one_part_have_draws_that_differ():
    names = list(itertools.product(range(6), range(6), range(12), Purpose))
    found = {(seed, round_, purpose): drawn(seed, round_, range(12), purpose) for seed, round_, _, purpose in names}
    assert len({draw for several in found.values() for draw in several}) == len(names)


def test_draws_fill_the_unit_interval_evenly_and_neighbours_are_unrelated():
    whole = uniform(torch.arange(64)[:, None, None], torch.arange(16)[:, None], torch.arange(64), Purpose.TOKEN)
    assert whole.min() >= 0 and whole.max() < 1
    counts = torch.bincount((whole.flatten() * 64).long(), minlength=64).double()
    assert ((counts - 1024) ** 2 / 1024).sum() < 63 + 5 * (2 * 63) ** 0.5
    centred = whole - 0.5
    for dim in range(3):
        together = (centred.narrow(dim, 1, whole.shape[dim] - 1) * centred.narrow(dim, 0, whole.shape[dim] - 1)).mean()
        assert abs(together) < 5 / 12 / whole.numel() ** 0.5
