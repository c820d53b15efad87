"""Engram's integer part: which table rows a position reads, from the compressed ids of its last tokens.

Source: written here, after the architecture's published constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor


def is_prime(n: int) -> bool:
    """Deterministic Miller-Rabin, exact below 3.3e24."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if n < 2 or any(n % p == 0 for p in bases):
        return n in bases
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


@lru_cache
def primes(layers: int, orders: int, heads: int, start: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Moduli [layers][orders][heads]: the primes from `start` upward, none used twice, in that order."""
    found: list[int] = []
    candidate = start
    while len(found) < layers * orders * heads:
        if is_prime(candidate):
            found.append(candidate)
        candidate += 1
    each = iter(found)
    return tuple(tuple(tuple(next(each) for _ in range(heads)) for _ in range(orders)) for _ in range(layers))


def table_rows(layers: int, orders: int, heads: int, start: int) -> tuple[int, ...]:
    """Rows of each layer's table: the sum of its primes."""
    return tuple(sum(map(sum, layer)) for layer in primes(layers, orders, heads, start))


@lru_cache
def multipliers(layer_id: int, compressed_vocab: int, shifts: int = 4) -> tuple[int, ...]:
    """Odd multipliers of a layer, one a shift; every product with a compressed id stays below 2^63."""
    import numpy as np

    bound = (2**63 - 1) // compressed_vocab // 2
    drawn = np.random.default_rng(10007 * layer_id).integers(0, bound, size=shifts, dtype=np.int64)
    return tuple(2 * int(value) + 1 for value in drawn)


@dataclass(frozen=True)
class Hash:
    """The constants of one Engram layer, ready to hash with.

    multipliers  [shifts] int64
    primes       [orders, heads] int64
    offsets      [orders, heads] int64, where each column's rows begin in the layer's table
    pad          compressed id that stands for a token that is not there
    """

    multipliers: Tensor
    primes: Tensor
    offsets: Tensor
    pad: int

    def rows(self, history: Tensor, positions: Tensor, dead: Tensor | None = None) -> Tensor:
        """Table rows [R, orders * heads] int64 of the tokens at `positions` [R] int64.

        history  [T] int64, compressed id at each absolute position, those of this step included
        dead     [T] bool, positions that hold no text (images); they and all behind them count as pad
        """
        shifts = len(self.multipliers)
        at = positions[:, None] - torch.arange(shifts, device=positions.device)  # [R, shifts], nearest first
        alive = at >= 0
        at = at.clamp(min=0)
        if dead is not None:
            alive = torch.cummin((alive & ~dead[at]).to(torch.int8), dim=1).values.bool()
        tokens = torch.where(alive, history[at], self.pad)
        products = tokens * self.multipliers
        roll, columns = products[:, 0], []
        for order in range(1, shifts):
            roll = roll ^ products[:, order]
            columns.append(roll[:, None] % self.primes[order - 1] + self.offsets[order - 1])
        return torch.stack(columns, 1).flatten(1)


def hash_of(
    index: int,
    layer_ids: Sequence[int],
    *,
    orders: int,
    heads: int,
    start: int,
    compressed_vocab: int,
    pad: int,
    device: str | torch.device = "cpu",
) -> Hash:
    """The constants of the `index`-th Engram layer; `pad` is the compressed id of the pad token."""
    own = torch.tensor(primes(len(layer_ids), orders, heads, start)[index], device=device)
    flat = own.flatten()
    offsets = torch.cumsum(flat, 0) - flat
    factors = torch.tensor(multipliers(layer_ids[index], compressed_vocab, orders + 1), device=device)
    return Hash(factors, own, offsets.view_as(own), pad)
