"""Keys and passwords that are guessed: few guesses are answered, and whoever has the right one is never kept out."""

import time

import asgi
from fuzzing.values import Dice
from gates.gate import Found, Gate, Run
from gates.timing import unlimited
from page_visitor import PASSWORD, person
from takeup.service.problem import ProblemError
from takeup.service.throttle import LIMITS, WRONG_KEYS

EVERY = 50
"""After so many guesses somebody with the right one comes from the same address."""


def guessed(run: Run) -> Found:
    """Wrong keys over HTTP, and wrong passwords of one login, from one address."""
    with asgi.api() as api:
        right, dice, began = api.key("decide"), Dice(run.seed, "guesses"), time.monotonic()
        answered = kept_out = unclear = 0
        for number in range(run.times):
            guess = right[: dice.whole(1, len(right) - 1)] + dice.pick(("x", "-", "é", "0" * 40))
            reply = api.request("GET", "/trials", key=guess)
            answered += reply.status == 401
            unclear += reply.status not in (401, 429) or (reply.status == 429 and "retry-after" not in reply.headers)
            if number % EVERY == 0:
                kept_out += api.request("GET", "/trials", key=right).status != 200
            run.step(number)
        most = WRONG_KEYS[0] + WRONG_KEYS[1] * (time.monotonic() - began)
        tried, allowed = _passwords(api, run.times // 10 + 20)
        figures = (
            f"{answered:,} of {run.times:,} wrong keys were looked at ({most:,.0f} allowed), {tried} of"
            f" {run.times // 10 + 20:,} wrong passwords ({allowed:.0f}); the right key kept out {kept_out} times"
        )
        return Found(answered <= most and tried <= allowed and not kept_out and not unclear, figures)


def _passwords(api: asgi.Api, times: int) -> tuple[int, float]:
    """How many wrong passwords of somebody were compared, and how many might have been."""
    people, began, tried = api.app.state.service.people, time.monotonic(), 0
    login = person(api, "observer", password=PASSWORD).login
    for number in range(times):
        try:
            api.run(people.proven(login, f"guess {number}", "", "10.0.0.1"))
            tried += 1
        except ProblemError as error:
            if error.kind != "too-many":
                raise
    most, rate = LIMITS["login here"]
    return tried, most + rate * (time.monotonic() - began) + 1


def without_limits(run: Run) -> Found:
    """As many as anybody likes."""
    with unlimited():
        return guessed(run)


GATES = (
    Gate(
        name="guesses",
        part="secrets and rights",
        shows="wrong keys and passwords from one address: no more are looked at than the throttle allows, the rest get"
        " 429 and Retry-After, and the right key is served all the time",
        unit="guesses",
        times=20_000,
        suite=400,
        run=guessed,
        without="the throttle",
        control=without_limits,
        control_times=400,
    ),
)
