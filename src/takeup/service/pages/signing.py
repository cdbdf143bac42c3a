"""Starting, stopping and unblinding a trial: people sign it.

As 21 CFR Part 11 expects, the signature has the printed name, the meaning and the time (11.50), and is part of the
record that it signs, so that it cannot be taken off and put elsewhere (11.70): it is in the event of the log, under its
hash. Whoever signs has signed in and gives their password again (11.200), as a session may be left open on a desk.

Those who signed in with an API key have no password and sign nothing; `takeup serve --no-key-sign-in` keeps them out.
"""

from fastapi import Response

from takeup.errors import InputError
from takeup.service.pages.page import UNBLIND, Pages, Visit
from takeup.service.people import Person
from takeup.store import reading
from takeup.trial import Move, Signature, Unblind
from takeup.trial.steering import MEANINGS, UNBLINDING

pages = Pages()
WRONG = "The password is not right. Nothing was signed."


@pages.post("/app/trials/{trial}/state", "design")
async def move(visit: Visit) -> Response:
    """Change the state; stopping needs a reason and a ticked box, and people sign whatever is not a pause."""
    form = visit.form
    state, reason = form.get("state", ""), form.get("reason") or None
    if state not in ("running", "paused", "stopped"):
        raise InputError("state", repr(state)[:100], "running, paused or stopped")
    if state == "stopped" and (reason is None or form.get("sure") != "yes"):
        missing = "Say why the trial is stopped." if reason is None else "Tick the box if you are sure."
        return await _again(visit, state, missing)
    signature = None
    if visit.person is not None and state != "paused":
        if not await _password_right(visit, visit.person):
            return await _again(visit, state, WRONG)
        signature = Signature(name=visit.person.name, meaning=form.get("meaning", ""))
    await visit.service.move(visit.trial, Move(state=state, reason=reason, by=visit.key.shown, signature=signature))
    return visit.see(f"/app/trials/{visit.trial}")


@pages.get(UNBLIND, "read-unblinded")
async def ask(visit: Visit) -> Response:
    """A form to sign."""
    return await _unblinding(visit)


@pages.post(UNBLIND, "read-unblinded")
async def unblind(visit: Visit) -> Response:
    """Let somebody see what each arm does, from now on: their role allows it, and the log says that they chose to."""
    person = visit.person
    if person is None or visit.unblinded:
        return await _unblinding(visit)
    if not await _password_right(visit, person):
        return await _unblinding(visit, WRONG)
    signature = Signature(name=person.name, meaning=UNBLINDING)
    await visit.service.submit(visit.trial, Unblind(by=person.shown, signature=signature))
    await visit.service.people.unblind(person, visit.trial)
    return visit.see(f"/app/trials/{visit.trial}")


async def _unblinding(visit: Visit, wrong: str | None = None) -> Response:
    """The form; whoever sees the arms already goes on to the trial."""
    await _state(visit)  # an error where there is no such trial
    if visit.unblinded:
        return visit.see(f"/app/trials/{visit.trial}")
    return visit.page("unblind", 422 if wrong else 200, trial=visit.trial, wrong=wrong, meaning=UNBLINDING)


async def _again(visit: Visit, state: str, wrong: str) -> Response:
    """The form that was sent, with what is wrong with it."""
    meaning = MEANINGS.get((await _state(visit), state), "")
    reason = visit.form.get("reason", "")
    return visit.page("sign", 422, trial=visit.trial, wanted=state, wrong=wrong, reason=reason, meaning=meaning)


async def _password_right(visit: Visit, person: Person) -> bool:
    return await visit.service.people.confirmed(person, visit.form.get("password", ""), visit.address)


async def _state(visit: Visit) -> str:
    head = await visit.read(lambda: visit.service.store.read(lambda connection: reading.head(connection, visit.trial)))
    return str(head.state)
