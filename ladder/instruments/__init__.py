"""Instruments turn a run into readings: a file each, named by the card, found in this folder."""

from pathlib import Path
from typing import Any, Protocol

from ladder.errors import LadderError

Message = dict[str, Any]
PLANNED = {
    "events": "needs CUDA, and is not built yet",
    "nsys": "needs CUDA and Nsight Systems, and is not built yet",
    "cupti": "needs CUDA and cupti-python, and is not built yet",
}


class NoInstrument(LadderError):
    """The instrument that the card names cannot run here; another one would be a silent substitute."""


class Subject(Protocol):
    """What a worker asks: a bound model under an instrument, or a script that stands for one."""

    def facts(self) -> Message:
        """What was bound and what it runs on: kernels, model, tapes, process."""

    def observe(self, asked: Message) -> Message:
        """Run tapes freely and tell tokens and digests."""

    def beside(self, asked: Message) -> Message:
        """Run each changed site's control on the candidate's inputs and tell how far they are apart."""

    def force(self, asked: Message) -> Message:
        """Feed recorded tapes and tell what the model says of each token."""

    def repeat(self, asked: Message) -> Message:
        """Run one step again and again and count the unlike ones."""

    def soak(self, asked: Message) -> Message:
        """Call each changed site again and again on one input and count the unlike outputs."""

    def measure(self, asked: Message) -> Message:
        """Run one recorded tape and tell its readings."""


def check(name: str) -> None:
    """Refuse an instrument that cannot run."""
    if not (Path(__file__).parent / f"{name}.py").is_file():
        raise NoInstrument(f"instrument '{name}' {PLANNED.get(name, 'does not exist')}; here are script and wall")
