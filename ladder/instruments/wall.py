"""Reads the wall clock and the process's CPU clock around each whole step, without collection of garbage."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns, process_time_ns  # taken before any kernel is imported


@dataclass(frozen=True)
class Readings:
    """One reading a step, in ns; `began_ns` and `ended_ns` by the wall clock, which all processes share."""

    wall_ns: list[int]
    cpu_ns: list[int]
    began_ns: int
    ended_ns: int


def read(steps: Sequence[Callable[[], None]], after: Callable[[int], None]) -> Readings:
    """Time each step; `after(index)` runs behind it, outside of what is timed."""
    wall_ns, cpu_ns = [], []
    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    began_ns = perf_counter_ns()
    try:
        for index, step in enumerate(steps):
            wall, cpu = perf_counter_ns(), process_time_ns()
            step()
            cpu_ns.append(process_time_ns() - cpu)
            wall_ns.append(perf_counter_ns() - wall)
            after(index)
    finally:
        if collects:
            gc.enable()
    return Readings(wall_ns, cpu_ns, began_ns, perf_counter_ns())
