"""Compiles what Triton kernels launch on their cases, for every architecture, without a device.

`python -m tests.kernels.compiled` prints a line of JSON a launch and architecture: the kernel's address, the
function, the architecture, its cubin's bytes, and which f32 operations of its PTX are fused or approximate. Launches
are caught where they would go to the device, so each is compiled with the types, constants and alignments it has
there. A function is compiled for the first of its launches with each choice of text: a codec, a weight's kind.
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile, make_backend
from triton.runtime.jit import JITFunction, create_function_from_signature

from tests.kernels.trial import pairs, run

TARGETS = {"sm_90a": 90, "sm_100a": 100, "sm_103a": 103, "sm_120a": 120}
INEXACT = re.compile(r"\b(?:fma\.rn|\w+\.(?:approx|full))(?:\.ftz)?\.f32\b")
Launch = tuple[JITFunction, tuple[Any, ...], dict[str, Any]]


def launches(address: str, case: Any) -> list[Launch]:
    """Every launch of a kernel on a case, in order; none of them runs."""
    caught: list[Launch] = []

    def catch(function: JITFunction, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> None:
        caught.append((function, arguments, options))

    real, JITFunction.run = JITFunction.run, catch
    try:
        run(address, case)
    finally:
        JITFunction.run = real
    return caught


def compiled(launch: Launch, capability: int) -> Any:
    """The kernel as this launch would compile it on a device of this capability."""
    function, arguments, options = launch
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    bind = create_function_from_signature(function.signature, function.params, backend)
    bound, specialization, kept = bind(*arguments, **options, debug=False)
    made, signature, constants, attributes = function._pack_args(backend, kept, bound, specialization, kept)
    return compile(ASTSource(function, signature, constants, attributes), target=target, options=made.__dict__)


def inexact(kernel: Any) -> list[str]:
    """Operations of f32 that round once for two, or not correctly."""
    return sorted(set(INEXACT.findall(kernel.asm["ptx"])))


def first_launches(wanted: set[str]) -> Iterator[tuple[str, Launch]]:
    """Every launch of the wanted kernels, or of all, on their cases; the first of each function is compiled."""
    for address, case in pairs(triton=True):
        if not wanted or address in wanted:
            yield from ((address, launch) for launch in launches(address, case))


def main() -> None:
    facts: dict[Any, list[dict[str, Any]]] = {}
    shown = set()
    for address, launch in first_launches(set(sys.argv[1:])):
        function, _, options = launch
        compiled_for = (function.fn, *(value for value in options.values() if isinstance(value, str)))
        if compiled_for not in facts:
            kernels = {name: compiled(launch, capability) for name, capability in TARGETS.items()}
            facts[compiled_for] = [
                {
                    "function": function.__name__,
                    "target": name,
                    "entry": f".target {name}" in kernel.asm["ptx"],
                    "cubin_bytes": len(kernel.asm["cubin"]),
                    "inexact": inexact(kernel),
                }
                for name, kernel in kernels.items()
            ]
        if (address, compiled_for) not in shown:
            shown.add((address, compiled_for))
            for each in facts[compiled_for]:
                print(json.dumps({"address": address} | each), flush=True)


if __name__ == "__main__":
    main()
