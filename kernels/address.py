"""Finds a kernel by its address `operation/kernel`: the file system is the registry.

A kernel module holds
  CLAIM  'bits' (equal to the reference, bit for bit) or 'ulp:bf16=N,f32=M' (outputs of that dtype within so many
         ulp of the exact value)
  run    run(*outputs, *inputs, *weights): writes every element of the outputs' rows, keeps nothing
and may hold
  prepare  prepare(weights) -> the weights in the layout it wants, once, when it is bound
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PART = re.compile(r"[a-z][a-z0-9_]{0,47}")
# A kernel's name gives its language, then its idea; other files of a folder are what its kernels share.
KERNEL = re.compile(r"reference|(torch|triton|cute|cuda|deepgemm|flashinfer)_[a-z0-9_]{1,40}")
# What a kernel's language has to find installed, and the extra of pyproject.toml that brings it.
LIBRARIES = {
    "triton": ("triton", "gpu"),
    "cute": ("cutlass", "gpu"),
    "deepgemm": ("deep_gemm", "gpu"),
    "flashinfer": ("flashinfer", "gpu"),
}


class UnknownKernel(LookupError):
    """No file answers to an address."""


class MissingLibrary(ImportError):
    """A kernel is written in something that is not installed."""


@dataclass(frozen=True)
class Kernel:
    """A kernel found by address; `source_sha256` is the digest of its file."""

    address: str
    operation: str
    run: Callable[..., None]
    prepare: Callable[[Sequence[Any]], Sequence[Any]]
    claim: str
    source_sha256: str


def operations() -> list[str]:
    """Every folder that states an operation's meaning, sorted."""
    return sorted(path.parent.name for path in HERE.glob("*/reference.py"))


def addresses(operation: str) -> list[str]:
    """Every kernel of an operation, the reference first."""
    names = {path.stem for path in (HERE / operation).glob("*.py") if KERNEL.fullmatch(path.stem)}
    return [f"{operation}/{name}" for name in sorted(names, key=lambda name: (name != "reference", name))]


def path_of(address: str) -> Path:
    """The file of an address; nothing is imported."""
    parts = address.split("/")
    if len(parts) != 2 or not PART.fullmatch(parts[0]) or not KERNEL.fullmatch(parts[1]):
        raise UnknownKernel(f"kernel {address!r} is not an address; write operation/kernel, as in rmsnorm/torch_split")
    operation, name = parts
    path = HERE / operation / f"{name}.py"
    if not path.is_file():
        there = ", ".join(addresses(operation)) or f"none; operations are {', '.join(operations())}"
        raise UnknownKernel(f"kernel {address!r}: no file kernels/{operation}/{name}.py; there are {there}")
    return path


def find(address: str) -> Kernel:
    """Import the kernel at `address`."""
    path = path_of(address)
    operation, name = address.split("/")
    library, extra = LIBRARIES.get(name.split("_")[0], ("torch", "cpu"))
    if importlib.util.find_spec(library) is None:
        raise MissingLibrary(f"kernel {address!r} needs {library}, which is not installed; pip install '.[{extra}]'")
    module: Any = importlib.import_module(f"kernels.{operation}.{name}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    prepare = getattr(module, "prepare", tuple)
    return Kernel(address, operation, module.run, prepare, module.CLAIM, digest)
