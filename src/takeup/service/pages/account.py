"""One's own account: who one is here, the password, one-time codes, and signing out everywhere."""

from fastapi import Response

from takeup.errors import InputError
from takeup.service import codes
from takeup.service.callers import SCOPES
from takeup.service.pages.page import Pages, Visit, sentence
from takeup.service.pages.sign_in import signed_in
from takeup.service.people import ROLE_WORDS, Person

pages = Pages()
ACCOUNT = "/app/account"
WRONG = "Your password is not right."


@pages.get(ACCOUNT, *SCOPES)
async def account(visit: Visit) -> Response:
    """All of it."""
    return _page(visit)


@pages.post("/app/account/password", *SCOPES)
async def password(visit: Visit) -> Response:
    """Another password: all sessions end, and this browser gets a new one."""
    person, form = visit.person, visit.form
    if person is None:
        return visit.see(ACCOUNT)  # which says that a key has none
    if form.get("new", "") != form.get("again", ""):
        return _page(visit, password="The two are not the same. Type the new password twice.")
    if not await _right(visit, person):
        return _page(visit, password=WRONG)
    try:
        changed = await visit.service.people.set_password(person, form.get("new", ""))
    except InputError as error:
        return _page(visit, password=sentence(error))
    return await signed_in(visit, changed, ACCOUNT)


@pages.post("/app/account/codes", *SCOPES)
async def one_time_codes(visit: Visit) -> Response:
    """Begin or cease to use one-time codes; a first code shows that the app has the secret."""
    person, form, people = visit.person, visit.form, visit.service.people
    if person is None:
        return visit.see(ACCOUNT)
    if not await _right(visit, person):
        return _page(visit, codes=WRONG)
    if person.code_secret is not None:
        changed = await people.change(person, {"code_secret": None}, "ceased to use one-time codes", person.shown)
        return await signed_in(visit, changed, ACCOUNT)
    secret = form.get("secret", "")
    if not codes.SECRET.fullmatch(secret):
        return _page(visit, codes="The secret is not one of ours; here is another.")
    step = codes.step_of(secret, form.get("code", ""), visit.service.store.clock())
    if step is None:
        return _page(visit, codes="This is not the code of this half minute. Is the clock of the device right?")
    values = {"code_secret": secret, "code_step": step}
    return await signed_in(visit, await people.change(person, values, "uses one-time codes", person.shown), ACCOUNT)


def _page(visit: Visit, **wrong: str) -> Response:
    person, secret = visit.person, visit.form.get("secret", "")
    if not codes.SECRET.fullmatch(secret):
        secret = codes.new_secret()
    return visit.page(
        "account",
        422 if wrong else 200,
        person=person,
        words=ROLE_WORDS,
        wrong=wrong,
        secret=secret,
        address="" if person is None else codes.address(secret, person.login),
    )


async def _right(visit: Visit, person: Person) -> bool:
    return await visit.service.people.confirmed(person, visit.form.get("password", ""), visit.address)
