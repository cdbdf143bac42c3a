"""`takeup audit`: does a database say what its log says?"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from takeup.cli.serve import DATABASE_VARIABLE
from takeup.errors import InputError

if TYPE_CHECKING:
    from takeup.live import Audit


def audit(
    database: Annotated[
        str, typer.Argument(envvar=DATABASE_VARIABLE, help="A SQLite file or a URL: sqlite:///file.db, postgresql://..")
    ],
    trial: Annotated[str | None, typer.Option(help="One trial; all of them where left out.")] = None,
    anchors: Annotated[Path | None, typer.Option(help="The file of signed anchors.")] = None,
    key: Annotated[Path | None, typer.Option(help="The file of the key that signed them.")] = None,
    at_rest: Annotated[
        bool, typer.Option("--at-rest", help="Nothing writes to it: its last event must be anchored.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings for machines.")] = False,
) -> None:
    """Replay the log of every trial, derive every decision again, and compare with what the database holds.

    Without --trial the database as a whole too: no anchored trial is gone, and nothing is in it that is not takeup's.
    Nothing is written. The exit code is 1 where there is a difference, and the first one is printed.
    """
    from takeup.live import DatabaseAudit, audit_database, read_anchors, read_key
    from takeup.live import audit as run
    from takeup.store import looking
    from takeup.store.opening import shown

    if (anchors is None) != (key is None):
        raise InputError("anchors and key", "one of them", "both or neither")
    if at_rest and anchors is None:
        raise InputError("at-rest", "no anchors", "--anchors and --key with --at-rest")
    signed = None if anchors is None or key is None else read_anchors(anchors, read_key(key))
    with looking(database) as connection:
        if trial is None:
            found = audit_database(connection, signed, at_rest=at_rest)
        else:
            found = DatabaseAudit(None, (run(connection, trial, signed, at_rest=at_rest),))
    if as_json:
        audits = [asdict(each) | {"passed": each.passed} for each in found.audits]
        typer.echo(json.dumps(asdict(found) | {"passed": found.passed, "audits": audits}))
    else:
        for each in found.audits:
            typer.echo(_said(each))
        if found.difference is not None:
            typer.echo(f"the database: DIFFERENCE\n  {found.difference}")
        elif not found.audits:
            typer.echo(f"{shown(database)} has no trials: there is nothing to audit")
    if not found.passed:
        raise typer.Exit(1)


def _said(found: "Audit") -> str:
    """A finding in words."""
    verdict = "passed" if found.passed else f"DIFFERENCE\n  {found.difference}"
    parts = [f"{found.events} events", f"{found.decisions} decisions", f"{found.rederived} derived again"]
    parts += [
        f"{n} made by {name}, and otherwise or not at all by this version" for name, n in found.other_software.items()
    ]
    if found.looks:
        other = f", {found.looks_other_software} of them judged otherwise by another version"
        parts.append(f"{found.looks} planned looks{other if found.looks_other_software else ''}")
    if found.refits:
        other = f", {found.refits_other_software} of them computed otherwise by another version"
        parts.append(f"{found.refits} fits of models{other if found.refits_other_software else ''}")
    if found.leases:
        other = f", {found.leases_other_software} of them computed otherwise by another version"
        parts.append(f"{found.leases} leases{other if found.leases_other_software else ''}")
        parts.append(f"{found.leased} decisions drawn under them")
    if found.fallbacks:
        who = ", ".join(f"{by or 'somebody without a name'}: {n}" for by, n in found.fallbacks_by.items())
        parts.append(f"{found.fallbacks} drawn by clients ({who})")
    if found.past:
        parts.append(f"{found.past} from before the trial came here, taken as they were")
    if found.seeded:
        parts.append("a seed that was given, so that every proposal could be foreseen: a rehearsal")
    elif found.seeded is None:
        parts.append("a seed of which the log does not say whether it was given")
    seen = "no anchors given, so a log that was cut off would not be noticed"
    parts.append(
        seen if found.anchors is None else f"{found.anchors} anchors, {found.unanchored} events after the last"
    )
    return f"{found.trial}: {verdict}\n  {', '.join(parts)}"
