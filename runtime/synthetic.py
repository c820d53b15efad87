"""Synthetic checkpoints in the released format: `python -m runtime.synthetic tiny FOLDER`.

Every value is a function of (seed, tensor name, place), so any tile can be made anywhere, in any order. Draws are
64-bit integers hashed from a counter and summed to small integers, near normal; the only steps beyond integers are
one IEEE multiplication and the formats' own roundings, which every device does alike.

A random model accepts no drafts, so the weights carry a signal. Token v has a code c_v of signs; the head reads
codes, and the embedding of token t holds the code of a successor p(t), p a permutation, so that the model tends to
say p(t) behind t. The Markov head knows p as well and the layers' output disturbs it: `Recipe.signal` sets how
strongly the model follows p, and with it how many drafts are accepted. Neighbouring tokens share a slow part of
their embedding, which the gates read, so that they go to common experts. None of it is language.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from kernels import codecs
from runtime.checkpoint import write
from runtime.config import ModelConfig, named
from runtime.draws import bits, key, shifted
from runtime.errors import RuntimeFault
from runtime.tensors import Expected, expected

SEED = 41
# Eight uniform bytes, doubled and centred: an even integer within +-2040.
NORMAL_SD = (8 * (256**2 - 1) / 12 * 4) ** 0.5


@dataclass(frozen=True)
class Recipe:
    """What makes a synthetic model behave; measured on `tiny` (docs/runtime.md), other sizes are not tuned yet.

    signal        size of a token's code in its embedding
    markov        size of the Markov head's codes
    gate_spread   standard deviation of the router's biases
    """

    signal: float = 0.9
    markov: float = 12.0
    gate_spread: float = 0.2


PLAIN = Recipe()


# Draws


def near_normal(key_: int, places: Tensor) -> Tensor:
    """Even integers within +-2040, near normal with standard deviation NORMAL_SD, int64."""
    drawn = bits(key_, places)
    total = torch.stack([shifted(drawn, 8 * byte) & 255 for byte in range(8)]).sum(0)
    return 2 * total - 2040


def places(rows: range, columns: range, width: int, device: str = "cpu") -> Tensor:
    """Counters [rows, columns] int64 of a tile of a tensor that is `width` wide."""
    r = torch.arange(rows.start, rows.stop, device=device)[:, None]
    return r * width + torch.arange(columns.start, columns.stop, device=device)


def draw(
    key_: int, shape: tuple[int, ...], sd: float, rows: range | None = None, columns: range | None = None
) -> Tensor:
    """A tile of a near normal tensor, f32; the whole of it without `rows` and `columns`."""
    height, width = (shape[0], shape[1]) if len(shape) == 2 else (1, shape[0])
    drawn = near_normal(key_, places(rows or range(height), columns or range(width), width))
    values = drawn.float() * (sd / NORMAL_SD)
    return values if len(shape) == 2 else values[0]


def signs(key_: int, shape: tuple[int, int]) -> Tensor:
    """+-1 [rows, columns] f32: codes that all have the same length."""
    return 1.0 - 2.0 * (bits(key_, places(range(shape[0]), range(shape[1]), shape[1])) & 1).float()


def successors(seed: int, vocab: int) -> Tensor:
    """The permutation p [V] int64: which token tends to follow each."""
    return torch.sort(bits(key(seed, "successors"), torch.arange(vocab)), stable=True).indices


# Formats


def fp8(values: Tensor) -> tuple[Tensor, Tensor]:
    """f32 [N, K] -> E4M3 [N, K] and UE8M0 [tiles of N, tiles of K]; tiles at the edge may be short."""
    n, k = values.shape
    padded = torch.nn.functional.pad(values, (0, -k % 32, 0, -n % 32))
    tiles = padded.view(len(padded) // 32, 32, -1, 32)  # [N/32, 32, K/32, 32]
    scale = codecs.pow2_ceil(tiles.abs().amax((1, 3)).clamp(min=2.0**-100) / 448)
    codes = (tiles / scale[:, None, :, None]).flatten(2).flatten(0, 1)[:n, :k]
    return codes.to(torch.float8_e4m3fn), codecs.ue8m0_encode(scale).view(torch.float8_e8m0fnu)


def fp8_rows(values: Tensor) -> tuple[Tensor, Tensor]:
    """f32 [N, K] -> E4M3 [N, K] and UE8M0 [N, K / 32]: a scale for each 32 of a row, as Engram's tables have."""
    blocks = values.view(len(values), -1, 32)
    scale = codecs.pow2_ceil(blocks.abs().amax(-1).clamp(min=2.0**-100) / 448)
    codes = (blocks / scale[..., None]).flatten(1)
    return codes.to(torch.float8_e4m3fn), codecs.ue8m0_encode(scale).view(torch.float8_e8m0fnu)


def fp4(values: Tensor) -> tuple[Tensor, Tensor]:
    """f32 [N, K] -> packed E2M1 [N, K / 2] int8 and UE8M0 [N, K / 32]."""
    blocks = values.view(len(values), -1, 32)
    scale = codecs.pow2_ceil(blocks.abs().amax(-1).clamp(min=2.0**-100) / 6)
    codes = codecs.e2m1_codes(blocks / scale[..., None]).flatten(1)
    return codecs.e2m1_pack(codes), codecs.ue8m0_encode(scale).view(torch.float8_e8m0fnu)


