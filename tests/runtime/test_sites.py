"""Choices are bound once, refused when they cannot be, and change nothing but the kernel."""

from collections import Counter

import pytest
import torch

from kernels.address import addresses, find, operations
from runtime.cache import Cache, Layout
from runtime.model import Weights, forward
from runtime.sites import BadChoice, Sites, beside, bind, table
from tests.runtime.published import TOKENS, config, decode, weights

SPOILED = {"linear/torch_wrong_scale", "head/torch_slowed"}
FUSED = {
    "attn_in": "attn_in/torch_merged",
    "attn_mix": "hyper_mix/torch_folded",
    "ffn_mix": "hyper_mix/torch_folded",
    "attn_norm": "rmsnorm/torch_split",
    "kv_norm": "rmsnorm/torch_split",
    "experts": "experts/torch_gate_up_merged",
}
# A second kernel in torch at every fine site.
SECOND = {
    name: next(each for each in addresses(site["operation"]) if "/torch_" in each and each not in SPOILED)
    for name, site in table().items()
    if not site["swallows"]
}
LENGTH = 18


def product() -> Weights:
    return weights("product")


def bound(choices: dict[str, str] | None = None) -> Sites:
    return bind(config(), product(), choices or {})


def step(at: Sites, rows: int = 6) -> torch.Tensor:
    """One step at the beginning of the text."""
    own, cache = product(), Cache(Layout.of(config(), rows=8, context=64, draft=False))
    return forward(own, at, cache, TOKENS[:rows], cache.begin(rows)).logits.clone()


def observed(at: Sites) -> dict[tuple[int, str], list[float]]:
    seen: dict[tuple[int, str], list[float]] = {}
    step(at.observed(lambda layer, site, value, tensor: seen.update({(layer, value): tensor.float().tolist()})))
    return seen


def test_every_site_names_an_operation_and_every_operation_has_a_site():
    assert {site["operation"] for site in table().values()} == set(operations())
    assert all(part in table() for site in table().values() for part in site["swallows"])


def test_every_site_of_the_table_is_in_some_layer():
    there = {site.name for site in bound().all()}
    assert {name for name in table() if name not in there} == {
        "attn_in",  # composed unless chosen
        *(name for name in table() if name.startswith("draft_")),  # this checkpoint has no draft
    }


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"attn_norm": "swiglu/reference"}, "site 'attn_norm' computes rmsnorm, not swiglu"),
        ({"attn_nrm": "rmsnorm/reference"}, "site 'attn_nrm' does not exist; there are attend, "),
    ],
)
def test_a_choice_that_no_site_can_take_is_refused(choices, says):
    with pytest.raises(BadChoice, match=says):
        bound(choices)


@pytest.mark.parametrize("site", FUSED)
def test_a_choice_runs_its_kernel_in_every_layer(site):
    at = bound({site: FUSED[site]})
    step(at)
    assert at.launches()[FUSED[site]] == 10


def test_a_coarse_choice_runs_instead_of_the_finer_ones():
    composed, merged = bound(), bound({"attn_in": "attn_in/torch_merged"})
    step(composed)
    step(merged)
    kinds = {site.name for site in merged.all() if site.calls}
    assert not kinds & set(table()["attn_in"]["swallows"])
    # A window layer projects two of them, a KV source of ratio 2 five.
    finer = Counter(site.name for site in composed.all() if site.calls and site.name in table()["attn_in"]["swallows"])
    assert finer == {"q_a": 10, "kv": 10, "compress_k": 3, "compress_gate": 2, "index_weights": 4}


@pytest.mark.parametrize("choices", [FUSED, SECOND], ids=["fused", "second"])
def test_kernels_that_claim_bits_leave_the_whole_run_as_it_is(choices):
    assert {find(address).claim for address in choices.values()} == {"bits"}
    sound, fused = decode(product(), 6, bound(), LENGTH), decode(product(), 6, bound(choices), LENGTH)
    assert torch.equal(sound.logits, fused.logits)
    assert [key for key in sound.values if not torch.equal(sound.values[key], fused.values[key])] == []
    left, right = sound.cache.tensors(), fused.cache.tensors()
    assert [name for name in left if not torch.equal(left[name], right[name])] == []


def test_tables_that_fuse_differently_show_the_same_values_by_name():
    assert observed(bound()) == observed(bound(FUSED))


def test_observers_see_the_embedding_every_layer_and_the_head():
    layers = {layer for layer, _ in observed(bound())}
    assert layers == {-1, *range(10), 10}


@pytest.mark.parametrize("choices", [{}, FUSED], ids=["reference", "fused"])
def test_poisoned_buffers_change_nothing(choices):
    at = bound(choices)
    clean = step(at)
    for byte in (0x5A, 0xFF):
        at.poison(byte)
        assert torch.equal(step(at), clean), f"{byte:#x}"


def test_launches_count_each_call_until_reset():
    at = bound()
    step(at)
    assert at.launches()["hyper_mix/reference"] == 20
    assert at.launches()["head/reference"] == 1
    at.reset_launches()
    assert at.launches() == {}


def compared(site: str, address: str) -> list[tuple[int, str, int]]:
    """(layer, value, differing elements) of each comparison at a changed site."""
    found: list[tuple[int, str, int]] = []

    def report(layer, site, value, control, candidate):
        found.append((layer, value, int((control != candidate).sum())))

    control, candidate = bound(), bound({site: address})
    logits = step(beside(control, candidate, [site], report))
    assert torch.equal(logits, step(candidate)), "behaves as the candidate"
    return found


@pytest.mark.parametrize("site", FUSED)
def test_a_sound_candidate_beside_its_control_differs_nowhere(site):
    found = compared(site, FUSED[site])
    assert {layer for layer, _, _ in found} == set(range(10))
    assert all(differing == 0 for _, _, differing in found)


def test_a_composed_candidate_is_compared_with_a_coarse_control_and_can_be_observed():
    seen: set[str] = set()
    found: list[tuple[str, bool]] = []
    table_ = beside(
        bound({"attn_in": "attn_in/torch_merged"}),
        bound(),
        ["attn_in"],
        lambda layer, site, value, control, candidate: found.append((value, torch.equal(control, candidate))),
    )
    step(table_.observed(lambda layer, site, value, tensor: seen.add(value)))
    assert set(found) == {(part, True) for part in table()["attn_in"]["swallows"]}
    assert {"q_a", "kv", "attn_norm"} <= seen


def test_the_bound_kernels_tell_their_sources():
    kernels = bound({"attn_norm": "rmsnorm/torch_split"}).kernels()
    assert kernels["rmsnorm/torch_split"] == find("rmsnorm/torch_split").source_sha256
    assert "attn_in/torch_merged" not in kernels


def test_a_coarse_candidate_is_compared_by_the_finer_values():
    values = {value for layer, value, _ in compared("attn_in", "attn_in/torch_merged") if layer == 2}
    assert values == set(table()["attn_in"]["swallows"])


def test_a_wrong_candidate_beside_its_control_is_found_in_every_layer():
    found = compared("o_b", "linear/torch_wrong_scale")
    assert [layer for layer, _, differing in found if differing] == list(range(10))
