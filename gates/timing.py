"""Whether the time of a refusal tells anything: of wrong keys, and of wrong passwords.

Two kinds of tries come in pairs, in an order by chance. The median of their differences has an interval of 99.9 %
confidence that needs no assumption (order statistics), and all of it must lie within a bound: what is measured is that
a signal is small, not that none was found.
"""

import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from argon2 import PasswordHasher
from starlette.types import Message

import asgi
from fuzzing.values import Dice
from gates.blinding import replaced
from gates.gate import Found, Gate, Run
from page_visitor import PASSWORD, person
from takeup.service import accounts, keys, throttle
from takeup.service.keys import ApiKey
from takeup.service.passwords import Passwords

KEYS, PEOPLE = 0.5e-6, 0.2e-3
"""Seconds that the median may differ: of a request with a wrong key, and of a sign-in."""
HASHER = PasswordHasher(time_cost=1, memory_cost=8_192, parallelism=1)
"""An eighth of the usual memory in one thread instead of four: some ms of work, and less noise by what else runs."""
DEVIATES = 3.291
"""Of a standard normal for 99.9 %."""
WARM = 200


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The interval of the median."""
    ordered, count = sorted(differences), len(differences)
    reach = math.ceil(DEVIATES * math.sqrt(count) / 2)
    return ordered[max(0, (count - 1) // 2 - reach)], ordered[min(count - 1, count // 2 + reach)]


async def differences(
    one: Callable[[int], Awaitable[float]], other: Callable[[int], Awaitable[float]], times: int, dice: Dice
) -> list[float]:
    """How much longer the one takes than the other, so many times."""
    found = []
    for number in range(times):
        if dice.chance(0.5):
            first = await one(number)
            found.append(first - await other(number))
        else:
            first = await other(number)
            found.append(await one(number) - first)
    return found


def verdict(found: Sequence[float], bound: float) -> Found:
    """Whether the interval lies within the bound."""
    low, high = (1e6 * end for end in interval(found))
    words = (
        f"median difference {low:.2f} to {high:.2f} µs with 99.9 % in {len(found):,} pairs, ±{1e6 * bound:g} allowed"
    )
    return Found(-1e6 * bound < low and high < 1e6 * bound, words)


@contextmanager
def unlimited() -> Iterator[None]:
    """As many tries as it takes."""
    with ExitStack() as stack:
        stack.enter_context(replaced(throttle, "WRONG_KEYS", (1e15, 1.0)))
        stack.enter_context(replaced(throttle, "LIMITS", dict.fromkeys(throttle.LIMITS, (1e15, 1.0))))
        stack.enter_context(replaced(accounts.LOG, "disabled", True))  # a line for each would take longer than the try
        yield


def wrong_keys(run: Run) -> Found:
    """A key that is wrong in its last letters alone, against one of which nothing is right."""
    with unlimited(), asgi.api() as api:
        right = api.key("decide")
        near = [right[:-1] + last for last in "AB" if last != right[-1]]
        far = [f"{keys.PREFIX}{'0' * 12}_{right[20:]}", f"{keys.PREFIX}{'f' * 12}_{'x' * 43}"]

        async def refused(key: str) -> float:
            async def receive() -> Message:
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message: Message) -> None:
                assert message.get("status", 401) == 401

            scope, began = asgi.scope("GET", "/trials", key), time.perf_counter()
            await api.app(scope, receive, send)
            return time.perf_counter() - began

        async def tried(times: int) -> list[float]:
            return await differences(
                lambda number: refused(near[number % len(near)]),
                lambda number: refused(far[number % len(far)]),
                times,
                Dice(run.seed, "keys"),
            )

        api.run(tried(WARM))
        return verdict(api.run(tried(run.times)), KEYS)


def wrong_passwords(run: Run) -> Found:
    """The login of somebody with a wrong password, against a login that nobody has."""
    with unlimited(), asgi.api() as api:
        people = api.app.state.service.people
        people.passwords.hasher = HASHER
        known = person(api, "observer", password=PASSWORD).login

        async def refused(login: str) -> float:
            began = time.perf_counter()
            assert await people.proven(login, "not this one", "", "127.0.0.1") is None
            return time.perf_counter() - began

        async def tried(times: int) -> list[float]:
            return await differences(
                lambda _: refused(known),
                lambda number: refused(f"{number}{known}"),
                times,
                Dice(run.seed, "people"),
            )

        api.run(tried(2))
        return verdict(api.run(tried(run.times)), PEOPLE)


def early(key: ApiKey | None, token: str) -> bool:
    """Nothing is hashed where there is no key to compare with."""
    return key is not None and key.hash == keys.digest(token)


def without_work(run: Run) -> Found:
    """A key that nobody has is refused at once."""
    with replaced(keys, "matches", early):
        return wrong_keys(run)


def without_a_stranger(run: Run) -> Found:
    """A login that nobody has is refused at once."""
    matches = Passwords.__dict__["_matches"]

    def quick(self: Passwords, hashed: str | None, password: str) -> bool:
        return hashed is not None and bool(matches(self, hashed, password))

    with replaced(Passwords, "_matches", quick):
        return wrong_passwords(run)


GATES = (
    Gate(
        name="timing-keys",
        part="secrets and rights",
        shows="a wrong key that shares all but its last letter with a right one is refused as fast as one that shares"
        " nothing: the median differs by less than 0.5 µs",
        unit="pairs",
        times=20_000,
        suite=0,
        run=wrong_keys,
        without="the hash of a key that nobody has",
        control=without_work,
        control_times=5_000,
    ),
    Gate(
        name="timing-passwords",
        part="secrets and rights",
        shows="a wrong password of somebody is refused as fast as that of a login that nobody has: the median differs"
        " by less than 0.2 ms",
        unit="pairs",
        times=1_000,
        suite=0,
        run=wrong_passwords,
        without="the hash of a password that nobody has",
        control=without_a_stranger,
        control_times=30,
    ),
)
