"""Tokens a step, ms a token, and what became of drafts and experts, as a window's receipts have them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gates.evidence import Window
from gates.finding import Unjudged
from gates.readings import pair
from gates.speed import estimate
from ladder import window
from ladder.window import Found


@dataclass(frozen=True)
class Arms:
    """One role's arms at one row count.

    tokens   a step, over all observe passes
    step_ms  as the speed gate reads it, or None where no speed can be read
    counts   of drafts and experts, as the role's first receipt has them, or None in receipts from before they were kept
    """

    role: str
    rows: int
    tokens: float
    step_ms: float | None
    counts: Mapping[str, Any] | None
    experts_by_layer: Sequence[int]

    @property
    def token_ms(self) -> float | None:
        """Time of a token: of a step, shared by the tokens that it gives."""
        return None if self.step_ms is None else self.step_ms / self.tokens

    def as_json(self) -> dict[str, Any]:
        """As plain data, rounded to a thousandth."""
        return {
            "role": self.role,
            "rows": self.rows,
            "tokens_a_step": round(self.tokens, 3),
            "step_ms": None if self.step_ms is None else round(self.step_ms, 3),
            "token_ms": None if self.token_ms is None else round(self.token_ms, 3),
            "acceptance": dict(self.counts) if self.counts else None,
            "experts_by_layer": list(self.experts_by_layer),
        }


def read(found: Found) -> list[Arms]:
    """Both roles at every row count that both observed, the largest first, control before treatment."""
    told = []
    evidence = found.evidence
    for rows in sorted({item.rows for arm in evidence.arms.values() for item in arm.observed}, reverse=True):
        steps_ms = _steps_ms(evidence, rows)
        for role in ("control", "treatment"):
            if arms := _arms(found, role, rows, steps_ms.get(role)):
                told.append(arms)
    return told


def _arms(found: Found, role: str, rows: int, step_ms: float | None) -> Arms | None:
    receipts = [record.value for _, record in sorted(found.receipts.items()) if record.value["role"] == role]
    items = [item for receipt in receipts for item in receipt["observe"] if item["rows"] == rows]
    emitted, steps = sum(item["emitted"] for item in items), sum(item["steps"] for item in items)
    if not emitted or not steps:
        return None
    return Arms(role, rows, emitted / steps, step_ms, items[0].get("acceptance"), items[0]["experts_by_layer"])


def _steps_ms(evidence: Window, rows: int) -> dict[str, float]:
    """Each role's step as the speed gate reads it; nothing where it could not judge."""
    try:
        wall = pair(evidence, rows).wall
        effect = estimate(
            {name: [list(map(float, block)) for block in of] for name, of in wall.items()}, evidence, rows
        )
    except Unjudged:
        return {}
    return {"control": effect.control / 1e6, "treatment": effect.candidate / 1e6}


def lines(told: Sequence[Mapping[str, Any]]) -> list[str]:
    """For people, of what `Arms.as_json` gives: tokens and their time by row count, then drafts and experts.

    Drafts and experts are told once where both roles' are the same, else by role.
    """
    shown: list[str] = []
    for rows in dict.fromkeys(arms["rows"] for arms in told):
        mine = [arms for arms in told if arms["rows"] == rows]
        shown.append(f"  tokens    {rows} row{'s' if rows > 1 else ''}: {'; '.join(map(_tokens, mine))}")
        counts = [dict(_counts(arms)) for arms in mine]
        apart = any(each != counts[0] for each in counts)
        for arms, each in zip(mine, counts if apart else counts[:1], strict=apart):
            shown += [f"  {label:<9} {_name(arms) + ' ' if apart else ''}{says}" for label, says in each.items()]
    return shown


def _tokens(arms: Mapping[str, Any]) -> str:
    time = "" if arms["token_ms"] is None else f", {arms['token_ms']:.3f} ms a token"
    return f"{_name(arms)} {arms['tokens_a_step']:.2f} a step{time}"


def _name(arms: Mapping[str, Any]) -> str:
    return "control" if arms["role"] == "control" else "candidate"


def _counts(arms: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    counts = arms["acceptance"]
    if not counts or arms["rows"] == 1:
        return
    drafts = zip(counts["hits"], counts["attempts"], strict=True)
    shares = " ".join(f"{hits / attempts:.2f}" if attempts else "-" for hits, attempts in drafts)
    verified, committed = counts["accepted_by_verifier"], counts["committed"]
    yield (
        "accepted",
        f"{shares} by draft, where all before it were; "
        f"{verified} by the verifier in {counts['steps']} steps, {committed} rows committed",
    )
    if counts["experts_alone"] and counts["union_per_mille"]:
        used = sum(arms["experts_by_layer"]) / len(arms["experts_by_layer"]) / 1000
        shares_of = [each / 10 for each in counts["union_per_mille"]]
        yield (
            "experts",
            f"{used:.1f} a layer and step, {counts['experts_alone'] / 1000:.1f} if each row chose alone "
            f"(by layer {min(shares_of):.0f} to {max(shares_of):.0f} % of it)",
        )


def of_window(root: Path, rung: str, name: str) -> list[dict[str, Any]]:
    """What a window's receipts have, as plain data; nothing where it left none."""
    return [arms.as_json() for arms in read(window.load(root, rung, name))]
