"""Deciding and reporting by hand, for a site with no software of its own."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fastapi import Response
from sqlalchemy import Connection

from takeup.covariates import Covariates
from takeup.errors import NOTHING, AccessError, ConflictError, InputError, NotFoundError, ReusedKeyError, StateError
from takeup.outcomes import Levels
from takeup.service.pages.covariate_fields import FIELD, changed, covariate_fields, field_of, written
from takeup.service.pages.decided_before import Before, alike, of_unit
from takeup.service.pages.page import Pages, Visit, sentence
from takeup.service.problem import ProblemError
from takeup.store import reading
from takeup.trial import Ask, Command, Decide, Design, Report
from takeup.trial.commands import MOST_NAME
from takeup.trial.reporting import MOST_NUMBER

pages = Pages()
MISSING = "missing"
PATIENCE = 100
"""How often a form that was sent twice asks whether the first request has been answered."""

SENT_BEFORE = "This form was sent before, with something else in it. Look again, and send it."
OTHERS = (
    "was decided on before, and somebody else asked. Those who are blinded are told of their own decisions and of those"
    " of their site: ask whoever asked then. Whoever manages people here gives those who work together one site."
)
PLACES = ("unit", "occasion", "context", "decision", "implemented", "outcome", "outcome_value", "reason")
"""The fields of both forms."""

OUTCOME_PARTS = ("outcome", "time", "censored", "exposure")
"""What errors call an outcome that is written into its field."""

Reply = TypeVar("Reply")


@pages.get("/app/trials/{trial}/decide", "decide")
async def ask(visit: Visit) -> Response:
    """A form for a unit."""
    return await _form(visit, "decide")


@pages.post("/app/trials/{trial}/decide", "decide")
async def decide(visit: Visit) -> Response:
    """What to propose to a unit; sent again, the form gets the same answer."""
    form, key = visit.form, visit.form.get("key") or None
    context, space = form.get("context") or None, (await _head(visit))[0].space
    began = visit.service.store.clock()
    perhaps = [] if form.get("another") else await _alike(visit, form.get("unit", ""))
    if perhaps:
        return await _form(visit, "decide", None, 409, alike=perhaps)
    try:
        known = None if space.covariates is None else written(space.covariates, form)
        asked = Ask(unit=form.get("unit", ""), context=context, occasion=form.get("occasion") or None, covariates=known)
        made = await _submit(visit, Decide(ask=asked, key=key, **visit.key.asking), key)
    except ReusedKeyError:
        return await _form(
            visit, "decide", "This form was sent before, for somebody else. Look again, and send it.", 409
        )
    except AccessError:
        return await _form(visit, "decide", f"{form.get('unit', '')} {OTHERS}", 403, "unit")
    except ConflictError as error:
        return await _form(visit, "decide", await _other_group(visit, error), 409, "context")
    except StateError as error:
        _, state = await _head(visit)  # the form says it of a trial that does not run
        return await _form(visit, "decide", sentence(error) if state == "running" else None, 409)
    except InputError as error:
        return await _form(visit, "decide", sentence(error), 422, error.argument)
    design, _ = await _head(visit)
    return visit.page(
        "decided",
        trial=visit.trial,
        made=made,
        again=made.at < began,
        groups=len(design.space.contexts) > 1,
        words=design.spec.words,
    )


@pages.get("/app/trials/{trial}/report", "report")
async def tell(visit: Visit) -> Response:
    """A form for what became of a decision."""
    return await _form(visit, "report")


@pages.post("/app/trials/{trial}/report", "report")
async def report(visit: Visit) -> Response:
    """Take a report, or ask why it contradicts an earlier one; the blinded are told neither."""
    form, key = visit.form, visit.form.get("key") or None
    try:
        command = _report(visit, key, (await _head(visit))[0].space.covariates)
        receipt = await _submit(visit, command, key)
    except ReusedKeyError:
        return await _form(visit, "report", SENT_BEFORE, 409)
    except ConflictError as error:
        wrong = (
            f"This contradicts an earlier report. {sentence(error)} If it is a correction, say why, and send it again."
        )
        return await _form(visit, "report", wrong, 409, "reason")
    except NotFoundError as error:
        unit = form.get("unit", "")
        unknown = f"Nobody called {unit} has been decided on in this trial." if unit else sentence(error)
        return await _form(visit, "report", unknown, 404, "unit" if unit else "decision")
    except InputError as error:
        return await _form(visit, "report", sentence(error), 422, error.argument)
    if form.get("back") == "worklist" and command.reason is None and not receipt.corrected:
        return visit.see(f"/app/trials/{visit.trial}/worklist?told={receipt.decision}")
    return await _form(visit, "report", fields={}, receipt=receipt, told=command)


def _report(visit: Visit, key: str | None, covariates: Covariates | None) -> Report:
    """What was filled in."""
    form = visit.form
    number = form.get("decision", "")
    if number and not (number.isascii() and number.isdecimal() and int(number[:20]) <= MOST_NUMBER):
        raise InputError("decision", repr(number)[:60], "a decision's number")
    if number and form.get("unit"):
        raise InputError(
            "unit", repr(form["unit"])[:60], "either the one or the other: who it is, or the decision's number"
        )
    if not number and not form.get("unit"):
        raise InputError("unit", NOTHING, "who it is, or the decision's number")
    told = {name: form.get(name, "") for name in ("implemented", "outcome")}
    value = form.get("outcome_value", "").strip()[:MOST_NAME]
    known = None if covariates is None else changed(covariates, form)
    if not value and not known and not any(told.values()):
        raise InputError("outcome", NOTHING, "what was done, what came of it, or that it will never be known")
    return Report(
        decision=int(number) if number else None,
        unit=form.get("unit") or None,
        occasion=form.get("occasion") or None,
        implemented=_value(told["implemented"]),
        outcome=value or _value(told["outcome"]),
        missing=tuple(name for name, value in told.items() if value == MISSING),
        covariates=known or None,
        reason=form.get("reason") or None,
        key=key,
        **visit.key.asking,
    )


def _value(told: str) -> int | None:
    """The index that was chosen; None where nothing was, or where it is missing."""
    if told in ("", MISSING):
        return None
    if not (told.isascii() and told.isdecimal()):
        raise InputError("report", repr(told)[:60], "one of the actions and outcomes that are offered")
    return int(told[:9])


async def _submit(visit: Visit, command: Command[Reply], key: str | None) -> Reply:
    """Submit a command; the second request of a double click waits for the answer to the first."""
    for _ in range(PATIENCE):
        try:
            return await visit.service.submit(visit.trial, command, key)
        except ProblemError as error:
            if error.kind != "in-flight":
                raise
            await asyncio.sleep(0.05)
    return await visit.service.submit(visit.trial, command, key)


async def _form(
    visit: Visit,
    template: str,
    wrong: str | None = None,
    status: int = 200,
    place: str = "",
    *,
    fields: Mapping[str, str] | None = None,
    **values: Any,
) -> Response:
    """A form with what was typed, or with what the address says; what is wrong stands at its field, or at the top."""
    design, state = await _head(visit)
    if fields is None:
        fields = visit.form or dict(visit.request.query_params)
    if place in OUTCOME_PARTS and not isinstance(design.space.outcome, Levels):
        place = "outcome_value"
    covariates = design.space.covariates
    place = place if covariates is None else field_of(covariates, place)
    return visit.page(
        template,
        status,
        trial=visit.trial,
        design=design,
        words=design.spec.words,
        state=state,
        fields=fields,
        wrong={} if wrong is None else {place if place in PLACES or place.startswith(FIELD) else "": wrong},
        covariates=[] if covariates is None else covariate_fields(covariates),
        correcting=place == "reason" or bool(fields.get("reason")),
        key=secrets.token_urlsafe(16),
        **{"receipt": None, "told": None, "alike": [], **values},
    )


async def _alike(visit: Visit, unit: str) -> list[Before]:
    """Those who may be meant by a name that nobody has."""
    if not 0 < len(unit) <= MOST_NAME:
        return []  # which is refused later, with the reason
    return await _read(visit, lambda connection: alike(connection, visit.trial, unit))


async def _other_group(visit: Visit, error: ConflictError) -> str:
    """That somebody was decided on in another group, in the words of the page."""
    unit, occasion = visit.form.get("unit", ""), visit.form.get("occasion") or None
    before = await _read(visit, lambda connection: of_unit(connection, visit.trial, unit, occasion))
    design, _ = await _head(visit)
    if before is None:
        return sentence(error)
    return (
        f"{unit} was decided before, in the group {before.context} (decision {before.number})."
        f" If it is the same {design.spec.words.unit}, choose that group, and the answer is shown again."
    )


async def _head(visit: Visit) -> tuple[Design, str]:
    """The trial's design, and its state."""
    head = await _read(visit, lambda connection: reading.head(connection, visit.trial))
    return Design.of_text(head.spec), str(head.state)


async def _read(visit: Visit, look: Callable[[Connection], Reply]) -> Reply:
    return await visit.read(lambda: visit.service.store.read(look))
