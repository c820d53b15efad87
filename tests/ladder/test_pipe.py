"""Frames: whole objects come out as they went in, however the bytes are cut and whatever stands between them."""

import os
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ladder import pipe

LEAVES = st.none() | st.booleans() | st.integers() | st.text()
OBJECTS = st.dictionaries(st.text(), st.recursive(LEAVES, st.lists, max_leaves=5), max_size=4)
STRAY = st.binary(max_size=40).filter(lambda data: pipe.MAGIC[:1] not in data)


def fed(data: bytes, cuts: list[int]) -> tuple[list[Any], int]:
    frames, found, last = pipe.Frames(), [], 0
    for cut in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        found += frames.feed(data[last:cut])
        last = cut
    frames.end()
    return found, frames.stray


@given(st.lists(OBJECTS, max_size=5), st.lists(st.integers(0, 500), max_size=8))
def test_objects_come_out_as_they_went_in_however_the_bytes_are_cut(objects: list[Any], cuts: list[int]) -> None:
    assert fed(b"".join(map(pipe.frame, objects)), cuts) == (objects, 0)


@given(st.lists(st.tuples(STRAY, OBJECTS), max_size=4), STRAY, st.lists(st.integers(0, 500), max_size=8))
def test_every_byte_between_frames_is_counted_and_none_is_lost(
    parts: list[tuple[bytes, Any]], rest: bytes, cuts: list[int]
) -> None:
    data = b"".join(stray + pipe.frame(value) for stray, value in parts) + rest
    stray = sum(len(each) for each, _ in parts) + len(rest)
    assert fed(data, cuts) == ([value for _, value in parts], stray)


@given(OBJECTS, st.integers(0, 10_000), st.integers(1, 255))
def test_a_damaged_frame_is_never_taken_for_an_object(value: Any, at: int, change: int) -> None:
    data = bytearray(pipe.frame(value))
    data[at % len(data)] ^= change
    found, stray = fed(bytes(data), [])
    assert found == [] and stray == len(data)


@given(OBJECTS)
def test_a_frame_that_is_cut_short_is_stray(value: Any) -> None:
    data = pipe.frame(value)[:-1]
    assert fed(data, []) == ([], len(data))


@given(st.binary(max_size=200))
def test_any_bytes_at_all_are_survived(data: bytes) -> None:
    found, stray = fed(data, [])
    assert found == [] and stray == len(data)


def test_a_length_beyond_all_reason_is_not_waited_for() -> None:
    frames = pipe.Frames()
    huge = pipe.HEADER.pack(pipe.MAGIC, 1 << 31, 0)
    assert list(frames.feed(huge + pipe.frame({"did": "boot"}))) == [{"did": "boot"}]
    assert frames.stray == len(huge)


def test_messages_end_with_the_pipe() -> None:
    read, write = os.pipe()
    pipe.send(write, {"do": "boot"})
    pipe.send(write, {"do": "close"})
    os.close(write)
    assert [each["do"] for each in pipe.messages(read)] == ["boot", "close"]
    os.close(read)
