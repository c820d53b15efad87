"""What a worker trusts, after something has reached for it."""

import subprocess
import sys
import time
from typing import Any

import pytest

from gates import ulp
from ladder import soaking, trusted
from ladder.instruments import wall
from ladder.trusted import LeftProcess, Tampered, Trusted


def test_what_was_left_alone_is_as_it_was() -> None:
    Trusted().check()


@pytest.mark.parametrize(
    ("owner", "name"),
    [(wall, "read"), (wall, "perf_counter_ns"), (time, "perf_counter_ns"), (ulp, "judge"), (soaking.Kept, "__call__")],
    ids=str,
)
def test_a_function_that_was_replaced_is_named(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Trusted()
    monkeypatch.setattr(owner, name, lambda *words: None)
    with pytest.raises(Tampered, match=f"{name} was replaced"):
        before.check()


def test_a_function_whose_code_was_rewritten_is_named() -> None:
    before, code = Trusted(), ulp.judge.__code__
    try:
        ulp.judge.__code__ = (lambda gate, window: None).__code__
        with pytest.raises(Tampered, match=r"gates\.ulp\.judge"):
            before.check()
    finally:
        ulp.judge.__code__ = code


def test_a_process_that_was_left_running_is_found_and_one_that_ended_is_not() -> None:
    trusted.no_children()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        with pytest.raises(LeftProcess, match="1 process"):
            trusted.no_children()
    finally:
        child.kill()
        child.wait()
    trusted.no_children()


def test_a_process_that_left_its_parent_is_found_too() -> None:
    """In a process of its own, which adopts what its children leave behind."""
    program = (
        "import os, time; from ladder import trusted; trusted.keep_children()\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        os.setsid(); os.close(1); os.close(2); time.sleep(5)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "try:\n    trusted.no_children(); print('none')\n"
        "except trusted.LeftProcess: print('found')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=20)
    assert done.stdout == b"found\n"
