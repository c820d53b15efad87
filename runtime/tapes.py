"""Eight tapes: prompts written for this project, one a kind of text, as byte tokens.

On synthetic weights a label names a workload and no quality.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from runtime.config import ModelConfig

FOLDER = Path(__file__).parent / "tapes"
NAMES = ("prose", "code", "math", "json", "shell", "tool", "long", "story")
# Tokens a prompt may have where prompts are fed a few rows at a time.
SHORT = 24
SMALL_WINDOW = 64


class Tape(NamedTuple):
    """A prompt: its label and its tokens, the text's start before its bytes."""

    name: str
    prompt: tuple[int, ...]


def tapes(config: ModelConfig) -> list[Tape]:
    """The eight tapes in their fixed order; cut to 24 tokens for a model with a small window."""
    most = SHORT if config.sliding_window <= SMALL_WINDOW else None
    return [Tape(name, (config.bos_token_id, *_text(name).encode())[:most]) for name in NAMES]


def _text(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
