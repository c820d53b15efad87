"""What each site of a layer writes, and the weights its kernel is bound with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernels.matrix import Matrix
from kernels.select_slots.reference import Rule
from runtime.config import ModelConfig
from runtime.weights import Compressor, Indexer, Layer, Weights

F32, I64 = torch.float32, torch.int64


@dataclass(frozen=True)
class Output:
    """One output of a site: its value's name, the shape behind the rows, and whether its last dimension is cut."""

    value: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    grows: bool = False


@dataclass(frozen=True)
class Spec:
    """A site's outputs, and what its kernel takes behind the activations."""

    outputs: tuple[Output, ...]
    weights: Sequence[Any]
    by_name: bool = False


Specs = dict[str, Spec]


def layer_specs(config: ModelConfig, weights: Weights, layer: int, rows: int, context: int) -> Specs:
    """Of a backbone layer or, from `num_hidden_layers` on, a draft stage."""
    stage = layer - config.num_hidden_layers
    own = weights.layer(layer) if stage < 0 else weights.draft(stage)
    return (
        (_engram(config, weights, layer) if own.engram else {})
        | _tap(config, weights, layer)
        | _hyper(config, weights.dtype, "attn", own)
        | _attention(config, weights, own)
        | (_compressor(config, weights, own.compressor) if own.compressor else {})
        | (_indexer(config, weights, layer, own.indexer, context) if own.indexer else {})
        | _attention_input(weights, own)
        | _hyper(config, weights.dtype, "ffn", own)
        | _experts(config, weights.dtype, own)
    )


def start_specs(config: ModelConfig, weights: Weights) -> Specs:
    """Of the embedding."""
    return {"embed": _one("embed", (config.hc_mult, config.hidden_size), weights.dtype, weights.embed)}


def end_specs(config: ModelConfig, weights: Weights) -> Specs:
    """Of the head."""
    width, eps = config.hidden_size, config.rms_norm_eps
    return {
        "head_collapse": _one("head_collapse", (width,), weights.dtype),
        "head_norm": _one("head_norm", (width,), weights.dtype, weights.norm, eps),
        "head": _one("head", (config.vocab_size,), F32, weights.head),
    }


def drafting_specs(config: ModelConfig, weights: Weights) -> Specs:
    """Of what the draft has beside its stages; nothing without a draft."""
    own = weights.drafting
    if own is None:
        return {}
    width, dtype, eps = config.hidden_size, weights.dtype, config.rms_norm_eps
    return {
        "draft_main": _linear("draft_main", own.main, dtype),
        "draft_main_norm": _one("draft_main_norm", (width,), dtype, own.main_norm, eps),
        "draft_collapse": _one("draft_collapse", (width,), dtype),
        "draft_norm": _one("draft_norm", (width,), dtype, own.norm, eps),
        "draft_head": _one("draft_head", (config.vocab_size,), F32, weights.head),
        "draft_markov": _linear("draft_markov", own.markov_head, F32),
    }


def _one(value: str, shape: tuple[int, ...], dtype: torch.dtype, *weights: Any) -> Spec:
    return Spec((Output(value, shape, dtype),), weights)


def _linear(value: str, matrix: Matrix, dtype: torch.dtype) -> Spec:
    return _one(value, (matrix.columns,), dtype, matrix)


def _norm(config: ModelConfig, value: str, weight: torch.Tensor, dtype: torch.dtype) -> Spec:
    return _one(value, tuple(weight.shape), dtype, weight, config.rms_norm_eps)


def _hyper(config: ModelConfig, dtype: torch.dtype, part: str, own: Layer) -> Specs:
    """The hyper-connection around a sublayer, and the norm inside it."""
    copies, width = config.hc_mult, config.hidden_size
    mix = own.attn_mix if part == "attn" else own.ffn_mix
    coefficients = (
        Output(f"{part}_pre", (copies,), F32),
        Output(f"{part}_post", (copies,), F32),
        Output(f"{part}_comb", (copies, copies), F32),
    )
    return {
        f"{part}_mix": Spec(coefficients, (mix,)),
        f"{part}_collapse": _one(f"{part}_collapse", (width,), dtype),
        f"{part}_norm": _norm(config, f"{part}_norm", own.attn_norm if part == "attn" else own.ffn_norm, dtype),
        f"{part}_expand": _one(f"{part}_expand", (copies, width), dtype),
    }


def _attention(config: ModelConfig, weights: Weights, own: Layer) -> Specs:
    dtype = weights.dtype
    heads, width = config.num_attention_heads, config.head_dim
    codec = "q8" if weights.arithmetic.quantise_kv else "none"
    return {
        "q_a": _linear("q_a", own.q_a, dtype),
        "q_norm": _norm(config, "q_norm", own.q_norm, dtype),
        "q_b": _linear("q_b", own.q_b, dtype),
        "q_rope": _one("q_rope", (heads, width), dtype, "none"),
        "kv": _linear("kv", own.kv, dtype),
        "kv_norm": _norm(config, "kv_norm", own.kv_norm, dtype),
        "kv_rope": _one("kv_rope", (width,), dtype, codec),
        "attend": _one("attend", (heads, width), dtype, own.sink, width**-0.5),
        "o_rope": _one("o_rope", (heads, width), dtype, "none"),
        "o_a": _one("o_a", (config.o_groups * config.o_lora_rank,), dtype, own.o_a),
        "o_b": _linear("o_b", own.o_b, dtype),
    }


