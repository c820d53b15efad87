"""The whole backbone against published numbers: logits, copies, choices and caches, in every float32 arithmetic."""

import pytest
import torch

import runtime.layer
from kernels import order
from kernels.hyper_expand import reference as hyper_expand
from kernels.router import reference as router
from runtime import rope
from runtime.layer import Done
from tests.runtime.published import config, decode, logit_error, numbers, run, tensors, weights

FLOAT = ("plain", "kvq", "w8a8")
WHERE = {"plain": ("M01", "plain"), "kvq": ("M06", "kvq"), "w8a8": ("M06", "w8a8")}
CACHES = {"plain": ("M05", "plain_cache"), "kvq": ("M06", "kvq_cache"), "w8a8": ("M06", "w8a8_cache")}
LOGITS_WITHIN = {"plain": 2e-4, "kvq": 5e-4, "w8a8": 5e-4}
HIDDEN_WITHIN = {"plain": 1e-3, "kvq": 2e-3, "w8a8": 2e-3}
LAYERS = range(10)


def as_sets(ids: torch.Tensor) -> torch.Tensor:
    return ids.long().sort(-1).values


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().max())


@pytest.mark.parametrize("arithmetic", FLOAT)
def test_logits_are_the_published_ones(arithmetic):
    assert distance(run(arithmetic, 6).logits, numbers(*WHERE[arithmetic])["logits"]) < LOGITS_WITHIN[arithmetic]


@pytest.mark.parametrize("arithmetic", FLOAT)
def test_the_copies_behind_every_layer_are_the_published_ones(arithmetic):
    expected, values = numbers(*WHERE[arithmetic]), run(arithmetic, 6).values
    rows = expected["rows"].long()
    for layer in LAYERS:
        assert distance(values[layer, "ffn_expand"][rows], expected["hidden"][layer]) < HIDDEN_WITHIN[arithmetic]


def test_every_late_row_and_every_coefficient_is_the_published_one():
    expected, values = numbers("M05", "plain"), run("plain", 6).values
    for layer in LAYERS:
        assert distance(values[layer, "ffn_expand"][32:], expected["hidden"][layer]) < 1e-3
        assert distance(values[layer, "ffn_pre"], expected["pre"][layer]) < 2e-5


@pytest.mark.parametrize("arithmetic", FLOAT)
def test_every_row_goes_to_the_published_experts(arithmetic):
    expected, values = numbers(*WHERE[arithmetic]), run(arithmetic, 6).values
    rows = expected["rows"].long()
    for layer in LAYERS:
        assert torch.equal(as_sets(values[layer, "router_ids"]), as_sets(expected["router_ids"][layer]))
        ours, theirs = values[layer, "router_weights"][rows], expected["router_weights"][layer]
        assert distance(ours.sort(-1).values, theirs.sort(-1).values) < 1e-4


@pytest.mark.parametrize("arithmetic", FLOAT)
def test_every_row_selects_the_published_slots(arithmetic):
    expected, values = numbers(*WHERE[arithmetic]), run(arithmetic, 6).values
    for source in config().index_source_layer_ids:
        assert torch.equal(as_sets(values[source, "index_selected"]), as_sets(expected[f"selected_{source}"]))


@pytest.mark.parametrize("arithmetic", FLOAT)
def test_the_caches_end_as_the_published_ones(arithmetic):
    expected, state = numbers(*CACHES[arithmetic]), run(arithmetic, 6).cache.tensors()
    for name, array in expected.items():
        kind, layer = name.rsplit("_", 1)
        ours = state[{"window": "window", "latent": "latents", "index_key": "keys"}[kind] + f".{layer}"]
        assert distance(ours[-len(array) :], array) < 1e-4, name


