"""Digests of bytes, of JSON values and of arrays: equal digests mean equal content, whatever its spelling."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_EXACT = 2**53  # every integer up to here is a double of its own


class NotCanonical(ValueError):
    """The value has no canonical JSON form; the text names its key."""


def digest(data: bytes) -> str:
    """sha256 of the bytes, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: Any) -> bytes:
    """The one spelling of a JSON value that RFC 8785 (JSON Canonicalization Scheme) gives it, UTF-8.

    Numbers are written as ECMAScript writes a double, so 1.0 and 1 are the same number. What a double or UTF-8 cannot
    hold is refused with its path: NaN, infinities, integers beyond 2**53, lone surrogates, keys that are not text.
    """
    return _canonical(value, "").encode("utf-8")


def meaning_digest(value: Any) -> str:
    """sha256 of a JSON value's canonical form, 64 hex digits."""
    return digest(canonical_json(value))


def array_digest(array: Any, dtype: str | None = None) -> str:
    """sha256 over an array's dtype, shape and bits in logical (row-major) order, 64 hex digits.

    array   anything with numpy's `dtype`, `shape`, `tobytes` and `astype`, in any memory order, with any strides
    dtype   the name of the dtype, when the array carries another one's bits (bf16 as uint16)

    Depends on nothing else. Bits, not numbers: -0.0 is not +0.0, and two NaN with unlike payloads are unlike.
    """
    name = dtype or array.dtype.name
    shape = ",".join(str(int(size)) for size in array.shape)
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return digest(f"{name}[{shape}]".encode() + little.tobytes(order="C"))


def _canonical(value: Any, path: str) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int | float):
        return _number(value, path)
    if isinstance(value, Mapping):
        return _mapping(value, path)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return f"[{','.join(_canonical(item, f'{path}[{index}]') for index, item in enumerate(value))}]"
    raise NotCanonical(f"{path or 'the value'} is a {type(value).__name__}, which JSON does not have")


def _mapping(value: Mapping[Any, Any], path: str) -> str:
    for key in value:
        if not isinstance(key, str):
            raise NotCanonical(f"{path or 'the value'} has the key {key!r}, which is not text")
    spelled = {key: _text(key, path) for key in value}
    ordered = sorted(spelled, key=lambda key: key.encode("utf-16-be"))  # by UTF-16 code units, RFC 8785 3.2.3
    return f"{{{','.join(f'{spelled[key]}:{_canonical(value[key], _join(path, key))}' for key in ordered)}}}"


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _text(value: str, path: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise NotCanonical(f"{path or 'the value'} holds a lone surrogate, which UTF-8 cannot") from None
    return '"' + "".join(_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'


def _number(value: int | float, path: str) -> str:
    if isinstance(value, int):
        if abs(value) > _EXACT:
            raise NotCanonical(f"{path or 'the value'} is an integer beyond 2**53: write it as text")
        return str(value)
    if not math.isfinite(value):
        raise NotCanonical(f"{path or 'the value'} is not a finite number")
    if value == 0:
        return "0"
    return ("-" if value < 0 else "") + _ecmascript(repr(abs(value)))


def _ecmascript(text: str) -> str:
    """ECMAScript's Number::toString for the shortest digits that Python's repr found (both round-trip)."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))  # digits before the point
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"
