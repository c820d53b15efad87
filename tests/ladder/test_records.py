"""Records are written whole, once, and read strictly."""

import json
from pathlib import Path
from typing import Any

import pytest

from gates.digest import digest
from ladder import records
from ladder.errors import LinkedFolder
from ladder.records import AlreadyWritten, BadRecord

D = "0" * 64


def registration(**changes: Any) -> dict[str, Any]:
    meaning = {
        "choices": {"control": {}, "candidate": {"attn_norm": "rmsnorm/torch_split"}},
        "gates": [{"gate": "tokens"}],
        "instrument": "wall",
        "window": {"design": "turns"},
        "workload": {"model": "tiny"},
    }
    return {
        "record": "registration",
        "format": 1,
        "prev": [],
        "at": "2026-12-01T07:20:00Z",
        "rung": "r1",
        "profile": "cpu",
        "revision": 1,
        "meaning": meaning,
        "meaning_sha256": D,
        "gates_sha256": D,
        "code_sha256": D,
        "code": {"kernels/rmsnorm/torch_split.py": D},
        "third_party": {"torch": "2.13"},
        "commit": None,
        **changes,
    }


def rung(root: Path) -> Path:
    return root / "receipts" / "r1"


def test_a_record_reads_back_as_written_and_is_named_by_its_digest(tmp_path: Path) -> None:
    record = records.write_named(rung(tmp_path), registration())
    assert records.read(record.path) == registration()
    assert record.path.name == f"registration-{digest(record.path.read_bytes())[:8]}.json"


def test_a_record_is_sorted_indented_json_with_one_item_a_line_and_a_newline_at_its_end(tmp_path: Path) -> None:
    text = records.write_named(rung(tmp_path), registration()).path.read_text(encoding="utf-8")
    assert text == json.dumps(registration(), sort_keys=True, indent=2) + "\n"


def test_no_record_is_overwritten_even_by_itself(tmp_path: Path) -> None:
    path = rung(tmp_path) / "registration-00000000.json"
    before = records.write(path, registration()).path.read_bytes()
    with pytest.raises(AlreadyWritten, match="written once"):
        records.write(path, registration(revision=2))
    assert path.read_bytes() == before


def test_writing_leaves_no_temporary_file_behind_not_even_when_refused(tmp_path: Path) -> None:
    path = rung(tmp_path) / "registration-00000000.json"
    records.write(path, registration())
    with pytest.raises(AlreadyWritten):
        records.write(path, registration())
    assert [each.name for each in rung(tmp_path).iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"third_party": {"torch": 2.13}}, "third_party.torch is the float 2.13"),
        ({"third_party": {"torch": float("nan")}}, "third_party.torch is nan"),
        ({"surprise": 1}, "surprise"),
        ({"revision": "1"}, "revision"),
        ({"format": 2}, "format is 2"),
        ({"record": "diary"}, "record is 'diary'"),
        ({"at": "yesterday"}, "at"),
        ({"code": {"a.py": "x"}}, "code"),
        ({"third_party": {"torch": "\ud800"}}, "surrogate"),
    ],
)
def test_what_a_fact_may_not_hold_is_refused_with_its_key(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRecord, match=says):
        records.write_named(rung(tmp_path), registration(**changes))
    assert not rung(tmp_path).exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"step": {"mean": NaN}}', r"step\.mean is NaN"),
        ('{"step": {"mean": Infinity}}', r"step\.mean is Infinity"),
        ('{"steps": [1, -Infinity]}', r"steps\[1\] is -Infinity"),
        ('{"step": {"mean": -nan}}', "not whole JSON"),
        ('{"step": {"mean": 1e400}}', r"step\.mean is 1e400"),
        ('{"a": {"b": 1, "b": 2}}', r"a\.b is given twice"),
        ('{"a": 1', "not whole JSON"),
        ("", "not whole JSON"),
        ("[1]", "object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "not whole JSON"),
    ],
)
def test_reading_refuses_what_is_not_strict_json_and_names_the_key(text: str, says: str) -> None:
    with pytest.raises(BadRecord, match=says):
        records.parse("x.json", text.encode())


def test_reading_refuses_bytes_that_are_not_utf8() -> None:
    with pytest.raises(BadRecord, match="not whole JSON"):
        records.parse("x.json", b'{"a": "\xff"}')


def test_a_receipts_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "receipts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LinkedFolder, match="symbolic link"):
        records.write_named(rung(tmp_path), registration())
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_sidecar_is_named_by_content_so_that_equal_runs_share_one_file(tmp_path: Path) -> None:
    value = {"kind": "readings", "unit": "ns", "rows": 6, "tapes": []}
    first, second = (records.write_sidecar(rung(tmp_path), "readings", value) for _ in range(2))
    assert first == second and first["name"] == f"readings-{first['sha256'][:8]}.json"
    assert records.read_sidecar(rung(tmp_path), first) == value


def test_a_sidecar_whose_bytes_changed_is_refused(tmp_path: Path) -> None:
    value = {"kind": "readings", "unit": "ns", "rows": 6, "tapes": []}
    reference = records.write_sidecar(rung(tmp_path), "readings", value)
    path = rung(tmp_path) / reference["name"]
    path.write_text(path.read_text().replace("6", "5"))
    with pytest.raises(BadRecord, match="sha256"):
        records.read_sidecar(rung(tmp_path), reference)


def test_the_heads_are_the_records_that_no_other_has_seen(tmp_path: Path) -> None:
    first = records.write_named(rung(tmp_path), registration())
    second = records.write_named(rung(tmp_path), registration(prev=[first.sha256], revision=2))
    aside = records.write_named(rung(tmp_path), registration(prev=[first.sha256], revision=3))
    assert records.heads(tmp_path) == sorted([second.sha256, aside.sha256])


def test_records_are_listed_after_those_they_saw_whatever_the_clock_said(tmp_path: Path) -> None:
    first = records.write_named(rung(tmp_path), registration(at="2026-12-05T00:00:00Z"))
    second = records.write_named(rung(tmp_path), registration(at="2026-12-01T00:00:00Z", prev=[first.sha256]))
    assert [each.sha256 for each in records.scan(tmp_path)] == [first.sha256, second.sha256]


def test_a_broken_file_is_told_apart_and_the_good_ones_still_listed(tmp_path: Path) -> None:
    good = records.write_named(rung(tmp_path), registration())
    (rung(tmp_path) / "registration-11111111.json").write_text('{"record": "regis')
    (rung(tmp_path) / ".registration-2.json.abc.tmp").write_text("{")
    found, broken = records.survey(tmp_path)
    assert [each.sha256 for each in found] == [good.sha256]
    assert [each.path.name for each in broken] == ["registration-11111111.json"]
    with pytest.raises(BadRecord, match="not whole JSON"):
        records.heads(tmp_path)


def test_a_checkout_without_receipts_has_no_heads(tmp_path: Path) -> None:
    assert records.heads(tmp_path) == []
