"""One part of the model at a time against published inputs and outputs: integers equal, values within 2e-6.

Values are compared relative to the largest of their array.
"""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from kernels import codecs, elementary, order
from kernels.attend import reference as attend
from kernels.engram_gate import reference as engram_gate
from kernels.engram_rows import reference as engram_rows
from kernels.experts import reference as experts
from kernels.experts.reference import Experts
from kernels.grouped_linear import reference as grouped_linear
from kernels.head import reference as head
from kernels.hyper_collapse import reference as hyper_collapse
from kernels.hyper_expand import reference as hyper_expand
from kernels.hyper_mix import reference as hyper_mix
from kernels.hyper_mix.sinkhorn import Mix
from kernels.index_scores import reference as index_scores
from kernels.linear import reference as linear
from kernels.matrix import Matrix, fp4_values
from kernels.rmsnorm import reference as rmsnorm
from kernels.rotate import reference as rotate
from kernels.router import reference as router
from kernels.router.reference import Gate
from kernels.select_slots import reference as select_slots
from kernels.select_slots.reference import Rule
from kernels.swiglu import reference as swiglu
from runtime import attention, rope
from runtime.cache import Cache, Layout
from runtime.config import Yarn, named
from runtime.engram import hash_of
from runtime.sites import bind
from tests.runtime.published import TOKEN_MAP, config, numbers, weights

EPS = 1e-20


def close(ours: Tensor, theirs: Tensor, within: float = 2e-6) -> bool:
    return ours.shape == theirs.shape and bool((ours - theirs).abs().max() <= within * theirs.abs().max())


def bf16(bits: Tensor) -> Tensor:
    return bits.view(torch.int16).view(torch.bfloat16)


def made(module, shape: tuple[int, ...], *arguments, dtype=torch.float32) -> Tensor:
    """The single output of a reference, over poison."""
    out = torch.full(shape, float("nan"), dtype=dtype)
    module.run(out, *arguments)
    return out


# Hyper-connections

HYPER = numbers("M02", "hyper_connection")


def mixed(h: Tensor, passes: int = 20, base: str = "base") -> tuple[Tensor, Tensor, Tensor]:
    outputs = torch.empty(9, 4), torch.empty(9, 4), torch.empty(9, 4, 4)
    mix = Mix(HYPER["fn"].t().contiguous(), HYPER["scale"], HYPER[base], passes, 1e-6, EPS)
    hyper_mix.run(*outputs, h, mix)
    return outputs


@pytest.mark.parametrize("prefix", ["", "wide_"])
def test_hyper_connection_coefficients(prefix):
    for name, ours in zip(("pre", "post", "comb"), mixed(HYPER["h"], base=prefix + "base"), strict=True):
        assert close(ours, HYPER[prefix + name]), name


def test_the_number_of_sinkhorn_passes_counts():
    for passes, expected in zip(HYPER["comb_iters"].tolist(), HYPER["comb_at_iters"], strict=True):
        assert close(mixed(HYPER["h"], passes)[2], expected), passes
    assert not close(mixed(HYPER["h"], 19)[2], HYPER["comb"])


def test_collapse_and_expand():
    assert close(made(hyper_collapse, (9, 64), HYPER["h"], HYPER["collapse_coeff"]), HYPER["collapse_out"])
    arguments = HYPER["h"], HYPER["y"], HYPER["post"], HYPER["comb"]
    assert close(made(hyper_expand, (9, 4, 64), *arguments), HYPER["expand_out"])


def test_hyper_connections_in_bf16_are_within_one_ulp():
    h, y = HYPER["h"].bfloat16(), bf16(HYPER["bf16_y_bits"])
    pre, post, comb = mixed(h)
    for name, ours in (("pre", pre), ("post", post), ("comb", comb)):
        assert close(ours, HYPER[f"bf16_h_{name}"]), name
    collapsed = made(hyper_collapse, (9, 64), h, HYPER["collapse_coeff"], dtype=torch.bfloat16)
    expanded = made(hyper_expand, (9, 4, 64), h, y, post, comb, dtype=torch.bfloat16)
    for ours, bits in ((collapsed, HYPER["bf16_collapse_bits"]), (expanded, HYPER["bf16_expand_bits"])):
        theirs = bf16(bits).float()
        # Where terms cancel, an ulp of the result is below that of its terms.
        noise = 2e-7 * theirs.abs().flatten(1).amax(1).view(9, *[1] * (theirs.dim() - 1))
        assert ((ours.float() - theirs).abs() <= 2.0**-7 * theirs.abs() + noise).all()


