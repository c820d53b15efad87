"""Equal content has equal digests whatever its spelling or memory order, and unlike content has not."""

import itertools
import math
import struct
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates.digest import NotCanonical, array_digest, canonical_json, digest, meaning_digest

C08 = Path(__file__).parents[1] / "data" / "C08"


def load(name: str) -> Any:
    return numpy.load(C08 / f"{name}.npy")


# The number samples of RFC 8785, appendix B: the double's bits, and its one spelling.
@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_a_double_is_spelled_as_rfc_8785_lists_it(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(value).decode() == text


def test_the_worked_example_of_rfc_8785_comes_out_to_the_byte() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    assert canonical_json(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_utf16_code_units() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]  # RFC 8785, 3.2.3
    found = canonical_json(dict.fromkeys(keys, 0)).decode()
    assert found == '{"\\r":0,"1":0,"\u0080":0,"\u00f6":0,"\u20ac":0,"\U0001f600":0,"\ufb33":0}'


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"a": {"b": math.nan}}, r"a\.b is not a finite number"),
        ({"a": [1, math.inf]}, r"a\[1\] is not a finite number"),
        ({"a": 2**53 + 1}, "beyond 2"),
        ({1: 2}, "not text"),
        ({"a": "\ud800"}, "lone surrogate"),
        ({"a": b"x"}, "bytes"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(value: Any, says: str) -> None:
    with pytest.raises(NotCanonical, match=says):
        canonical_json(value)


def test_order_of_keys_and_spelling_of_numbers_do_not_change_a_meaning() -> None:
    assert meaning_digest({"a": 1, "b": [2.0, -0.0]}) == meaning_digest({"b": [2, 0], "a": 1.0})


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_canonical_spelling_of_a_double_reads_back_as_it(value: float) -> None:
    assert float(canonical_json(value)) == value


def test_a_digest_is_sha256_in_hex() -> None:
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_an_arrays_digest_does_not_depend_on_its_memory_order() -> None:
    assert array_digest(load("c_order")) == array_digest(load("f_order"))


def test_arrays_with_other_rows_shape_or_dtype_have_other_digests() -> None:
    names = ["c_order", "rows_swapped", "other_shape", "other_dtype", "odd_bf16"]
    assert all(array_digest(load(a)) != array_digest(load(b)) for a, b in itertools.combinations(names, 2))


def test_a_view_has_the_digest_of_its_copy() -> None:
    a = load("c_order")
    raw = numpy.frombuffer(b"xx" + a.tobytes(), dtype=numpy.uint8)
    offset = raw[2:].view(a.dtype).reshape(a.shape)  # begins two bytes off its alignment
    for view in (a[::-1], a[:, ::2], a.T, offset, a[:0], a[0, 0]):
        assert array_digest(view) == array_digest(view.copy())
    assert array_digest(offset) == array_digest(a)


def test_byte_order_in_memory_does_not_change_a_digest() -> None:
    a = load("c_order")
    assert array_digest(a.astype(">f4")) == array_digest(a)


def test_bits_count_and_not_numbers() -> None:
    assert array_digest(numpy.array([0.0])) != array_digest(numpy.array([-0.0]))


def test_bf16_carried_as_uint16_is_named_by_its_own_dtype() -> None:
    odd = load("odd_bf16")
    assert odd.size == 3 and array_digest(odd, "bf16") != array_digest(odd)
