"""A new trial: a form, what it means, and simulations in the background before it is started."""

import secrets
from functools import partial
from typing import Any

from fastapi import Response

from takeup.errors import ConflictError, InputError, StateError
from takeup.live import Trial
from takeup.live.rehearsal import Rehearsal
from takeup.live.scenarios import assumed_of
from takeup.live.trial_run import TriedSpec
from takeup.service.drafts import Sketch
from takeup.service.pages import covariate_rows, spec_form
from takeup.service.pages.choices import choices
from takeup.service.pages.form_numbers import Wrong
from takeup.service.pages.page import Pages, Visit, sentence
from takeup.service.pages.spec_sentences import spec_sentences
from takeup.service.problem import ProblemError
from takeup.store import reading
from takeup.trial import Design

TARGET = 0.05
"""The type I error that Calibrate looks for a threshold with."""

pages = Pages()


@pages.get("/app/new", "design")
async def ask(visit: Visit) -> Response:
    """An empty form."""
    by = "paste" if visit.request.query_params.get("by") == "paste" else "form"
    return _form(visit, {**spec_form.BLANK, "by": by})


@pages.post("/app/new", "design")
async def take(visit: Visit) -> Response:
    """Look at a spec and rehearse it, or save it as a draft."""
    return await _taken(visit, None)


@pages.get("/app/new/{sketch}", "design")
async def look(visit: Visit) -> Response:
    """A spec that was looked at, with its rehearsal."""
    return _form(visit, None, sketch=_sketch(visit, str(visit.request.path_params["sketch"])))


@pages.get("/app/trials/{trial}/edit", "design")
async def edit(visit: Visit) -> Response:
    """The form of a draft."""
    design = await _draft(visit)
    return _form(visit, await visit.read(lambda: spec_form.fields_of(design)), trial=visit.trial)


@pages.post("/app/trials/{trial}/edit", "design")
async def change(visit: Visit) -> Response:
    """Look at another spec of a draft and rehearse it, or save it."""
    await _draft(visit)
    return await _taken(visit, visit.trial)


async def _taken(visit: Visit, trial: str | None) -> Response:
    fields = dict(visit.form)
    name = fields.pop("sketch", "")
    sketch = visit.service.drafts.sketches.get(name)
    if sketch is not None and sketch.owner != visit.key.id:
        sketch = None
    doing = fields.pop("do", "")
    saving = doing == "save"
    if doing == "use" and sketch is not None:
        fields |= _found(sketch)
    if saving and sketch is not None and sketch.saved is not None:
        return visit.see(f"/app/trials/{sketch.saved}")
    top = "text" if fields.get("by") == "paste" else ""
    try:
        checked, wrong = await visit.service.drafts.checking.run(partial(spec_form.read, fields))
    except InputError as error:
        checked, wrong = None, {top: sentence(error)}
    if checked is None:
        return _form(visit, fields, trial=trial, wrong=wrong, status=422)
    if not saving:
        return _rehearsed(visit, fields, checked.design, trial, name, TARGET if doing == "calibrate" else None)
    try:
        saved = await _saved(visit, fields, checked, trial)
    except (ConflictError, InputError, ProblemError) as error:
        place = "" if top else "trial"
        return _form(visit, fields, trial=trial, wrong={place: sentence(error)}, status=409)
    if sketch is not None:
        sketch.saved = saved
    return visit.see(f"/app/trials/{saved}")


def _found(sketch: Sketch) -> dict[str, str]:
    """The threshold that a search has found, as the form has it."""
    found = (sketch.rules.result or {}).get("calibration") or {}
    return {"probability_best": f"{100 * found['threshold']:.3f}"} if "threshold" in found else {}


def _rehearsed(
    visit: Visit, fields: dict[str, str], design: Design, trial: str | None, before: str, target: float | None
) -> Response:
    """Start the simulations, and show them at an address of their own, which can be loaded again."""
    assumed, wrong = spec_form.assumptions(fields, design.space)
    if wrong:
        return _form(visit, fields, trial=trial, wrong=wrong, design=design, status=422)
    content: dict[str, Any] = {"spec": design.spec.model_dump(mode="json", exclude={"seed"}), **assumed}
    Rehearsal(**content)
    bench = visit.service.drafts
    kept = {**fields, "people": str(assumed["people"]), "per_day": f"{assumed['per_day']:g}"}
    sketch = bench.sketches.get(before)
    if target is not None and sketch is not None and (sketch.owner, sketch.design.text) == (visit.key.id, design.text):
        sketch.rules.cancel()
        sketch.rules = bench.preview(content, target)
        sketch.fields, sketch.rates = kept, assumed["rates"]
        return visit.see(f"/app/new/{before}")
    job, rules = bench.rehearse(content, visit.key.id, target)
    name = secrets.token_urlsafe(16)
    bench.sketches.put(name, Sketch(visit.key.id, kept, design, assumed["rates"], job, rules, trial))
    return visit.see(f"/app/new/{name}")


async def _saved(visit: Visit, fields: dict[str, str], spec: TriedSpec, trial: str | None) -> str:
    service, key = visit.service, visit.key
    if trial is not None:
        await visit.read(lambda: Trial(service.store, trial).amend(spec, by=key.shown))
        return trial
    wanted = fields.get("trial") or None
    if wanted is None and key.trials is not None:
        raise ProblemError(
            "forbidden", "Your key is valid in some trials alone: say which identifier this one shall have."
        )
    if wanted is not None and not key.covers(wanted):
        raise ProblemError("forbidden", f"Your key is not valid in trial {wanted!r}.")
    made = await visit.read(lambda: Trial.create(service.store, spec, trial=wanted, by=key.shown))
    return made.id


def _form(
    visit: Visit,
    fields: dict[str, str] | None,
    *,
    trial: str | None = None,
    wrong: Wrong | None = None,
    design: Design | None = None,
    sketch: Sketch | None = None,
    status: int = 200,
) -> Response:
    if sketch is not None:
        fields, trial, design = dict(sketch.fields), sketch.trial, sketch.design
    assert fields is not None
    rates = None
    if design is not None:
        rates = sketch.rates if sketch is not None else spec_form.assumptions(fields, design.space)[0]["rates"]
    return visit.page(
        "new",
        status,
        fields=fields,
        wrong=wrong or {},
        levels=spec_form.levels(fields),
        known=covariate_rows.rows(fields),
        any_known=bool(covariate_rows.filled(fields)),
        choices=list(choices().values()),
        trial=trial,
        design=design,
        words=[] if design is None else spec_sentences(design),
        rates=rates,
        assumed=() if design is None else assumed_of(design.space.outcome),
        sketch=sketch,
        sketch_name=str(visit.request.path_params.get("sketch", "")),
    )


def _sketch(visit: Visit, name: str) -> Sketch:
    found = visit.service.drafts.sketches.get(name)
    if found is None or found.owner != visit.key.id:
        raise ProblemError("not-found", "this sketch is no longer kept; begin again with New trial")
    return found


async def _draft(visit: Visit) -> Design:
    """The design of the trial, which must be a draft."""
    store = visit.service.store
    head = await visit.read(lambda: store.read(lambda connection: reading.head(connection, visit.trial)))
    if head.state != "draft":
        raise StateError(f"trial {visit.trial} is {head.state}; only a draft can change")
    return await visit.read(lambda: Design.of_text(head.spec))