# Norm, head, rotary embedding


def test_rmsnorm():
    case = numbers("M02", "rmsnorm")
    ours = made(rmsnorm, (8, 64), case["x"], case["weight"], EPS)
    assert all(close(mine, theirs) for mine, theirs in zip(ours, case["out"], strict=True) if theirs.any())
    assert torch.equal(ours == 0, case["out"] == 0)


def test_head():
    case, own = numbers("M02", "head"), weights()
    collapsed = made(hyper_collapse, (5, 64), case["h"], case["pre"])
    normed = made(rmsnorm, (5, 64), collapsed, own.norm, EPS)
    assert close(collapsed, case["collapsed"])
    assert close(normed, case["normed"])
    assert close(made(head, (5, 256), normed, own.head), case["logits"])


ROPE = numbers("M02", "rope")


def rope_setting(name: str):
    """Frequencies (main, compress) of a named setting."""
    if name == "midramp":
        return rope.frequencies(10000.0, 16), rope.frequencies(160000.0, 16, Yarn(8.0, original_positions=4096))
    configs = {"released": named("full"), "tiny": config(), "spec_tiny": named("tiny")}
    own = configs[name]
    return rope.window_frequencies(own), rope.compressed_frequencies(own)


@pytest.mark.parametrize("name", ["released", "tiny", "spec_tiny", "midramp"])
def test_rotary_embedding(name):
    for kind, frequency in zip(("main", "compress"), rope_setting(name), strict=True):
        turn = rope.turn(frequency, ROPE["positions"])
        assert close(frequency, ROPE[f"{name}_f_{kind}"])
        assert close(turn.cos, ROPE[f"{name}_cos_{kind}"], 2e-6)
        assert close(turn.sin, ROPE[f"{name}_sin_{kind}"], 2e-6)
        x = ROPE[f"{name}_x"]
        assert close(made(rotate, x.shape, x, *turn, "none"), ROPE[f"{name}_rot_{kind}"])
        assert close(made(rotate, x.shape, x, *turn.back, "none"), ROPE[f"{name}_inv_{kind}"])


def test_the_released_frequencies_are_the_stated_ones():
    frequency = rope.frequencies(160000.0, 32, Yarn(factor=16.0, original_positions=65536))
    stated = {0: 1.0, 15: 3.63553858e-3, 20: 2.96977778e-4, 31: 5.68052904e-7}
    assert all(abs(float(frequency[i]) - value) < 2e-7 * value for i, value in stated.items())


# Experts

ROUTER = numbers("M02", "router")


def routed(bias: Tensor) -> tuple[Tensor, Tensor]:
    ids, shares = torch.empty(12, 6, dtype=torch.int64), torch.empty(12, 6)
    router.run(ids, shares, ROUTER["x"], Gate(ROUTER["gate_weight"].t().contiguous(), bias, 6, 1.5))
    return ids, shares


@pytest.mark.parametrize(
    ("bias", "ids_name", "weights_name", "skipped"),
    [
        (ROUTER["bias"], "ids", "weights", []),
        (0 * ROUTER["bias"], "ids_no_bias", "weights_no_bias", [3]),  # row 3 ties everywhere: no rule of theirs
        (ROUTER["bias"] - 5, "negative_bias_ids", "negative_bias_weights", []),
    ],
    ids=["bias", "no bias", "negative sums"],
)
def test_router(bias, ids_name, weights_name, skipped):
    ids, shares = routed(bias)
    rows = [row for row in range(12) if row not in skipped]
    expected, places = ROUTER[ids_name].sort(1)
    assert torch.equal(ids[rows], expected[rows])
    assert close(shares[rows], ROUTER[weights_name].gather(1, places)[rows])


def test_a_row_in_which_all_experts_tie_goes_to_the_lowest_ids():
    assert routed(0 * ROUTER["bias"])[0][3].tolist() == list(range(6))


EXPERT = numbers("M02", "expert")


def expert(quantise: bool, stacked: bool) -> Experts:
    parts = [
        fp4_values(EXPERT[f"{name}_packed"], EXPERT[f"{name}_scale_u8"]).t().contiguous() for name in ("w1", "w3", "w2")
    ]
    return Experts(*(Matrix(part[None] if stacked else part, quantise) for part in parts), 10.0)


def through_experts(x: Tensor, quantise: bool) -> Tensor:
    ids = torch.zeros(10, 1, dtype=torch.int64)
    return made(experts, (10, 64), x, ids, EXPERT["routing_weight"][:, None], expert(quantise, stacked=True))


