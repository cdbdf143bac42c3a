"""What an edge decided and what was reported to it, as the lines that the service ingests."""

from collections.abc import Iterable, Sequence
from json import dumps
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from takeup.outcomes import Plain
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_REASON
from takeup.trial.design import Design
from takeup.trial.reporting import labels_of

MOST_TAILS = 10_000
"""How many ends of lines are kept to be used again."""


class EdgeDecision(NamedTuple):
    """What is proposed to a unit, drawn in this process from a lease.

    Attributes:
        unit: who it is for.
        occasion: which of the unit's decisions; None where a unit has one.
        context: x.
        proposal: z.
        lease: the number of the lease.
        drawn: when, in microseconds since 1970, UTC, by the service's clock.
        lease_hash: the lease's fingerprint, as a database that was restored gives its number out again.
    """

    unit: str
    occasion: str | None
    context: str
    proposal: str
    lease: int
    drawn: int
    lease_hash: str | None = None


class EdgeReport(NamedTuple):
    """What became of a decision: `said` is the rest of its line, from the first comma on.

    Attributes:
        unit: whose decision it is.
        occasion: which of them.
        said: what the line says of it.
        decision: the decision itself, where it is known; else the report is about that which stands.
    """

    unit: str
    occasion: str | None
    said: str
    decision: EdgeDecision | None


Row = EdgeDecision | EdgeReport


def report_said(
    design: Design,
    implemented: str | int | None,
    outcome: Plain | None,
    missing: Sequence[str],
    reason: str | None,
) -> str:
    """The rest of a report's line.

    Raises:
        InputError: it says nothing that could be recorded.
    """
    labels = labels_of(design, implemented, outcome, tuple(missing), said=False)
    said: dict[str, Any] = {name: value for name, value in labels.items() if value is not None}
    if missing:
        said["missing"] = sorted(set(missing))
    if reason is not None:
        said["reason"] = text("reason", reason, MOST_REASON)
    return "," + dumps(said)[1:-1]


class Lines:
    """Makes lines of rows; to be used by one thread."""

    def __init__(self) -> None:
        self._tails: dict[tuple[str, str, int, str | None], str] = {}

    def of(self, rows: Iterable[Row]) -> tuple[bytes, int]:
        """The lines, and how many there are.

        A report of a decision that is known repeats it, so that the service needs no other row to know what it is
        about, whichever comes first; where the decision is among these rows, the report joins its line: the service
        then has one event to write.
        """
        lines: list[str] = []
        places: dict[EdgeDecision, int] = {}
        for row in rows:
            if isinstance(row, EdgeDecision):
                places[row] = len(lines)
                lines.append(self._decision(row))
            elif row.decision is None:
                which = "" if row.occasion is None else f',"occasion":{quoted(row.occasion)}'
                lines.append(f'{{"unit":{quoted(row.unit)}{which}{row.said}')
            elif (place := places.pop(row.decision, None)) is not None:
                lines[place] += row.said
            else:
                lines.append(self._decision(row.decision) + row.said)
        lines.append("")
        return "}\n".join(lines).encode("ascii"), len(lines) - 1

    def _decision(self, made: EdgeDecision) -> str:
        unit, occasion, context, proposal, lease, drawn, lease_hash = made
        which = "" if occasion is None else f',"occasion":{quoted(occasion)}'
        place = context, proposal, lease, lease_hash
        return f'{{"unit":{quoted(unit)}{which}{self._tails.get(place) or self._tail(*place)}{drawn}'

    def _tail(self, context: str, proposal: str, lease: int, lease_hash: str | None) -> str:
        if len(self._tails) >= MOST_TAILS:
            self._tails.clear()
        hashed = "" if lease_hash is None else f',"lease_hash":{dumps(lease_hash)}'
        found = f',"context":{dumps(context)},"proposal":{dumps(proposal)},"lease":{lease}{hashed},"drawn":'
        self._tails[context, proposal, lease, lease_hash] = found
        return found