@pytest.mark.parametrize("arithmetic", [*FLOAT, "product"])
def test_six_rows_a_step_equal_one_row_a_step_bit_for_bit(arithmetic):
    six, one = run(arithmetic, 6), run(arithmetic, 1)
    assert torch.equal(six.logits, one.logits)
    left, right = six.cache.tensors(), one.cache.tensors()
    assert list(left) == list(right)
    assert [name for name in left if not torch.equal(left[name], right[name])] == []
    assert [key for key in six.values if not torch.equal(six.values[key], one.values[key])] == []


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 7, 8])
def test_rows_of_any_count_equal_one_row_a_step(rows):
    """Across the wrap of the window, both parities, and the first candidate blocks that are left out."""
    assert torch.equal(decode(weights("product"), rows, length=40).logits, run("product", 1).logits[:40])


# Negative controls: each of these is a mistake that the numbers above must find. The bar is 2e-4.


def test_the_control_itself_is_within_the_bar():
    assert logit_error(weights()) < 2e-4


def test_a_transposed_comb_is_found(monkeypatch):
    sound = hyper_expand.run
    monkeypatch.setattr(hyper_expand, "run", lambda out, h, y, post, comb: sound(out, h, y, post, comb.mT))
    assert logit_error(weights()) > 1


def test_coefficients_used_at_once_instead_of_one_sublayer_late_are_found(monkeypatch):
    def at_once(at, h, pre, attention):
        pre, post, comb = at.attn_mix(h)
        h = at.attn_expand(h, attention(at.attn_norm(at.attn_collapse(h, pre))), post, comb)
        pre, post, comb = at.ffn_mix(h)
        x = at.ffn_norm(at.ffn_collapse(h, pre))
        ids, shares = at.router(x)
        y = at.ffn_add(at.experts(x, ids, shares), at.shared_expert(x))
        return Done(at.ffn_expand(h, y, post, comb), pre, ids)

    monkeypatch.setattr(runtime.layer, "forward", at_once)
    assert logit_error(weights()) > 1


def test_one_sinkhorn_pass_too_few_is_found():
    assert logit_error(weights(hc_sinkhorn_iters=19)) > 5e-4


def test_routing_weights_from_the_biased_scores_are_found(monkeypatch):
    sound = router.run

    def biased(ids, shares, x, gate):
        sound(ids, shares, x, gate)
        scores = torch.sqrt(torch.nn.functional.softplus(x.float() @ gate.wt)) + gate.bias
        own = scores.gather(1, ids)
        shares.copy_(own / own.sum(1, keepdim=True) * gate.scale)

    monkeypatch.setattr(router, "run", biased)
    assert logit_error(weights()) > 1


def test_a_yarn_range_that_is_not_clamped_is_found(monkeypatch):
    for name in ("max", "min"):
        monkeypatch.setattr(rope, name, lambda value, bound: value, raising=False)
    assert logit_error(weights(), length=64) > 1


def test_one_code_of_one_weight_off_by_one_is_found():
    name = "layers.3.attn.wq_b.weight"
    codes = tensors()[name].clone()
    codes.view(torch.uint8)[5, 7] ^= 1
    assert logit_error(weights(changed={name: codes})) > 2e-4


def test_the_last_bit_of_one_f32_weight_changes_the_bits():
    """Too small for any tolerance, and not for equality."""
    name = "layers.9.hc_ffn_base"
    base = tensors()[name].clone()
    base[0] = torch.nextafter(base[0], torch.tensor(torch.inf))
    sound, changed = decode(weights(), 8, length=8), decode(weights(changed={name: base}), 8, length=8)
    assert distance(sound.logits, changed.logits) < 2e-4
    assert not torch.equal(sound.values[9, "ffn_pre"], changed.values[9, "ffn_pre"])


def test_ties_left_to_the_library_break_row_invariance(monkeypatch):
    """Every index score ties here; the library's choice among them moves with the length of the row."""
    tied = weights(changed={"layers.8.attn.indexer.weights_proj.weight": torch.zeros(8, 64, dtype=torch.bfloat16)})

    def parted() -> bool:
        return not torch.equal(decode(tied, 8, length=40).logits, decode(tied, 2, length=40).logits)

    assert not parted()
    monkeypatch.setattr(order, "top_k", lambda scores, k: torch.topk(scores, min(k, scores.shape[-1])).indices)
    assert parted()
