"""Cards: what is accepted, and the one line that answers each mistake."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ladder import card
from ladder.errors import BadCard, BadName, BadYaml, LadderError, UnknownProfile

RUNGS = Path(__file__).parent.parent.parent / "rungs"
GOOD = """\
card: 1
question: Does splitting the norm's reduction shorten the step?
parent: reference
declares: {env: [], args: []}
profiles:
  cpu:
    change: {attn_norm: rmsnorm/torch_split}
    workload:
      model: tiny
      rows: [6, 1]
      observe: {tapes: 8, new_tokens: 16}
      measure: {tapes: 8, new_tokens: 32, skip_steps: 2}
    window: {design: turns}
    instrument: wall
    gates:
      - {gate: bits, over: [logits, tokens], replay: true}
      - {gate: speed, primary: true, metric: step_us, rows: 6, bar: -100, rule: point}
"""


def parse(text: str) -> card.Card:
    return card.parse(text.encode(), "y01")


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, f"{old!r} should be in the good card once"
    return GOOD.replace(old, new)


def refusal(text: str) -> str:
    with pytest.raises(LadderError) as refused:
        parse(text)
    message = str(refused.value)
    assert message.startswith("rungs/y01.yaml:")
    assert "\n" not in message
    return message


def test_a_good_card_is_read() -> None:
    assert parse(GOOD).profile("cpu")["gates"][1]["bar"] == -100


@pytest.mark.parametrize("path", sorted(RUNGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_card_of_this_ladder_is_a_card(path: Path) -> None:
    assert card.read(path).rung == path.stem


@pytest.mark.parametrize(
    ("written", "bar"),
    [("-1e-1", -0.1), ("-.1", -0.1), ("-1.2e3", -1200), ("-0.10", -0.1), ("-010", -10), ("-0", 0)],
)
def test_a_bar_is_the_number_however_it_is_spelled(written: str, bar: float) -> None:
    assert parse(changed("bar: -100", f"bar: {written}")).profile("cpu")["gates"][1]["bar"] == bar


@pytest.mark.parametrize("written", ["-0.1O", "'-100'", "yes", "true", "", "[-100]", "-1_000", "-1:30"])
def test_a_bar_that_is_no_number_is_refused_by_its_key_and_value(written: str) -> None:
    message = refusal(changed("bar: -100", f"bar: {written}"))
    assert message.startswith("rungs/y01.yaml:17: profiles.cpu.gates[1].bar: given ")
    assert message.endswith("wanted a number")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (changed("bar: -100", "bar: -100, bar: -1"), "17: profiles.cpu.gates[1].bar: the key is on line 17 too"),
        (GOOD + "profiles: {}\n", "18: profiles: the key is on line 5 too"),
        (GOOD + '"parent": other\n', "18: parent: the key is on line 3 too"),
    ],
)
def test_a_key_written_twice_is_refused_with_both_lines(text: str, lines: str) -> None:
    assert lines in refusal(text)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "replay: true",
            "replay: 'false'",
            "16: profiles.cpu.gates[0].replay: given 'false' (text); wanted true or false",
        ),
        ("replay: true", "replay: yes", "gates[0].replay: given 'yes' (text); wanted true or false"),
        ("primary: true", "primary: on", "gates[1].primary: given 'on' (text)"),
        ("parent: reference", "parent: false", "3: parent: given False (a true or false); wanted text"),
        (
            "question: Does splitting the norm's reduction shorten the step?",
            "question: 7",
            "2: question: given 7 (a number)",
        ),
        ("card: 1\n", "card: 1\non: h200\n", "2: on: unknown key"),
        ("card: 1\n", "card: 2\n", "1: card: given 2; it must be 1"),
    ],
)
def test_a_flag_is_true_or_false_and_a_name_is_text(old: str, new: str, says: str) -> None:
    assert says in refusal(changed(old, new))


def test_off_is_the_name_off_and_never_no_control() -> None:
    assert parse(changed("parent: reference", "parent: off")).parent == "off"


@pytest.mark.parametrize("written", ["2027-01-31", "'2027-01-31'"])
def test_a_date_is_the_same_text_with_and_without_quotes(written: str) -> None:
    value = parse(GOOD + f"next: {{expires: {written}}}\n").value
    assert json.loads(json.dumps(value))["next"] == {"expires": "2027-01-31"}


@pytest.mark.parametrize("written", ["2027-02-30", "2027-99-99", "27-01-31", '"2027-01-31\\n"'])
def test_a_date_that_is_no_day_is_refused(written: str) -> None:
    assert "next.expires: given" in refusal(GOOD + f"next: {{expires: {written}}}\n")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("new_tokens: 16", "new_token: 16", "workload.observe.new_token: unknown key; did you mean 'new_tokens'?"),
        ("    gates:", "    gate:", "profiles.cpu.gate: unknown key; did you mean 'gates'?"),
        ("metric: step_us", "met-ric: step_us", "gates[1].met-ric: unknown key; did you mean 'metric'?"),
        ("skip_steps: 2", "skip-steps: 2", "measure.skip-steps: unknown key; did you mean 'skip_steps'?"),
        ("declares:", "declare:", "4: declare: unknown key; did you mean 'declares'?"),
        ("instrument: wall", "instrument: walls", "profiles.cpu.instrument: given 'walls'; one of: "),
        ("design: turns", "design: turn", "window.design: given 'turn'; one of: A-B-A2, turns; did you mean 'turns'?"),
        ("gate: bits", "gate: bit", "gates[0].gate: given 'bit'; one of: bits, "),
        ("gate: bits, ", "", "16: profiles.cpu.gates[0]: lacks the key 'gate'"),
        ("over: [logits, tokens]", "over: []", "gates[0].over: given []"),
        ("over: [logits, tokens]", "over: [logit]", "over[0]: given 'logit'; one of: logits, "),
        ("rows: [6, 1]", "rows: [6, 6]", "workload.rows: given [6, 6]; each item once"),
        ("rows: [6, 1]", "rows: [9]", "workload.rows[0]: given 9; at most 8"),
        ("      model: tiny\n", "", "8: profiles.cpu.workload: lacks the key 'model'"),
    ],
)
def test_a_key_or_word_that_is_not_known_is_answered_with_its_path(old: str, new: str, says: str) -> None:
    assert says in refusal(changed(old, new))


GATES = GOOD[GOOD.index("    gates:") :]


@pytest.mark.parametrize(
    ("gates", "says"),
    [
        ("", "6: profiles.cpu: lacks the key 'gates'"),
        ("    gates: {}\n", "gates: given {} (a mapping); wanted a list"),
        ("    gates:\n", "gates: given nothing; wanted a list"),
        ("    gates: []\n", "holds no gate"),
        ("    gates: [{}]\n", "gates[0]: lacks the key 'gate'"),
        ("    gates: [{gate: rows}]\n", "0 primary gates"),
        (GATES.replace("replay: true", "primary: true"), "2 primary gates"),
        (GATES.replace("bar: -100", "bar: 1000000"), "gates[1].bar: given 1000000: a bar on the losing side"),
        (GATES.replace("step_us", "tok_s"), "a bar on the losing side"),
        (GATES.replace("rows: 6", "rows: 4"), "gates[1].rows: given 4, which workload.rows [6, 1] never runs"),
    ],
)
def test_a_card_that_nothing_can_fail_is_refused(gates: str, says: str) -> None:
    assert says in refusal(GOOD.replace(GATES, gates))


def test_a_row_gate_needs_one_row_and_several() -> None:
    text = changed("rows: [6, 1]", "rows: [6]").replace(
        "gate: bits, over: [logits, tokens], replay: true", "gate: rows"
    )
    assert "compares 1 row with several" in refusal(text)


def test_a_measure_pass_that_may_skip_every_step_is_refused() -> None:
    assert "may leave none" in refusal(changed("skip_steps: 2", "skip_steps: 6"))


def test_different_kernels_in_one_card_are_two_changes() -> None:
    text = changed("{attn_norm: rmsnorm/torch_split}", "{attn_norm: rmsnorm/torch_split, head: head/torch_slowed}")
    assert "2 changes (head/torch_slowed, rmsnorm/torch_split)" in refusal(text)


def test_one_kernel_at_several_sites_is_one_change() -> None:
    text = changed(
        "{attn_norm: rmsnorm/torch_split}", "{attn_norm: rmsnorm/torch_split, ffn_norm: rmsnorm/torch_split}"
    )
    assert len(parse(text).profile("cpu")["change"]) == 2


BAD_NAMES = ["../../escape", "/nonexistent-root/escape", "a/b/c", "x" * 300, "-rf", ".", "a\nb", "parent\n", ""]


@pytest.mark.parametrize("name", BAD_NAMES, ids=range(len(BAD_NAMES)))
@pytest.mark.parametrize("old", ["reference", "attn_norm", "rmsnorm/torch_split", "tiny", "cpu"])
def test_a_name_that_would_become_a_path_is_refused_with_the_pattern(tmp_path: Path, old: str, name: str) -> None:
    before = sorted(tmp_path.parent.iterdir())
    message = refusal(changed(old, json.dumps(name)))
    assert "match" in message or "is not" in message
    assert sorted(tmp_path.parent.iterdir()) == before


@pytest.mark.parametrize("stem", ["a.b", "-rf", "A", "x" * 60])
def test_a_card_is_named_by_its_file(tmp_path: Path, stem: str) -> None:
    path = tmp_path / f"{stem}.yaml"
    path.write_text(GOOD)
    with pytest.raises(BadName):
        card.read(path)


def test_a_profiles_key_replaces_the_whole_key_of_the_card() -> None:
    read = parse(GOOD + "budget: {boot_s: 60, measure_s: 9}\npredict: {step_us: -1, basis: modeled}\n").profile("cpu")
    own = parse(changed("    instrument", "    budget: {boot_s: 5}\n    instrument") + "budget: {measure_s: 9}\n")
    assert read["budget"] == {"boot_s": 60, "measure_s": 9}
    assert own.profile("cpu")["budget"] == {"boot_s": 5}


def test_an_inherited_mistake_is_shown_where_it_is_written() -> None:
    text = GOOD.replace(GATES, "") + "gates:\n  - {gate: rows}\n"
    assert refusal(text).startswith("rungs/y01.yaml:15: gates: 0 primary gates")


def test_an_unknown_profile_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownProfile, match=r"no profile 'cpus'; did you mean 'cpu'\? \(has: cpu\)"):
        parse(GOOD).profile("cpus")


def test_recorded_readings_need_the_script_instrument() -> None:
    assert "go together" in refusal(changed("model: tiny", "script: made_up"))
    read = parse(changed("model: tiny", "script: made_up").replace("instrument: wall", "instrument: script"))
    assert read.profile("cpu")["workload"]["script"] == "made_up"


@pytest.mark.parametrize(
    "text", ["7\n", "[]\n", "card\n", "card: 1\n", "{}\n", "profiles: {cpu: 7}\n", "profiles: 7\n"]
)
def test_what_is_no_card_at_all_is_refused(text: str) -> None:
    assert refusal(text)


def everywhere(value: object, place: tuple = ()) -> list[tuple]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, item in inner for found in everywhere(item, (*place, key)))]


NUMBERS = st.integers(-3, 9) | st.floats(allow_nan=False, allow_infinity=False)
EMPTY = st.sampled_from([[], {}, [{"gate": "speed"}]])
ODD = st.none() | st.booleans() | NUMBERS | st.text(max_size=8) | EMPTY | st.dictionaries(st.text(max_size=4), NUMBERS)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_value_put_anywhere_is_refused_in_a_line_or_read_right(data: st.DataObject) -> None:
    value = yaml.safe_load(GOOD)
    *around, last = data.draw(st.sampled_from(everywhere(value)[1:]))
    target = value
    for key in around:
        target = target[key]
    odd = target[last] = data.draw(ODD)
    try:
        read = card.parse(json.dumps(value).encode(), "y01")
    except (BadCard, BadName, BadYaml) as refused:
        assert str(refused).startswith("rungs/y01.yaml:1: ") and "\n" not in str(refused), odd
    else:
        assert read.value == value and any(gate.get("primary") for gate in read.profile("cpu")["gates"])
