"""Whole checkouts for tests: the packages as they are here, one card with a script, and a git history of its own."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2]
PACKAGES = ("gates", "kernels", "ladder", "runtime")
RUNG = "demo"
CARD = """\
card: 1
title: A demonstration
question: Is the head shorter without its spin?
parent: {parent}
profiles:
  cpu:
    change: {{{change}}}
    workload: {{script: played, rows: [6, 1], observe: {{tapes: 8, new_tokens: 8}}, {measure}}}
    window: {{design: {design}}}
    instrument: script
    budget: {{boot_s: {boot_s}, compile_s: 1, measure_s: {measure_s}}}
    gates:
      - {{gate: bits, over: [logits, tokens, state], replay: true, relaunch: true, fills: true}}
      - {{gate: tokens}}
      - {{gate: rows}}
      - {{gate: speed, primary: true, metric: step_us, rows: 6, bar: {bar}, rule: point}}
      - {{gate: kernels, launches: 0}}
{more}"""
QUIET = {"step_ns": 10_000_000, "boot_sd_ns": 1_000, "step_sd_ns": 20_000, "effect_ns": -1_000_000, "seed": 3}


def card(**other: Any) -> str:
    """A card's text, with some of its values replaced."""
    values = {
        "parent": "reference",
        "change": "head: head/torch_slowed",
        "measure": "measure: {tapes: 8, new_tokens: 16, skip_steps: 1}",
        "design": "turns",
        "boot_s": 30,
        "measure_s": 30,
        "bar": -100,
        "more": "",
    }
    return CARD.format(**{**values, **other})


def make(root: Path, *, commit: bool = True, script: dict[str, Any] | None = None, **other: Any) -> Path:
    """A checkout with the card `demo`; committed, unless the test is about what is not."""
    for package in PACKAGES:
        shutil.copytree(HERE / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "rungs" / "scripts").mkdir(parents=True)
    (root / ".gitignore").write_text(".ladder/\n__pycache__/\n")
    write_card(root, **other)
    write_script(root, script or {})
    if commit:
        git(root, "init", "-q", "-b", "main")
        commit_all(root)
    return root


def write_card(root: Path, **other: Any) -> None:
    """The card, anew."""
    (root / "rungs" / f"{RUNG}.yaml").write_text(card(**other))


def write_script(root: Path, script: dict[str, Any]) -> None:
    """The script that the card plays, anew: quiet, and 1 ms faster, unless it says otherwise."""
    whole = {"script": 1, "readings": QUIET, **script}
    (root / "rungs" / "scripts" / "played.json").write_text(json.dumps(whole))


def commit_all(root: Path) -> str:
    """Commit everything; the commit's name."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Change what the test changed")
    return git(root, "rev-parse", "HEAD").strip()


def git(root: Path, *words: str) -> str:
    """Run git with nobody's configuration."""
    who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout
