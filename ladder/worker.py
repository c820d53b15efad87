"""The child process of one arm: binds, observes, measures, and tells its parent over a private pipe.

What is trusted (the clocks, the hash, the pipe) is taken before any kernel is imported. It exits at the end of file
of its commands, in the middle of a step too.
"""

import gc
import os
import re
import resource
import select
import sys
import threading
import traceback
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from ladder import box, pipe, trusted
from ladder.instruments import Message, Subject

STARTED_NS = perf_counter_ns()
ROOT = Path.cwd()
PROMPT_ROWS = 8  # rows at a time that a prompt is fed by
CHECKS = [trusted.no_children]  # after each pass; a model's worker adds what it trusted before any kernel
WORK = ("observe", "beside", "force", "repeat", "soak", "measure")
SPARE_STEPS = 4  # a tape's last step, and what a draft looks ahead, reach beyond its tokens


def main(words: list[str]) -> int:
    """Answer requests until the pipe ends."""
    commands, answers = (int(word) for word in words)
    threading.Thread(target=_exit_at_end_of_file, args=(commands,), daemon=True).start()
    subject: Subject | None = None
    try:
        for asked in pipe.messages(commands):
            try:
                subject, answer = _answer(asked, subject, answers)
            except Exception as error:
                traceback.print_exc()
                pipe.send(answers, {"failed": _code(error), "says": f"{type(error).__name__}: {error}"[:2000]})
                return 1
            pipe.send(answers, {"did": asked["do"], "asked": _asked(asked), **answer})
            if misbehave := getattr(subject, "after", None):
                misbehave(asked["do"])
    except BrokenPipeError:
        return 1
    return 0


def _answer(asked: Message, subject: Subject | None, answers: int) -> tuple[Subject | None, Message]:
    work = asked["do"]
    if work == "boot":
        subject = SUBJECTS[asked["instrument"]](asked, answers)
    assert subject is not None, f"asked for {work} before boot"
    if misbehave := getattr(subject, "before", None):
        misbehave(work)
    if work == "boot":
        return subject, _booted(subject)
    if work == "close":
        return subject, {"loaded": loaded(ROOT), "peak_bytes": _peak_bytes(), "conditions": box.conditions()}
    gc.freeze()  # what has been bound stays: a collection before a measured tape need not look at it
    assert work in WORK, f"asked for {work}, which is no work"
    told = getattr(subject, work)(asked)
    for check in CHECKS:
        check()
    return subject, told


def _booted(subject: Subject) -> Message:
    facts = subject.facts()
    return {
        "kernels": facts["kernels"],
        "model": facts["model"],
        "tapes": facts["tapes"],
        "process": {**facts["process"], "boot_ns": perf_counter_ns() - STARTED_NS, "peak_bytes": _peak_bytes()},
        "machine": box.machine(),
        "software": box.software(tuple(facts["packages"])),
        "conditions": box.conditions(),
        "loaded": loaded(ROOT),
    }


def _script(asked: Message, answers: int) -> Subject:
    """A script's arm; it may misbehave before and after its work, as a script can ask for."""
    from ladder.instruments.script import Script

    return Script.boot(ROOT, asked, answers)


def _decoding(asked: Message, answers: int) -> Subject:
    """The model of a checkpoint under the decoder, every site bound; nothing of it is imported before this."""
    import torch

    from ladder.decoding import Decoding

    trusted.keep_children()
    CHECKS.append(trusted.Trusted().check)
    from runtime import sites
    from runtime.checkpoint import load
    from runtime.config import ARITHMETIC
    from runtime.decoder import Decoder, Forced
    from runtime.tapes import tapes
    from runtime.weights import Weights

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    checkpoint = load(ROOT / asked["checkpoint"])
    arithmetic = asked["arithmetic"]
    weights = Weights.from_checkpoint(checkpoint, ARITHMETIC[arithmetic])
    texts = tapes(weights.config)
    rows = max(*asked["rows"], PROMPT_ROWS)
    context = max(len(tape.prompt) for tape in texts) + asked["new_tokens"] + SPARE_STEPS * rows

    def bound(choices: Mapping[str, str]) -> Any:
        return sites.bind(weights.config, weights, choices, rows=rows, context=context)

    def decoder_of(table: Any) -> Any:
        return Decoder(weights, table, rows=rows, context=context)

    at = bound(asked["choices"])
    return Decoding(
        decoder=decoder_of(at),
        at=at,
        tapes=texts,
        forced=Forced,
        table_of=bound,
        beside_table=lambda control, changed, report: sites.beside(bound(control), at, changed, report),
        decoder_of=decoder_of,
        model={"name": asked["model"], "checkpoint_sha256": checkpoint.digest, "arithmetic": arithmetic},
        tell=lambda says: pipe.send(answers, {"progress": says}),
    )


SUBJECTS = {"script": _script, "wall": _decoding}


def loaded(root: Path) -> dict[str, str]:
    """sha256 of each project file that this process has loaded, by path in the checkout."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not file or not Path(file).is_relative_to(root):
            continue
        path = Path(file).relative_to(root)
        if path.suffix == ".py" and not any(part.startswith(".") or part == "site-packages" for part in path.parts):
            found[path.as_posix()] = sha256(Path(file).read_bytes()).hexdigest()
    return dict(sorted(found.items()))


def _asked(asked: Message) -> Message:
    """What names a request, so that an answer can be filed by itself."""
    return {key: asked[key] for key in ("rows", "fill", "tape", "turn", "skip") if key in asked}


def _code(error: Exception) -> str:
    return "_".join(re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", type(error).__name__)).lower() or "failed"


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _exit_at_end_of_file(commands: int) -> None:
    """Wait, without reading, until the other end is closed; a thread that sleeps in the kernel all the while."""
    watch = select.poll()
    watch.register(commands, 0)  # only the hang-up is reported
    watch.poll()
    os._exit(3)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
