"""The YAML that a card may be written in: what each spelling means, and what is refused with its line."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ladder import strict_yaml
from ladder.errors import BadYaml

CARD = Path(__file__).parent.parent.parent / "rungs" / "t9b-4.yaml"


def value_of(text: str) -> object:
    return strict_yaml.parse(f"a: {text}\n".encode()).value["a"]


NUMBERS = {
    "-1e-1": -0.1,
    "-.1": -0.1,
    ".5": 0.5,
    "5.": 5.0,
    "-1.2e3": -1200.0,
    "1.2e3": 1200.0,
    "1e3": 1000.0,
    "1E+3": 1000.0,
    "-0.10": -0.1,
    "010": 10,
    "+7": 7,
    "0o10": 8,
    "0x1F": 31,
    "-100": -100,
}
TEXTS = (
    "-0.1O yes no on off Yes ON y n 2026-12-01 2026-12-01T04:09:01Z 0b11 1_000 1:30 12e 0o8 0x e5 . "
    "'7' \"true\" 'null' 1.2.3 +-1 t9b-3 3f9c1a20"
)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_read_as_yaml_1_2_reads_it(text: str) -> None:
    read = value_of(text)
    assert (read, type(read)) == (NUMBERS[text], type(NUMBERS[text]))


@pytest.mark.parametrize("text", TEXTS.split())
def test_what_is_not_quite_a_number_a_flag_or_null_stays_text(text: str) -> None:
    assert value_of(text) == text.strip("'\"")


def test_a_date_stays_the_text_that_was_written() -> None:
    read = strict_yaml.parse(b"a: 2026-12-01\nb: 2026-12-01 04:09:01 -5\nc: [2026-12-01, first try]\n").value
    written = json.loads(json.dumps(read))
    assert written == {"a": "2026-12-01", "b": "2026-12-01 04:09:01 -5", "c": ["2026-12-01", "first try"]}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("g:\n  max_ulp: 1\n  max_ulp: 4\n", 3, "g.max_ulp: the key is on line 2 too"),
        ("g:\n  a: 1\nh: 2\ng:\n  b: 1\n", 4, "g: the key is on line 1 too"),
        ('rung: a\nb: 1\n"rung": c\n', 3, "rung: the key is on line 1 too"),
        ("a: {b: 1, 'b': 2}\n", 1, "a.b: the key is on line 1 too"),
        ("b: 1\na:\n  <<: {c: 1}\n", 3, "merge key"),
        ("a: &x 1\nb: 2\n", 1, "anchor &x"),
        ("a: 1\nb: *x\n", 2, "alias *x"),
        ("a: !!str 1\n", 1, "tag"),
        ("a: !python/object:os.system x\n", 1, "tag"),
        ("a: 1\nb:\t2\n", 2, "tab"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("%YAML 1.1\n---\na: 1\n", 1, "directive"),
        ("%YAML 1.99999999999999999999\n---\na: 1\n", 1, "directive"),
        ("%FOO bar\n---\na: 1\n", 1, "directive"),
        ('a: 1\nb: "\\U00110000"\n', 2, "names no character"),
        ('a: "\\UFFFFFFFF"\n', 1, "names no character"),
        ("a: 1\nb: .nan\n", 2, "b: given .nan"),
        ("a: -.inf\n", 1, "a: given -.inf"),
        ("a: 1e400\n", 1, "double"),
        ("a: 1e-400\n", 1, "double"),
        ("a: 9007199254740993\n", 1, "2**53"),
        (f"a: {'9' * 5000}\n", 1, "2**53"),
        ("a: x\x07\n", 1, "U+0007"),
        ("a: x\u202ey\n", 1, "U+202E"),
        ('a: "x\\0"\n', 1, "a: holds the control or invisible character U+0000"),
        ('a: "x\\ud800"\n', 1, "U+D800"),
        ("a: x\u2028y\n", 1, "U+2028"),
        ("a: 1\nb: x\ry\n", 2, "U+000D"),
        ("a: " + "[" * 500 + "]" * 500 + "\n", 1, "16 levels"),
        ("true: 1\n", 1, "not text"),
        ("~: 1\n", 1, "not text"),
        ("1: 1\n", 1, "not text"),
        ("? [a]\n: 1\n", 1, "not plain text"),
        ("a: 1\nb: [1, 2\n", 3, "not YAML"),
        ("a: 1\n  b: 2\n", 2, "not YAML"),
        ("a: `x`\n", 1, "not YAML"),
        ("", 1, "empty"),
        ("# only words\n", 1, "empty"),
    ],
)
def test_what_could_mean_two_things_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(BadYaml) as refusal:
        strict_yaml.parse(text.encode("utf-8", "surrogatepass"), "rungs/a.yaml")
    message = str(refusal.value)
    assert message.startswith(f"rungs/a.yaml:{line}: ")
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xef\xbb\xbfa: 1\n", "byte order mark"),
        (b"a: 1\nb: \xff\n", "rungs/a.yaml:2: byte 0xff is not UTF-8"),
        ("a: 1\n".encode("utf-16"), "not UTF-8"),
        (b"a: 1\n" + b"#" * 65536, "larger than 65536 bytes"),
    ],
)
def test_bytes_that_are_no_small_utf8_file_are_refused(data: bytes, says: str) -> None:
    with pytest.raises(BadYaml, match=says):
        strict_yaml.parse(data, "rungs/a.yaml")


def test_a_place_keeps_its_line() -> None:
    document = strict_yaml.parse(b"a: 1\nb:\n  - c: 2\n  - d: 3\n", "x.yaml")
    assert document.where(("b", 1, "d")) == "x.yaml:4: b[1].d"
    assert document.where(("b", 1, "not there")) == "x.yaml:4: b[1].'not there'"


def test_windows_line_ends_change_nothing() -> None:
    assert strict_yaml.parse(b"a: 1\r\nb: [x]\r\n").value == {"a": 1, "b": ["x"]}


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 2000), st.integers(0, 20))
def test_any_damage_to_a_card_is_read_or_refused_in_one_line(noise: bytes, at: int, lost: int) -> None:
    data = CARD.read_bytes()
    try:
        document = strict_yaml.parse(data[:at] + noise + data[at + lost :], "a.yaml")
    except BadYaml as refusal:
        assert str(refusal).startswith("a.yaml") and "\n" not in str(refusal)
    else:
        json.dumps(document.value, allow_nan=False)


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text("abz01. -_:#'\"yesno", max_size=12),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text("abon", min_size=1, max_size=4), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_a_value_written_as_json_is_read_back_the_same(value: object) -> None:
    assert strict_yaml.parse(json.dumps({"a": value}).encode()).value == {"a": value}
