"""The operations of the API, in every role, by schemathesis: along the links of the description, and each by itself."""

from collections import Counter

import asgi
from gates.blinding import replaced
from gates.gate import Found, Gate, Run
from schema_roles import ROLES, STEPS, Roles
from takeup.service.callers import Caller
from takeup.store import Store

WALKS, EACH = 10, 5
"""How many walks a role makes before the next has its turn, and how often it asks for every operation."""
FEW = 1_000
"""A run of fewer cases has one of both."""


def asked(run: Run) -> Found:
    """So many cases, with a process beside that checks specs."""
    checking = asgi.Beside()
    try:
        return _asked(run, checking)
    finally:
        checking.end()


def _asked(run: Run, checking: asgi.Beside) -> Found:
    """A new service whenever all roles have had their turn."""
    done, statuses, number = 0, Counter[int](), 0
    walks, each = (1, 1) if run.times < FEW else (WALKS, EACH)
    while done < run.times:
        with Store("sqlite://") as store:
            roles = Roles(store, checking)
            for role in ROLES:
                before = roles.asked.total()
                roles.walk(role, walks, 1_000 * run.seed + number)
                roles.each(role, each, 1_000 * run.seed + number)
                done += roles.asked.total() - before
                run.step(done, "cases")
                if roles.surprises:
                    return Found(False, f"{len(roles.surprises)} surprises, the first: {roles.surprises[0][:300]}")
                if done >= run.times:
                    break
            statuses += roles.statuses
        number += 1
    told = ", ".join(f"{many:,} x {status}" for status, many in sorted(statuses.items()))
    return Found(True, f"{done:,} cases in {len(ROLES)} roles, walks of {STEPS}: {told}; no surprise")


def let_in(run: Run) -> Found:
    """Whoever has a key may do everything."""
    with replaced(Caller, "allows", lambda *_: True):
        return asked(run)


GATES = (
    Gate(
        name="operations",
        part="input",
        shows="schemathesis over every operation and along its links, with no key, a wrong one, one of another trial"
        " and one of each scope: no 5xx, answers as /openapi.json has them, nobody does what their scopes do not allow",
        unit="cases",
        times=20_000,
        suite=400,
        run=asked,
        without="the look at scopes",
        control=let_in,
        control_times=400,
    ),
)
