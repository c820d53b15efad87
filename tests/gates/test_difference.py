"""Where two runs part is named by the first value and the first element, whatever each arm fuses."""

from types import SimpleNamespace

from gates import difference
from tests.gates.windows import arm, observed, window


def test_what_one_arm_names_and_the_other_does_not_is_not_compared() -> None:
    ours = {"tapes": [{"tape": "prose", "steps": [[[0, "q_a", "00000000"], [0, "kv", "11111111"]]]}]}
    theirs = {"tapes": [{"tape": "prose", "steps": [[[0, "both", "22222222"], [0, "kv", "33333333"]]]}]}
    a, b = observed(1, "a", sites="ours"), observed(1, "b", sites="theirs")
    place = difference.first_value(window([], {"ours": ours, "theirs": theirs}), a, b)
    assert place == {"tape": "prose", "step": 0, "layer": 0, "value": "kv", "row": 0}


def test_the_first_value_is_the_first_that_the_candidate_computed() -> None:
    ours = {"tapes": [{"tape": "p", "steps": [[[1, "a", "00000000"], [0, "b", "1111111122222222"]]]}]}
    theirs = {"tapes": [{"tape": "p", "steps": [[[0, "b", "1111111133333333"], [1, "a", "44444444"]]]}]}
    a, b = observed(2, "a", sites="ours"), observed(2, "b", sites="theirs")
    place = difference.first_value(window([], {"ours": ours, "theirs": theirs}), a, b)
    assert place is not None
    assert (place["layer"], place["value"], place["row"]) == (0, "b", 1)


def test_the_first_element_is_the_earliest_over_all_changed_sites() -> None:
    first = {"layer": 3, "value": "v", "row": 0, "element": 1, "control": "3f80", "candidate": "3f81"}
    later, sooner = first | {"tape": "b", "step": 0}, first | {"tape": "a", "step": 2}
    beside = {"x": {"first": later}, "y": {"first": sooner}, "z": {"first": None}}
    found = difference.first_element(arm("B", [], beside=beside), ["x", "y", "z"], ["a", "b"])
    assert found == {"site": "y", **sooner}


def test_the_prompts_first_rows_come_before_what_a_step_was_fed() -> None:
    def sites(prompt: str, step: str) -> dict[str, object]:
        values = [[[-1, "embed", step], [0, "o_b", step]]]
        return {
            "kind": "sites",
            "rows": 1,
            "tapes": [{"tape": "prose", "prompt": [[0, "o_b", prompt]], "steps": values}],
        }

    ours, theirs = sites("00000000", "00000000"), sites("11111111", "11111111")
    a, b = (SimpleNamespace(sites=name) for name in ("ours", "theirs"))
    sidecars = SimpleNamespace(sidecar={"ours": ours, "theirs": theirs}.__getitem__)
    place = difference.first_value(sidecars, a, b)  # type: ignore[arg-type]
    assert place == {"tape": "prose", "step": None, "layer": 0, "value": "o_b", "row": 0}
    assert difference.spoken_value(place) == "layer 0, o_b, row 0 (tape prose, the prompt's first rows)"


def test_a_value_that_comes_twice_is_compared_each_time_with_its_own() -> None:
    """A draft embeds behind the layers, and the embedding before them is not what parted."""
    ours = {"tapes": [{"tape": "p", "steps": [[[-1, "embed", "00000000"], [0, "b", "1"], [-1, "embed", "22222222"]]]}]}
    theirs = {
        "tapes": [{"tape": "p", "steps": [[[-1, "embed", "00000000"], [0, "b", "3"], [-1, "embed", "44444444"]]]}]
    }
    a, b = observed(1, "a", sites="ours"), observed(1, "b", sites="theirs")
    place = difference.first_value(window([], {"ours": ours, "theirs": theirs}), a, b)
    assert place is not None and (place["layer"], place["value"]) == (0, "b")
