"""What a qualification consists of: checks in groups, each with what is expected, what was found, and a verdict."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from takeup.errors import MissingExtraError

Verdict: TypeAlias = Literal["passed", "failed", "not run"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    Attributes:
        expected: what should be, in words.
        found: what is.
        passed: whether that is as it should be.
    """

    expected: str
    found: str
    passed: bool


class NotHereError(Exception):
    """This machine or this installation has nothing to check; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        title: what is checked.
        requirements: which requirements it serves, by their numbers.
        look: does it.
        control: whether a fault is planted, which has to be found: a check that cannot fail shows nothing.
    """

    title: str
    requirements: tuple[str, ...]
    look: Callable[[], Finding]
    control: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Checks of one kind."""

    title: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A check that was done.

    Attributes:
        number: of the check, such as 2.3.
        group: what kind it is.
        title: what was checked.
        requirements: which requirements it serves.
        control: whether a fault was planted.
        expected: what should be.
        found: what is, or why it could not be found out.
        verdict: passed, failed or not run.
        seconds: how long it took.
    """

    number: str
    group: str
    title: str
    requirements: tuple[str, ...]
    control: bool
    expected: str
    found: str
    verdict: Verdict
    seconds: float


def done(check: Check, number: str, group: str) -> Outcome:
    """Do a check; whatever goes wrong in it is a failure, and an extra that is not installed is none."""
    begun = time.perf_counter()
    verdict: Verdict
    try:
        finding = check.look()
        expected, found, verdict = finding.expected, finding.found, "passed" if finding.passed else "failed"
    except (MissingExtraError, NotHereError) as why:
        expected, found, verdict = "", str(why), "not run"
    except Exception as error:  # nothing that a check meets may keep the others from being done
        expected, found, verdict = "no error", f"{type(error).__name__}: {error}", "failed"
    return Outcome(
        number=number,
        group=group,
        title=check.title,
        requirements=check.requirements,
        control=check.control,
        expected=expected,
        found=found,
        verdict=verdict,
        seconds=round(time.perf_counter() - begun, 2),
    )
