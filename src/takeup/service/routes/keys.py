"""API keys: made, listed, revoked."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from takeup.errors import NotFoundError
from takeup.service import keys
from takeup.service.auth import KeyRoute, needs
from takeup.service.callers import MOST_NAME, MOST_TRIALS, Scope
from takeup.service.models import IDENTIFIER, Strict
from takeup.service.problem import ProblemError
from takeup.service.service import caller_of, service_of

router = APIRouter(route_class=KeyRoute, tags=["keys"])


class KeyAsked(Strict):
    """A key to make.

    Attributes:
        name: whose it is.
        scopes: what it may do.
        trials: in which trials; in all where left out.
        site: where its holder works: keys of one site are told of each other's decisions.
    """

    name: Annotated[str, Field(min_length=1, max_length=MOST_NAME)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=7)]
    trials: (
        Annotated[list[Annotated[str, Field(pattern=IDENTIFIER)]], Field(min_length=1, max_length=MOST_TRIALS)] | None
    ) = None
    site: Annotated[str, Field(min_length=1, max_length=MOST_NAME)] | None = None


class KeyShown(BaseModel):
    """A key, without its text."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    scopes: tuple[Scope, ...]
    trials: tuple[str, ...] | None
    site: str | None
    created_at: int
    created_by: str | None
    revoked_at: int | None
    revoked_by: str | None


class KeyMade(KeyShown):
    """A new key; `key` is its text, which is shown this once."""

    key: str


class KeyList(BaseModel):
    """Keys, the revoked ones too."""

    keys: tuple[KeyShown, ...]


@router.post("/keys", status_code=201, **needs("admin", body=True))
async def create(request: Request, asked: KeyAsked) -> KeyMade:
    """A new key. Its text is in the answer and nowhere else.

    An admin key that is valid in some trials alone makes keys for those alone.
    """
    service, caller = service_of(request), caller_of(request)
    if not caller.covers_all(asked.trials):
        raise ProblemError("forbidden", "an admin key makes keys for the trials that it is valid in itself; name them")
    key, token = keys.new(
        asked.name, asked.scopes, asked.trials, site=asked.site, at=service.store.clock(), by=caller.shown
    )
    await service.keys.add(key)
    return KeyMade(key=token, **KeyShown.model_validate(key).model_dump())


@router.get("/keys", **needs("admin"))
async def list_keys(request: Request) -> KeyList:
    """The keys that the admin key may make, without their texts; the revoked ones too."""
    caller, found = caller_of(request), await service_of(request).keys.all()
    return KeyList(keys=tuple(KeyShown.model_validate(key) for key in found if caller.covers_all(key.trials)))


@router.delete("/keys/{id}", **needs("admin", problems=("not-found",)))
async def revoke(
    request: Request,
    id: Annotated[str, Path(description="The key's identifier.", pattern="^[0-9a-f]{12}$")],  # noqa: A002  # the word that people use
) -> KeyShown:
    """Let a key work no longer: here at once, in other processes within seconds."""
    service, caller = service_of(request), caller_of(request)
    known = {key.id for key in await service.keys.all() if caller.covers_all(key.trials)}
    if id not in known:
        raise NotFoundError(f"there is no key {id!r} that this key may revoke")
    return KeyShown.model_validate(await service.keys.revoke(id, by=caller.shown))
