"""People, for those who manage them: who is here, invitations, roles, closing an account."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import Response

from takeup.errors import ConflictError, InputError
from takeup.service import people as accounts
from takeup.service.callers import checked
from takeup.service.pages.page import Pages, Visit, sentence
from takeup.service.people import ROLE_WORDS, ROLES, Person, checked_roles, scopes_of
from takeup.service.problem import ProblemError
from takeup.store import reading

pages = Pages()
PLACES = ("name", "login", "roles", "trials", "site")
NARROW = "You manage people of some trials alone: name those that they are for."
ONESELF = "Somebody else has to do that to your own account, so that one who manages people is always left."


@pages.get("/app/people", "admin")
async def listed(visit: Visit) -> Response:
    """Everybody, and a form to invite somebody."""
    return await _list(visit)


@pages.post("/app/people", "admin")
async def add(visit: Visit) -> Response:
    """Make an account, and show the link that invites its owner, once."""
    form, service = visit.form, visit.service
    try:
        person = accounts.new(
            form.get("name", ""),
            form.get("login", ""),
            _roles(form),
            trials_of(form),
            site=form.get("site") or None,
            at=service.store.clock(),
            by=visit.key.shown,
        )
        if not visit.key.covers_all(person.trials):
            return await _list(visit, trials=NARROW)
        token = await service.people.add(person)
    except InputError as error:
        return await _list(visit, **{error.argument: sentence(error)})
    except ConflictError as error:
        return await _list(visit, login=sentence(error))
    return await _invited(visit, person, token)


@pages.get("/app/people/{person}", "admin")
async def one(visit: Visit) -> Response:
    """One person, with what became of the account."""
    return await _one(visit, await _known(visit))


@pages.post("/app/people/{person}", "admin")
async def change(visit: Visit) -> Response:
    """Change what somebody may do, invite them again, close the account or open it, or end their one-time codes."""
    person, service, by = await _known(visit), visit.service, visit.key.shown
    do, people = visit.form.get("do"), service.people
    if person.id == visit.key.id and do in ("close", "rights"):
        return await _one(visit, person, top=ONESELF)
    match do:
        case "invite":
            return await _invited(visit, person, await people.invite(person.id, by))
        case "close":
            await people.close(person, by)
        case "open":
            values = {"deactivated_at": None, "deactivated_by": None, "password": None}
            await people.change(person, values, "opened again", by)
        case "codes":
            await people.change(person, {"code_secret": None}, "one-time codes ended", by)
        case "rights":
            return await _rights(visit, person)
        case _:
            raise InputError("do", repr(do)[:60], "one of what the page offers")
    return visit.see(f"/app/people/{person.id}")


async def _rights(visit: Visit, person: Person) -> Response:
    form = visit.form
    try:
        roles, site = checked_roles(_roles(form)), form.get("site") or None
        where = checked(person.name, trials_of(form), site)
    except InputError as error:
        return await _one(visit, person, **{error.argument: sentence(error)})
    if not visit.key.covers_all(where):
        return await _one(visit, person, trials=NARROW)
    shall = replace(person, roles=roles, scopes=scopes_of(roles), trials=where, site=site)
    what = f"made {accounts.rights_in_words(shall)}"
    await visit.service.people.change(person, accounts.rights(shall), what, visit.key.shown)
    return visit.see(f"/app/people/{person.id}")


def trials_of(form: Mapping[str, str]) -> list[str] | None:
    """The trials that were named; None is all."""
    return [each for each in re.split(r"[\s,;]+", form.get("trials", "")) if each] or None


def _roles(form: Mapping[str, str]) -> list[str]:
    return [role for role in ROLES if form.get(f"role-{role.replace(' ', '-')}") == "yes"]


async def _known(visit: Visit) -> Person:
    """The person of the address, if the visitor manages them."""
    id_ = str(visit.request.path_params["person"])
    found = next((each for each in await visit.service.people.all() if each.id == id_), None)
    if found is None or not visit.key.covers_all(found.trials):
        raise ProblemError("not-found", "there is nobody here with this address whom you manage")
    return found


async def _list(visit: Visit, **wrong: str) -> Response:
    found = [each for each in await visit.service.people.all() if visit.key.covers_all(each.trials)]
    awaited = await visit.service.people.look(partial(accounts.awaited, at=visit.service.store.clock()))
    form = await _form(visit, visit.form, wrong)
    return visit.page("people", 422 if wrong else 200, people=found, awaited=awaited, **form)


async def _one(visit: Visit, person: Person, **wrong: str) -> Response:
    history = await visit.service.people.look(partial(accounts.history, id_=person.id))
    awaited = await visit.service.people.look(partial(accounts.awaited, at=visit.service.store.clock()))
    shown = {f"role-{role.replace(' ', '-')}": "yes" for role in person.roles}
    shown |= {"trials": ", ".join(person.trials or ()), "site": person.site or ""}
    form = visit.form if visit.form.get("do") == "rights" else shown
    return visit.page(
        "person",
        422 if wrong else 200,
        person=person,
        history=history,
        awaited=awaited.get(person.id),
        **await _form(visit, form, wrong),
    )


async def trials_there(visit: Visit) -> str:
    """What to write into a field for trials, in words."""
    found = await visit.service.people.look(reading.identifiers)
    named = [name for name in found if visit.key.covers(name)][:20]
    examples = f": {', '.join(named)}" if named else ""
    return f"Leave it empty for all trials, or name some, with commas between{examples}."


async def _form(visit: Visit, fields: Mapping[str, str], wrong: Mapping[str, str]) -> dict[str, Any]:
    places = {place if place in PLACES else "": said for place, said in wrong.items()}
    return {"fields": fields, "wrong": places, "roles": ROLE_WORDS, "there": await trials_there(visit)}


async def _invited(visit: Visit, person: Person, token: str) -> Response:
    link = f"{str(visit.request.base_url).rstrip('/')}/app/invitation/{token}"
    lasts = visit.service.store.clock() + round(1e6 * visit.service.settings.invitation_seconds)
    there = await visit.service.people.look(reading.identifiers)
    absent = [each for each in person.trials or () if each not in there]
    return visit.page("invited", person=person, link=link, lasts=lasts, absent=absent)
