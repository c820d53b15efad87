"""Checkpoint folders in the released format: config.json, safetensors in shards with an index, a token map.

`token_map.json` gives the compressed id of each token, which Engram hashes; the released model derives it from
its tokenizer, a synthetic one ships it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from runtime.config import ModelConfig
from runtime.errors import BadCheckpoint
from runtime.tensors import Expected, expected, is_passed_over

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
TOKEN_MAP = "token_map.json"
SHARD_BYTES = 2 << 20


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in memory, as stored.

    tensors    by released name, in the stored dtypes
    token_map  [V] int64, compressed id of each token
    digest     sha256 over the configuration, the token map and every tensor's name, dtype, shape and bytes
    """

    config: ModelConfig
    tensors: Mapping[str, Tensor]
    token_map: Tensor
    digest: str


def load(folder: Path, device: str = "cpu") -> Checkpoint:
    """Read a checkpoint folder exactly as it would the released one.

    Raises BadCheckpoint naming what is missing, left over, of another shape or type, or not a number's scale.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BadCheckpoint(f"{folder.name}: no such folder; `ladder checkpoint make tiny FOLDER` writes one")
    config = ModelConfig.read(folder / CONFIG)
    shards = _shards(folder)
    draft = any(name.startswith("mtp.") for names in shards.values() for name in names)
    wanted = expected(config, draft)
    _compare_names(wanted, (name for names in shards.values() for name in names))
    tensors: dict[str, Tensor] = {}
    for shard, names in shards.items():
        tensors.update(_read_shard(folder / shard, [name for name in names if name in wanted], wanted, device))
    tensors = {name: tensors[name] for name in wanted}
    token_map = _token_map(folder / TOKEN_MAP, config)
    return Checkpoint(config, tensors, token_map.to(device), _digest(config, token_map, tensors))


def write(
    folder: Path,
    config: ModelConfig,
    token_map: Tensor,
    tensors: Iterable[tuple[str, Tensor]],
    shard_bytes: int = SHARD_BYTES,
) -> None:
    """Write a checkpoint folder; the same arguments give the same bytes. The folder must not exist yet."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise BadCheckpoint(f"{folder.name}: exists already; name a new folder") from error
    _write_json(folder / CONFIG, config.to_json())
    _write_json(folder / TOKEN_MAP, token_map.tolist(), indent=None)
    shards = list(_in_shards(tensors, shard_bytes))
    weight_map: dict[str, str] = {}
    total = 0
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        save_file(shard, folder / name, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(shard, name)
        total += sum(tensor.nbytes for tensor in shard.values())
    _write_json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": weight_map})


def _in_shards(tensors: Iterable[tuple[str, Tensor]], shard_bytes: int) -> Iterator[dict[str, Tensor]]:
    shard: dict[str, Tensor] = {}
    held = 0
    for name, tensor in tensors:
        if shard and held + tensor.nbytes > shard_bytes:
            yield shard
            shard, held = {}, 0
        shard[name] = tensor.contiguous()
        held += tensor.nbytes
    if shard:
        yield shard


def _write_json(path: Path, value: Any, indent: int | None = 2) -> None:
    path.write_text(json.dumps(value, indent=indent, sort_keys=True) + "\n", encoding="utf-8")


def _read_json(path: Path, wants: type, says: str) -> Any:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise BadCheckpoint(f"{path.name}: no such file; {says}") from error
    except (UnicodeDecodeError, ValueError) as error:
        raise BadCheckpoint(f"{path.name}: not JSON ({error})") from error
    if not isinstance(value, wants):
        raise BadCheckpoint(f"{path.name}: must hold a JSON {wants.__name__}, not {type(value).__name__}")
    return value


def _shards(folder: Path) -> dict[str, list[str]]:
    """Names of tensors by shard file, from the index or from the only file."""
    if not (folder / INDEX).exists():
        single = folder / SINGLE
        if not single.exists():
            raise BadCheckpoint(f"{folder.name}: holds neither {INDEX} nor {SINGLE}")
        with _opened(single) as file:
            return {SINGLE: list(file.keys())}
    index = _read_json(folder / INDEX, dict, "a sharded checkpoint has one")
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict):
        raise BadCheckpoint(f"{INDEX}: has no weight_map from tensor names to files")
    shards: dict[str, list[str]] = {}
    for name, file in weight_map.items():
        if not isinstance(file, str) or file != Path(file).name or not file.endswith(".safetensors"):
            raise BadCheckpoint(f"{INDEX}: {name} is said to be in {file!r}, which is not a safetensors file's name")
        shards.setdefault(file, []).append(name)
    for file in shards:
        if not (folder / file).is_file():
            raise BadCheckpoint(f"{file}: no such file, though {INDEX} names it; the download may be incomplete")
    return shards


