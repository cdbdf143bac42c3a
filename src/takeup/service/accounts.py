"""What a process does with accounts: who they are, whether a password is theirs, and every change of one."""

import asyncio
import json
import logging
import math
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from takeup.service import codes, people
from takeup.service.key_cache import RowCache, written
from takeup.service.passwords import Passwords, check_new
from takeup.service.people import Person
from takeup.service.problem import ProblemError
from takeup.service.throttle import Throttle
from takeup.store import Store

LOG = logging.getLogger("takeup.service")
Result = TypeVar("Result")


class Accounts(RowCache[Person]):
    """All accounts of the database.

    Args:
        store: where they are.
        readers: the threads that wait for the disk.
        seconds: how long one that another process closed may still work here.
        lasting: how many seconds an invitation lasts.

    Attributes:
        passwords: hashes and compares.
        throttle: how often that may be asked for.
        ended: called with the identifier of a person whose sessions have ended.
    """

    def __init__(self, store: Store, readers: Executor, seconds: float, lasting: float) -> None:
        super().__init__(store, readers, people.load, seconds)
        self.passwords, self.throttle = Passwords(), Throttle()
        self.ended: Callable[[str], None] = lambda _: None
        self._lasting = lasting

    async def add(self, person: Person) -> str:
        """Store somebody new: the token of the link that invites them."""
        self.take(await written(self._store.write(partial(people.add, person))))
        return await self.invite(person.id, person.created_by)

    async def invite(self, id_: str, by: str | None) -> str:
        """Invite somebody to set a password, for the first time or again: the token of the link."""
        token, at = people.new_token(), self._store.clock()
        expires = at + round(1e6 * self._lasting)
        await written(self._store.write(partial(people.invite, id_, people.digest(token), expires, at, by)))
        return token

    async def invited(self, token: str) -> Person | None:
        """Whom a link invites, as long as it lasts."""
        return await self.look(partial(people.invited, token=token, at=self._store.clock()))

    async def accept(self, token: str, password: str) -> Person | None:
        """Set a password with a link; None where it does not last any more.

        The link is looked for before anything is hashed: a made-up one costs nothing, and takes no one's time.
        """
        person = await self.invited(token)
        if person is None:
            return None
        check_new(password, (person.name, person.login))
        hashed = await self.passwords.hash(password)
        changed = await written(self._store.write(partial(people.accept, token, hashed, self._store.clock())))
        return None if changed is None else self._changed(changed, ends=True)

    async def proven(self, login: str, password: str, code: str, address: str) -> Person | None:
        """Who signs in; None where login, password or code are wrong, which nobody is told apart.

        Whether the login is known, has a password and is open, a password is always hashed and compared, and the answer
        is the same. The code is looked at only when the password was right: who has none of the two learns of neither.
        """
        self._take_turn(login, address)
        person = await self.look(partial(people.by_login, login=login))
        right = await self._right(person, password)
        if person is None or not right or not await self._code_right(person, code):
            LOG.warning("somebody from %s failed to sign in as %s", address, "nobody" if person is None else person.id)
            return None
        self.throttle.succeeded(login, address)
        return person

    async def confirmed(self, person: Person, password: str, address: str) -> bool:
        """Whether somebody who is signed in knows their password, which they give again to sign something."""
        self._take_turn(person.login, address)
        fresh = await self.look(partial(people.by_login, login=person.login))
        if not await self._right(fresh, password):
            LOG.warning("somebody from %s failed to sign as %s", address, person.id)
            return False
        self.throttle.succeeded(person.login, address)
        return True

    async def change(
        self, person: Person, values: dict[str, Any], what: str, by: str | None, *, ends: bool = True
    ) -> Person:
        """Change an account; its sessions end with that, here at once and in other processes within seconds."""
        at = self._store.clock()
        changed = await written(self._store.write(partial(people.change, person.id, values, what, at, by, ends)))
        return self._changed(changed, ends)

    async def set_password(self, person: Person, password: str) -> Person:
        """Somebody's own new password."""
        check_new(password, (person.name, person.login))
        return await self.change(
            person, {"password": await self.passwords.hash(password)}, "changed the password", person.shown
        )

    async def close(self, person: Person, by: str) -> Person:
        """Deactivate: nothing is deleted, as logs name the person."""
        values = {"deactivated_at": self._store.clock(), "deactivated_by": by}
        return await self.change(person, values, "deactivated", by)

    async def unblind(self, person: Person, trial: str) -> Person:
        """Remember that somebody has signed to see what each arm of a trial does; its log says so too."""
        values = {"unblinded": json.dumps(sorted({*person.unblinded_in, trial}))}
        return await self.change(
            person, values, f"signed to see what each arm of {trial} does", person.shown, ends=False
        )

    async def look(self, query: Callable[[Connection], Result]) -> Result:
        """What the database says now."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, lambda: self._store.read(query))

    def _changed(self, person: Person, ends: bool) -> Person:
        self.take(person)
        if ends:
            self.ended(person.id)
        return person

    def _take_turn(self, login: str, address: str) -> None:
        wait = math.ceil(self.throttle.wait(login, address))
        if wait:
            detail = f"the password was wrong too often; try again in {wait} seconds"
            raise ProblemError("too-many", detail, headers={"Retry-After": str(wait)})

    async def _right(self, person: Person | None, password: str) -> bool:
        kept = person.password if person is not None and person.active else None
        return await self.passwords.matches(kept, password)

    async def _code_right(self, person: Person, code: str) -> bool:
        if person.code_secret is None:
            return True
        step = codes.step_of(person.code_secret, code, self._store.clock(), person.code_step)
        return step is not None and await written(self._store.write(partial(people.use_code, person.id, step)))
