"""One kernel tried on one case: its outputs over a fill, inside larger buffers that are checked.

With TRITON_INTERPRET=1 in the environment the kernels are those written in Triton, and its interpreter runs them;
without it they are all others.
"""

import functools
import importlib
import os
from collections.abc import Iterator

import torch

from kernels.address import addresses, find, operations
from kernels.cases import Case

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
WRONG = {"linear/torch_wrong_scale"}

if INTERPRETED:
    from triton.runtime.interpreter import InterpretedFunction

    patching_call = InterpretedFunction.__call__

    def call(function: InterpretedFunction, *arguments: object, **options: object) -> object:
        """A launch has made the language the interpreter's; at each of our device functions that is done once more
        for nothing, and is two fifths of the time."""
        ours = function.fn.__module__.startswith("kernels.")
        return function.rewrite()(*arguments, **options) if ours else patching_call(function, *arguments, **options)

    InterpretedFunction.__call__ = call


def is_triton(address: str) -> bool:
    return address.split("/")[1].startswith("triton_")


@functools.cache
def cases(operation: str) -> tuple[Case, ...]:
    return tuple(importlib.import_module(f"kernels.{operation}.cases").cases())


def pairs(triton: bool = INTERPRETED) -> Iterator[tuple[str, Case]]:
    """Every kernel with every case of its operation."""
    for operation in operations():
        for address in addresses(operation):
            if is_triton(address) == triton:
                yield from ((address, case) for case in cases(operation))


def bits(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


def run(address: str, case: Case, first: int = 0, last: int = 8, fill: int = 0x5A) -> list[torch.Tensor]:
    """Outputs for rows first .. last - 1, written over a fill; rows beyond and the inputs must stay as they were."""
    kernel = find(address)
    buffers = [torch.zeros((last - first + 1, *shape), dtype=dtype) for shape, dtype in case.outputs]
    for buffer in buffers:
        buffer.view(torch.uint8).fill_(fill)
    beyond = [bits(buffer[-1]) for buffer in buffers]
    outputs = [buffer[:-1] for buffer in buffers]
    before = [bits(x) for x in case.inputs]
    kernel.run(*outputs, *(x[first:last] for x in case.inputs), *kernel.prepare(case.fixed))
    assert [bits(buffer[-1]) for buffer in buffers] == beyond, "wrote beyond its rows"
    assert [bits(x) for x in case.inputs] == before, "changed an input"
    return outputs


@functools.cache
def whole(address: str, name: str) -> list[torch.Tensor]:
    """The outputs of all eight rows on the case of this name, computed once."""
    return run(address, next(case for case in cases(address.split("/")[0]) if case.name == name))


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(x.shape == y.shape and x.dtype == y.dtype and bits(x) == bits(y) for x, y in zip(a, b, strict=True))
