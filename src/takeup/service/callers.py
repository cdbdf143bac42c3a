"""Who asks: what API keys and people have in common."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from takeup.errors import InputError, StoreError
from takeup.trial.bounds import text

Scope = Literal["decide", "report", "lease", "read-blinded", "read-unblinded", "design", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

WORDS: Mapping[Scope, str] = {
    "decide": "ask for decisions",
    "report": "report what was done and what came of it",
    "lease": "decide by itself from leases, where it sees what each arm does too",
    "read-blinded": "look at trials",
    "read-unblinded": "see what each arm does",
    "design": "make, start and stop trials",
    "admin": "manage people and keys",
}
"""What each scope allows, as pages say it."""

MOST_NAME = 100
MOST_TRIALS = 1_000
_TRIAL = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class Asking(TypedDict):
    """Who asks, as a command is told."""

    by: str
    site: str | None
    blinded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who may do what, and in which trials.

    Attributes:
        id: what logs of the service call them.
        name: what people call them.
        scopes: what they may do.
        trials: where; None is everywhere.
        site: where they work: those of one site are told of each other's decisions.
    """

    id: str
    name: str
    scopes: tuple[Scope, ...]
    trials: tuple[str, ...] | None
    site: str | None = None

    @property
    def shown(self) -> str:
        """What the log of a trial calls them."""
        return f"{self.name} ({self.id})"

    @property
    def asking(self) -> Asking:
        """What a command is told about them."""
        return {"by": self.shown, "site": self.site, "blinded": not self.unblinded}

    @property
    def unblinded(self) -> bool:
        """Whether they may see what each arm does."""
        return "read-unblinded" in self.scopes

    def covers(self, trial: str) -> bool:
        """Whether they may do it in a trial."""
        return self.trials is None or trial in self.trials

    def covers_all(self, trials: Sequence[str] | None) -> bool:
        """Whether they may do it wherever somebody of these trials may."""
        return self.trials is None or (trials is not None and set(trials) <= set(self.trials))

    def allows(self, scopes: Iterable[Scope]) -> bool:
        """Whether they have one of these scopes."""
        return any(scope in self.scopes for scope in scopes)

    def within(self, trial: str) -> "Caller":
        """The same in one trial, where they may do less."""
        return self


def refusal(scopes: Sequence[Scope]) -> str:
    """Why somebody without any of these scopes is turned away, in words for people."""
    return f"your account may not {' or '.join(WORDS[scope] for scope in scopes)}; ask whoever manages people here"


def checked(name: str, trials: Sequence[str] | None, site: str | None) -> tuple[str, ...] | None:
    """The trials in order, of somebody new whose name, trials and site are allowed."""
    text("name", name, MOST_NAME)
    if site is not None:
        text("site", site, MOST_NAME)
    for trial in trials or ():
        if not _TRIAL.fullmatch(trial):
            raise InputError("trials", repr(trial), "identifiers of trials: small letters, digits and hyphens")
    if trials is not None and not 1 <= len(trials) <= MOST_TRIALS:
        raise InputError("trials", f"{len(trials)} of them", f"from 1 to {MOST_TRIALS}; leave them out for all trials")
    return None if trials is None else tuple(sorted(set(trials)))


def stored_names(said: object, where: str) -> tuple[str, ...]:
    """A list of names that is stored as JSON."""
    try:
        found = json.loads(said)  # type: ignore[arg-type]  # SQLite keeps anything in a column of texts
    except (TypeError, ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise StoreError(f"{where} are no list of names; revoke it, make another")
    return tuple(found)
