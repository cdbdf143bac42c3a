"""API keys, for those who manage them: which there are, a new one, revoking one."""

from fastapi import Response

from takeup.errors import InputError
from takeup.service import keys as stored
from takeup.service.callers import SCOPES, WORDS
from takeup.service.pages.page import Pages, Visit, sentence
from takeup.service.pages.people import NARROW, trials_of, trials_there
from takeup.service.problem import ProblemError

pages = Pages()


@pages.get("/app/keys", "admin")
async def listed(visit: Visit) -> Response:
    """All keys, and a form for another."""
    return await _list(visit)


@pages.post("/app/keys", "admin")
async def make(visit: Visit) -> Response:
    """A new key, whose text is shown this once."""
    form, service = visit.form, visit.service
    scopes = [scope for scope in SCOPES if form.get(f"scope-{scope}") == "yes"]
    try:
        key, token = stored.new(
            form.get("name", ""),
            scopes,
            trials_of(form),
            site=form.get("site") or None,
            at=service.store.clock(),
            by=visit.key.shown,
        )
    except InputError as error:
        return await _list(visit, **{error.argument: "Tick what it may do." if not scopes else sentence(error)})
    if not visit.key.covers_all(key.trials):
        return await _list(visit, trials=NARROW)
    await service.keys.add(key)
    return visit.page("key_made", key=key, token=token)


@pages.post("/app/keys/{id}/revoke", "admin")
async def revoke(visit: Visit) -> Response:
    """Let a key work no longer."""
    id_, service = str(visit.request.path_params["id"]), visit.service
    if id_ not in {key.id for key in await service.keys.all() if visit.key.covers_all(key.trials)}:
        raise ProblemError("not-found", "there is no key here with this address that you manage")
    await service.keys.revoke(id_, by=visit.key.shown)
    return visit.see("/app/keys")


async def _list(visit: Visit, **wrong: str) -> Response:
    found = [key for key in await visit.service.keys.all() if visit.key.covers_all(key.trials)]
    shown = {"keys": found, "words": WORDS, "there": await trials_there(visit)}
    return visit.page("keys", 422 if wrong else 200, fields=visit.form, wrong=wrong, **shown)
