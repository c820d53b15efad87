"""What the model is (sizes, layer schedule) and in which arithmetic it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from runtime.engram import table_rows
from runtime.errors import BadConfig

Mode = Literal["swa", "full", "reindex", "reuse"]


@dataclass(frozen=True)
class Arithmetic:
    """Compute dtype and the quantisation steps that act while decoding.

    dtype            what sublayers hand on: 'bf16' or 'f32'
    quantise_inputs  Q8 on the input of every FP8 and FP4 weight
    quantise_kv      Q8 on window KV, Q4kv on latents, Q4i on index keys and queries
    index_scores     dtype of the indexer's products and sums
    """

    dtype: Literal["bf16", "f32"]
    quantise_inputs: bool
    quantise_kv: bool
    index_scores: Literal["bf16", "f32"]


ARITHMETIC: Mapping[str, Arithmetic] = {
    "product": Arithmetic("bf16", True, True, "bf16"),  # the released model's
    "plain": Arithmetic("f32", False, False, "f32"),
    "kvq": Arithmetic("f32", False, True, "f32"),
    "w8a8": Arithmetic("f32", True, True, "f32"),
}


@dataclass(frozen=True)
class Yarn:
    """YaRN context extension of the compressed layers' rotary frequencies."""

    factor: float
    original_positions: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0


