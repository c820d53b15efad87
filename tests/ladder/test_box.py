"""The machine's record: its class and its software, and nobody's name."""

import getpass
import json
import os
import socket
from pathlib import Path

from ladder import box


def recorded() -> str:
    return json.dumps([box.machine(), box.software(("torch", "rich")), box.conditions()])


def test_nothing_in_it_names_host_user_or_home() -> None:
    text = recorded()
    names = {socket.gethostname(), os.environ.get("HOSTNAME", ""), str(Path.home()), str(Path.cwd())}
    assert [name for name in names if len(name) > 3 and name in text] == []
    assert f'"{getpass.getuser()}"' not in text


def test_no_environment_value_is_in_it(monkeypatch) -> None:
    monkeypatch.setenv("API_TOKEN", "hunter2hunter2")
    assert "hunter2" not in recorded()


def test_it_says_what_the_process_may_use() -> None:
    assert box.machine()["cores"] == len(os.sched_getaffinity(0))


def test_a_version_is_found_without_importing_the_package() -> None:
    assert box.version("pyyaml") and box.version("no-such-thing") is None


def test_a_machine_that_hides_its_details_has_none(tmp_path: Path) -> None:
    found = box.machine(tmp_path)
    assert found["memory_gib"] is None and found["cpu_model"] == found["arch"]
