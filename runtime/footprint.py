"""How many bytes a decode step touches: each weight once, as stored, however many rows share it.

`wo_a` counts as the bf16 copy that the reference holds, the head as bf16 unless widened. KV and Engram rows are
left out: 0.4 MB a row at most against gigabytes of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runtime.config import ModelConfig
from runtime.tensors import Expected, backbone_layer, draft_stage

BF16_BYTES = 2
F32_BYTES = 4


class Footprint(NamedTuple):
    """Bytes of one step by what reads them.

    projections  dense FP8 weights with their scales: `projection_count` of them
    output_a     wo_a as bf16
    glue         router gates, hyper-connections, compressors, indexer keys and weights, norms
    head         the output head
    experts      routed experts, each used one once
    draft        the draft: stages, Markov head, and the head once more
    """

    projections: int
    output_a: int
    glue: int
    head: int
    experts: int
    draft: int
    projection_count: int

    @property
    def verify(self) -> int:
        """Bytes of the backbone alone."""
        return self.projections + self.output_a + self.glue + self.head + self.experts

    @property
    def total(self) -> int:
        """Bytes of the whole step."""
        return self.verify + self.draft


def expert_bytes(config: ModelConfig) -> int:
    """A routed expert: E2M1 values and their scales."""
    table = backbone_layer(config, 0)
    return sum(tensor.bytes for name, tensor in table.items() if name.startswith("ffn.experts.0."))


def step(
    config: ModelConfig,
    experts_by_layer: Sequence[float],
    draft_experts_by_stage: Sequence[float] = (),
    head_bytes: int = BF16_BYTES,
    drafts: int | None = None,
) -> Footprint:
    """Bytes of a step that used so many different experts in each layer, and in each draft stage if it drafted.

    `drafts` is how many it chose, the trained block's unless given: the Markov head is read for each.
    """
    assert len(experts_by_layer) == config.num_hidden_layers
    layers = [_dense(backbone_layer(config, layer)) for layer in range(config.num_hidden_layers)]
    head = config.vocab_size * config.hidden_size * head_bytes
    return Footprint(
        projections=sum(layer.projections for layer in layers),
        output_a=sum(layer.output_a for layer in layers),
        glue=sum(layer.glue for layer in layers),
        head=head,
        experts=round(sum(experts_by_layer) * expert_bytes(config)),
        draft=_draft(config, draft_experts_by_stage, head, drafts) if draft_experts_by_stage else 0,
        projection_count=sum(layer.fp8_weights for layer in layers),
    )


class _Dense(NamedTuple):
    projections: int
    output_a: int
    glue: int
    fp8_weights: int


def _dense(table: Mapping[str, Expected]) -> _Dense:
    """A layer's tensors but for routed experts and Engram tables, which a step reads in part."""
    projections = output_a = glue = count = 0
    for name, tensor in table.items():
        if name.startswith(("ffn.experts.", "engram.embed.")) or name == "attn.wo_a.scale":
            continue
        if name == "attn.wo_a.weight":
            output_a += tensor.bytes * BF16_BYTES
        elif tensor.dtype in ("F8_E4M3", "F8_E8M0"):
            projections += tensor.bytes
            count += tensor.dtype == "F8_E4M3"
        else:
            glue += tensor.bytes
    return _Dense(projections, output_a, glue, count)


def _draft(config: ModelConfig, experts_by_stage: Sequence[float], head: int, drafts: int | None) -> int:
    """Every stage, the head, and a Markov row and head a draft."""
    total = head + round(sum(experts_by_stage) * expert_bytes(config))
    for stage in range(config.num_nextn_predict_layers):
        table = {name: t for name, t in draft_stage(config, stage).items() if not name.startswith("markov_head.")}
        total += sum(_dense(table)[:3])
    markov_head = config.vocab_size * config.dspark_markov_rank * BF16_BYTES
    return total + (config.dspark_block_size if drafts is None else drafts) * markov_head


def uniform_union(experts: int, top_k: int, rows: int) -> float:
    """Different experts that `rows` rows use in the mean, if each chose alike and alone: an upper bound in practice."""
    return experts * (1 - (1 - top_k / experts) ** rows)


def stored_bytes(config: ModelConfig) -> dict[str, int]:
    """Bytes of a checkpoint by part: routed experts, Engram tables, draft, and all."""
    parts = {"experts": 0, "engram": 0, "draft": 0, "all": 0}
    for layer in range(config.num_hidden_layers):
        for name, tensor in backbone_layer(config, layer).items():
            parts["experts"] += tensor.bytes * name.startswith("ffn.experts.")
            parts["engram"] += tensor.bytes * name.startswith("engram.embed.")
            parts["all"] += tensor.bytes
    for stage in range(config.num_nextn_predict_layers):
        parts["draft"] += sum(tensor.bytes for tensor in draft_stage(config, stage).values())
    ends = (2 * config.vocab_size + 1) * config.hidden_size * BF16_BYTES
    parts["all"] += parts["draft"] + ends
    return parts
