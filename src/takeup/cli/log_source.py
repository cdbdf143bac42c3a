"""Where `takeup analyse` has its log from: a trial of a database, or a file; errors name options, as typed."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from takeup.errors import InputError
from takeup.frames.columns import meant
from takeup.frames.files import ENDINGS, SHEETS
from takeup.log import Log, read_log
from takeup.trial.design import Design

_COLUMNS = ("assigned", "taken", "outcome", "context", "probability", "unit", "exposure", "better", "encoding")
_OTHERS = ("time", "occasion", "plan", "promise", "level", "weights", "missing", "until", "replays")
OPTIONS = {
    "levels": "--outcome-level",
    "covariates": "--covariate",
    "cuts": "--cut",
    "space": "--plan",
    "path": "TRIAL",
    "frame": "TRIAL",
    "file": "TRIAL",
    **{name: f"--{name}" for name in (*_COLUMNS, *_OTHERS)},
}
"""How somebody on the command line says what functions call so."""

_NAMED = re.compile(rf"\b({'|'.join(OPTIONS)})=(\w?)")
_SQLITE = b"SQLite format 3\0"


class Source(NamedTuple):
    """A log, the design that its trial began with, where there is one, and its name."""

    log: Log
    design: Design | None
    name: str


def read(source: str, trial: str | None, given: Mapping[str, Any], plan: Design | None) -> Source:
    """The log of a database's trial, or of a file by its columns; with a plan, of its space."""
    if _is_database(source):
        return _database(source, trial, given)
    if trial is not None:
        raise InputError("--trial", repr(trial), "nothing for a file, which holds one trial")
    options = dict(given)
    if "probability" in options:
        options["probability"] = probability_of(options["probability"])
    contexts = options.get("context", ())
    if len(contexts) == 1:
        options["context"] = contexts[0]
    if plan is not None:
        options["space"] = plan.space
    return Source(read_log(source, **options), None, Path(source).stem if plan is None else plan.spec.name)


@contextmanager
def in_options(**others: str) -> Iterator[None]:
    """Errors that are raised inside name options; `others` are what else is called otherwise."""
    try:
        yield
    except InputError as error:
        name, colon, place = error.argument.partition(":")
        first, dot, part = name.partition(".")
        if dot and first in OPTIONS:  # of a table of several, as cuts.age
            name, place = OPTIONS[first], f" {part}{colon}{place}"
            colon = ""
        argument = (OPTIONS | others).get(name, name) + colon + place
        raise type(error)(argument, error.value, _typed(error.allowed), _typed(error.hint), error.words) from None


def shown(source: str) -> str:
    """A file or a database, without the password that may be in it, also where it was mistyped."""
    if Path(source).exists() or not any(sign in source for sign in ("://", "@", "=")):
        return source
    from takeup.store import opening

    return opening.shown(source)


def _typed(words: str) -> str:
    """Words in which `levels=` is `--outcome-level`."""
    return _NAMED.sub(lambda found: f"{OPTIONS[found[1]]}{found[2] and ' ' + found[2]}", words)


def _is_database(source: str) -> bool:
    path = Path(source)
    if "://" in source:
        return True
    if Path(path.name.removesuffix(".gz")).suffix.lower() in (*ENDINGS, *SHEETS):
        return False
    allowed = f"a database, or a file that ends in {', '.join(ENDINGS)}"
    if path.is_dir():
        raise InputError("TRIAL", f"the folder {source!r}", allowed)
    if not path.exists():
        there = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError("TRIAL", repr(shown(source)), allowed, meant(path.name, sorted(there)))
    with path.open("rb") as opened:
        if opened.read(len(_SQLITE)) != _SQLITE:
            raise InputError("TRIAL", repr(source), allowed)
    return True


def _database(source: str, trial: str | None, given: Mapping[str, Any]) -> Source:
    from takeup.live.log import log_of
    from takeup.store import looking, now, reading

    for name, value in given.items():
        raise InputError(OPTIONS[name], value, "nothing for a database: a trial's log has its own columns")
    with looking(source) as connection:  # neither made nor brought up to date: analysing writes nothing
        which = reading.named(connection, trial)
        design = Design.of_text(reading.head(connection, which).spec)
        return Source(log_of(connection, which, now()), design, design.spec.name)


def probability_of(given: list[str]) -> "str | float | dict[str, str | float]":
    """A column, the share of all where they are drawn evenly, or a column or a share for each label."""
    if len(given) == 1 and "=" not in given[0]:
        return _number(given[0])
    parts = [each.rpartition("=") for each in given]
    for each, (label, _, _) in zip(given, parts, strict=True):
        if not label:
            raise InputError("--probability", repr(each), "one column, or LABEL=COLUMN or LABEL=SHARE for each label")
    return {label: _number(column) for label, _, column in parts}


def cuts_of(given: list[str]) -> dict[str, list[float]]:
    """Where groups begin, by covariate: age=65,80."""
    found: dict[str, list[float]] = {}
    for each in given:
        name, _, numbers = each.rpartition("=")
        ends = [_number(part) for part in numbers.split(",")]
        if not name or name in found or any(isinstance(end, str) for end in ends):
            raise InputError("--cut", repr(each), "NAME=NUMBER,NUMBER.., as age=65,80, each name once")
        found[name] = [float(end) for end in ends]
    return found


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
