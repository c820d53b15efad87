"""Distances between floating-point numbers in units of the last place of their own dtype."""

import itertools
import struct
from typing import Any

WIDTHS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}
_MANTISSA = {"bf16": 7, "f16": 10, "f32": 23, "f64": 52}
BINS = (0, 1, 2, 4, 16, 256)  # a histogram's upper edges; farther is `more`


def ordered(bits: int, dtype: str) -> int:
    """The bits as an integer that grows with the number; +0 and -0 are both 0."""
    sign = 1 << (WIDTHS[dtype] - 1)
    return -(bits & (sign - 1)) if bits & sign else bits


def _infinity(dtype: str) -> int:
    return ((1 << (WIDTHS[dtype] - 1)) - 1) & ~((1 << _MANTISSA[dtype]) - 1)


def ulps(a: int, b: int, dtype: str) -> int | None:
    """How many representable numbers lie from one to the other, or None where there is no such distance.

    a, b    the numbers' bits as unsigned integers

    +0 and -0 are 0 apart though their bits differ. NaN is at no distance from anything, and infinity at none from a
    number: overflow is not a last place.
    """
    first, second, infinity = ordered(a, dtype), ordered(b, dtype), _infinity(dtype)
    if max(abs(first), abs(second)) >= infinity and (first != second or abs(first) > infinity):
        return None
    return abs(first - second)


def number(text: str) -> float:
    """The number whose bytes are written as hex, most significant first: 4 digits bf16, 8 f32, 16 f64."""
    if len(text) == 16:
        return float(struct.unpack(">d", bytes.fromhex(text))[0])
    return float(struct.unpack(">f", bytes.fromhex(text.ljust(8, "0")))[0])


def compare(control: Any, candidate: Any, dtype: str) -> dict[str, Any]:
    """Two arrays' bits, element by element, as a receipt tells it.

    control, candidate  numpy arrays [...] of the unsigned integers of bf16, f16 or f32; equal shapes

    Gives `compared`, `differing` (unlike bits), `max_ulp` (None when a differing pair has no distance), `histogram`
    (by the upper edges in BINS; `more`, and `none` for pairs without a distance) and `first`: the flat index of the
    first unlike element in row-major order, or None.
    """
    import numpy  # only a worker compares arrays

    assert control.shape == candidate.shape, f"{control.shape} against {candidate.shape}"
    ours, theirs = (array.ravel().astype(numpy.int64) for array in (control, candidate))
    unlike = numpy.flatnonzero(ours != theirs)
    a, b = (_ordered_array(bits[unlike], dtype) for bits in (ours, theirs))
    infinity = _infinity(dtype)
    far = numpy.maximum(abs(a), abs(b)) >= infinity
    none = far & ((a != b) | (abs(a) > infinity))
    gaps = abs(a - b)[~none]
    histogram = {"0": int(ours.size - unlike.size + (gaps == 0).sum())}
    for low, high in itertools.pairwise(BINS):
        histogram[str(high)] = int(((gaps > low) & (gaps <= high)).sum())
    histogram |= {"more": int((gaps > BINS[-1]).sum()), "none": int(none.sum())}
    return {
        "compared": int(ours.size),
        "differing": int(unlike.size),
        "max_ulp": None if none.any() else int(gaps.max(initial=0)),
        "histogram": {edge: count for edge, count in histogram.items() if count},
        "first": int(unlike[0]) if unlike.size else None,
    }


def count_nonfinite(bits: Any, dtype: str) -> int:
    """How many of a numpy array's elements, unsigned integers [...], are infinities or NaN of this dtype."""
    infinity = _infinity(dtype)
    return int((bits & infinity == infinity).sum())


def _ordered_array(bits: Any, dtype: str) -> Any:
    sign = 1 << (WIDTHS[dtype] - 1)
    magnitude = bits & (sign - 1)
    return magnitude * (1 - 2 * ((bits & sign) != 0))
