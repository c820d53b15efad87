"""The command line: what it prints, what it exits with, and what it never loads."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ladder import card, cli, device
from ladder.errors import BrokenDevice, LadderError, UnknownProfile

ROOT = Path(__file__).parent.parent.parent


def ladder(*words: str, at: Path = ROOT, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    command = [sys.executable, "-m", "ladder", *words]
    return subprocess.run(command, cwd=at, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture(autouse=True)
def path_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(ROOT)


def acting(monkeypatch: pytest.MonkeyPatch, act: object) -> None:
    monkeypatch.setitem(cli.COMMANDS, "ls", cli.Command("", act))


@pytest.mark.parametrize("words", [[], *([name] for name in cli.COMMANDS)], ids=str)
def test_every_command_has_help_that_states_the_exit_codes(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*words, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert cli.EXITS in shown
    assert "--json" in shown


def test_help_loads_nothing_heavy_and_comes_at_once() -> None:
    code = (
        "import sys; from ladder.cli import main; main(['--help'])\n"
        "print('LOADED', *{'torch', 'numpy', 'pandas', 'scipy', 'yaml', 'jsonschema', 'rich'} & set(sys.modules))"
    )
    begun = time.process_time_ns(), time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines()[-1] == "LOADED"
    assert time.monotonic() - begun[1] < 2, "0.1 s on an idle machine"


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "t9b-44"],
        ["plan", "../../escape"],
        ["plan", "t9b-4", "--profile", "h2000"],
        ["show", "a\nb"],
        ["run", "/etc/passwd"],
        ["verdict", "t9b-4", "--window", "../../.."],
        ["no-such-command"],
        [],
        ["plan"],
        ["ls", "--unknown"],
        ["register", "t9b-4", "--revise"],
    ],
    ids=str,
)
def test_a_mistake_is_one_line_and_exit_1(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ladder: ") and err.count("\n") == 1


def test_a_mistake_is_json_too_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--json", "plan", "t9b-44"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "UnknownRung"


@pytest.mark.parametrize("words", [["--json", "ls"], ["ls", "--json"]])
def test_json_may_stand_before_or_after_the_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 0
    assert "t9b-4" in [row["rung"] for row in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize("given", ["t9b-4", "rungs/t9b-4.yaml"])
def test_plan_works_from_any_folder_of_the_checkout(given: str) -> None:
    done = ladder("plan", given, "--profile", "cpu", "--json", at=ROOT / "kernels" / "rmsnorm")
    assert done.stderr == ""
    assert json.loads(done.stdout)["lineage"] == ["reference", "t9b-2", "t9b-3", "t9b-4"]


def test_outside_a_checkout_the_message_says_what_to_do(tmp_path: Path) -> None:
    done = ladder("ls", at=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cd into one, or give --root" in done.stderr


@pytest.mark.parametrize(("outcome", "code"), [("PASS", 0), ("FAIL", 2), ("INCONCLUSIVE", 3), ("INVALID", 4)])
def test_run_exits_by_the_outcome(monkeypatch: pytest.MonkeyPatch, outcome: str, code: int) -> None:
    found = SimpleNamespace(outcome=outcome, text=outcome, as_json=lambda: {"outcome": outcome})
    run = SimpleNamespace(run=lambda root, rung, profile, progress: found)
    progress = SimpleNamespace(for_terminal=lambda: None)
    for name, module in {"run": run, "progress": progress}.items():
        monkeypatch.setitem(sys.modules, f"ladder.{name}", module)
        monkeypatch.setattr(sys.modules["ladder"], name, module, raising=False)
    assert cli.main(["run", "t9b-4", "--profile", "cpu"]) == code


def test_an_unexpected_error_is_one_line_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    acting(monkeypatch, lambda root, asked: 1 / 0)
    assert cli.main(["ls"]) == 1
    said = capsys.readouterr().err
    assert said == "ladder: unexpected ZeroDivisionError: division by zero (LADDER_DEBUG=1 shows where)\n"


def test_the_hint_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    acting(monkeypatch, lambda root, asked: 1 / 0)
    monkeypatch.setenv("LADDER_DEBUG", "1")
    assert cli.main(["ls"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(root: Path, asked: object) -> cli.Answer:
        raise KeyboardInterrupt

    acting(monkeypatch, interrupted)
    assert cli.main(["ls"]) == cli.INTERRUPTED
    assert capsys.readouterr().err == "ladder: interrupted\n"


@pytest.mark.parametrize("words", ["ls", "--help"])
def test_a_reader_that_has_gone_is_no_error(words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "ladder", words], cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=30
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "ladder", "ls"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stderr.startswith("ladder: cannot write the answer")


@pytest.fixture
def empty_checkout(tmp_path: Path) -> Path:
    for name in ("rungs", "kernels"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_the_ledger_is_rendered_and_then_agrees(empty_checkout: Path) -> None:
    at = ["--root", str(empty_checkout)]
    assert cli.main(["ledger", *at]) == 0
    assert cli.main(["ledger", "--check", *at]) == 0
    (empty_checkout / "LEDGER.md").write_text("typed")
    assert cli.main(["ledger", "--check", *at]) == 1


def test_a_linked_ledger_is_not_written_through(empty_checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "LEDGER.md"
    (empty_checkout / "LEDGER.md").symlink_to(elsewhere)
    assert cli.main(["ledger", "--root", str(empty_checkout)]) == 1
    assert not elsewhere.exists()


SYNTHETIC = """\
import sys
from pathlib import Path
name, out = sys.argv[1:]
print("chatter that no program should read")
if name != "tiny":
    sys.exit(f"no configuration {name!r}")
