"""What a window left behind, as frozen values: arms with what they observed and what they measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gates.finding import Unjudged


@dataclass(frozen=True)
class Observed:
    """One observe pass: token ids and digests at one row count, outputs poisoned with one fill."""

    rows: int
    fill: str
    tapes: int
    steps: int
    emitted: int
    sidecar: str  # sha256 of the sidecar with every step
    sites: str | None  # sha256 of the sidecar with each layer's values, where one was kept
    launches: int
    by_kernel: Mapping[str, int]
    by_site: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Measured:
    """One measure pass: readings at one row count, and whether outputs moved from the observe pass."""

    rows: int
    steps: int
    sidecar: str
    tokens_moved: bool
    logits_moved: bool
    middle_ns: int | None  # since the window was opened
    compared: int | None = None  # steps whose outputs were held against the observe pass, where that was counted


@dataclass(frozen=True)
class Arm:
    """One configuration in one process."""

    name: str
    role: str
    choices: Mapping[str, str]
    threads: int
    observed: tuple[Observed, ...]
    measured: tuple[Measured, ...]
    beside: Mapping[str, Mapping[str, Any]]
    process: Mapping[str, int] = field(default_factory=dict)
    forced: str | None = None  # sha256 of the sidecar with what it gave to forced tokens
    repeat: Mapping[str, Any] | None = None
    soak: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def observe(self, rows: int) -> tuple[Observed, ...]:
        """Its observe passes at this row count, which exist."""
        found = tuple(item for item in self.observed if item.rows == rows)
        if not found:
            raise Unjudged("missing_pass", f"arm {self.name} has no observe pass at {rows} rows")
        return found

    def measure(self, rows: int) -> Measured:
        """Its measure pass at this row count, which exists."""
        for item in self.measured:
            if item.rows == rows:
                return item
        raise Unjudged("missing_pass", f"arm {self.name} has no measure pass at {rows} rows")


@dataclass(frozen=True)
class Window:
    """All arms of one stretch, what was asked of them, and their sidecars by sha256."""

    meaning: Mapping[str, Any]
    design: str
    arms: Mapping[str, Arm]
    sidecars: Mapping[str, Mapping[str, Any]]

    def arm(self, name: str) -> Arm:
        """The arm of this name, which exists."""
        if name not in self.arms:
            raise Unjudged("missing_arm", f"arm {name} left no receipt")
        return self.arms[name]

    def role(self, role: str) -> list[Arm]:
        """The arms of a role, by name: A before A2."""
        return [self.arms[name] for name in sorted(self.arms) if self.arms[name].role == role]

    def sidecar(self, sha256: str) -> Mapping[str, Any]:
        """The sidecar with this digest, which exists and is what its digest says."""
        try:
            return self.sidecars[sha256]
        except KeyError:
            raise Unjudged("sidecar_missing", f"no sound sidecar {sha256[:8]} lies beside the receipts") from None

    @property
    def rows(self) -> list[int]:
        """The row counts that the workload asks for, of which there is one at least, the largest first."""
        asked = self.meaning["workload"].get("rows")
        if not asked:
            raise Unjudged("missing_pass", "the workload names no row counts, so nothing was asked for")
        return sorted(asked, reverse=True)

    @property
    def changed(self) -> list[str]:
        """The sites whose kernel the candidate changes."""
        control, candidate = (self.meaning["choices"][name] for name in ("control", "candidate"))
        return sorted(site for site in {*control, *candidate} if control.get(site) != candidate.get(site))


def arm(receipt: Mapping[str, Any]) -> Arm:
    """The evidence in one receipt, which has been checked against its schema."""
    return Arm(
        name=receipt["arm"],
        role=receipt["role"],
        choices=receipt["choices"],
        threads=receipt["process"].get("threads", 1),
        observed=tuple(_observed(item) for item in receipt["observe"]),
        measured=tuple(_measured(item) for item in receipt["measure"]),
        beside=receipt["beside"],
        process=receipt["process"],
        forced=receipt["forced"]["sha256"] if receipt.get("forced") else None,
        repeat=receipt.get("repeat"),
        soak=receipt.get("soak", {}),
    )


def _observed(item: Mapping[str, Any]) -> Observed:
    sites, launches = item["sites"], item["launches"]
    return Observed(
        rows=item["rows"],
        fill=item["fill"],
        tapes=item["tapes"],
        steps=item["steps"],
        emitted=item["emitted"],
        sidecar=item["sidecar"]["sha256"],
        sites=sites["sha256"] if sites else None,
        launches=launches["total"],
        by_kernel=launches["by_kernel"],
        by_site=launches["by_site"],
    )


def _measured(item: Mapping[str, Any]) -> Measured:
    began_ns, ended_ns = item.get("began_ns"), item.get("ended_ns")
    return Measured(
        rows=item["rows"],
        steps=item["steps"],
        sidecar=item["sidecar"]["sha256"],
        tokens_moved=item["moved"]["tokens"],
        logits_moved=item["moved"]["logits"],
        middle_ns=None if began_ns is None or ended_ns is None else (began_ns + ended_ns) // 2,
        compared=item.get("compared"),
    )
