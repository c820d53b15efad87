"""Our part of JSON Schema answers as the whole of it does, on every kind of record and sidecar."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ladder import schema, verdict
from tests.ladder import windows

KINDS = ("registration", "start", "receipt", "verdict", "observe", "sites", "readings")
ODD = (None, True, 0, -1, 1.5, "", "x", "A\n", "0" * 64 + "\n", [], [1, "a"], {}, {"a": 1})


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One sound value of each kind."""
    root = tmp_path_factory.mktemp("sound")
    name = windows.lay(root, windows.parts())
    verdict.grade(root, "demo", name)
    values = [json.loads(path.read_text()) for path in sorted(root.rglob("*.json"))]
    return {value.get("record") or value["kind"]: value for value in values}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with every key or index of it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def spoiled(value: Any, draw: random.Random) -> Any:
    """A copy with one thing replaced, removed or added."""
    value = copy.deepcopy(value)
    container, key = draw.choice(list(places(value)))
    act = draw.randrange(3)
    if act == 0:
        container[key] = copy.deepcopy(draw.choice(ODD))
    elif act == 1:
        del container[key]
    elif isinstance(container, dict):
        container["surprise"] = draw.choice(ODD)
    else:
        container.append(copy.deepcopy(draw.choice(ODD)))
    return value


def agrees(kind: str, value: Any) -> bool:
    ours = next(schema.mistakes(value, schema.named(kind)), None)
    theirs = next(jsonschema.Draft202012Validator(schema.named(kind)).iter_errors(value), None)
    # Stricter than the standard in two places, on purpose: 1.0 is no integer here, and `$` lets no newline by.
    stricter = ours is not None and theirs is None and any(_is_stricter(leaf) for leaf in leaves(value))
    return (ours is None) == (theirs is None) or stricter


def _is_stricter(leaf: Any) -> bool:
    return (isinstance(leaf, float) and leaf.is_integer()) or (isinstance(leaf, str) and leaf.endswith("\n"))


def leaves(value: Any) -> Iterator[Any]:
    yield from (container[key] for container, key in places(value))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_value_has_no_mistakes(kind: str, sound: dict[str, Any]) -> None:
    assert list(schema.mistakes(sound[kind], schema.named(kind))) == []
    jsonschema.validate(sound[kind], schema.named(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_spoiled_value_is_refused_exactly_where_the_whole_of_json_schema_refuses_it(
    kind: str, sound: dict[str, Any]
) -> None:
    draw = random.Random(kind)
    small = {**sound[kind]}
    if "tapes" in small:
        small["tapes"] = small["tapes"][:1]
    for _ in range(60):
        value = spoiled(small, draw)
        assert agrees(kind, value), value


@pytest.mark.parametrize("kind", KINDS)
def test_the_schemas_themselves_are_json_schema(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema.named(kind))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda value: value.update(ended="tired"), "ended: 'tired' is none of"),
        (lambda value: value.pop("arm"), "the whole: arm is missing"),
        (lambda value: value.update(mood="good"), "mood: unknown key"),
        (lambda value: value["observe"][0].update(rows=1.0), "observe[0].rows: 1.0 is not integer"),
        (lambda value: value["process"].update(threads=True), "process.threads: True is not integer"),
        (lambda value: value.update(start="0" * 64 + "\n"), "start: "),
    ],
)
def test_a_mistake_is_told_with_its_path(edit: Any, says: str, sound: dict[str, Any]) -> None:
    value = copy.deepcopy(sound["receipt"])
    edit(value)
    assert next(schema.mistakes(value, schema.named("receipt"))).startswith(says)


def test_a_schema_that_asks_for_more_than_we_check_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "diary.schema.json").write_text('{"type": "object", "patternProperties": {}}')
    monkeypatch.setattr(schema, "FOLDER", tmp_path)
    with pytest.raises(AssertionError, match="patternProperties"):
        schema.named("diary")
