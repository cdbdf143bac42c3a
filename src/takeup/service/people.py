"""People: their accounts, roles and invitations, and how they are kept."""

import hashlib
import json
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from takeup.errors import ConflictError, InputError, NotFoundError, StoreError
from takeup.service.callers import MOST_NAME, SCOPES, Caller, Scope, checked, stored_names
from takeup.store import sealing
from takeup.store.schema import invitations, people, people_log, sessions
from takeup.trial.bounds import text

LOG = logging.getLogger("takeup.service")

Role = Literal["clinician", "coordinator", "statistician", "safety board", "observer", "admin"]
ROLES: Mapping[Role, tuple[Scope, ...]] = {
    "clinician": ("decide", "report", "read-blinded"),
    "coordinator": ("decide", "report", "read-blinded", "design"),
    "statistician": ("read-unblinded", "design"),
    "safety board": ("read-unblinded",),
    "observer": ("read-blinded",),
    "admin": ("admin",),
}
"""What each role may do."""

ROLE_WORDS: Mapping[Role, str] = {
    "clinician": "asks what to offer to a patient and reports what came of it; sees counts, and no results",
    "coordinator": "the same, and makes, starts and stops trials; sees counts, and no results",
    "statistician": "makes, starts and stops trials, and sees what each arm does",
    "safety board": "sees what each arm does",
    "observer": "sees counts, and no results",
    "admin": "invites people, gives them roles, and makes keys for software",
}

PREFIX = "p"
"""Identifiers of people begin with it; those of keys are hexadecimal, and never do."""

