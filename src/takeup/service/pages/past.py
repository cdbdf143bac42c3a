"""Taking over a running trial: a table of those who were assigned before becomes the first decisions of a draft."""

import secrets
from collections import Counter
from dataclasses import dataclass
from typing import Any

from fastapi import Response

from takeup.errors import ConflictError, InputError, MissingExtraError, ReusedKeyError, StateError
from takeup.frames import texts
from takeup.frames.files import MARKS
from takeup.live import Past
from takeup.service.pages.page import Pages, Visit, sentence
from takeup.store import reading
from takeup.trial import Design
from takeup.trial.commands import MOST_BATCH
from takeup.trial.past import PastAssignment, TakeOver

pages = Pages()
COLUMNS = ("unit", "assigned", "taken", "outcome", "context", "time", "occasion", "exposure")
"""What a column can be for; in a table of its own each is called so."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a table says, for somebody to compare with their own list.

    Attributes:
        rows: how many there are.
        assigned: how many were assigned what.
        contexts: how many there are of each group.
        taken: of how many it is known what they took.
        outcomes: of how many it is known what came of it.
        left: columns that are not used.
    """

    rows: int
    assigned: dict[str, int]
    contexts: dict[str, int]
    taken: int
    outcomes: int
    left: list[str]


@pages.get("/app/trials/{trial}/past", "design")
async def ask(visit: Visit) -> Response:
    """A form for the table."""
    return _form(visit, await _draft(visit))


@pages.post("/app/trials/{trial}/past", "design")
async def take(visit: Visit) -> Response:
    """Look at the table, or take all of it over."""
    design, form = await _draft(visit), visit.form
    try:
        async with visit.service.turn.taken(wait=True):
            past, found = await visit.read(lambda: read(form.get("table", ""), _named(design, form), design))
        if form.get("do") != "take":
            return _form(visit, design, found=found)
        command = TakeOver(past=past, key=form.get("key") or None, **visit.key.asking)
        await visit.service.submit(visit.trial, command, command.key)
    except ReusedKeyError:
        return _form(visit, design, "This table was sent before, and another one now. Look again, and send it.", 409)
    except ConflictError as error:
        return _form(visit, design, sentence(error), 409)
    except MissingExtraError as error:
        return _form(visit, design, sentence(error), 501)
    except InputError as error:
        return _form(visit, design, _said(error), 422)
    return visit.see(f"/app/trials/{visit.trial}")


def read(table: str, columns: dict[str, str], design: Design) -> tuple[tuple[PastAssignment, ...], Found]:
    """The assignments of a table, and what it says.

    Args:
        table: as text, with the names of its columns in the first line.
        columns: what columns are called, by what each is for; those that a table need not have may be absent.
        design: of the draft.
    """
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "sim") from None
    if not table.strip():
        raise InputError("the table", "nothing", "the names of columns in the first line, and a line for everybody")
    try:
        frame, names, _ = texts.table(table, frozenset(MARKS), pl)
    except pl.exceptions.PolarsError as error:
        raise InputError("the table", str(error).partition("\n")[0][:200], "lines of equally many cells") from None
    if not 1 <= len(frame) <= MOST_BATCH:
        hint = "takeup create --past takes over more" if len(frame) else ""
        raise InputError("the table", f"{len(frame):,} lines", f"from 1 to {MOST_BATCH:,}, below the names", hint)
    used = {what: name for what, name in columns.items() if name in names or name != what}
    used = {what: columns[what] for what in ("unit", "assigned", "outcome")} | used
    there, group = set(used.values()), used.get("context", "")
    crossed = [] if group in names else [each.strip() for each in group.split(",")]
    if len(crossed) > 1 and set(crossed) <= set(names):  # as the form of a new trial calls its groups
        frame = frame.with_columns(pl.concat_str(crossed, separator=", ").alias(group))
        there |= set(crossed)
    past = Past(frame, **used).assignments(design)
    assigned = Counter(str(each.proposal) for each in past)
    contexts = Counter(str(each.ask.context) for each in past)
    return past, Found(
        rows=len(past),
        assigned={label: assigned[label] for label in design.space.proposals},
        contexts={label: contexts[label] for label in design.space.contexts} if group else {},
        taken=sum(each.implemented is not None for each in past),
        outcomes=sum(each.outcome is not None for each in past),
        left=[name for name in names if name not in there],
    )


def _said(error: InputError) -> str:
    """All of it, with row and column."""
    said = str(error)
    for argument, name in (("context", "group"), ("unit", "who it is")):
        said = f"{name}{said.removeprefix(argument)}" if said.startswith(argument) else said
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith('?') else '.'}"


def _wanted(design: Design) -> list[str]:
    """What columns the draft can use."""
    spec, space = design.spec, design.space
    no = {
        "taken": spec.compliance == "never",
        "context": len(space.contexts) == 1,
        "occasion": spec.decisions == "one",
        "exposure": not getattr(space.outcome, "exposure", None),
    }
    return [each for each in COLUMNS if not no.get(each)]


def _named(design: Design, form: Any) -> dict[str, str]:
    return {each: form.get(f"column-{each}") or each for each in _wanted(design)}


def _form(
    visit: Visit, design: Design, wrong: str | None = None, status: int = 200, found: Found | None = None
) -> Response:
    wanted = _wanted(design)
    return visit.page(
        "past",
        status,
        trial=visit.trial,
        design=design,
        words=design.spec.words,
        wanted=wanted,
        fields={**{f"column-{each}": each for each in wanted}, **visit.form},
        wrong={} if wrong is None else {"": wrong},
        found=found,
        key=visit.form.get("key") or secrets.token_urlsafe(16),
    )


async def _draft(visit: Visit) -> Design:
    """The design of the trial, which must be a draft."""
    store = visit.service.store
    head = await visit.read(lambda: store.read(lambda connection: reading.head(connection, visit.trial)))
    if head.state != "draft":
        raise StateError(f"trial {visit.trial} is {head.state}; only a draft takes over a running trial")
    return await visit.read(lambda: Design.of_text(head.spec))
