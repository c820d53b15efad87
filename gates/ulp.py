"""Distances between floating-point numbers in units of the last place of their own dtype."""

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
    exponent = ((1 << (WIDTHS[dtype] - 1)) - 1) & ~((1 << _MANTISSA[dtype]) - 1)
    return bits & ((1 << (WIDTHS[dtype] - 1)) - 1) > exponent


def distance(a: int, b: int, dtype: str) -> int | None:
    """How many representable numbers lie from one to the other; None when either is NaN, for then there is none.

    a, b    the numbers' bits as unsigned integers

    +0 and -0 are 0 apart though their bits differ; the largest finite number and infinity are 1 apart.
    """
    if is_nan(a, dtype) or is_nan(b, dtype):
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

    Gives `compared`, `differing` (unlike bits), `max_ulp` (None when a differing pair has a NaN), `histogram` (by the
    upper edges in BINS; `more`, and `nan` for differing pairs without a distance) and `first`: the flat index of the
    first unlike element, or None.
    """
    import numpy  # only a worker compares arrays

    assert control.shape == candidate.shape, f"{control.shape} against {candidate.shape}"
    unlike = numpy.flatnonzero(control.ravel() != candidate.ravel())
    pairs = [distance(int(control.flat[i]), int(candidate.flat[i]), dtype) for i in unlike]
    histogram = {"0": int(control.size) - len(pairs)}
    for gap in pairs:
        name = "nan" if gap is None else next((str(edge) for edge in BINS if gap <= edge), "more")
        histogram[name] = histogram.get(name, 0) + 1
    apart = [gap for gap in pairs if gap is not None]
    return {
        "compared": int(control.size),
        "differing": len(pairs),
        "max_ulp": None if len(apart) < len(pairs) else max(apart, default=0),
        "histogram": histogram,
        "first": int(unlike[0]) if len(unlike) else None,
    }