_CODES = "code_secret"
_LOGIN = re.compile(r"[^@\s<>()\"',;]+@[^@\s<>()\"',;]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person(Caller):
    """Somebody with an account; what they may do follows from their roles.

    Attributes:
        login: an address like that of an email, in small letters; nobody else gets it, ever.
        roles: what they are.
        unblinded_in: the trials in which they have signed that they want to see what each arm does.
        password: argon2's hash; None until they have set one.
        code_secret: what their one-time codes are made from; None where they use none.
        code_step: the time of the last code that was used, as codes count it.
        created_at: when they were invited first, in microseconds since 1970, UTC.
        created_by: by whom.
        deactivated_at: when the account was closed. It stays, as logs name it.
        deactivated_by: by whom.
    """

    login: str
    roles: tuple[Role, ...]
    unblinded_in: tuple[str, ...] = ()
    password: str | None = field(default=None, repr=False)
    code_secret: str | None = field(default=None, repr=False)
    code_step: int = 0
    created_at: int
    created_by: str | None = None
    deactivated_at: int | None = None
    deactivated_by: str | None = None

    @property
    def shown(self) -> str:
        """What the log of a trial calls them."""
        return f"{self.name} ({self.login})"

    @property
    def active(self) -> bool:
        """Whether the account is open."""
        return self.deactivated_at is None

    def within(self, trial: str) -> Caller:
        """The same in one trial: blinded there as long as they have not signed to see what each arm does."""
        if not self.unblinded or trial in self.unblinded_in:
            return self
        scopes = {*self.scopes, "read-blinded"} - {"read-unblinded"}
        return replace(self, scopes=tuple(scope for scope in SCOPES if scope in scopes))


def new(
    name: str,
    login: str,
    roles: Sequence[str],
    trials: Sequence[str] | None = None,
    *,
    site: str | None = None,
    at: int,
    by: str | None = None,
) -> Person:
    """Somebody who has no password yet."""
    where = checked(name, trials, site)
    kept = checked_roles(roles)
    return Person(
        id=f"{PREFIX}{secrets.token_hex(6)}",
        name=name,
        login=checked_login(login),
        roles=kept,
        scopes=scopes_of(kept),
        trials=where,
        site=site,
        created_at=at,
        created_by=by,
    )


def checked_roles(roles: Sequence[str]) -> tuple[Role, ...]:
    """Roles in their order."""
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        raise InputError("roles", repr(unknown[0]) if unknown else "none", f"some of {', '.join(ROLES)}")
    return tuple(role for role in ROLES if role in roles)


def checked_login(login: str) -> str:
    """A login as it is stored."""
    kept = login.strip().casefold()
    text("login", kept, MOST_NAME - 20)
    if not _LOGIN.fullmatch(kept):
        raise InputError("login", repr(login)[:100], "an address such as ada@clinic.example")
    return kept


def scopes_of(roles: Sequence[Role]) -> tuple[Scope, ...]:
    """What somebody with these roles may do."""
    return tuple(scope for scope in SCOPES if any(scope in ROLES[role] for role in roles))


def new_token() -> str:
    """What makes a link: 256 random bits."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What is stored of a link."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def load(connection: Connection) -> dict[str, Person]:
    """All people, also those whose account is closed; an illegible one is logged, and lets nobody in."""
    found = {}
    for row in connection.execute(select(people).order_by(people.c.created_at, people.c.id)):
        try:
            found[row.id] = _person(row)
        except StoreError as error:
            LOG.error("%s", error)
    return found


def by_login(connection: Connection, login: str) -> Person | None:
    """The person with this login."""
    row = connection.execute(select(people).where(people.c.login == login.strip().casefold())).first()
    return None if row is None else _person(row)


def known(connection: Connection, id_: str) -> Person:
    """One person."""
    row = connection.execute(select(people).where(people.c.id == id_)).first()
    if row is None:
        raise NotFoundError(f"there is nobody with the identifier {id_!r}")
    return _person(row)


def invited(connection: Connection, token: str, at: int) -> Person | None:
    """Whom a link invites, as long as it lasts."""
    where = (invitations.c.hash == digest(token), invitations.c.expires_at > at)
    row = connection.execute(select(invitations.c.person).where(*where)).first()
    found = None if row is None else known(connection, row.person)
    return found if found is not None and found.active else None


def awaited(connection: Connection, at: int) -> dict[str, int]:
    """Until when each person's link lasts, of those that have one."""
    rows = connection.execute(select(invitations).where(invitations.c.expires_at > at))
    return {row.person: row.expires_at for row in rows}


def history(connection: Connection, id_: str) -> list[Row[Any]]:
    """What became of an account, the latest first."""
    query = select(people_log).where(people_log.c.person == id_).order_by(people_log.c.number.desc()).limit(200)
    return list(connection.execute(query))


def add(person: Person, connection: Connection) -> Person:
    """Store somebody new."""
    if by_login(connection, person.login) is not None:
        raise ConflictError(f"somebody has the login {person.login!r} already; invite them again instead")
    connection.execute(insert(people), _row(person))
    _note(connection, person.id, person.created_at, person.created_by, f"added as {rights_in_words(person)}")
    return person


def invite(id_: str, hashed: str, expires: int, at: int, by: str | None, connection: Connection) -> Person:
    """Keep the hash of a new link for somebody; the one that they had ends, and so do links whose time is over."""
    person = known(connection, id_)
    if not person.active:
        raise ConflictError(f"the account of {person.name} is closed; open it again first")
    connection.execute(delete(invitations).where((invitations.c.person == id_) | (invitations.c.expires_at <= at)))
    connection.execute(insert(invitations), {"hash": hashed, "person": id_, "expires_at": expires})
    _note(connection, id_, at, by, "invited to set a password")
    return person


def accept(token: str, password: str, at: int, connection: Connection) -> Person | None:
    """Set a password with a link, which ends with that; None where it does not last any more."""
    person = invited(connection, token, at)
    if person is None:
        return None
    if connection.execute(delete(invitations).where(invitations.c.hash == digest(token))).rowcount != 1:
        return None  # of two at once, PostgreSQL lets one delete it
    values = {"password": password}
    return change(person.id, values, "set a password by invitation", at, person.shown, True, connection)


def change(
    id_: str, values: dict[str, Any], what: str, at: int, by: str | None, ends: bool, connection: Connection
) -> Person:
    """Change an account, and write down who did; `ends` the sessions that it has, and open invitations if it closes."""
    connection.execute(update(people).where(people.c.id == id_), _stored(id_, values))
    if ends:
        connection.execute(delete(sessions).where(sessions.c.key == id_))
    if values.get("deactivated_at") is not None:
        connection.execute(delete(invitations).where(invitations.c.person == id_))
    _note(connection, id_, at, by, what)
    return known(connection, id_)


def use_code(id_: str, step: int, connection: Connection) -> bool:
    """Whether a one-time code is used for the first time: two requests with the same one never both succeed."""
    where = (people.c.id == id_, people.c.code_step < step)
    return connection.execute(update(people).where(*where), {"code_step": step}).rowcount == 1


def rights(person: Person) -> dict[str, Any]:
    """The columns of what somebody may do, and where."""
    trials = None if person.trials is None else json.dumps(person.trials)
    return {"roles": json.dumps(person.roles), "trials": trials, "site": person.site}


def rights_in_words(person: Person) -> str:
    """The same for people."""
    where = "all trials" if person.trials is None else ", ".join(person.trials)
    return f"{', '.join(person.roles)}, in {where}{f', at {person.site}' if person.site else ''}"


def _note(connection: Connection, id_: str, at: int, by: str | None, what: str) -> None:
    last = connection.execute(select(func.max(people_log.c.number)).where(people_log.c.person == id_)).scalar()
    row = {"person": id_, "number": (last or 0) + 1, "at": at, "by": by or "", "what": what}
    connection.execute(insert(people_log), row)


def _row(person: Person) -> dict[str, Any]:
    kept = ("id", "login", "name", "password", "code_secret", "code_step")
    when = ("created_at", "created_by", "deactivated_at", "deactivated_by")
    values = {name: getattr(person, name) for name in (*kept, *when)}
    return _stored(person.id, values) | rights(person) | {"unblinded": json.dumps(person.unblinded_in)}


def _stored(id_: str, values: dict[str, Any]) -> dict[str, Any]:
    """Columns as they are stored: what one-time codes are made from may be sealed."""
    secret = values.get(_CODES)
    return values if secret is None else {**values, _CODES: sealing.sealed(secret, f"person {id_}")}


def _person(row: Row[Any]) -> Person:
    values = row._asdict()
    for name in ("roles", "trials", "unblinded"):
        if (said := values[name]) is not None:
            values[name] = stored_names(said, f"the {name} of {row.id} in the table people")
    if row.code_secret is not None:
        values[_CODES] = sealing.opened(row.code_secret, f"person {row.id}")
    roles: tuple[Role, ...] = tuple(role for role in get_args(Role) if role in values["roles"])
    values |= {"roles": roles, "scopes": scopes_of(roles), "unblinded_in": values.pop("unblinded")}
    return Person(**values)
