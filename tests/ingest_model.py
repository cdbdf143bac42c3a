"""Ingestion as one would do it on paper: the oracle of `Trial.ingest`.

It keeps leases and units in dictionaries, takes one row after the other, and counts. Draws it takes from the lease.
"""

from dataclasses import dataclass, field
from typing import Any

from model import MISSING, PENDING, Model
from takeup.trial.leases import Lease

SKEW = 300_000_000


@dataclass
class Held:
    """A lease, how often it was used, and since when it is revoked."""

    lease: Lease
    used: int = 0
    revoked: int | None = None


@dataclass
class IngestModel:
    """A trial that is decided at its edge."""

    paper: Model
    leases: dict[int, Held] = field(default_factory=dict)
    by_lease: dict[tuple[str, str | None], tuple[int, int, int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    refused: list[int] = field(default_factory=list)

    def begin(self) -> None:
        """Another batch."""
        self.counts, self.refused = dict.fromkeys(("recorded", "standing", "set_aside", "reported"), 0), []

    def take(self, place: int, row: dict[str, Any], at: int) -> None:
        """One row."""
        unit = row["unit"], row.get("occasion")
        told = _said(row)
        if "lease" not in row:
            self._report(place, unit, told, row.get("reason"))
        elif unit in self.paper.units:
            drawn = row["lease"], row["context"], row["proposal"]
            if self.by_lease.get(unit) != drawn or not self._named(row):
                self._count("set_aside", place)
            elif told:
                self._report(place, unit, told, None)
            else:
                self._count("standing")
        elif not self._stands(row, at):
            self._count("set_aside", place)
        else:
            number = self.paper.decide(*unit, row["context"], row["proposal"], at)
            self.paper.report(number, told)
            self.by_lease[unit] = row["lease"], row["context"], row["proposal"]
            self.leases[row["lease"]].used += 1
            self._count("recorded")

    def _stands(self, row: dict[str, Any], at: int) -> bool:
        held = self.leases.get(row["lease"])
        if held is None or not self._named(row) or held.used >= held.lease.most:
            return False
        drawn, lease = row["drawn"], held.lease
        inside = lease.issued - SKEW <= drawn <= min(lease.expires, at + SKEW)
        before = held.revoked is None or drawn < held.revoked
        given = lease.draw(row["unit"], row.get("occasion"), row["context"])
        return bool(inside and before and given == row["proposal"])

    def _named(self, row: dict[str, Any]) -> bool:
        held = self.leases.get(row["lease"])
        return "lease_hash" not in row or (held is not None and row["lease_hash"] == held.lease.fingerprint)

    def _report(self, place: int, unit: tuple[str, str | None], told: dict[str, int | str], reason: str | None) -> None:
        number = self.paper.units.get(unit)
        if number is None or not told:
            self.refused.append(place)
            return
        case = self.paper.cases[number - 1]
        if all(getattr(case, name) == value for name, value in told.items()):
            self._count("standing")
        elif self.paper.contradicts(number, told) and reason is None:
            self.refused.append(place)
        else:
            self.paper.report(number, told)
            self._count("reported")

    def _count(self, what: str, place: int | None = None) -> None:
        self.counts[what] += 1
        if place is not None:
            self.refused.append(place)


def _said(row: dict[str, Any]) -> dict[str, int | str]:
    said: dict[str, int | str] = {name: row[name] for name in ("implemented", "outcome") if name in row}
    return said | dict.fromkeys(row.get("missing", ()), MISSING)


__all__ = ["MISSING", "PENDING", "Held", "IngestModel"]
