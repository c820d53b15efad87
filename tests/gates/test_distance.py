"""Distances in units of the last place, across zero, denormals and the ends of the range."""

from typing import Any

import numpy
import pytest

from gates.distance import compare, number, ulps

PAIRS = [
    (0x00000000, 0x80000000, 0),
    (0x00000001, 0x80000001, 2),
    (0x3F800000, 0x3F800001, 1),
    (0x3F7FFFFF, 0x3F800001, 2),
    (0x007FFFFF, 0x00800000, 1),
    (0xFF7FFFFF, 0x7F7FFFFF, 4278190078),
    (0x3F800000, 0xBF800000, 2130706432),
    (0x00000000, 0x00000001, 1),
    (0x80000000, 0x00000003, 3),
    (0x40490FDB, 0x40490FDB, 0),
    (0x7F800000, 0x7F800000, 0),  # an infinity and itself
    (0x7F7FFFFF, 0x7F800000, None),  # the largest number and infinity: overflow is no last place
    (0x7F800000, 0xFF800000, None),
    (0x7FC00000, 0x3F800000, None),
    (0x7FC00000, 0x7FC00000, None),
]


@pytest.mark.parametrize(("a", "b", "expected"), PAIRS)
def test_the_distance_is_exact_both_ways(a: int, b: int, expected: int | None) -> None:
    assert ulps(a, b, "f32") == ulps(b, a, "f32") == expected


def test_bf16_is_measured_in_its_own_last_place() -> None:
    assert ulps(0x3F80, 0x3F81, "bf16") == 1
    assert ulps(0x7F80, 0x7F7F, "bf16") is None


def test_arrays_are_compared_as_their_elements_are() -> None:
    a, b = (numpy.array([pair[side] for pair in PAIRS], numpy.uint32) for side in (0, 1))
    found = compare(a, b, "f32")
    distances = [gap for _, _, gap in PAIRS]
    unlike = [index for index, (x, y, _) in enumerate(PAIRS) if x != y]
    assert (found["compared"], found["differing"], found["first"]) == (len(PAIRS), len(unlike), unlike[0])
    assert found["max_ulp"] is None
    assert found["histogram"]["none"] == sum(distances[index] is None for index in unlike)
    assert sum(found["histogram"].values()) == len(PAIRS)


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        ([0x3F80, 0x4000], {"differing": 0, "max_ulp": 0, "histogram": {"0": 2}, "first": None}),
        ([0x3F80, 0x4003], {"differing": 1, "max_ulp": 3, "histogram": {"0": 1, "4": 1}, "first": 1}),
        ([0x3F81, 0x7FC0], {"differing": 2, "max_ulp": None, "histogram": {"1": 1, "none": 1}, "first": 0}),
    ],
)
def test_a_comparison_is_told_as_a_receipt_tells_it(candidate: list[int], expected: dict[str, Any]) -> None:
    control = numpy.array([0x3F80, 0x4000], numpy.uint16)
    assert compare(control, numpy.array(candidate, numpy.uint16), "bf16") == {"compared": 2} | expected


def test_hex_is_read_as_the_number_that_it_spells() -> None:
    assert (number("3f80"), number("40490fdb"), number("c000000000000000")) == (1.0, 3.1415927410125732, -2.0)
