"""Registration: a card's meaning and the code it can execute, written down by digest before any run."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gates.digest import meaning_digest
from ladder import checkout, code, git, plan, records
from ladder.code import Closure
from ladder.errors import LadderError
from ladder.moment import now
from ladder.plan import Plan
from ladder.records import Record

GRADERS = ("gates/*.py", "ladder/**/*.py", "ladder/schemas/*.json")
NO_GIT = "no git here, and no registration in receipts/ matches this card and this code"


class NotCommitted(LadderError):
    """The card or code that a registration would pin is not what the last commit holds."""


class MeaningChanged(LadderError):
    """The card or the candidate's kernel is no longer what was registered."""


class NothingToRevise(LadderError):
    """A revision was asked for, and there is nothing to revise."""


@dataclass(frozen=True)
class Standing:
    """What a run stands on: a registration, or the reasons why it is exploratory, and what git says of the tree."""

    record: Record | None
    exploratory: tuple[str, ...]
    commit: str | None
    dirty: bool | None


def register(root: Path, rung: str, profile: str, *, revise: bool = False, why: str | None = None) -> Record:
    """Register a profile of a card as it is committed, or give the registration that says the same already."""
    made = plan.make(root, rung, profile)
    closure = code.of_plan(root, made)
    tree = Tree.of(root)
    if tree is None:
        raise NotCommitted("no git here: register where the history is, and bring the registration along with the tree")
    if changed := tree.uncommitted(_pinned(root, made, closure)):
        raise NotCommitted(f"not committed: {_listed(changed)}: commit, then register again")
    return _settle(root, made, closure, tree, revise=revise, why=why)


def for_run(root: Path, made: Plan, closure: Closure) -> Standing:
    """Register what is about to run where that is possible; otherwise say why the run is exploratory."""
    tree = Tree.of(root)
    if tree is None:
        found = _matching(root, made, closure)
        return Standing(found, () if found else (NO_GIT,), None, None)
    if changed := tree.uncommitted(_pinned(root, made, closure)):
        return Standing(None, tuple(f"{path} is not committed" for path in changed), tree.commit, True)
    record = _settle(root, made, closure, tree, revise=False, why=None)
    return Standing(record, (), tree.commit, tree.is_dirty())


def _pinned(root: Path, made: Plan, closure: Closure) -> list[str]:
    """The cards, what the arms can execute, and what runs and grades them."""
    cards = [f"rungs/{rung}.yaml" for rung in made.lineage if rung != "reference"]
    graders = [path.relative_to(root).as_posix() for pattern in GRADERS for path in root.glob(pattern)]
    return sorted({*cards, *closure.files, *graders})


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


# What was registered before


def _settle(root: Path, made: Plan, closure: Closure, tree: "Tree", *, revise: bool, why: str | None) -> Record:
    earlier = _earlier(root, made)
    latest = earlier[-1] if earlier else None
    if revise and latest is None:
        raise NothingToRevise(f"{made.rung} ({made.profile}) was never registered: `ladder register {made.rung}`")
    broken = _broken_promise(root, made, closure, latest.value) if latest else []
    if revise and not broken:
        raise NothingToRevise(f"{made.rung} ({made.profile}): card and candidate are as they were registered")
    if latest is None or revise:
        revision = latest.value["revision"] + 1 if latest else 1
        return _write(root, made, closure, tree, revision, why=why, changed=_changed(closure, latest))
    if broken:
        raise MeaningChanged(
            f"{made.rung} ({made.profile}): {_listed(broken)} changed since revision {latest.value['revision']} was "
            f"registered: `ladder register {made.rung} --profile {made.profile} --revise --why TEXT` states it anew"
        )
    changed = _changed(closure, latest)
    if not changed:
        return latest
    return _write(root, made, closure, tree, latest.value["revision"], why=None, changed=changed)


def _earlier(root: Path, made: Plan) -> list[Record]:
    """This profile's registrations, the one that counts last."""
    folder = checkout.receipts_folder(root, made.rung)
    mine = {path.name for path in folder.glob("registration-*.json")}
    found = [
        record
        for record in (records.scan(root) if mine else [])
        if record.kind == "registration"
        and (record.value["rung"], record.value["profile"]) == (made.rung, made.profile)
    ]
    return sorted(found, key=lambda record: record.value["revision"])  # stable: the order of records within one