def test_packed_weights_are_widened_exactly():
    for name in ("w1", "w3", "w2"):
        assert torch.equal(fp4_values(EXPERT[f"{name}_packed"], EXPERT[f"{name}_scale_u8"]), EXPERT[name])


@pytest.mark.parametrize(("quantise", "name"), [(False, "out"), (True, "out_q8")])
def test_a_routed_and_a_shared_expert(quantise, name):
    shared = made(swiglu, (10, 64), EXPERT["x"], expert(quantise, stacked=False))
    assert close(through_experts(EXPERT["x"], quantise), EXPERT[name])
    assert close(shared, EXPERT[{"out": "out_unweighted", "out_q8": "out_q8_unweighted"}[name]])


def test_an_expert_in_bf16_is_within_two_ulp_of_its_largest_value():
    ours = through_experts(bf16(EXPERT["x_bf16_bits"]), quantise=True)
    theirs = bf16(EXPERT["out_q8_bf16_bits"]).float()
    largest = theirs.abs().amax(1, keepdim=True)
    ulp = 2.0 ** (torch.floor(torch.log2(largest.clamp(min=1e-30))) - 7)
    assert ((ours - theirs).abs() <= 2 * ulp).all()


# Attention


def test_attention_and_its_output_projections():
    case = numbers("M02", "attention")
    layer = int(case["layer"])
    own = weights().layer(layer)
    rows = case["rows"].expand(6, -1, -1)
    o = made(attend, (6, 4, 32), case["q"], rows, case["visible"], case["sink"], 32**-0.5)
    turn = rope.turn(rope.compressed_frequencies(config()), case["out_positions"])
    back = made(rotate, o.shape, o, *turn.back, "none")
    u = made(grouped_linear, (6, 32), back.flatten(1), own.o_a)
    assert close(o, case["out"])
    assert not o[0].any(), "a row that sees nothing attends to nothing"
    assert close(back, case["out_unrotated"])
    assert close(u, case["u"])
    assert close(made(linear, (6, 64), u, own.o_b), case["y"])
    assert close(made(linear, (6, 64), u, Matrix(own.o_b.wt, quantise=True)), case["y_q8"])


def compressed(case: dict[str, Tensor], prefix: str, chunks: list[int], arithmetic: str) -> Cache:
    """Run a layer's compressor alone over rows in chunks."""
    layer = int(case[f"{prefix}_layer"])
    own = weights(arithmetic)
    at = bind(own.config, own, {})[layer]
    cache = Cache(Layout.of(own.config, rows=8, context=16, draft=False))
    for x in case[f"{prefix}_x"].split(chunks):
        step = attention.Step.begin(own, cache, cache.begin(len(x)))
        projected = SimpleNamespace(of=at.attn_in(x))
        attention._compress(at, step, projected)
        cache.commit(len(x))
    return cache


@pytest.mark.parametrize("chunks", [[1, 2, 1, 4, 3], [8, 3], [1] * 11], ids=str)
@pytest.mark.parametrize("prefix", ["r2", "r1"])
def test_compressor_in_chunks_of_any_size(prefix, chunks):
    case = numbers("M02", "compressor")
    slots = len(case[f"{prefix}_latent"])
    layer = int(case[f"{prefix}_layer"])
    for arithmetic, latent, key in (
        ("plain", "latent_rope", "index_key_rope"),
        ("kvq", "stored_q4", "index_key_q4"),
    ):
        latents, keys = compressed(case, prefix, chunks, arithmetic).compressed(layer)
        assert close(latents[:slots], case[f"{prefix}_{latent}"])
        assert close(keys[:slots], case[f"{prefix}_{key}"])


def test_a_ratio_2_compressor_leaves_its_open_pair():
    case = numbers("M02", "compressor")
    pending = compressed(case, "r2", [8, 3], "plain").pending(int(case["r2_layer"]))
    assert pending.valid
    assert close(pending.k[None], case["r2_pending_kv_after"])
    assert close(pending.s[None], case["r2_pending_gate_after"])


INDEXER = numbers("M02", "indexer")


