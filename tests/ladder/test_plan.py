"""Plans: what the arms run, and the mistakes that only the whole checkout shows."""

import json
from pathlib import Path

import pytest

from ladder import plan, strict_yaml
from ladder.errors import BadSites, LadderError

SITES = {
    "layer": {"operation": "layer", "swallows": ["attn_in", "attn_norm"], "says": "a whole layer"},
    "attn_in": {"operation": "attn_in", "swallows": ["q_a", "kv"], "says": "projections of the normed input"},
    "q_a": {"operation": "linear", "swallows": [], "says": ""},
    "kv": {"operation": "linear", "swallows": [], "says": ""},
    "attn_norm": {"operation": "rmsnorm", "swallows": [], "says": ""},
    "ffn_norm": {"operation": "rmsnorm", "swallows": [], "says": ""},
    "head": {"operation": "head", "swallows": [], "says": ""},
}
KERNELS = """layer/torch_whole attn_in/torch_merged attn_in/merged linear/torch_split linear/torch_wide
             rmsnorm/torch_split rmsnorm/reference head/torch_slow head/reference"""
CARD = """\
card: 1
question: Faster?
parent: {parent}
profiles:
  {profile}:
    change: {change}
    workload: {{script: made_up, rows: [6]}}
    window: {{design: turns}}
    instrument: script
    gates: [{{gate: speed, primary: true, metric: step_us, rows: 6, bar: -100.0, rule: point}}]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for kernel in KERNELS.split():
        path = tmp_path / "kernels" / f"{kernel}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name in ("rungs", "runtime"):
        (tmp_path / name).mkdir()
    (tmp_path / "runtime" / "sites.json").write_text(json.dumps(SITES))
    return tmp_path


def write(root: Path, rung: str, change: str, parent: str = "reference", profile: str = "cpu") -> None:
    text = CARD.format(parent=parent, change=change, profile=profile)
    (root / "rungs" / f"{rung}.yaml").write_text(text)


def refusal(root: Path, rung: str = "b", profile: str = "cpu") -> str:
    with pytest.raises(LadderError) as refused:
        plan.make(root, rung, profile)
    return str(refused.value)


def test_the_control_runs_what_the_parents_run(root: Path) -> None:
    write(root, "a", "{attn_norm: rmsnorm/torch_split}")
    write(root, "b", "{head: head/torch_slow}", parent="a")
    made = plan.make(root, "b", "cpu")
    assert made.control == {"attn_norm": "rmsnorm/torch_split"}
    assert made.candidate == {"attn_norm": "rmsnorm/torch_split", "head": "head/torch_slow"}
    assert (made.changed, made.dropped, made.lineage) == (["head"], [], ["reference", "a", "b"])


def test_in_turns_both_sides_are_booted_and_measured_twice(root: Path) -> None:
    write(root, "b", "{head: head/torch_slow}")
    arms = [(arm.name, arm.role, arm.choices, arm.passes) for arm in plan.make(root, "b", "cpu").arms]
    assert arms == [
        ("A", "control", {}, ("observe", "measure")),
        ("B", "treatment", {"head": "head/torch_slow"}, ("observe", "measure")),
        ("A2", "control", {}, ("observe", "measure")),
        ("B2", "treatment", {"head": "head/torch_slow"}, ("observe", "measure")),
    ]


@pytest.mark.parametrize(("coarse", "site"), [("attn_in/torch_merged", "attn_in"), ("layer/torch_whole", "layer")])
def test_a_coarser_choice_drops_the_finer_ones_it_swallows(root: Path, coarse: str, site: str) -> None:
    write(root, "a", "{q_a: linear/torch_split, kv: linear/torch_split}")
    write(root, "b", f"{{{site}: {coarse}}}", parent="a")
    made = plan.make(root, "b", "cpu")
    assert made.candidate == {site: coarse}
    assert made.dropped == [("kv", site), ("q_a", site)]


def test_a_finer_choice_under_a_coarser_one_is_refused_for_it_never_runs(root: Path) -> None:
    write(root, "a", "{attn_in: attn_in/torch_merged}")
    write(root, "b", "{q_a: linear/torch_split}", parent="a")
    assert "never runs: attn_in/torch_merged at attn_in swallows it" in refusal(root)


def test_a_coarser_and_a_finer_site_in_one_card_are_refused(root: Path) -> None:
    sites = {**SITES, "pair": {"operation": "linear", "swallows": ["q_a"], "says": ""}}
    (root / "runtime" / "sites.json").write_text(json.dumps(sites))
    write(root, "b", "{pair: linear/torch_wide, q_a: linear/torch_wide}")
    assert "swallows q_a, which this card names too" in refusal(root)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("{attn_nrom: rmsnorm/torch_split}", "rungs/b.yaml:6: profiles.cpu.change.attn_nrom: no site 'attn_nrom'"),
        ("{attn_nrom: rmsnorm/torch_split}", "did you mean 'attn_norm'?"),
        ("{zzz: rmsnorm/torch_split}", "no site 'zzz' in runtime/sites.json"),
        ("{attn_norm: linear/torch_split}", "site 'attn_norm' computes rmsnorm, not linear"),
        (
            "{attn_norm: rmsnorm/torch_splt}",
            "no kernel file kernels/rmsnorm/torch_splt.py; did you mean 'torch_split'?",
        ),
        ("{attn_in: attn_in/merged}", "(reference|(torch|triton|"),
        ("{attn_norm: rmsnorm/reference}", "changes nothing: the control already runs exactly this"),
    ],
)
def test_a_change_names_a_site_and_a_kernel_that_exist(root: Path, change: str, says: str) -> None:
    write(root, "b", change)
    assert says in refusal(root)


def test_a_step_back_to_the_reference_is_a_change(root: Path) -> None:
    write(root, "a", "{head: head/torch_slow}")
    write(root, "b", "{head: head/reference}", parent="a")
    made = plan.make(root, "b", "cpu")
    assert (made.control, made.candidate) == ({"head": "head/torch_slow"}, {"head": "head/reference"})


def test_a_site_that_stays_as_it_was_is_not_among_the_changed(root: Path) -> None:
    write(root, "a", "{attn_norm: rmsnorm/torch_split}")
    write(root, "b", "{attn_norm: rmsnorm/torch_split, ffn_norm: rmsnorm/torch_split}", parent="a")
    assert plan.make(root, "b", "cpu").changed == ["ffn_norm"]


def test_a_parent_that_is_not_there_is_refused(root: Path) -> None:
    write(root, "t9b-3", "{head: head/torch_slow}")
    write(root, "b", "{head: head/torch_slow}", parent="t9b-33")
    assert "rungs/b.yaml:3: parent: given 't9b-33', and there is no rungs/t9b-33.yaml; did you mean" in refusal(root)


def test_a_ladder_that_stands_on_itself_is_refused(root: Path) -> None:
    write(root, "a", "{head: head/torch_slow}", parent="b")
    write(root, "b", "{head: head/torch_slow}", parent="a")
    assert "b stands on itself: b <- a <- b" in refusal(root)


def test_a_profile_needs_every_parent_to_have_it(root: Path) -> None:
    write(root, "a", "{head: head/torch_slow}", profile="h200")
    write(root, "b", "{attn_norm: rmsnorm/torch_split}", parent="a")
    assert "profile 'cpu' stands on a, which has no such profile (has: h200)" in refusal(root)


def test_a_mistake_in_a_parent_is_told_with_the_parents_file(root: Path) -> None:
    write(root, "a", "{attn_norm: linear/torch_split}")
    write(root, "b", "{head: head/torch_slow}", parent="a")
    assert refusal(root).startswith("rungs/a.yaml:6: ")


def test_the_meaning_fills_in_defaults_and_writes_whole_numbers_whole(root: Path) -> None:
    write(root, "b", "{head: head/torch_slow}")
    meaning = plan.make(root, "b", "cpu").meaning
    assert meaning["budget"] == plan.DEFAULT_BUDGET
    assert repr(meaning["gates"][0]["bar"]) == "-100"
    assert meaning["choices"] == {"control": {}, "candidate": {"head": "head/torch_slow"}}
    assert json.loads(json.dumps(meaning)) == meaning


def test_comments_and_spelling_do_not_change_the_meaning(root: Path) -> None:
    write(root, "b", "{head: head/torch_slow}")
    before = plan.make(root, "b", "cpu").meaning
    path = root / "rungs" / "b.yaml"
    path.write_text(
        "# said otherwise\n" + path.read_text().replace("-100.0", "-1e2").replace("{head: ", "{ 'head':   ")
    )
    assert plan.make(root, "b", "cpu").meaning == before


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("[]", "wanted a mapping"),
        ("{", "not JSON"),
        ('{"a": {"operation": "x", "swallows": ["b"]}}', "a swallows 'b', which is no site"),
        ('{"a": {"operation": "x", "swallows": ["a"]}}', "a swallows itself"),
    ],
)
def test_a_broken_table_of_sites_is_refused(root: Path, table: str, says: str) -> None:
    write(root, "b", "{head: head/torch_slow}")
    (root / "runtime" / "sites.json").write_text(table)
    with pytest.raises(BadSites, match=says):
        plan.make(root, "b", "cpu")


def test_nothing_is_written_by_planning(root: Path) -> None:
    write(root, "b", "{head: head/torch_slow}")
    before = sorted(root.rglob("*"))
    plan.make(root, "b", "cpu")
    assert sorted(root.rglob("*")) == before


def test_a_line_is_kept_for_every_place_of_a_card() -> None:
    text = CARD.format(parent="reference", change="{}", profile="cpu")
    assert strict_yaml.parse(text.encode()).line(("profiles", "cpu", "gates", 0, "bar")) == 10
