"""The command line: the one place that prints, and the one place that catches."""

import argparse
import errno
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ladder import checkout
from ladder.errors import LadderError, LinkedFolder

CODES = {"PASS": 0, "FAIL": 2, "INCONCLUSIVE": 3, "INVALID": 4}
INTERRUPTED = 130
WOULD_DO = {
    errno.ENOSPC: "free some space and run again",
    errno.EDQUOT: "free some space and run again",
    errno.EROFS: "make the file system writable and run again",
    errno.EACCES: "make it readable and writable and run again",
    errno.EPERM: "make it readable and writable and run again",
}
EXITS = "exit codes: 0 PASS or done, 1 a mistake or an error, 2 FAIL, 3 INCONCLUSIVE, 4 INVALID, 130 interrupted"


@dataclass(frozen=True)
class Answer:
    """What a command found: for people, for programs, and for the shell."""

    text: str
    data: Any
    code: int = 0


@dataclass(frozen=True)
class Command:
    """One command: how it is called and what it does; its imports wait until it is asked."""

    says: str
    act: Callable[[Path, argparse.Namespace], Answer]
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)


class BadUsage(LadderError):
    """The words given are no command; argparse would exit with 2, which means FAIL here."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadUsage(f"{message} (see `{self.prog} --help`)")


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if words is None else list(words)
    try:
        asked = _parser().parse_args(words)
        root = checkout.find_root(asked.root)
        checkout.put_first(root)
        answer = asked.act(root, asked)
    except SystemExit as done:  # --help has printed
        return _flushed(int(done.code or 0))
    except LadderError as error:
        return _refused(type(error).__name__, str(error), "--json" in words, error.exit_code)
    except KeyboardInterrupt:
        return _refused("Interrupted", "interrupted", "--json" in words, INTERRUPTED)
    except BrokenPipeError:
        return _hush(1)
    except OSError as error:
        if os.environ.get("LADDER_DEBUG") == "1":
            traceback.print_exc()
        return _refused(type(error).__name__, _of_system(error), "--json" in words, 1)
    except Exception as error:
        if os.environ.get("LADDER_DEBUG") == "1":
            traceback.print_exc()
        says = f"unexpected {type(error).__name__}: {_one_line(str(error))} (LADDER_DEBUG=1 shows where)"
        return _refused(type(error).__name__, says, "--json" in words, 1)
    return _given(answer, asked.json)


def _of_system(error: OSError) -> str:
    """What the system refused, of which file, and what would do."""
    place = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    shown = "/".join(place.parts[-3:]) if place else "a file"
    says = error.strerror or type(error).__name__
    advice = WOULD_DO.get(error.errno or 0, "see that it is a plain file or folder of this checkout")
    return f"{shown}: {says}: {advice}; nothing that was written is lost (LADDER_DEBUG=1 shows where)"


def _given(answer: Answer, as_json: bool) -> int:
    text = json.dumps(answer.data, indent=2, sort_keys=True, ensure_ascii=False) if as_json else answer.text
    try:
        print(text, flush=True)
    except BrokenPipeError:
        return _hush(answer.code)
    except (OSError, UnicodeEncodeError) as error:
        return _refused(type(error).__name__, f"cannot write the answer: {_one_line(str(error))}", False, 1)
    return answer.code


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        _hush(code)
    return code


def _refused(kind: str, says: str, as_json: bool, code: int) -> int:
    try:
        print(f"ladder: {_one_line(says)}", file=sys.stderr, flush=True)
        if as_json:
            print(json.dumps({"error": kind, "says": says}, indent=2, sort_keys=True), flush=True)
    except OSError:
        _hush(code)
    return code


def _hush(code: int) -> int:
    """Whoever read our output has gone; say nothing more, at exit either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):
            continue
    return code


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _parser() -> _Parser:
    parser = _Parser(
        prog="ladder",
        parents=[_shared(False, None)],
        allow_abbrev=False,
        description="Climb a decode step one pre-registered kernel at a time.",
        epilog=EXITS,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for name, command in COMMANDS.items():
        each = commands.add_parser(
            name,
            parents=[_shared(argparse.SUPPRESS, argparse.SUPPRESS)],
            help=command.says,
            description=command.says,
            epilog=EXITS,
            allow_abbrev=False,
        )
        for flag, settings in command.arguments.items():
            each.add_argument(flag, **settings)
        each.set_defaults(act=command.act)
    return parser


def _shared(as_json: Any, root: Any) -> _Parser:
    """The options that may stand before and after the command; only the defaults before it count."""
    shared = _Parser(add_help=False)
    shared.add_argument("--json", action="store_true", default=as_json, help="answer as JSON")
    shared.add_argument("--root", type=Path, default=root, metavar="DIR", help="the checkout (default: here)")
    return shared


def _named(root: Path, asked: argparse.Namespace) -> tuple[str, str]:
    """The rung and the profile that a person means, with the card read once to be sure of both."""
    from ladder import card, device

    rung = checkout.rung_of(root, asked.card)
    return rung, device.choose(card.read(checkout.card_path(root, rung)), asked.profile)


def _run(root: Path, asked: argparse.Namespace) -> Answer:
    from ladder import progress, run

    rung, profile = _named(root, asked)
    outcome = run.run(root, rung, profile, progress=progress.for_terminal())
    return Answer(outcome.text, outcome.as_json(), CODES[outcome.outcome])


def _plan(root: Path, asked: argparse.Namespace) -> Answer:
    from ladder import plan, show

    made = plan.make(root, *_named(root, asked))
    return Answer(show.plan_text(made), made.as_json())


def _register(root: Path, asked: argparse.Namespace) -> Answer:
    from ladder import registration

    if asked.revise and not asked.why:
        raise BadUsage("--revise needs --why TEXT: a changed question says what changed its mind")
    rung, profile = _named(root, asked)
    record = registration.register(root, rung, profile, revise=asked.revise, why=asked.why)
    data = {"rung": rung, "profile": profile, "revision": record.value["revision"], "record": record.path.name}
    return Answer(f"registered {rung} ({profile}), revision {data['revision']}: {record.path.name}", data)


def _verdict(root: Path, asked: argparse.Namespace) -> Answer:
    from ladder import show

    rung = checkout.rung_of(root, asked.rung)
    graded = show.grade(root, rung, asked.profile, asked.window)
    return Answer(graded.text, graded.data, CODES[graded.outcome])


def _ls(root: Path, _: argparse.Namespace) -> Answer:
    from ladder import listing

    rows = listing.rows(root)
    return Answer(listing.text(rows), rows)


def _show(root: Path, asked: argparse.Namespace) -> Answer:
    from ladder import show

    shown = show.rung(root, checkout.rung_of(root, asked.rung))
    return Answer(show.rung_text(shown), shown)


def _locate(root: Path, asked: argparse.Namespace) -> Answer:
    from ladder import locate

    found = locate.locate(root, asked.x, asked.y)
    return Answer(locate.text(found, asked.x, asked.y), found)


def _ledger(root: Path, asked: argparse.Namespace) -> Answer:
    from ladder import ledger

    if asked.check:
        problems = ledger.check(root)
        text = "\n".join(problems) or "the ledger and its records agree"
        return Answer(text, {"problems": problems}, 1 if problems else 0)
    rendered = ledger.render(root)
    path = root / ledger.NAME
    if path.is_symlink():
        raise LinkedFolder(f"{path.name} is a symbolic link: the ledger lies in the checkout itself")
    from ladder import report

    report.render(root)
    return Answer(f"wrote {path.name}", {"path": path.name, "lines": rendered.count("\n")})


def _checkpoint(root: Path, asked: argparse.Namespace) -> Answer:
    from ladder import child

    out = child.make_checkpoint(root, asked.name, asked.out)
    return Answer(f"made {asked.name} in {out}", {"name": asked.name, "out": str(out)})


CARD: dict[str, Any] = {"metavar": "CARD", "help": "a rung, or the path of its card"}
RUNG: dict[str, Any] = {"metavar": "RUNG", "help": "a rung, or the path of its card"}
PROFILE: dict[str, Any] = {"metavar": "NAME", "help": "the card's profile (default: by this machine's hardware)"}
COMMANDS = {
    "run": Command("measure one rung against its control and grade it", _run, {"card": CARD, "--profile": PROFILE}),
    "verdict": Command(
        "grade the receipts of a rung again, without a device",
        _verdict,
        {
            "rung": RUNG,
            "--profile": {"metavar": "NAME", "help": "only this profile's windows"},
            "--window": {"metavar": "HEX", "help": "only this window"},
        },
    ),
    "plan": Command("say what a run would do, and measure nothing", _plan, {"card": CARD, "--profile": PROFILE}),
    "register": Command(
        "write down a card's gates and code before any run",
        _register,
        {
            "card": CARD,
            "--profile": PROFILE,
            "--revise": {"action": "store_true", "help": "register a changed question as the next revision"},
            "--why": {"metavar": "TEXT", "help": "why it changed"},
        },
    ),
    "ls": Command("list the rungs and where they stand", _ls),
    "show": Command("show one rung: its card, windows and verdicts", _show, {"rung": RUNG}),
    "locate": Command(
        "say where two arms' runs first part",
        _locate,
        {
            "x": {"metavar": "X", "help": "a receipt: <rung>/<window>/<arm>"},
            "y": {"metavar": "Y", "help": "another"},
        },
    ),
    "ledger": Command(
        "render LEDGER.md from the records",
        _ledger,
        {"--check": {"action": "store_true", "help": "change nothing; say what is edited, lost or stale"}},
    ),
    "checkpoint": Command(
        "make a synthetic checkpoint in the released format",
        _checkpoint,
        {
            "verb": {"choices": ["make"], "metavar": "make", "help": "make it"},
            "name": {"metavar": "NAME", "help": "a named configuration, such as tiny"},
            "out": {"metavar": "OUT", "type": Path, "help": "the folder to make"},
        },
    ),
}