def _compressor(config: ModelConfig, weights: Weights, own: Compressor) -> Specs:
    dtype, quantised = weights.dtype, weights.arithmetic.quantise_kv
    width, index_width = config.head_dim, config.index_head_dim
    specs = {
        # Ratio 1 normalises this projection as it is; ratio 2 pools it first, in f32.
        "compress_k": _linear("compress_k", own.k, F32 if own.gate else dtype),
        "compress_norm": _norm(config, "compress_norm", own.norm, dtype),
        "index_k": _linear("index_k", own.index_k, dtype),
        "index_k_norm": _norm(config, "index_k_norm", own.index_k_norm, dtype),
        "index_k_rope": _one("index_k_rope", (index_width,), dtype, "q4i" if quantised else "none"),
        "latent_rope": _one("latent_rope", (width,), dtype, "q4kv" if quantised else "none"),
    }
    if own.gate:
        specs["compress_gate"] = _linear("compress_gate", own.gate, F32)
        specs["compress_pool"] = _one("compress_pool", (width,), dtype)
    return specs


def _indexer(config: ModelConfig, weights: Weights, layer: int, own: Indexer, context: int) -> Specs:
    arithmetic, heads, width = weights.arithmetic, config.index_n_heads, config.index_head_dim
    slots = -(-context // config.compress_ratios[layer])
    blocks = config.candidate_topk_blocks if layer == config.candidate_source_layer_id else 0
    score_dtype = torch.bfloat16 if arithmetic.index_scores == "bf16" else F32
    selected = Output("index_selected", (config.index_topk,), I64)
    candidates = Output("index_candidates", (slots,), torch.bool, grows=True)
    return {
        "index_q_b": _linear("index_q_b", own.q_b, weights.dtype),
        "index_q_rope": _one(
            "index_q_rope", (heads, width), weights.dtype, "q4i" if arithmetic.quantise_kv else "none"
        ),
        "index_weights": _linear("index_weights", own.weights, weights.dtype),
        "index_scores": Spec(
            (Output("index_scores", (slots,), score_dtype, grows=True),), (width**-0.5 * heads**-0.5,)
        ),
        "index_select": Spec((selected, candidates), (Rule(config.index_topk, blocks, config.candidate_block_size),)),
    }


def _attention_input(weights: Weights, own: Layer) -> Specs:
    """The coarse site over every projection of the normed input, in the order of the finer sites' table."""
    matrices: dict[str, tuple[Matrix, torch.dtype]] = {
        "q_a": (own.q_a, weights.dtype),
        "kv": (own.kv, weights.dtype),
    }
    if own.compressor:
        matrices["compress_k"] = (own.compressor.k, F32 if own.compressor.gate else weights.dtype)
        if own.compressor.gate:
            matrices["compress_gate"] = (own.compressor.gate, F32)
    if own.indexer:
        matrices["index_weights"] = (own.indexer.weights, weights.dtype)
    outputs = tuple(Output(name, (m.columns,), dtype) for name, (m, dtype) in matrices.items())
    return {"attn_in": Spec(outputs, tuple(m for m, _ in matrices.values()), by_name=True)}


def _experts(config: ModelConfig, dtype: torch.dtype, own: Layer) -> Specs:
    width, top_k = config.hidden_size, own.gate.top_k
    routed = (Output("router_ids", (top_k,), I64), Output("router_weights", (top_k,), F32))
    return {
        "router": Spec(routed, (own.gate,)),
        "experts": _one("experts", (width,), F32, own.experts),
        "shared_expert": _one("shared_expert", (width,), F32, own.shared_expert),
        "ffn_add": _one("ffn_add", (width,), dtype),
    }


def _engram(config: ModelConfig, weights: Weights, layer: int) -> Specs:
    own, dtype = weights.layer(layer).engram, weights.dtype
    assert own is not None
    return {
        "engram_rows": _one("engram_rows", (config.engram_width,), dtype, own.codes, own.scales),
        "engram_kv": _linear("engram_kv", own.kv, dtype),
        "engram_gate": _one("engram_gate", (config.hc_mult, config.hidden_size), dtype, own.qk, config.rms_norm_eps),
    }


def _tap(config: ModelConfig, weights: Weights, layer: int) -> Specs:
    tapped = layer in config.dspark_target_layer_ids
    return {"tap": _one("tap", (config.hidden_size,), weights.dtype)} if tapped else {}
