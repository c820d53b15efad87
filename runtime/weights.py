"""A checkpoint's tensors as the kernels take them: stored bytes, which a linear weight widens when first asked to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kernels.experts.reference import Experts
from kernels.hyper_mix.sinkhorn import Mix
from kernels.matrix import TILE, Matrix, Stored
from kernels.router.reference import Gate
from runtime import rope
from runtime.config import Arithmetic, ModelConfig
from runtime.engram import Hash, hash_of

if TYPE_CHECKING:
    from runtime.checkpoint import Checkpoint


@dataclass(frozen=True)
class Compressor:
    """Of a KV source: projections of the normed input to a latent, and of the latent to an index key.

    k, gate  wt [D, K] f32; no gate at ratio 1
    norm     [K] f32
    index_k  wt [K, index_dim] f32
    """

    k: Matrix
    gate: Matrix | None
    norm: Tensor
    index_k: Matrix
    index_k_norm: Tensor


@dataclass(frozen=True)
class Indexer:
    """Of an index source: q_b wt [q_lora, index heads * index_dim], weights wt [D, index heads], f32."""

    q_b: Matrix
    weights: Matrix


@dataclass(frozen=True)
class Engram:
    """Of an Engram layer.

    hash    which table rows a position reads
    codes   [rows, K] uint8, E4M3
    scales  [rows, K / 32] uint8, UE8M0
    kv      wt [columns * K, 5 D] f32, four keys and a value
    qk      [4, D] f32, the product of the two norm weights
    """

    hash: Hash
    codes: Tensor
    scales: Tensor
    kv: Matrix
    qk: Tensor


@dataclass(frozen=True)
class Layer:
    """A backbone layer or a draft stage; what only some layers have is None elsewhere."""

    attn_mix: Mix
    attn_norm: Tensor
    q_a: Matrix
    q_norm: Tensor
    q_b: Matrix
    kv: Matrix
    kv_norm: Tensor
    sink: Tensor
    o_a: Matrix
    o_b: Matrix
    ffn_mix: Mix
    ffn_norm: Tensor
    gate: Gate
    experts: Experts
    shared_expert: Experts
    compressor: Compressor | None = None
    indexer: Indexer | None = None
    engram: Engram | None = None


@dataclass(frozen=True)
class Drafting:
    """What the draft has beside its stages.

    main          wt [3 D, D] f32, from the taps
    main_norm     [D] f32
    norm          [D] f32, before the head
    markov_embed  [V, rank] f32
    markov_head   wt [rank, V] f32
    confidence    wt [D + rank, 1] f32
    """

    main: Matrix
    main_norm: Tensor
    norm: Tensor
    markov_embed: Tensor
    markov_head: Matrix
    confidence: Matrix


@dataclass(frozen=True)
class Weights:
    """A whole model in one arithmetic.

    embed      [V, D] as stored, bf16
    norm       [D] f32
    head       wt [D, V] f32, shared with the draft
    token_map  [V] int64, compressed id of each token
    """

    config: ModelConfig
    arithmetic: Arithmetic
    embed: Tensor
    norm: Tensor
    head: Matrix
    token_map: Tensor
    layers: tuple[Layer, ...]
    stages: tuple[Layer, ...]
    drafting: Drafting | None
    window_frequencies: Tensor
    compressed_frequencies: Tensor

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, arithmetic: Arithmetic) -> Weights:
        """Widen and turn every tensor of a loaded checkpoint."""
        return _Reader(checkpoint.config, checkpoint.tensors, arithmetic).weights(checkpoint.token_map)

    @property
    def has_draft(self) -> bool:
        """Whether the checkpoint holds draft stages."""
        return self.drafting is not None

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.embed.device

    @property
    def dtype(self) -> torch.dtype:
        """What sublayers hand on."""
        return torch.bfloat16 if self.arithmetic.dtype == "bf16" else torch.float32

    def layer(self, index: int) -> Layer:
        """A backbone layer."""
        return self.layers[index]

    def draft(self, stage: int) -> Layer:
        """A draft stage."""
        return self.stages[stage]


class _Reader:
    """Reads tensors by their released names."""

    def __init__(self, config: ModelConfig, tensors: Mapping[str, Tensor], arithmetic: Arithmetic) -> None:
        self.config = config
        self.tensors = tensors
        self.quantise = arithmetic.quantise_inputs
        self.arithmetic = arithmetic

    def weights(self, token_map: Tensor) -> Weights:
        config = self.config
        stages = range(config.num_nextn_predict_layers) if "mtp.0.main_proj.weight" in self.tensors else ()
        return Weights(
            config=config,
            arithmetic=self.arithmetic,
            embed=self.tensors["embed.weight"],
            norm=self.vector("norm.weight"),
            head=self.plain("head.weight"),
            token_map=token_map.long(),
            layers=tuple(self.layer(index, token_map) for index in range(config.num_hidden_layers)),
            stages=tuple(self.stage(index) for index in stages),
            drafting=self.drafting(len(stages) - 1) if stages else None,
            window_frequencies=rope.window_frequencies(config).to(token_map.device),
            compressed_frequencies=rope.compressed_frequencies(config).to(token_map.device),
        )

    # One tensor

    def vector(self, name: str) -> Tensor:
        return self.tensors[name].float()

    def plain(self, name: str) -> Matrix:
        """A bf16 or f32 weight [N, K]."""
        return Matrix(None, quantise=False, stored=Stored(self.tensors[name]))

    def fp8(self, name: str) -> Matrix:
        """An E4M3 weight [N, K] with a scale a tile."""
        return Matrix(None, self.quantise, Stored(self.tensors[f"{name}.weight"], self.scales(name)))

    def fp4(self, names: list[str]) -> Matrix:
        """E2M1 weights [N, K], one a name, with a scale for each 32 of a row, stacked."""
        codes = torch.stack([self.tensors[f"{name}.weight"] for name in names])
        return Matrix(None, self.quantise, Stored(codes, torch.stack([self.scales(name) for name in names])))

    def scales(self, name: str) -> Tensor:
        return self.tensors[f"{name}.scale"].view(torch.uint8)

    # Parts of a layer

    def mix(self, prefix: str) -> Mix:
        config = self.config
        return Mix(
            fn=self.vector(f"{prefix}_fn").t().contiguous(),
            scale=self.vector(f"{prefix}_scale"),
            base=self.vector(f"{prefix}_base"),
            passes=config.hc_sinkhorn_iters,
            eps=config.hc_eps,
            norm_eps=config.rms_norm_eps,
        )

    def output_groups(self, prefix: str) -> Matrix:
        """wo_a [groups * rank, K] as one [K, rank] weight a group; its input is never quantised."""
        whole, groups = self.fp8(f"{prefix}.attn.wo_a"), self.config.o_groups
        if whole.columns % (groups * TILE):  # a scale's tile reaches over two groups
            return Matrix(whole.wt.view(len(whole.wt), groups, -1).transpose(0, 1).contiguous(), quantise=False)
        codes, scales = whole.stored
        assert scales is not None
        parts = Stored(*(part.view(groups, -1, part.shape[-1]) for part in (codes, scales)))
        return Matrix(None, quantise=False, stored=parts)

    def body(self, prefix: str, experts: int, top_k: int) -> Layer:
        """The parts that every layer and stage has."""
        config, ffn = self.config, f"{prefix}.ffn"
        routed = [f"{ffn}.experts.{expert}" for expert in range(experts)]
        w1, w3, w2 = (self.fp4([f"{name}.{part}" for name in routed]) for part in ("w1", "w3", "w2"))
        s1, s3, s2 = (self.fp8(f"{ffn}.shared_experts.{part}") for part in ("w1", "w3", "w2"))
        return Layer(
            attn_mix=self.mix(f"{prefix}.hc_attn"),
            attn_norm=self.vector(f"{prefix}.attn_norm.weight"),
            q_a=self.fp8(f"{prefix}.attn.wq_a"),
            q_norm=self.vector(f"{prefix}.attn.q_norm.weight"),
            q_b=self.fp8(f"{prefix}.attn.wq_b"),
            kv=self.fp8(f"{prefix}.attn.wkv"),
            kv_norm=self.vector(f"{prefix}.attn.kv_norm.weight"),
            sink=self.vector(f"{prefix}.attn.attn_sink"),
            o_a=self.output_groups(prefix),
            o_b=self.fp8(f"{prefix}.attn.wo_b"),
            ffn_mix=self.mix(f"{prefix}.hc_ffn"),
            ffn_norm=self.vector(f"{prefix}.ffn_norm.weight"),
            gate=Gate(
                wt=self.plain(f"{ffn}.gate.weight").wt,
                bias=self.vector(f"{ffn}.gate.bias"),
                top_k=top_k,
                scale=config.routed_scaling_factor,
            ),
            experts=Experts(w1, w3, w2, config.swiglu_limit),
            shared_expert=Experts(s1, s3, s2, config.swiglu_limit),
        )

    def compressor(self, prefix: str, ratio: int) -> Compressor:
        own, index = f"{prefix}.attn.compressor", f"{prefix}.attn.indexer"
        return Compressor(
            k=self.plain(f"{own}.wkv.weight"),
            gate=self.plain(f"{own}.wgate.weight") if ratio == 2 else None,
            norm=self.vector(f"{own}.norm.weight"),
            index_k=self.plain(f"{index}.wk.weight"),
            index_k_norm=self.vector(f"{index}.k_norm.weight"),
        )

    def indexer(self, prefix: str) -> Indexer:
        own = f"{prefix}.attn.indexer"
        return Indexer(self.fp8(f"{own}.wq_b"), self.plain(f"{own}.weights_proj.weight"))

    def engram(self, prefix: str, layer: int, token_map: Tensor) -> Engram:
        config, own = self.config, f"{prefix}.engram"
        table = self.tensors[f"{own}.embed.weight"]
        return Engram(
            hash=hash_of(
                config.engram_layer_ids.index(layer),
                config.engram_layer_ids,
                orders=config.engram_max_ngram_size - 1,
                heads=config.engram_n_heads,
                start=config.engram_vocab_size,
                compressed_vocab=config.engram_compressed_vocab_size,
                pad=int(token_map[config.engram_pad_id]),
                device=table.device,
            ),
            codes=table.view(torch.uint8),
            scales=self.tensors[f"{own}.embed.scale"].view(torch.uint8),
            kv=self.fp8(f"{own}.wkv"),
            qk=self.vector(f"{own}.q_weight") * self.vector(f"{own}.k_weight"),
        )

    # Layers

    def layer(self, index: int, token_map: Tensor) -> Layer:
        config, prefix = self.config, f"layers.{index}"
        body = self.body(prefix, config.n_routed_experts, config.num_experts_per_tok)
        sources, asks, hashed = (
            index in ids for ids in (config.kv_source_layer_ids, config.index_source_layer_ids, config.engram_layer_ids)
        )
        return Layer(
            **vars(body)
            | {
                "compressor": self.compressor(prefix, config.compress_ratios[index]) if sources else None,
                "indexer": self.indexer(prefix) if asks else None,
                "engram": self.engram(prefix, index, token_map) if hashed else None,
            }
        )

    def stage(self, index: int) -> Layer:
        config = self.config
        return self.body(f"mtp.{index}", config.dspark_n_routed_experts, config.dspark_num_experts_per_tok)

    def drafting(self, last: int) -> Drafting:
        return Drafting(
            main=self.fp8("mtp.0.main_proj"),
            main_norm=self.vector("mtp.0.main_norm.weight"),
            norm=self.vector(f"mtp.{last}.norm.weight"),
            markov_embed=self.vector(f"mtp.{last}.markov_head.embed.weight"),
            markov_head=self.plain(f"mtp.{last}.markov_head.head.weight"),
            confidence=self.plain(f"mtp.{last}.confidence_head.proj.weight"),
        )
