"""The part of JSON Schema that records need: importing the whole of it costs more than grading a window.

`tests/ladder/test_schema.py` holds it against `jsonschema` on every kind of record and sidecar.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "schemas"
TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict) or isinstance(value, Mapping),  # noqa: SIM101 - most are dicts
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
KNOWN = frozenset(
    {
        *("$schema", "title", "description", "type", "const", "enum", "pattern", "minimum", "minItems", "maxItems"),
        *("items", "prefixItems", "required", "properties", "additionalProperties", "propertyNames"),
    }
)


@cache
def named(kind: str) -> Mapping[str, Any]:
    """The schema of a kind of record or sidecar, which uses nothing that `mistakes` would overlook."""
    schema: Mapping[str, Any] = json.loads((FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8"))
    unknown = sorted(set(_keywords(schema)) - KNOWN)
    assert not unknown, f"{kind}: {', '.join(unknown)}"
    return schema


def mistakes(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What keeps the value from the schema, each as `path: what is wrong`; nothing when it fits."""
    wrong = _itself(value, schema)
    if wrong:
        yield f"{path or 'the whole'}: {wrong}"
    elif isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - the first is ten times as fast
        yield from _of_object(value, schema, path)
    elif isinstance(value, list):
        yield from _of_array(value, schema, path)


def _itself(value: Any, schema: Mapping[str, Any]) -> str | None:
    types = schema.get("type")
    if types is not None and not (
        TYPES[types](value) if isinstance(types, str) else any(TYPES[name](value) for name in types)
    ):
        return f"{_shown(value)} is not {types if isinstance(types, str) else ' or '.join(types)}"
    if "const" in schema and not _same(value, schema["const"]):
        return f"{_shown(value)} is not {schema['const']!r}"
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        return f"{_shown(value)} is none of {', '.join(map(str, schema['enum']))}"
    if "minimum" in schema and type(value) in (int, float) and value < schema["minimum"]:
        return f"{value} is below {schema['minimum']}"
    if "pattern" in schema and isinstance(value, str) and not _pattern(schema["pattern"]).search(value):
        return f"{_shown(value)} does not match {schema['pattern']}"
    return None


def _same(value: Any, expected: Any) -> bool:
    return type(value) is type(expected) and bool(value == expected)


def _of_object(value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{path or 'the whole'}: {key} is missing"
    names, known = schema.get("propertyNames"), schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for key, inner in value.items():
        place = f"{path}.{key}" if path else key
        if names and (wrong := _itself(key, names)):
            yield f"{place}: as a key, {wrong}"
        if key in known:
            yield from mistakes(inner, known[key], place)
        elif others is False:
            yield f"{place}: unknown key"
        elif others is not True:
            yield from mistakes(inner, others, place)


def _of_array(value: list[Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{path}: {len(value)} items are too few or too many"
    first, items = schema.get("prefixItems", ()), schema.get("items")
    if items is not None and not first and _all_fit(value, items):
        return
    for index, inner in enumerate(value):
        if index < len(first):
            yield from mistakes(inner, first[index], f"{path}[{index}]")
        elif items is not None:
            yield from mistakes(inner, items, f"{path}[{index}]")


def _all_fit(values: Sequence[Any], items: Mapping[str, Any]) -> bool:
    """Whether numbers, texts, or tuples of them all fit, seen at a glance; False also where a closer look is due."""
    kind, keys = items.get("type"), items.keys() - {"type", "description"}
    if kind == "integer":
        low = items.get("minimum", float("-inf"))
        return keys <= {"minimum"} and all(type(value) is int and value >= low for value in values)
    if kind == "string" and keys <= {"pattern"}:
        matches = _pattern(items.get("pattern", "")).search
        return all(type(value) is str and matches(value) for value in values)
    if kind == "array" and "prefixItems" in keys and keys <= {"prefixItems", "minItems", "maxItems"}:
        columns = items["prefixItems"]
        if not items.get("minItems", 0) <= len(columns) <= items.get("maxItems", len(columns)):
            return False
        if not all(type(value) is list and len(value) == len(columns) for value in values):
            return False
        return all(_all_fit(column, each) for column, each in zip(zip(*values, strict=True), columns, strict=False))
    return False


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.removesuffix("$") + r"\Z" if text.endswith("$") else text)  # `$` would let a newline by


def _keywords(schema: Mapping[str, Any]) -> Iterator[str]:
    yield from schema
    inner = [schema[key] for key in ("items", "additionalProperties", "propertyNames") if key in schema]
    for each in [*inner, *schema.get("prefixItems", ()), *schema.get("properties", {}).values()]:
        if isinstance(each, Mapping):
            yield from _keywords(each)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"