def _broken_promise(root: Path, made: Plan, closure: Closure, registered: Mapping[str, Any]) -> list[str]:
    """What may only change in a new revision: keys of the card's meaning, and the candidate's own files."""
    before, after = registered["meaning"], made.meaning
    keys = [key for key in sorted({*before, *after}) if _meaning(before.get(key)) != _meaning(after.get(key))]
    known: Mapping[str, str] = registered["code"]
    files = [path for path in sorted(code.candidate_files(root, made)) if known.get(path) != closure.files.get(path)]
    return [f"the card's {key}" for key in keys] + (files if "choices" not in keys else [])


def _meaning(value: Any) -> str:
    return meaning_digest(value)


def _changed(closure: Closure, latest: Record | None) -> list[str]:
    """Files and versions unlike those of the last registration."""
    if latest is None:
        return []
    files, versions = latest.value["code"], latest.value["third_party"]
    pairs = ((files, closure.files), (versions, closure.third_party))
    return [key for a, b in pairs for key in sorted({*a, *b}) if a.get(key) != b.get(key)]


def _matching(root: Path, made: Plan, closure: Closure) -> Record | None:
    """Where there is no git: the registration that came with the tree, if card and code are the ones it states."""
    for record in reversed(_earlier(root, made)):
        value = record.value
        if value["code_sha256"] == closure.sha256 and value["meaning_sha256"] == meaning_digest(made.meaning):
            return record
    return None


def _write(
    root: Path,
    made: Plan,
    closure: Closure,
    tree: "Tree",
    revision: int,
    *,
    why: str | None,
    changed: list[str],
) -> Record:
    value = {
        "record": "registration",
        "format": 1,
        "prev": records.heads(root),
        "at": now(),
        "rung": made.rung,
        "profile": made.profile,
        "revision": revision,
        "meaning": made.meaning,
        "meaning_sha256": meaning_digest(made.meaning),
        "gates_sha256": meaning_digest(made.meaning["gates"]),
        "code_sha256": closure.sha256,
        "code": closure.files,
        "third_party": closure.third_party,
        "commit": tree.commit,
        "why": why,
        "changed": changed,
    }
    return records.write_named(checkout.receipts_folder(root, made.rung), value)


# What git says


@dataclass(frozen=True)
class Tree:
    """A checkout under git: its commit, None before the first one."""

    root: Path
    commit: str | None

    @classmethod
    def of(cls, root: Path) -> "Tree | None":
        """None where there is no git, or the folder lies in no work tree."""
        if git.ask(root, "rev-parse", "--is-inside-work-tree") is None:
            return None
        commit = git.ask(root, "rev-parse", "--verify", "-q", "HEAD")
        return cls(root, commit.decode().strip() if commit else None)

    def uncommitted(self, paths: Sequence[str]) -> list[str]:
        """Those that the last commit does not hold byte for byte, whatever the index says of them."""
        listed = git.ask(self.root, "ls-tree", "-r", "-z", "HEAD", "--", *paths) if self.commit else None
        held: dict[str, str] = {}
        for entry in (listed or b"").decode("utf-8", "surrogateescape").split("\0"):
            facts, _, path = entry.partition("\t")
            mode, _, blob = facts.partition(" blob ")
            if mode in {"100644", "100755"}:
                held[path] = blob
        return [path for path in paths if held.get(path) != _blob(self.root / path, held.get(path, ""))]

    def is_dirty(self) -> bool:
        """Whether anything else than records and their rendering is unlike the last commit."""
        status = git.ask(self.root, "status", "--porcelain", "-z", "--", ".", ":!receipts", ":!LEDGER.md")
        return status is None or bool(status)


def _blob(path: Path, like: str) -> str | None:
    """The file's object name in git, by the hash that `like` was made with."""
    if path.is_symlink() or not path.is_file():
        return None
    data = path.read_bytes()
    kind = "sha256" if len(like) == 64 else "sha1"
    return hashlib.new(kind, b"blob %d\0" % len(data) + data).hexdigest()
