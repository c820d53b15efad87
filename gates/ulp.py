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


def is_nan(bits: int, dtype: str) -> bool:
    """Whether these bits are not a number."""
    return _magnitude(bits, dtype) > _infinity(dtype)


def is_infinite(bits: int, dtype: str) -> bool:
    """Whether these bits are an infinity of either sign."""
    return _magnitude(bits, dtype) == _infinity(dtype)


def _magnitude(bits: int, dtype: str) -> int:
    return bits & ((1 << (WIDTHS[dtype] - 1)) - 1)


def _infinity(dtype: str) -> int:
    return ((1 << (WIDTHS[dtype] - 1)) - 1) & ~((1 << _MANTISSA[dtype]) - 1)


def distance(a: int, b: int, dtype: str) -> int | None:
    """How many steps over representable numbers lie from one to the other; None where that says nothing.

    a, b    the numbers' bits as unsigned integers

    +0 and -0 are 0 apart though their bits differ. A NaN has no distance, and an infinity none but to itself: it would
    count as one step beyond the largest finite number.
    """
    if is_nan(a, dtype) or is_nan(b, dtype):
        return None
    if a != b and (is_infinite(a, dtype) or is_infinite(b, dtype)):
        return None
    return abs(ordered(a, dtype) - ordered(b, dtype))


def number(text: str) -> float:
    """The number whose bytes are written as hex, most significant first: 4 digits bf16, 8 f32, 16 f64."""
    if len(text) == 16:
        return float(struct.unpack(">d", bytes.fromhex(text))[0])
    return float(struct.unpack(">f", bytes.fromhex(text.ljust(8, "0")))[0])


def compare(control: Any, candidate: Any, dtype: str) -> dict[str, Any]:
    """Two arrays' bits, element by element, as a receipt tells it.

    control, candidate  numpy arrays [...] of the dtype's unsigned integer, equal shapes

    Gives `compared`, `differing` (unlike bits), `max_ulp` (None when a differing pair has no distance), `histogram` (by
    the upper edges in BINS; `more`, and `none` for differing pairs without a distance) and `first`: the flat index of
    the first unlike element, or None.
    """
    import numpy  # only a worker compares arrays

    assert control.shape == candidate.shape, f"{control.shape} against {candidate.shape}"
    assert dtype in _MANTISSA and WIDTHS[dtype] <= 32, f"{dtype} distances do not fit an int64"
    unlike = numpy.flatnonzero(control.ravel() != candidate.ravel())
    bits = [each.ravel()[unlike].astype(numpy.int64) for each in (control, candidate)]
    sign = 1 << (WIDTHS[dtype] - 1)
    magnitudes = [each & (sign - 1) for each in bits]
    a, b = (numpy.where(each & sign, -size, size) for each, size in zip(bits, magnitudes, strict=True))
    gaps = numpy.abs(a - b)[numpy.maximum(*magnitudes) < _infinity(dtype)]
    histogram = {"0": int(control.size - len(unlike))}
    for low, high in itertools.pairwise((-1, *BINS, 1 << 62)):
        _add(histogram, str(high) if high in BINS else "more", int(((gaps > low) & (gaps <= high)).sum()))
    _add(histogram, "none", len(unlike) - len(gaps))
    return {
        "compared": int(control.size),
        "differing": len(unlike),
        "max_ulp": None if len(gaps) < len(unlike) else int(gaps.max(initial=0)),
        "histogram": histogram,
        "first": int(unlike[0]) if len(unlike) else None,
    }


def _add(histogram: dict[str, int], name: str, count: int) -> None:
    if count:
        histogram[name] = histogram.get(name, 0) + count
