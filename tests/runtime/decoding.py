"""Builders for the decode tests: one synthetic `tiny` for the whole run, and a text in its tokens."""

import hashlib
import tempfile
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from runtime.checkpoint import load
from runtime.config import ARITHMETIC, named
from runtime.decoder import Decoder, State, Step
from runtime.model import Weights
from runtime.sites import bind
from runtime.synthetic import make

ROWS = 8
PROMPT = (87, 104, 97, 116, 32, 105, 115, 32, 97, 32)


@lru_cache
def weights() -> Weights:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "tiny"
        make(named("tiny"), folder)
        return Weights.from_checkpoint(load(folder), ARITHMETIC["product"])


@lru_cache
def tiny() -> Decoder:
    own = weights()
    return Decoder(own, bind(own.config, own, {}, rows=ROWS), rows=ROWS, context=128)


def prefilled(decoder: Decoder, prompt: tuple[int, ...] = PROMPT, group: int | None = None) -> State:
    state = decoder.new_state()
    decoder.prefill(state, prompt, group)
    return state


def emitted(steps: list[Step]) -> list[int]:
    return [token for step in steps for token in step.emitted]


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    """Equal names in equal order, and equal bits."""
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


def copied(state: State) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in state.tensors().items()}


def digest(state: State) -> str:
    """Of everything that a later step can read: names, shapes and bits."""
    whole = hashlib.sha256()
    for name, tensor in state.tensors().items():
        whole.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        whole.update(tensor.contiguous().numpy().tobytes())
    return whole.hexdigest()
