"""What a decode step costs on one thread: boot, 6-row verify, draft, one row, peak memory, tokens a step.

Run as `python -m benchmarks.decode`. A benchmark, not a test: it prints and never fails.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

STARTED = time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, help="a checkpoint folder; a synthetic `tiny` is made without one")
    parser.add_argument("--arithmetic", default="product")
    parser.add_argument("--new-tokens", type=int, default=48)
    parser.add_argument("--repeat", type=int, default=25)
    options = parser.parse_args()

    import torch

    torch.set_num_threads(1)
    imported_s = time.perf_counter() - STARTED
    from runtime.checkpoint import load
    from runtime.config import named
    from runtime.synthetic import make

    with tempfile.TemporaryDirectory() as scratch:
        folder = options.checkpoint or Path(scratch) / "tiny"
        if not options.checkpoint:
            making = time.perf_counter()
            make(named("tiny"), folder)
            print(f"make             {time.perf_counter() - making:8.2f} s")
        booting = time.perf_counter()
        checkpoint = load(folder)
        decoder = boot(checkpoint, options.arithmetic)
        boot_s = imported_s + time.perf_counter() - booting
    print(f"boot             {boot_s:8.2f} s, {imported_s:.2f} of it importing torch")
    report_steps(decoder, options.repeat)
    report_tapes(decoder, options.new_tokens)
    print(f"peak memory      {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MiB")


def boot(checkpoint, arithmetic: str):
    """A decoder with the default kernel at every site."""
    from runtime.config import ARITHMETIC
    from runtime.decoder import Decoder
    from runtime.model import Weights
    from runtime.sites import bind

    weights = Weights.from_checkpoint(checkpoint, ARITHMETIC[arithmetic])
    return Decoder(weights, bind(weights.config, weights, {}, rows=8))


def report_steps(decoder, repeat: int) -> None:
    from runtime.tapes import tapes

    state = decoder.new_state()
    decoder.prefill(state, tapes(decoder.config)[0].prompt)
    for _ in decoder.generate(state, 12, rows=6, ignore_eos=True):
        pass
    snapshot = state.snapshot()

    def verify(rows: int) -> None:  # commits nothing, so every round does the same work
        decoder.feed(state, (state.last, *state.drafts)[:rows])

    for name, work in (
        ("verify, 6 rows", lambda: verify(6)),
        ("draft", lambda: decoder.propose(state)),
        ("verify, 1 row", lambda: verify(1)),
        ("step, 6 rows", lambda: (state.restore(snapshot), decoder.step(state, 6))),
        ("step, 1 row", lambda: (state.restore(snapshot), decoder.step(state, 1))),
    ):
        state.restore(snapshot)
        print(f"{name:16} {milliseconds(work, repeat)}")


def milliseconds(work: Callable[[], object], repeat: int) -> str:
    """Median and least of `repeat` runs, after three that do not count."""
    spans_ms = []
    for _ in range(repeat + 3):
        started = time.perf_counter()
        work()
        spans_ms.append((time.perf_counter() - started) * 1e3)
    return f"{statistics.median(spans_ms[3:]):8.1f} ms, least {min(spans_ms[3:]):.1f}"


def report_tapes(decoder, new_tokens: int) -> None:
    from runtime.tapes import tapes

    for tape in tapes(decoder.config):
        state = decoder.new_state()
        decoder.prefill(state, tape.prompt)
        steps = list(decoder.generate(state, new_tokens, rows=6, ignore_eos=True))
        emitted = sum(len(step.emitted) for step in steps)
        unique = statistics.fmean(count for step in steps for count in step.experts)
        accepted = [sum(step.accepted >= place for step in steps) / len(steps) for place in range(1, 6)]
        curve = " ".join(f"{share:.2f}" for share in accepted)
        print(f"{tape.name:16} {emitted / len(steps):8.2f} tokens a step, accepted {curve}, {unique:.1f} experts")


if __name__ == "__main__":
    main()
