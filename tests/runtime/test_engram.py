"""Engram's constants, as published."""

import pytest
import torch

from runtime import engram


def test_the_released_moduli_are_the_first_unused_primes():
    moduli = engram.primes(2, 3, 8, 16_000_000)
    assert moduli[0][0][:3] == (16_000_057, 16_000_079, 16_000_081)
    assert len({prime for layer in moduli for order in layer for prime in order}) == 48


def test_the_released_tables_have_the_sum_of_their_primes_rows():
    assert engram.table_rows(2, 3, 8, 16_000_000) == (384_006_168, 384_016_682)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (1, (76632096046245, 4839876093313, 35959672319349, 73987337458391)),
        (14, (67716810739261, 51510806800915, 30921347202721, 82619226485591)),
    ],
)
def test_the_released_multipliers(layer, expected):
    assert engram.multipliers(layer, 99_092) == expected


def test_primality_agrees_with_a_sieve():
    sieve = [n > 1 and all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(3000)]
    assert [engram.is_prime(n) for n in range(3000)] == sieve


def test_a_dead_token_hides_all_behind_it():
    own = engram.hash_of(0, (1, 4), orders=3, heads=2, start=64, compressed_vocab=168, pad=9)
    history = torch.tensor([5, 6, 7, 8])
    dead = torch.tensor([False, True, False, False])
    padded = torch.tensor([9, 9, 7, 8])
    at = torch.tensor([3])
    assert torch.equal(own.rows(history, at, dead), own.rows(padded, at))
    assert not torch.equal(own.rows(history, at, dead), own.rows(history, at))
