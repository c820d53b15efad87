"""What a worker trusts, noted before any kernel is imported, and looked at again after each pass.

Finds a kernel that replaces or rewrites a function of the framework, or the clock or hash that it calls, and one that
leaves a process running. It works in the same process as the kernel, so it finds accidents and plain cheats, not a
kernel that sets out to undo it as well.
"""

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

OURS = ("gates", "ladder")
CLOCKS = ("time", "hashlib", "gc")
PR_SET_CHILD_SUBREAPER = 36


class Tampered(Exception):
    """A function that the measurement rests on is not the one that it was before the kernels were imported."""


class LeftProcess(Exception):
    """A process that something in the arm started is still there after its pass."""


class Trusted:
    """The functions of our modules and of the clock's, as they are now."""

    def __init__(self) -> None:
        self._before = dict(_functions())

    def check(self) -> None:
        """Raise Tampered with the first function that is another one now, or runs other code."""
        now = dict(_functions())
        for name, was in self._before.items():
            found = now.get(name)
            if found is None or any(a is not b for a, b in zip(was, found, strict=True)):
                raise Tampered(f"{name} was replaced after the kernels were imported")


def keep_children() -> None:
    """Let orphans of this process's children become its own, so that `no_children` sees them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def no_children() -> None:
    """Raise LeftProcess if this process has a child."""
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            if children := task.read_text().split():
                raise LeftProcess(f"{len(children)} process(es) that the arm started still run beside the measurement")


def _functions() -> Iterator[tuple[str, tuple[Any, Any, Any]]]:
    """Each function by its place, as the object, its code and its defaults."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] not in OURS and name not in CLOCKS:
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == name:
                for inner, method in list(vars(value).items()):
                    if isinstance(method, FunctionType):
                        yield f"{name}.{key}.{inner}", _parts(method)
            elif callable(value):
                yield f"{name}.{key}", _parts(value)


def _parts(value: Any) -> tuple[Any, Any, Any]:
    return value, getattr(value, "__code__", None), getattr(value, "__defaults__", None)