def _opened(path: Path) -> Any:
    try:
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError) as error:
        raise BadCheckpoint(f"{path.name}: not a whole safetensors file ({error})") from error


def _compare_names(wanted: Mapping[str, Expected], found: Iterable[str]) -> None:
    given = list(found)
    missing = [name for name in wanted if name not in set(given)]
    extra = sorted(name for name in given if name not in wanted and not is_passed_over(name))
    for names, says in ((missing, "missing"), (extra, "not a tensor of this configuration:")):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise BadCheckpoint(f"checkpoint: {says} {', '.join(names[:3])}{more}")


def _read_shard(
    path: Path, names: list[str], wanted: Mapping[str, Expected], device: str
) -> Iterator[tuple[str, Tensor]]:
    with _opened(path) as file:
        held = set(file.keys())
        for name in names:
            if name not in held:
                raise BadCheckpoint(f"{path.name}: does not hold {name}, though {INDEX} says so")
            header = file.get_slice(name)
            given = Expected(header.get_dtype(), tuple(header.get_shape()))
            if given.dtype != wanted[name].dtype:
                raise BadCheckpoint(f"{name}: stored as {given.dtype}, not {wanted[name].dtype}")
            if given.shape != wanted[name].shape:
                raise BadCheckpoint(f"{name}: of shape {list(given.shape)}, not {list(wanted[name].shape)}")
            tensor = file.get_tensor(name)
            _check_values(name, given, tensor)
            yield name, tensor.to(device)


def _check_values(name: str, given: Expected, tensor: Tensor) -> None:
    """Refuse codes and values that are not numbers."""
    if given.dtype in ("F8_E8M0", "F8_E4M3"):
        codes = tensor.view(torch.uint8)
        bad = codes == 255 if given.dtype == "F8_E8M0" else (codes & 127) == 127
        what = "scale 0xFF" if given.dtype == "F8_E8M0" else "E4M3 code 0x7F or 0xFF"
    elif given.dtype in ("BF16", "F32"):
        bad, what = ~torch.isfinite(tensor), "value"
    else:
        return
    if bool(bad.any()):
        first = bad.flatten().nonzero()[0].item()
        raise BadCheckpoint(f"{name}: {int(bad.sum())} of its entries are not a number ({what}), the first at {first}")


def _token_map(path: Path, config: ModelConfig) -> Tensor:
    ids = _read_json(path, list, "Engram needs the compressed id of each token")
    if len(ids) != config.vocab_size:
        raise BadCheckpoint(f"{path.name}: holds {len(ids)} ids for a vocabulary of {config.vocab_size}")
    top = config.engram_compressed_vocab_size
    for token, compressed in enumerate(ids):
        if not isinstance(compressed, int) or isinstance(compressed, bool) or not 0 <= compressed < top:
            raise BadCheckpoint(f"{path.name}: token {token} maps to {compressed!r}, not to an id below {top}")
    return torch.tensor(ids)


def _digest(config: ModelConfig, token_map: Tensor, tensors: Mapping[str, Tensor]) -> str:
    whole = hashlib.sha256(json.dumps(config.to_json(), sort_keys=True).encode())
    whole.update(token_map.numpy().tobytes())
    for name, tensor in tensors.items():
        whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        whole.update(tensor.cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return whole.hexdigest()
