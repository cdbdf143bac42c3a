"""API keys: what they are, and how they are kept."""

import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from takeup.errors import InputError, NotFoundError, StoreError
from takeup.service.callers import SCOPES, Caller, checked, stored_names
from takeup.store import Store
from takeup.store.schema import api_keys

LOG = logging.getLogger("takeup.service")

PREFIX = "takeup_"
_ID = slice(len(PREFIX), len(PREFIX) + 12)
_NOBODY = "0" * 64
"""The hash of no key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey(Caller):
    """A key of software.

    Attributes:
        created_at: when it was made, in microseconds since 1970, UTC.
        created_by: by whom.
        revoked_at: when it ceased to work.
        revoked_by: by whose will.
        hash: SHA-256 of the key itself, which is not kept. A slow hash is for passwords that people choose; 256 random
            bits cannot be guessed, and a slow hash would be paid for in every request.
    """

    created_at: int
    created_by: str | None = None
    revoked_at: int | None = None
    revoked_by: str | None = None
    hash: str = field(repr=False)

    @property
    def active(self) -> bool:
        """Whether it still works."""
        return self.revoked_at is None


def new(
    name: str,
    scopes: Sequence[str],
    trials: Sequence[str] | None = None,
    *,
    site: str | None = None,
    at: int,
    by: str | None = None,
) -> tuple[ApiKey, str]:
    """A new key, and its text: 256 random bits that nobody will see again."""
    where = checked(name, trials, site)
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise InputError("scopes", repr(unknown[0]) if unknown else "none", f"some of {', '.join(SCOPES)}")
    id_ = secrets.token_hex(6)
    token = f"{PREFIX}{id_}_{secrets.token_urlsafe(32)}"
    key = ApiKey(
        id=id_,
        name=name,
        scopes=tuple(scope for scope in SCOPES if scope in scopes),
        trials=where,
        site=site,
        created_at=at,
        created_by=by,
        hash=digest(token),
    )
    return key, token


def digest(token: str) -> str:
    """What is stored of a key."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def id_of(token: str) -> str:
    """The identifier inside a key's text; of what cannot be a key, one that no key has."""
    return token[_ID] if token.startswith(PREFIX) else ""


def matches(key: ApiKey | None, token: str) -> bool:
    """Whether this is the key's text, compared in constant time. Where there is no key as much is done, in vain."""
    return hmac.compare_digest(_NOBODY if key is None else key.hash, digest(token)) and key is not None


def load(connection: Connection) -> dict[str, ApiKey]:
    """All keys, the revoked ones too; one that somebody has made illegible is logged, and lets nobody in."""
    found = {}
    for row in connection.execute(select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)):
        try:
            found[row.id] = _key(row)
        except StoreError as error:
            LOG.error("%s", error)
    return found


def known(connection: Connection, id_: str) -> ApiKey:
    """One key."""
    row = connection.execute(select(api_keys).where(api_keys.c.id == id_)).first()
    if row is None:
        raise NotFoundError(f"there is no key {id_!r}")
    return _key(row)


def add(store: Store, key: ApiKey) -> "Future[None]":
    """Store a new key."""
    return store.write(partial(_add, key))


def add_first(store: Store) -> str | None:
    """The text of the first key, which may do everything, where there is none yet; no two processes make one."""
    key, token = new("first admin", SCOPES, at=store.clock())
    return token if store.write(partial(_add_first, key)).result() else None


def revoke(store: Store, id_: str, *, at: int, by: str | None = None) -> "Future[ApiKey]":
    """Revoke a key; a second time changes nothing."""
    return store.write(partial(_revoke, id_, at, by))


def _add(key: ApiKey, connection: Connection) -> None:
    connection.execute(insert(api_keys), _row(key))


def _add_first(key: ApiKey, connection: Connection) -> bool:
    if connection.execute(select(api_keys.c.id).limit(1)).first() is not None:
        return False
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE api_keys IN EXCLUSIVE MODE")
        if connection.execute(select(api_keys.c.id).limit(1)).first() is not None:
            return False
    _add(key, connection)
    return True


def _revoke(id_: str, at: int, by: str | None, connection: Connection) -> ApiKey:
    where = (api_keys.c.id == id_, api_keys.c.revoked_at.is_(None))
    connection.execute(update(api_keys).where(*where), {"revoked_at": at, "revoked_by": by})
    return known(connection, id_)


def _row(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "hash": key.hash,
        "scopes": json.dumps(key.scopes),
        "trials": None if key.trials is None else json.dumps(key.trials),
        "site": key.site,
        "created_at": key.created_at,
        "created_by": key.created_by,
        "revoked_at": key.revoked_at,
        "revoked_by": key.revoked_by,
    }


def _key(row: Row[Any]) -> ApiKey:
    values = row._asdict()
    for name in ("scopes", "trials"):
        if (said := getattr(row, name)) is not None:
            values[name] = stored_names(said, f"the {name} of key {row.id} in the table api_keys")
    return ApiKey(**values)
