"""The tensors that a checkpoint of a given configuration holds: released name, stored dtype, shape.

The released names carry no `model.` prefix. Draft tensors (`mtp.*`) may be absent as a whole; vision tensors are
passed over by `PASSED_OVER`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from runtime.config import ModelConfig

# Names as safetensors spells them.
Stored = Literal["F8_E4M3", "F8_E8M0", "I8", "BF16", "F32"]

# What the text decode path does not read: the vision tower, its projector, and the router bias of image tokens.
PASSED_OVER = ("vision.", "vision_model.", "visual.", "vit.", "projector.", "image_newline", "view_separator")
PASSED_OVER_ENDINGS = (".ffn.gate.bias_vl",)

TILE = 32
PER_BYTE = 2  # E2M1 values


class Expected(NamedTuple):
    """A tensor as stored."""

    dtype: Stored
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        size = {"F8_E4M3": 1, "F8_E8M0": 1, "I8": 1, "BF16": 2, "F32": 4}[self.dtype]
        for length in self.shape:
            size *= length
        return size


def is_passed_over(name: str) -> bool:
    """Whether the text decode path has no use for a tensor."""
    return name.startswith(PASSED_OVER) or name.endswith(PASSED_OVER_ENDINGS)


def expected(config: ModelConfig, draft: bool = True) -> dict[str, Expected]:
    """Every tensor that must be there, by name; the draft's if asked for."""
    width, vocab = config.hidden_size, config.vocab_size
    table = {
        "embed.weight": Expected("BF16", (vocab, width)),
        "norm.weight": Expected("BF16", (width,)),
        "head.weight": Expected("BF16", (vocab, width)),
    }
    for layer in range(config.num_hidden_layers):
        table.update(_under(f"layers.{layer}", backbone_layer(config, layer)))
    if draft:
        for stage in range(config.num_nextn_predict_layers):
            table.update(_under(f"mtp.{stage}", draft_stage(config, stage)))
    return table


def backbone_layer(config: ModelConfig, layer: int) -> dict[str, Expected]:
    """Tensors of a backbone layer, without its prefix."""
    table = dict(_body(config, config.n_routed_experts))
    if layer in config.kv_source_layer_ids:
        table |= dict(_compressor(config, config.compress_ratios[layer]))
    if layer in config.index_source_layer_ids:
        heads = config.index_n_heads
        table |= dict(_fp8("attn.indexer.wq_b", heads * config.index_head_dim, config.q_lora_rank))
        table["attn.indexer.weights_proj.weight"] = Expected("BF16", (heads, config.hidden_size))
    if layer in config.engram_layer_ids:
        table |= dict(_engram(config, config.engram_num_embeddings[config.engram_layer_ids.index(layer)]))
    return table


def draft_stage(config: ModelConfig, stage: int) -> dict[str, Expected]:
    """Tensors of a draft stage, without its prefix; the first and the last hold what all share."""
    width, vocab, rank = config.hidden_size, config.vocab_size, config.dspark_markov_rank
    table = dict(_body(config, config.dspark_n_routed_experts))
    if stage == 0:
        table |= dict(_fp8("main_proj", width, len(config.dspark_target_layer_ids) * width))
        table["main_norm.weight"] = Expected("BF16", (width,))
    if stage == config.num_nextn_predict_layers - 1:
        table["norm.weight"] = Expected("BF16", (width,))
        table["markov_head.embed.weight"] = Expected("BF16", (vocab, rank))
        table["markov_head.head.weight"] = Expected("BF16", (vocab, rank))
        table["confidence_head.proj.weight"] = Expected("BF16", (1, width + rank))
    return table


Named = Iterator[tuple[str, Expected]]


def _under(prefix: str, table: Mapping[str, Expected]) -> dict[str, Expected]:
    return {f"{prefix}.{name}": tensor for name, tensor in table.items()}


def _tiles(length: int) -> int:
    return -(-length // TILE)


def _fp8(name: str, out: int, width: int) -> Named:
    """A dense FP8 weight with a scale for each 32x32 tile."""
    yield f"{name}.weight", Expected("F8_E4M3", (out, width))
    yield f"{name}.scale", Expected("F8_E8M0", (_tiles(out), _tiles(width)))


def _fp4(name: str, out: int, width: int) -> Named:
    """A packed E2M1 weight with a scale for each 32 of a row."""
    yield f"{name}.weight", Expected("I8", (out, width // PER_BYTE))
    yield f"{name}.scale", Expected("F8_E8M0", (out, width // TILE))


def _body(config: ModelConfig, experts: int) -> Named:
    width, heads, head, inner = (
        config.hidden_size,
        config.num_attention_heads,
        config.head_dim,
        config.moe_intermediate_size,
    )
    groups = config.o_groups * config.o_lora_rank
    yield from _fp8("attn.wq_a", config.q_lora_rank, width)
    yield "attn.q_norm.weight", Expected("BF16", (config.q_lora_rank,))
    yield from _fp8("attn.wq_b", heads * head, config.q_lora_rank)
    yield from _fp8("attn.wkv", head, width)
    yield "attn.kv_norm.weight", Expected("BF16", (head,))
    yield "attn.attn_sink", Expected("F32", (heads,))
    yield from _fp8("attn.wo_a", groups, heads * head // config.o_groups)
    yield from _fp8("attn.wo_b", width, groups)
    for part in ("attn", "ffn"):
        mixes = (2 + config.hc_mult) * config.hc_mult
        yield f"{part}_norm.weight", Expected("BF16", (width,))
        yield f"hc_{part}_fn", Expected("F32", (mixes, config.hc_mult * width))
        yield f"hc_{part}_base", Expected("F32", (mixes,))
        yield f"hc_{part}_scale", Expected("F32", (3,))
    yield "ffn.gate.weight", Expected("BF16", (experts, width))
    yield "ffn.gate.bias", Expected("F32", (experts,))
    for expert in range(experts):
        for part, out, into in (("w1", inner, width), ("w3", inner, width), ("w2", width, inner)):
            yield from _fp4(f"ffn.experts.{expert}.{part}", out, into)
    for part, out, into in (("w1", inner, width), ("w3", inner, width), ("w2", width, inner)):
        yield from _fp8(f"ffn.shared_experts.{part}", out, into)


def _compressor(config: ModelConfig, ratio: int) -> Named:
    width, head = config.hidden_size, config.head_dim
    yield "attn.compressor.wkv.weight", Expected("BF16", (head, width))
    if ratio == 2:
        yield "attn.compressor.wgate.weight", Expected("BF16", (head, width))
    yield "attn.compressor.norm.weight", Expected("BF16", (head,))
    yield "attn.indexer.wk.weight", Expected("BF16", (config.index_head_dim, head))
    yield "attn.indexer.k_norm.weight", Expected("BF16", (config.index_head_dim,))


def _engram(config: ModelConfig, rows: int) -> Named:
    width = config.hidden_size
    yield "engram.embed.weight", Expected("F8_E4M3", (rows, config.engram_head_dim))
    yield "engram.embed.scale", Expected("F8_E8M0", (rows, config.engram_head_dim // TILE))
    yield from _fp8("engram.wkv", (config.hc_mult + 1) * width, config.engram_width)
    for part in ("q_weight", "k_weight"):
        yield f"engram.{part}", Expected("BF16", (config.hc_mult, width))
