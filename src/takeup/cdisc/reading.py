"""A log from datasets of ADaM: ADSL, and what came of it from ADSL itself or a dataset such as ADTTE."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from takeup.cdisc import xpt
from takeup.cdisc.arms import NOT_TREATED
from takeup.cdisc.datasets import probability_variable
from takeup.checks import shown
from takeup.errors import NOTHING, InputError
from takeup.frames.columns import Frame, names_of, text_of, values_of
from takeup.log import Log
from takeup.log.shares import Probability, columns_of
from takeup.outcomes import Better
from takeup.space import Space

OUTCOME = "outcome"
"""What the column of outcomes is called in errors, where it comes from another dataset."""


def log_of_adam(
    adsl: str | Path | Frame,
    outcomes: str | Path | Frame | None = None,
    *,
    parameter: str | None = None,
    outcome: str | None = None,
    untreated: str = "not treated",
    probability: Probability = None,
    space: Space | None = None,
    levels: Sequence[str] | None = None,
    better: Better | None = None,
) -> Log:
    """The log of a study, in the order of RANDSEQ or else of RANDDT, as far as these are there.

    TRT01P is what was proposed, TRT01A what was implemented. Blank is UNSEEN, but where ARMNRS says that nothing was
    taken. Subjects without TRT01P were never assigned, and are left out. STRATAR is the context where it is there. What
    is inferred is said in the log's `inferred`, a sentence each, as `Log.from_frame` does.

    Args:
        adsl: a frame, or the path of a Dataset-JSON (.json) or transport file (.xpt).
        outcomes: likewise, a dataset of at most one row a subject and parameter: AVALC where it has that, or else AVAL;
            with CNSR they are times, and with EXPOSURE counts.
        parameter: which PARAMCD, where there are several.
        outcome: the variable of ADSL that holds the outcome, where no such dataset is given.
        untreated: what to call it where nothing was taken.
        probability: as `Log.from_frame` takes it; from RNDPR01 and so on where these are there, and else estimated.
        space: what labels there are; inferred where left out.
        levels: the outcome's labels from worst to best, where they are texts and no space is given.
        better: "lower" where low numbers, or no of no and yes, are good.

    Raises:
        InputError: a file or a variable that is not there, or holds what it should not.
    """
    frame = _frame("adsl", adsl)
    known = names_of(frame)
    subjects = [text_of(each) for each in _column(frame, "adsl", "USUBJID")]
    if len(set(subjects)) < len(subjects):
        raise InputError("adsl", "several rows of a subject", "one row a subject, as ADSL has")
    planned = _column(frame, "adsl", "TRT01P")
    order, said = _order(frame, [i for i, label in enumerate(planned) if label is not None])
    if len(order) < len(planned):
        said.append(f"{len(planned) - len(order)} subjects without TRT01P were never assigned, and are left out.")
    table = {"USUBJID": subjects, "TRT01P": planned, "TRT01A": _taken(frame, untreated)}
    if "STRATAR" in known:
        table["STRATAR"] = _column(frame, "adsl", "STRATAR")
    if outcomes is not None:
        table[OUTCOME] = _outcomes(_frame("outcomes", outcomes), parameter, subjects)
    elif outcome is not None:
        table[OUTCOME] = _column(frame, "outcome", outcome)
    else:
        raise InputError("outcomes", NOTHING, "a dataset such as ADTTE, or outcome=, a variable of ADSL")
    if probability is None:
        probability = _probabilities(frame, space)
    for name in columns_of(probability):
        table[name] = _column(frame, "probability", name)
    log = Log.from_frame(
        {name: [values[i] for i in order] for name, values in table.items()},
        assigned="TRT01P",
        taken="TRT01A",
        outcome=OUTCOME,
        context="STRATAR" if "STRATAR" in table else None,
        probability=probability,
        unit="USUBJID",
        space=space,
        levels=levels,
        better=better,
    )
    return replace(log, inferred=(*said, *log.inferred))


def _frame(argument: str, given: Any) -> Frame:
    """A table, whichever way it is given."""
    if not isinstance(given, str | Path):
        return given
    path = Path(given)
    if path.suffix.lower() == ".xpt":
        return xpt.read(path)
    if path.suffix.lower() != ".json":
        raise InputError(argument, repr(str(path)), "a Dataset-JSON file (.json), a transport file (.xpt), or a frame")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        names = [column["name"] for column in content["columns"]]
        rows = content.get("rows", [])
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(argument, f"{path} ({error!r})", "a Dataset-JSON file of version 1.1") from None


def _column(frame: Frame, argument: str, name: str) -> list[Any]:
    """A variable; None where it is blank."""
    values = values_of(frame, argument, name)
    return [None if value is None or value != value or not str(value).strip() else value for value in values]


def _taken(frame: Frame, untreated: str) -> list[Any]:
    actual = _column(frame, "adsl", "TRT01A")
    if "ARMNRS" not in names_of(frame):
        return actual
    why = _column(frame, "adsl", "ARMNRS")
    return [untreated if a is None and reason == NOT_TREATED else a for a, reason in zip(actual, why, strict=True)]


def _order(frame: Frame, assigned: list[int]) -> tuple[list[int], list[str]]:
    """Who came when, as far as is known."""
    for name, words in (("RANDSEQ", ""), ("RANDDT", "Within a day the order is that of the rows.")):
        if name in names_of(frame):
            when = _column(frame, "adsl", name)
            if all(when[i] is not None for i in assigned):
                return sorted(assigned, key=lambda i: when[i]), [words] if words else []
    return assigned, ["When each was assigned is not known: the order is that of the rows."]


def _outcomes(frame: Frame, parameter: str | None, subjects: Sequence[str]) -> list[Any]:
    """The outcome of each subject; None where there is none."""
    names = names_of(frame)
    who = [text_of(each) for each in _column(frame, "outcomes", "USUBJID")]
    codes = _column(frame, "outcomes", "PARAMCD") if "PARAMCD" in names else [parameter] * len(who)
    there = list(dict.fromkeys(codes))
    if parameter is None and len(there) > 1:
        raise InputError("parameter", NOTHING, f"one of {', '.join(map(str, there))}")
    if parameter is not None and parameter not in there:
        raise InputError("parameter", repr(parameter), f"one of {', '.join(map(str, there))}")
    values = _values(frame, names)
    found: dict[str, Any] = {}
    for subject, code, value in zip(who, codes, values, strict=True):
        if parameter in (None, code):
            if subject in found:
                hint = "keep the one that is analysed, say that of ANL01FL or of a visit"
                raise InputError("outcomes", f"several rows of {shown(subject)}", "one row a subject", hint)
            found[subject] = value
    return [found.get(subject) for subject in subjects]


def _values(frame: Frame, names: Sequence[str]) -> list[Any]:
    texts = _column(frame, "outcomes", "AVALC") if "AVALC" in names else []
    if any(text is not None for text in texts):
        return texts
    numbers = _column(frame, "outcomes", "AVAL")
    if "CNSR" in names:
        censored = _column(frame, "outcomes", "CNSR")
        return [None if t is None else text_of(t) + ("+" if c else "") for t, c in zip(numbers, censored, strict=True)]
    if "EXPOSURE" in names:
        over = _column(frame, "outcomes", "EXPOSURE")
        return [n if e is None else f"{text_of(n)}/{text_of(e)}" for n, e in zip(numbers, over, strict=True)]
    return numbers


def _probabilities(frame: Frame, space: Space | None) -> Probability:
    """The variables that takeup writes, by label; None where there are none."""
    if probability_variable(1) not in names_of(frame):
        return None
    if space is not None:
        return {label: probability_variable(arm) for arm, label in enumerate(space.proposals, start=1)}
    pairs = zip(_column(frame, "adsl", "TRT01PN"), _column(frame, "adsl", "TRT01P"), strict=True)
    labels = {int(number): text_of(label) for number, label in pairs if number is not None}
    arms = [arm for arm in range(1, len(names_of(frame)) + 1) if probability_variable(arm) in names_of(frame)]
    if set(labels) != set(arms):
        raise InputError("space", NOTHING, "all labels: some arm was never assigned, so that ADSL does not name it")
    return {labels[arm]: probability_variable(arm) for arm in arms}
