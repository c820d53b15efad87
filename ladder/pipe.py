"""Frames on a private pipe: JSON objects that know their length, and a count of every byte that is none of them."""

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

MAGIC = b"\x1eLF1"
HEADER = struct.Struct(">4sII")  # MAGIC, payload bytes, their CRC-32
MOST_BYTES = 64 << 20


def frame(value: Mapping[str, Any]) -> bytes:
    """One object as bytes: a header, then JSON without NaN."""
    payload = json.dumps(value, separators=(",", ":"), allow_nan=False).encode("utf-8")
    assert len(payload) <= MOST_BYTES, f"a frame of {len(payload)} bytes"
    return HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


class Frames:
    """Takes bytes as they come and gives whole objects; `stray` counts the bytes that belonged to none.

    A damaged frame is stray from its first byte on, up to the next header.
    """

    def __init__(self) -> None:
        self.stray = 0
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The objects that these bytes complete."""
        self._held += data
        while (size := self._skip_to_header()) is not None and len(self._held) >= size:
            value = _object(bytes(self._held[HEADER.size : size]), self._header()[1])
            if value is None:
                self._drop(1)
            else:
                del self._held[:size]
                yield value

    def end(self) -> None:
        """No more bytes will come: what is held is stray."""
        self._drop(len(self._held))

    def _skip_to_header(self) -> int | None:
        """Drop what cannot begin a frame; the size of the frame at the front, or None while its header is short."""
        while True:
            at = self._held.find(MAGIC)
            self._drop(at if at >= 0 else len(self._held) - _open_magic(self._held))
            if at < 0 or len(self._held) < HEADER.size:
                return None
            if self._header()[0] <= MOST_BYTES:
                return HEADER.size + self._header()[0]
            self._drop(1)

    def _header(self) -> tuple[int, int]:
        _, size, crc = HEADER.unpack_from(self._held)
        return size, crc

    def _drop(self, count: int) -> None:
        self.stray += count
        del self._held[:count]


def _open_magic(held: bytearray) -> int:
    """How many last bytes may be the beginning of a header."""
    return next((size for size in range(len(MAGIC) - 1, 0, -1) if held.endswith(MAGIC[:size])), 0)


def _object(payload: bytes, crc: int) -> dict[str, Any] | None:
    if zlib.crc32(payload) != crc:
        return None
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def send(handle: int, value: Mapping[str, Any]) -> None:
    """Write one frame whole; BrokenPipeError when nobody reads any more."""
    rest = memoryview(frame(value))
    while rest:
        rest = rest[os.write(handle, rest) :]


def messages(handle: int) -> Iterator[dict[str, Any]]:
    """Every object that comes down the pipe, until its end of file."""
    frames = Frames()
    while data := os.read(handle, 1 << 16):
        yield from frames.feed(data)
