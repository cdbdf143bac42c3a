"""An invitation: whoever has the link sets the password of the account that it is for.

The link is 256 random bits, of which the database keeps the hash. Looking at it changes nothing, as mail programs look
at links by themselves; sending the form uses it up. It begins no session: whoever has set a password signs in with it,
and with a one-time code where the account has these, so that a link alone opens no account that they protect.
"""

from fastapi import Response

from takeup.errors import InputError
from takeup.service.pages.page import SIGN_IN, Pages, Visit, sentence
from takeup.service.pages.sign_in import bare_page
from takeup.service.people import Person

pages = Pages()
INVITATION = "/app/invitation/{token}"


@pages.get(INVITATION)
async def ask(visit: Visit) -> Response:
    """A form for a password, as long as the link lasts."""
    person = await visit.service.people.invited(_token(visit))
    return bare_page(visit, "invitation_over", 410) if person is None else _form(visit, person)


@pages.post(INVITATION)
async def accept(visit: Visit) -> Response:
    """Set the password; sessions that the account has elsewhere end."""
    people, password = visit.service.people, visit.form.get("password", "")
    person = await people.invited(_token(visit))
    if person is None:
        return bare_page(visit, "invitation_over", 410)
    if password != visit.form.get("again", ""):
        return _form(visit, person, "The two are not the same. Type the password twice.")
    try:
        accepted = await people.accept(_token(visit), password)
    except InputError as error:
        return _form(visit, person, sentence(error))
    return bare_page(visit, "invitation_over", 410) if accepted is None else visit.see(f"{SIGN_IN}?set")


def _token(visit: Visit) -> str:
    return str(visit.request.path_params["token"])


def _form(visit: Visit, person: Person, wrong: str | None = None) -> Response:
    return bare_page(visit, "invitation", 422 if wrong else 200, token=_token(visit), person=person, wrong=wrong)