Path(out).mkdir()
"""


@pytest.fixture
def checkout_with_models(tmp_path: Path) -> Path:
    for name in ("rungs", "kernels", "runtime"):
        (tmp_path / name).mkdir()
    (tmp_path / "runtime" / "__init__.py").touch()
    (tmp_path / "runtime" / "synthetic.py").write_text(SYNTHETIC)
    return tmp_path


def test_a_checkpoint_is_made_in_another_process(checkout_with_models: Path) -> None:
    done = ladder("checkpoint", "make", "tiny", "made", "--json", at=checkout_with_models / "rungs")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(json.loads(done.stdout)["out"]).is_dir()


def test_a_checkpoint_that_cannot_be_made_says_why(checkout_with_models: Path) -> None:
    done = ladder("checkpoint", "make", "huge", "made", at=checkout_with_models)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("ended with 1: no configuration 'huge'\n")


def a_machine(folder: Path, *files: str) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder


def two_profiles() -> card.Card:
    return card.read(ROOT / "rungs" / "t9b-4.yaml")


def test_a_machine_without_a_device_means_the_cpu(tmp_path: Path) -> None:
    assert device.choose(two_profiles(), None, tmp_path) == "cpu"


def test_a_machine_with_a_device_means_the_gpu(tmp_path: Path) -> None:
    root = a_machine(tmp_path, "dev/nvidiactl", "dev/nvidia0", "proc/driver/nvidia/version")
    assert device.choose(two_profiles(), None, root) == "h200"


@pytest.mark.parametrize("files", [["dev/nvidiactl"], ["proc/driver/nvidia/version"], ["dev/nvidiactl", "dev/nvidia0"]])
def test_a_broken_device_is_an_error_and_never_the_cpu(tmp_path: Path, files: list[str]) -> None:
    with pytest.raises(BrokenDevice, match="--profile cpu on purpose"):
        device.choose(two_profiles(), None, a_machine(tmp_path, *files))


def test_a_profile_given_on_purpose_asks_no_hardware(tmp_path: Path) -> None:
    assert device.choose(two_profiles(), "cpu", a_machine(tmp_path, "dev/nvidiactl")) == "cpu"


def test_a_card_without_this_machines_profile_says_which_it_has(tmp_path: Path) -> None:
    root = a_machine(tmp_path, "dev/nvidiactl", "dev/nvidia0", "proc/driver/nvidia/version")
    with pytest.raises(UnknownProfile, match="means profile 'h200', and the card has only cpu"):
        device.choose(card.read(ROOT / "rungs" / "demo-slow.yaml"), None, root)


def test_every_mistake_exits_with_1() -> None:
    assert {kind.exit_code for kind in LadderError.__subclasses__()} == {1}
