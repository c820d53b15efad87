"""Calls repeated on one input until an unlike one shows, or enough were alike."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from ladder.instruments import Message

Tensor = Any
FILLS = (0x5A, 0xFF)
TOLD_EVERY = 5000


class Kept:
    """A call that keeps a copy of the first input it is given."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self.inputs: tuple[Tensor, ...] | None = None
        self.sizes: dict[str, int] = {}

    def __call__(self, *inputs: Tensor, **sizes: int) -> Any:
        if self.inputs is None:
            self.inputs, self.sizes = tuple(each.clone() for each in inputs), sizes
        return self.call(*inputs, **sizes)


def soak(kept: Kept, calls: int, tell: Callable[[int], None]) -> Message:
    """Call a site `calls` times on what it kept, its buffers poisoned before each, and count unlike outputs."""
    assert kept.inputs is not None
    first: list[Tensor] | None = None
    differing, at = 0, None
    for index in range(calls):
        for buffer in kept.call.buffers:  # type: ignore[attr-defined]
            _bytes(buffer).fill_(FILLS[index % 2])
        outputs = list(_tensors(kept.call(*kept.inputs, **kept.sizes)))
        if first is None:
            first = [_bytes(each).clone() for each in outputs]
        elif not _same(first, outputs):
            differing, at = differing + 1, index if at is None else at
        if index % TOLD_EVERY == TOLD_EVERY - 1:
            tell(index + 1)
    return {
        "calls": calls,
        "differing": differing,
        "first": at,
        "input": _digest([_bytes(each) for each in kept.inputs]),
        "output": _digest(first or []),
    }


def _tensors(outputs: Any) -> Iterator[Tensor]:
    yield from outputs.values() if isinstance(outputs, dict) else outputs if isinstance(outputs, tuple) else (outputs,)


def _same(first: Sequence[Tensor], outputs: Sequence[Tensor]) -> bool:
    import torch

    return all(torch.equal(a, _bytes(b)) for a, b in zip(first, outputs, strict=True))


def _bytes(tensor: Tensor) -> Tensor:
    import torch

    return tensor.contiguous().view(torch.uint8)


def _digest(parts: Sequence[Tensor]) -> str:
    whole = sha256()
    for part in parts:
        whole.update(f"{tuple(part.shape)} ".encode() + part.numpy().tobytes())
    return whole.hexdigest()[:16]