@dataclass(frozen=True)
class ModelConfig:
    """The text decode path of a DeepSeek-V4.1-Flash checkpoint, by the released config.json's field names."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    head_dim: int
    qk_rope_head_dim: int
    q_lora_rank: int
    o_groups: int
    o_lora_rank: int
    sliding_window: int
    compress_ratios: tuple[int, ...]  # of the backbone layers, then of the draft stages
    kv_source_layer_ids: tuple[int, ...]
    index_source_layer_ids: tuple[int, ...]
    candidate_source_layer_id: int
    candidate_topk_blocks: int
    candidate_block_size: int
    index_n_heads: int
    index_head_dim: int
    index_topk: int
    n_routed_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    routed_scaling_factor: float
    swiglu_limit: float
    engram_layer_ids: tuple[int, ...]
    engram_vocab_size: int
    engram_n_heads: int
    engram_head_dim: int
    engram_max_ngram_size: int
    engram_compressed_vocab_size: int
    engram_num_embeddings: tuple[int, ...]
    engram_pad_id: int
    dspark_target_layer_ids: tuple[int, ...]
    dspark_n_routed_experts: int
    dspark_num_experts_per_tok: int
    dspark_markov_rank: int
    dspark_noise_token_id: int
    rope_theta: float
    compress_rope_theta: float
    yarn: Yarn
    max_position_embeddings: int
    n_shared_experts: int = 1
    num_nextn_predict_layers: int = 3
    dspark_block_size: int = 5
    hc_mult: int = 4
    hc_sinkhorn_iters: int = 20
    hc_eps: float = 1e-6
    rms_norm_eps: float = 1e-20
    bos_token_id: int = 0
    eos_token_id: int = 1
    pad_token_id: int = 2

    def __post_init__(self) -> None:
        for holds, says in self._conditions():
            if not holds:
                raise BadConfig(f"config: {says}")

    def _conditions(self) -> list[tuple[bool, str]]:
        layers = range(self.num_hidden_layers)
        compressed = [layer for layer in layers if layer < len(self.compress_ratios) and self.compress_ratios[layer]]
        stages = self.num_nextn_predict_layers
        quantised = {
            "hidden_size": self.hidden_size,
            "moe_intermediate_size": self.moe_intermediate_size,
            "q_lora_rank": self.q_lora_rank,
            "head_dim": self.head_dim,
            "index_head_dim": self.index_head_dim,
            "o_groups * o_lora_rank": self.o_groups * self.o_lora_rank,
            "the Engram row (orders * heads * head_dim)": self.engram_columns * self.engram_head_dim,
        }
        sources = (*self.kv_source_layer_ids, *self.index_source_layer_ids)
        return [
            *((size % 32 == 0, f"{name} is {size}, and must be a multiple of 32") for name, size in quantised.items()),
            (
                len(self.compress_ratios) == self.num_hidden_layers + stages,
                f"compress_ratios has {len(self.compress_ratios)} entries, and needs one for each of "
                f"{self.num_hidden_layers} layers and {stages} draft stages",
            ),
            (set(self.compress_ratios) <= {0, 1, 2}, "compress_ratios may hold 0, 1 and 2 only"),
            (all(s in layers for s in sources), "every KV and index source must be a layer"),
            (
                set(self.kv_source_layer_ids) <= set(self.index_source_layer_ids),
                "every KV source must be an index source too",
            ),
            (
                bool(self.kv_source_layer_ids) and self.candidate_source_layer_id == self.kv_source_layer_ids[-1],
                "candidate_source_layer_id must be the last KV source",
            ),
            (
                all(self.kv_owner(layer) >= 0 for layer in compressed),
                "a compressed layer stands before the first KV source",
            ),
            (
                all(self.compress_ratios[layer] == self.compress_ratios[self.kv_owner(layer)] for layer in compressed),
                "a layer's compress ratio must be its KV source's",
            ),
            (
                self.index_head_dim >= self.qk_rope_head_dim,
                "index_head_dim must be at least qk_rope_head_dim",
            ),
            (self.head_dim >= self.qk_rope_head_dim, "head_dim must be at least qk_rope_head_dim"),
            (
                self.num_attention_heads % self.o_groups == 0,
                "num_attention_heads must be a multiple of o_groups",
            ),
            (
                len(self.engram_num_embeddings) == len(self.engram_layer_ids),
                "engram_num_embeddings needs one entry for each of engram_layer_ids",
            ),
            (
                self.num_experts_per_tok <= self.n_routed_experts,
                "num_experts_per_tok exceeds n_routed_experts",
            ),
            (self.hc_mult == 4, "hc_mult must be 4"),
            (self.n_shared_experts == 1, "n_shared_experts must be 1"),
        ]

    # The schedule

    def mode(self, layer: int) -> Mode:
        """What the attention of a backbone layer does; draft stages are 'swa'."""
        if self.compress_ratios[layer] == 0:
            return "swa"
        if layer in self.kv_source_layer_ids:
            return "full"
        return "reindex" if layer in self.index_source_layer_ids else "reuse"

    def kv_owner(self, layer: int) -> int:
        """The layer whose latents a compressed layer reads."""
        return max((s for s in self.kv_source_layer_ids if s <= layer), default=-1)

    def index_owner(self, layer: int) -> int:
        """The layer whose top-k list a compressed layer reads."""
        return max(s for s in self.index_source_layer_ids if s <= layer)

    # Derived sizes

    @property
    def engram_columns(self) -> int:
        """Rows gathered a token and layer: one a hash head and n-gram size."""
        return (self.engram_max_ngram_size - 1) * self.engram_n_heads

    @property
    def engram_width(self) -> int:
        return self.engram_columns * self.engram_head_dim

    @cached_property
    def ratios_by_source(self) -> dict[int, int]:
        return {source: self.compress_ratios[source] for source in self.kv_source_layer_ids}

    # config.json

    def to_json(self) -> dict[str, Any]:
        """The released config.json's shape, for a checkpoint folder."""
        text = asdict(self)
        yarn = text.pop("yarn")
        text["rope_scaling"] = {
            "rope_type": "yarn",
            "factor": yarn["factor"],
            "original_max_position_embeddings": yarn["original_positions"],
            "beta_fast": yarn["beta_fast"],
            "beta_slow": yarn["beta_slow"],
        }
        constant = {
            "model_type": "deepseek_v41_text",
            "num_key_value_heads": 1,
            "scoring_func": "sqrtsoftplus",
            "norm_topk_prob": True,
            "gate_temp": 1.0,
        }
        return {
            "architectures": ["DeepseekV41ForCausalLM"],
            "model_type": "deepseek_v41",
            "quantization_config": QUANTIZATION,
            "text_config": {k: list(v) if isinstance(v, tuple) else v for k, v in (text | constant).items()},
        }

    @classmethod
    def from_json(cls, source: Mapping[str, Any], where: str = "config.json") -> ModelConfig:
        """Read the released config.json's shape; a missing or unusable field is named."""
        text = source.get("text_config", source)
        if not isinstance(text, Mapping):
            raise BadConfig(f"{where}: text_config is not a mapping")
        for name, wanted in (
            ("scoring_func", "sqrtsoftplus"),
            ("norm_topk_prob", True),
            ("gate_temp", 1.0),
            ("num_key_value_heads", 1),
        ):
            if text.get(name, wanted) != wanted:
                raise BadConfig(f"{where}: {name} is {text[name]!r}, and only {wanted!r} is implemented")
        scaling = text.get("rope_scaling") or {}
        try:
            yarn = Yarn(
                factor=float(scaling["factor"]),
                original_positions=int(scaling["original_max_position_embeddings"]),
                beta_fast=float(scaling.get("beta_fast", 32)),
                beta_slow=float(scaling.get("beta_slow", 1)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadConfig(
                f"{where}: rope_scaling must give YaRN's factor and original_max_position_embeddings"
            ) from error
        given: dict[str, Any] = {"yarn": yarn}
        for name, field in cls.__dataclass_fields__.items():
            if name == "yarn":
                continue
            if name in text:
                given[name] = _typed(text[name], str(field.type), f"{where}: {name}")
            elif name in RELEASED_DRAFT:
                given[name] = RELEASED_DRAFT[name](text)
        missing = [n for n, f in cls.__dataclass_fields__.items() if n not in given and f.default is MISSING]
        if missing:
            raise BadConfig(f"{where}: missing {', '.join(missing)}")
        return cls(**given)

    @classmethod
    def read(cls, path: Path) -> ModelConfig:
        try:
            source = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise BadConfig(f"{path.name}: no such file; a checkpoint folder has one") from error
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise BadConfig(f"{path.name}: not JSON ({error})") from error
        if not isinstance(source, dict):
            raise BadConfig(f"{path.name}: not a JSON object")
        return cls.from_json(source, path.name)


def _typed(value: Any, kind: str, where: str) -> Any:
    """The value as the field's type; a text, a bool or a fraction in a number's place is refused."""
    if kind.startswith("tuple"):
        if not isinstance(value, list) or not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
            raise BadConfig(f"{where} must be a list of integers, not {value!r}")
        return tuple(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadConfig(f"{where} must be a number, not {value!r}")
    if kind == "int":
        if value != int(value):
            raise BadConfig(f"{where} must be an integer, not {value!r}")
        return int(value)
    return float(value)


QUANTIZATION = {
    "activation_scheme": "dynamic",
    "expert_dtype": "fp4",
    "fmt": "e4m3",
    "quant_method": "fp8",
    "scale_fmt": "ue8m0",
    "weight_block_size": [32, 32],
}

# Draft fields that a configuration may leave out, as the released one's readers default them.
RELEASED_DRAFT: Mapping[str, Any] = {
    "dspark_n_routed_experts": lambda text: 128,
    "dspark_num_experts_per_tok": lambda text: 3,
    "dspark_markov_rank": lambda text: 256,
    "dspark_noise_token_id": lambda text: 128799,
}

_TEN_LAYERS: dict[str, Any] = {
    "num_hidden_layers": 10,
    "compress_ratios": (0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0),
    "kv_source_layer_ids": (2, 4, 6),
    "index_source_layer_ids": (2, 4, 6, 8),
    "candidate_source_layer_id": 6,
    "engram_layer_ids": (1, 4),
    "dspark_target_layer_ids": (7, 8, 9),
}
_RELEASED_SIZES: dict[str, Any] = {
    "vocab_size": 129280,
    "hidden_size": 5120,
    "num_attention_heads": 64,
    "head_dim": 512,
    "qk_rope_head_dim": 64,
    "q_lora_rank": 1280,
    "o_groups": 8,
    "o_lora_rank": 1024,
    "sliding_window": 128,
    "candidate_topk_blocks": 2048,
    "candidate_block_size": 8,
    "index_n_heads": 32,
    "index_head_dim": 128,
    "index_topk": 512,
    "n_routed_experts": 384,
    "num_experts_per_tok": 6,
    "moe_intermediate_size": 2304,
    "routed_scaling_factor": 1.5,
    "swiglu_limit": 10.0,
    "engram_vocab_size": 65_536,
    "engram_n_heads": 8,
    "engram_head_dim": 256,
    "engram_max_ngram_size": 4,
    "engram_compressed_vocab_size": 99_092,
    "engram_pad_id": 2,
    "dspark_n_routed_experts": 128,
    "dspark_num_experts_per_tok": 3,
    "dspark_markov_rank": 256,
    "dspark_noise_token_id": 128_799,
    "rope_theta": 10_000.0,
    "compress_rope_theta": 160_000.0,
    "yarn": Yarn(factor=16.0, original_positions=65_536),
    "max_position_embeddings": 1_048_576,
}
_NAMED: Mapping[str, dict[str, Any]] = {
    "tiny": _RELEASED_SIZES
    | _TEN_LAYERS
    | {
        "vocab_size": 512,
        "hidden_size": 128,
        "num_attention_heads": 4,
        "head_dim": 64,
        "qk_rope_head_dim": 16,
        "q_lora_rank": 64,
        "o_groups": 2,
        "o_lora_rank": 32,
        "sliding_window": 16,
        "candidate_topk_blocks": 4,
        "candidate_block_size": 4,
        "index_n_heads": 4,
        "index_head_dim": 32,
        "index_topk": 6,
        "n_routed_experts": 32,
        "num_experts_per_tok": 4,
        "moe_intermediate_size": 64,
        "engram_vocab_size": 64,
        "engram_n_heads": 2,
        "engram_head_dim": 32,
        "engram_compressed_vocab_size": 384,
        "dspark_n_routed_experts": 16,
        "dspark_num_experts_per_tok": 2,
        "dspark_markov_rank": 32,
        "dspark_noise_token_id": 511,
        "yarn": Yarn(factor=4.0, original_positions=64),
        "max_position_embeddings": 4096,
    },
    "slice4": _RELEASED_SIZES
    | {
        "num_hidden_layers": 4,
        "compress_ratios": (0, 2, 1, 1, 0, 0, 0),
        "kv_source_layer_ids": (1, 2),
        "index_source_layer_ids": (1, 2, 3),
        "candidate_source_layer_id": 2,
        "engram_layer_ids": (0, 1),
        "dspark_target_layer_ids": (1, 2, 3),
    },
    "slice10": _RELEASED_SIZES | _TEN_LAYERS,
    "slice16": _RELEASED_SIZES
    | {
        "num_hidden_layers": 16,
        "compress_ratios": (0, 0) + (2,) * 6 + (1,) * 8 + (0, 0, 0),
        "kv_source_layer_ids": (2, 5, 8),
        "index_source_layer_ids": (2, 5, 8, 10, 12, 14),
        "candidate_source_layer_id": 8,
        "engram_layer_ids": (1, 5),
        "dspark_target_layer_ids": (13, 14, 15),
    },
    "full": _RELEASED_SIZES
    | {
        "num_hidden_layers": 40,
        "compress_ratios": (0, 0) + (2,) * 18 + (1,) * 20 + (0, 0, 0),
        "kv_source_layer_ids": (2, 8, 14, 20),
        "index_source_layer_ids": (2, 8, 14, 20, 24, 28, 32, 36),
        "candidate_source_layer_id": 20,
        "engram_layer_ids": (1, 14),
        "engram_vocab_size": 16_000_000,
        "dspark_target_layer_ids": (37, 38, 39),
    },
}


def named(name: str) -> ModelConfig:
    """The configuration `tiny`, `slice4`, `slice10`, `slice16` or `full` (the released model)."""
    if name not in _NAMED:
        raise BadConfig(f"no model is called {name!r}; there are {', '.join(_NAMED)}")
    given = _NAMED[name]
    rows = table_rows(
        len(given["engram_layer_ids"]),
        given["engram_max_ngram_size"] - 1,
        given["engram_n_heads"],
        given["engram_vocab_size"],
    )
    return ModelConfig(**given, engram_num_embeddings=rows)