# A model


class Maker:
    """Makes the tensors of one configuration, one at a time."""

    def __init__(self, config: ModelConfig, recipe: Recipe, seed: int) -> None:
        self.config, self.recipe, self.seed = config, recipe, seed
        self.successors = successors(seed, config.vocab_size)

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor of the checkpoint by name, weights with their scales."""
        table = expected(self.config)
        for name, tensor in table.items():
            if name.endswith(".scale"):
                continue  # made with its weight
            scale = name.removesuffix("weight") + "scale"
            if tensor.dtype == "F8_E4M3":
                quantise = fp8_rows if name.endswith("engram.embed.weight") else fp8
                yield from zip((name, scale), quantise(self.values(name, tensor)), strict=True)
            elif tensor.dtype == "I8":
                wide = Expected("BF16", (tensor.shape[0], 2 * tensor.shape[1]))
                yield from zip((name, scale), fp4(self.values(name, wide)), strict=True)
            else:
                yield name, self.values(name, tensor).to(torch.bfloat16 if tensor.dtype == "BF16" else torch.float32)

    def values(self, name: str, tensor: Expected) -> Tensor:
        """A tensor's values before its format's rounding, f32, in its logical shape."""
        for ending, make in _SPECIAL.items():
            if name.endswith(ending):
                return make(self, name, tensor.shape)
        own = key(self.seed, name)
        if len(tensor.shape) == 1:
            return 1.0 + draw(own, tensor.shape, 0.1)  # a norm's weight
        return draw(own, tensor.shape, tensor.shape[1] ** -0.5)

    # What carries the signal

    def token_codes(self) -> Tensor:
        return signs(key(self.seed, "codes"), (self.config.vocab_size, self.config.hidden_size))

    def embed(self, name: str, shape: tuple[int, ...]) -> Tensor:
        rows: Tensor = self.token_codes()[self.successors] * self.recipe.signal
        rows[self.config.dspark_noise_token_id] = 0.0
        return rows

    def head(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return self.token_codes() * (1.0 / math.sqrt(self.config.hidden_size))

    def markov_codes(self) -> Tensor:
        rank = self.config.dspark_markov_rank
        return signs(key(self.seed, "markov"), (self.config.vocab_size, rank)) * (1.0 / math.sqrt(rank))

    def markov_embed(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return self.markov_codes()[self.successors]

    def markov_head(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return self.markov_codes() * self.recipe.markov

    # What keeps the rest in bounds

    def gate_bias(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw(key(self.seed, name), shape, self.recipe.gate_spread)

    def sink(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw(key(self.seed, name), shape, 1.0)

    def mix_fn(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw(key(self.seed, name), shape, 0.02 / math.sqrt(self.config.hidden_size))

    def mix_base(self, name: str, shape: tuple[int, ...]) -> Tensor:
        copies = self.config.hc_mult
        return torch.cat((torch.zeros(2 * copies), 4.0 * torch.eye(copies).flatten()))

    def mix_scale(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return torch.ones(shape)

    def engram_table(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw(key(self.seed, name), shape, 1.0)

    def engram_norm(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return 1.0 + draw(key(self.seed, name), shape, 0.1)


# By the end of a tensor's name; the first that fits.
_SPECIAL = {
    "markov_head.embed.weight": Maker.markov_embed,
    "markov_head.head.weight": Maker.markov_head,
    "engram.embed.weight": Maker.engram_table,
    "engram.q_weight": Maker.engram_norm,
    "engram.k_weight": Maker.engram_norm,
    "embed.weight": Maker.embed,
    "head.weight": Maker.head,
    "gate.bias": Maker.gate_bias,
    "attn_sink": Maker.sink,
    "_fn": Maker.mix_fn,
    "_base": Maker.mix_base,
    "hc_attn_scale": Maker.mix_scale,
    "hc_ffn_scale": Maker.mix_scale,
}


def token_map(config: ModelConfig) -> Tensor:
    """Compressed id of each token [V] int64: letters without case, whitespace as one, ids in first-seen order.

    Tokens below 256 are bytes; the others share what is left of the compressed vocabulary evenly.
    """
    folded = [
        ord(" ") if chr(byte).isspace() else ord(chr(byte).lower()) if byte < 128 else byte for byte in range(256)
    ]
    first_seen: dict[int, int] = {}
    of_bytes = [first_seen.setdefault(byte, len(first_seen)) for byte in folded]
    left = config.engram_compressed_vocab_size - len(first_seen)
    others = config.vocab_size - 256
    return torch.tensor(of_bytes + [len(first_seen) + place * left // others for place in range(others)])


def make(config: ModelConfig, folder: Path, seed: int = SEED, recipe: Recipe = PLAIN) -> None:
    """Write a synthetic checkpoint of `config` into a new folder; the same arguments give the same bytes."""
    maker = Maker(config, recipe, seed)
    write(folder, config, token_map(config), maker.tensors())


def main() -> int:
    """`python -m runtime.synthetic NAME FOLDER`."""
    parser = argparse.ArgumentParser(prog="python -m runtime.synthetic", description="Write a synthetic checkpoint.")
    parser.add_argument("name", help="a named configuration, such as tiny")
    parser.add_argument("folder", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        make(named(options.name), options.folder, options.seed)
    except (RuntimeFault, OSError) as error:
        print(f"checkpoint make: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