def scored(layer: int, x: Tensor, qr: Tensor) -> tuple[Tensor, Tensor]:
    """Index scores of a layer [37, 37] over the given latents, and the keys."""
    own, source = weights().layer(layer).indexer, weights().layer(int(INDEXER["source_layer"])).compressor
    turn = rope.turn(rope.compressed_frequencies(config()), INDEXER["positions"])
    key = made(rmsnorm, (37, 32), order.dot(INDEXER["latent"], source.index_k.wt), source.index_k_norm, EPS)
    key = made(rotate, key.shape, key, *turn, "q4i")
    query = order.dot(qr, own.q_b.wt).view(37, 8, 32)
    query = made(rotate, query.shape, query, *turn, "q4i")
    shares = order.dot(x, own.weights.wt)
    visible = INDEXER["positions"] + 1
    return made(index_scores, (37, 37), query, shares, visible, key, 32**-0.5 * 8**-0.5), key


def selected(scores: Tensor, allowed: Tensor, blocks: int) -> tuple[Tensor, Tensor]:
    chosen, candidates = torch.empty(37, 6, dtype=torch.int64), torch.empty(37, 37, dtype=torch.bool)
    select_slots.run(chosen, candidates, scores, INDEXER["positions"] + 1, allowed, Rule(6, blocks, 4))
    return chosen, candidates


def same_scores(ours: Tensor, theirs: Tensor) -> bool:
    seen = theirs > float("-inf")
    return torch.equal(ours > float("-inf"), seen) and close(ours[seen], theirs[seen])


def test_indexer_of_a_candidate_source_and_of_a_layer_inside_its_candidates():
    scores, key = scored(int(INDEXER["source_layer"]), INDEXER["x"], INDEXER["qr"])
    chosen, candidates = selected(scores, torch.ones(37, 37, dtype=torch.bool), blocks=4)
    assert close(key, INDEXER["index_key"])
    assert same_scores(scores, INDEXER["source_scores"])
    assert torch.equal(chosen, INDEXER["source_selected"].long())
    visible = torch.arange(37) < (INDEXER["positions"] + 1)[:, None]
    assert torch.equal(candidates & visible, INDEXER["candidates"] & visible)
    scores, _ = scored(int(INDEXER["reindex_layer"]), INDEXER["x2"], INDEXER["qr2"])
    assert same_scores(scores.masked_fill(~candidates, float("-inf")), INDEXER["reindex_scores"])
    assert torch.equal(selected(scores, candidates, blocks=0)[0], INDEXER["reindex_selected"].long())


# Engram

ENGRAM = numbers("M02", "engram")


def test_engram_hashes_tokens_dead_ones_included():
    ids, dead = ENGRAM["compressed"], torch.zeros(24, dtype=torch.bool)
    dead[ENGRAM["dead_positions"]] = True
    assert torch.equal(TOKEN_MAP[ENGRAM["token_ids"]], ids)
    for index, layer in enumerate(config().engram_layer_ids):
        own = weights().layer(layer).engram.hash
        assert torch.equal(own.rows(ids, torch.arange(24)), ENGRAM["hash_ids"][:, index])
        assert torch.equal(own.rows(ids, torch.arange(24), dead), ENGRAM["hash_ids_with_dead"][:, index])


def test_engram_hashes_with_the_released_constants():
    case = numbers("M02", "engram_released")
    for index in range(2):
        own = hash_of(
            index, (1, 14), orders=3, heads=8, start=16_000_000, compressed_vocab=99092, pad=int(case["pad_compressed"])
        )
        assert torch.equal(own.rows(case["compressed"], torch.arange(32)), case["hash_ids"][:, index])


@pytest.mark.parametrize(("quantise", "name"), [(False, "out"), (True, "out_q8")])
def test_engram_gather_projection_and_gate(quantise, name):
    own = weights().layer(int(ENGRAM["layer"])).engram
    rows = made(engram_rows, (24, 192), ENGRAM["hash_ids"][:, 0], own.codes, own.scales)
    kv = made(linear, (24, 320), rows, Matrix(own.kv.wt, quantise))
    assert torch.equal(rows, ENGRAM["rows"].flatten(1))
    assert quantise or close(kv, ENGRAM["kv"])
    assert close(made(engram_gate, (24, 4, 64), ENGRAM["h"], kv, own.qk, EPS), ENGRAM[name])


def test_quantised_inputs_are_codes_times_powers_of_two():
    """What lets dequantised f32 weights stand for block-scaled codes."""
    x = ENGRAM["rows"].flatten(1)
    scale = codecs.q8_scales(x).repeat_interleave(32, 1)
    codes = codecs.q8(x) / scale
    assert torch.equal(codes, codecs.e4m3_round(codes))
    assert torch.equal(torch.exp2(torch.log2(scale).round()), scale)


def test_a_sigmoid_saturates():
    assert elementary.sigmoid(torch.tensor([-200.0, 0.0, 200.0])).tolist() == [0.0, 0.5, 1.0]
