"""Random bits without a state: a hash of a counter, in wrapping 64-bit integers, the same on every device.

A draw is named, not taken: (seed, round, position, purpose) for what decoding draws, (key, place) for a tensor's
values. So it depends on no order of work and on no number of rows. The round, which numbers a sequence's steps, is
part of the name: a position whose draft was rejected is drafted again in a later round, and a draw that has already
failed there says what it will be, so it must not be used twice.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum

import torch
from torch import Tensor

GOLDEN, MIX_1, MIX_2 = -7046029254386353131, -4658895280553007687, -7723592293110705685
FRACTION_BITS = 53  # all that an f64 in [0, 1) can hold evenly


class Purpose(IntEnum):
    """What a draw at a position decides; two purposes never share one."""

    DRAFT = 1  # which token is drafted
    ACCEPT = 2  # whether that draft is accepted
    TOKEN = 3  # which token stands there if it is not, or if nothing was drafted


def key(seed: int, name: str) -> int:
    """The 64-bit key of a name, as a signed integer."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8], "little", signed=True)


def bits(key_: int | Tensor, places: Tensor) -> Tensor:
    """64 hashed bits [...] int64 for each key and place [...] int64 (splitmix64; products wrap)."""
    z = places * GOLDEN + key_
    z = (z ^ shifted(z, 30)) * MIX_1
    z = (z ^ shifted(z, 27)) * MIX_2
    return z ^ shifted(z, 31)


def shifted(z: Tensor, by: int) -> Tensor:
    """Logical shift to the right of int64."""
    return (z >> by) & ((1 << (64 - by)) - 1)


def uniform(seeds: Tensor, rounds: Tensor, positions: Tensor, purpose: Purpose) -> Tensor:
    """An f64 in [0, 1) for each seed, round and position, int64 that broadcast to [...].

    Each part is hashed under the hash of those before it, so no sum of two parts can stand for two others.
    """
    whole = bits(bits(bits(bits(_DECODING, seeds), rounds), positions), torch.full_like(positions, purpose))
    return shifted(whole, 64 - FRACTION_BITS).double() * 2.0**-FRACTION_BITS


_DECODING = key(0, "decoding")
