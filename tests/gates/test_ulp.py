"""Distances in units of the last place count steps over representable numbers, and nothing else."""

import itertools

import numpy
import pytest

from gates.ulp import compare, distance, number


@pytest.mark.parametrize(
    ("a", "b", "steps"),
    [
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
        (0x7F800000, 0x7F800000, 0),
        (0x7F7FFFFF, 0x7F800000, None),
        (0x7F800000, 0xFF800000, None),
        (0x7FC00000, 0x7FC00000, None),
        (0x7FC00000, 0x3F800000, None),
    ],
)
def test_f32_pairs_are_this_many_steps_apart_either_way_round(a: int, b: int, steps: int | None) -> None:
    assert distance(a, b, "f32") == distance(b, a, "f32") == steps


@pytest.mark.parametrize(
    ("a", "b", "dtype", "steps"),
    [
        (0x3F80, 0x3F81, "bf16", 1),
        (0x8001, 0x0001, "bf16", 2),
        (0x7F7F, 0x7F80, "bf16", None),
        (0x3C00, 0x3C02, "f16", 2),
        (0x7E00, 0x3C00, "f16", None),
        (0x3FF0000000000000, 0x3FF0000000000001, "f64", 1),
    ],
)
def test_every_dtype_counts_its_own_steps(a: int, b: int, dtype: str, steps: int | None) -> None:
    assert distance(a, b, dtype) == steps


def test_neighbouring_bf16_numbers_are_one_step_apart_from_end_to_end() -> None:
    finite = [*range(0xFF7F, 0x8000, -1), *range(0x0000, 0x7F80)]
    assert all(distance(a, b, "bf16") == 1 for a, b in itertools.pairwise(finite))


def test_a_comparison_tells_how_many_differ_how_far_and_where_first() -> None:
    control = numpy.array([[0x3F80, 0x0000, 0x4000], [0x4000, 0x4000, 0x4000]], dtype=numpy.uint16)
    candidate = numpy.array([[0x3F80, 0x8000, 0x4003], [0x4000, 0x4100, 0x4000]], dtype=numpy.uint16)
    assert compare(control, candidate, "bf16") == {
        "compared": 6,
        "differing": 3,
        "max_ulp": 256,
        "histogram": {"0": 4, "4": 1, "256": 1},
        "first": 1,
    }


def test_a_nan_against_a_number_differs_and_has_no_largest_distance() -> None:
    found = compare(numpy.array([0x7FC0], numpy.uint16), numpy.array([0x3F80], numpy.uint16), "bf16")
    assert (found["differing"], found["max_ulp"], found["histogram"]) == (1, None, {"0": 0, "none": 1})


@pytest.mark.parametrize("mask", [0xFFFF, 0xBFFF], ids=["any bits", "finite numbers"])
def test_a_comparison_agrees_with_the_distance_of_each_pair(mask: int) -> None:
    draw = numpy.random.default_rng(1)
    a, b = ((draw.integers(0, 2**16, 500) & mask).astype(numpy.uint16) for _ in range(2))
    gaps = [distance(int(x), int(y), "bf16") for x, y in zip(a, b, strict=True) if x != y]
    known = [gap for gap in gaps if gap is not None]
    found = compare(a, b, "bf16")
    assert found["max_ulp"] == (max(known) if len(known) == len(gaps) else None)
    assert found["histogram"].get("none", 0) == gaps.count(None)
    assert found["histogram"].get("more", 0) == sum(gap > 256 for gap in known)


def test_equal_nan_bits_do_not_differ() -> None:
    same = numpy.array([0x7FC0], numpy.uint16)
    assert compare(same, same.copy(), "bf16")["differing"] == 0


@pytest.mark.parametrize(
    ("text", "value"), [("3f80", 1.0), ("c000", -2.0), ("3f800000", 1.0), ("3ff0000000000000", 1.0)]
)
def test_hex_reads_as_the_number_it_is(text: str, value: float) -> None:
    assert number(text) == value
