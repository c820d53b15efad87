"""A ten-layer model with published numbers: the checkpoint, and runs of it in rows of any count."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from runtime.cache import Cache, Layout
from runtime.config import ARITHMETIC, ModelConfig
from runtime.model import Weights, forward
from runtime.sites import Sites, bind

DATA = Path(__file__).parent.parent / "data"
TEXT = json.loads((DATA / "M01" / "tokens.json").read_text())
TOKENS = torch.tensor(TEXT["tokens"])
TOKEN_MAP = torch.tensor(TEXT["token_map"])


def numbers(case: str, name: str) -> dict[str, Tensor]:
    """The arrays of a case by name."""
    with np.load(DATA / case / f"{name}.npz") as arrays:
        return {key: torch.from_numpy(arrays[key]) for key in arrays}


@lru_cache
def config() -> ModelConfig:
    torch.set_num_threads(1)
    return ModelConfig.read(DATA / "M01" / "config.json")


@lru_cache
def tensors() -> dict[str, Tensor]:
    return load_file(DATA / "M01" / "model.safetensors")


def weights(arithmetic: str = "plain", changed: dict[str, Tensor] | None = None, **sizes: int) -> Weights:
    """The model in an arithmetic, with some tensors or sizes changed."""
    own = replace(config(), **sizes)
    checkpoint = SimpleNamespace(config=own, tensors=tensors() | (changed or {}), token_map=TOKEN_MAP)
    return Weights.from_checkpoint(checkpoint, ARITHMETIC[arithmetic])


@dataclass
class Run:
    """One run over a text.

    logits  [T, V]
    values  (layer, value name) -> every row's, in order
    """

    logits: Tensor
    values: dict[tuple[int, str], Tensor]
    cache: Cache


KEPT = ("ffn_expand", "ffn_pre", "router_ids", "router_weights", "index_selected")


def decode(own: Weights, rows: int, at: Sites | None = None, length: int = len(TOKENS)) -> Run:
    """Feed the text in steps of `rows`."""
    seen: dict[tuple[int, str], list[Tensor]] = {}

    def keep(layer: int, site: str, value: str, tensor: Tensor) -> None:
        if value in KEPT:
            seen.setdefault((layer, value), []).append(tensor.clone())

    at = (at or bind(own.config, own, {})).observed(keep)
    cache = Cache(Layout.of(own.config, rows=8, context=len(TOKENS) + 8, draft=False))
    logits = []
    for tokens in TOKENS[:length].split(rows):
        positions = cache.begin(len(tokens))
        logits.append(forward(own, at, cache, tokens, positions).logits.clone())
        cache.commit(len(tokens))
    return Run(torch.cat(logits), {key: torch.cat(parts) for key, parts in seen.items()}, cache)


@lru_cache
def run(arithmetic: str, rows: int) -> Run:
    return decode(weights(arithmetic), rows)


def logit_error(own: Weights, rows: int = 8, at: Sites | None = None, length: int = 40) -> float:
    """The largest distance of a plain run's logits from the published ones."""
    expected = numbers("M01", "plain")["logits"][:length]
    return float((decode(own, rows, at, length).logits - expected).abs().max())
