"""Configurations: the schedule, the released shape of config.json, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.config import ModelConfig, named
from runtime.errors import BadConfig

PUBLISHED = Path(__file__).parent.parent / "data" / "M01" / "config.json"


@pytest.mark.parametrize("name", ["tiny", "slice4", "slice10", "slice16", "full"])
def test_a_configuration_survives_its_json(name):
    config = named(name)
    assert ModelConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_the_released_schedule_has_four_modes():
    modes = [named("full").mode(layer) for layer in range(40)]
    assert [layer for layer, mode in enumerate(modes) if mode == "swa"] == [0, 1]
    assert [layer for layer, mode in enumerate(modes) if mode == "full"] == [2, 8, 14, 20]
    assert [layer for layer, mode in enumerate(modes) if mode == "reindex"] == [24, 28, 32, 36]


def test_a_layer_reads_the_latest_source_below_it():
    config = named("full")
    assert [config.kv_owner(layer) for layer in (2, 7, 8, 19, 20, 39)] == [2, 2, 8, 14, 20, 20]
    assert [config.index_owner(layer) for layer in (23, 24, 39)] == [20, 24, 36]


@pytest.mark.parametrize("name", ["tiny", "slice10", "slice16"])
def test_a_small_model_keeps_every_mechanism(name):
    config = named(name)
    assert {config.mode(layer) for layer in range(config.num_hidden_layers)} == {"swa", "full", "reindex", "reuse"}
    assert set(config.compress_ratios) == {0, 1, 2}
    assert {config.mode(layer) for layer in config.engram_layer_ids} == {"swa", "full"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hidden_size": 100}, "hidden_size is 100, and must be a multiple of 32"),
        ({"compress_ratios": (0, 0)}, "compress_ratios has 2 entries"),
        ({"compress_ratios": (1,) * 13}, "before the first KV source"),
        ({"candidate_source_layer_id": 4}, "must be the last KV source"),
        ({"index_source_layer_ids": (2, 8)}, "every KV source must be an index source"),
        ({"num_experts_per_tok": 33}, "num_experts_per_tok exceeds"),
    ],
)
def test_a_configuration_that_cannot_run_is_refused(change, says):
    with pytest.raises(BadConfig, match=says):
        replace(named("tiny"), **change)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("hidden_size", "64", "hidden_size must be a number, not '64'"),
        ("hidden_size", True, "hidden_size must be a number, not True"),
        ("hidden_size", 64.5, "hidden_size must be an integer, not 64.5"),
        ("engram_layer_ids", [1, "4"], "engram_layer_ids must be a list of integers"),
        ("scoring_func", "sigmoid", "scoring_func is 'sigmoid', and only 'sqrtsoftplus' is implemented"),
        ("rope_scaling", {"factor": 4}, "rope_scaling must give"),
    ],
)
def test_a_wrong_field_is_named(field, value, says):
    source = json.loads(PUBLISHED.read_text())
    source["text_config"][field] = value
    with pytest.raises(BadConfig, match=says):
        ModelConfig.from_json(source)


def test_a_missing_field_is_named():
    source = json.loads(PUBLISHED.read_text())
    del source["text_config"]["q_lora_rank"]
    with pytest.raises(BadConfig, match=r"config.json: missing q_lora_rank"):
        ModelConfig.from_json(source)


def test_an_unknown_model_is_answered_with_those_there_are():
    with pytest.raises(BadConfig, match="no model is called 'huge'; there are tiny, slice4, slice10, slice16, full"):
        named("huge")
