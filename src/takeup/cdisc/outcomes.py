"""What came of it, in the basic data structure of ADaM: ADTTE where it is a time to an event, else ADOUT."""

from collections.abc import Mapping

from takeup.cdisc.treatments import Treated
from takeup.cdisc.variables import Cell, Columns, Dataset, Variable
from takeup.outcomes import Count, Levels, Time
from takeup.space import UNSEEN

PLANNED = Variable("TRTP", "Planned Treatment", "string", "TRT01P of ADSL")
ACTUAL = Variable("TRTA", "Actual Treatment", "string", "TRT01A of ADSL")
CODE = Variable("PARAMCD", "Parameter Code", "string", "OUTCOME, or TIME of a time to an event", 3)
PARAMETER = Variable("PARAM", "Parameter", "string", "likewise, in words")
VALUE = Variable("AVAL", "Analysis Value", "float", "the outcome; of levels their place, 0 being the first")
TEXT = Variable("AVALC", "Analysis Value (C)", "string", "the level of the outcome")
CENSORED = Variable("CNSR", "Censor", "integer", "1 where the event had not happened by then, else 0")
EXPOSURE = Variable("EXPOSURE", "Time at Risk", "float", "the exposure that the events were counted over")


def outcomes_of(treated: Treated) -> Dataset:
    """A row for whoever's outcome is known."""
    log = treated.study.log
    outcome = log.space.outcome
    who = [i for i, y in enumerate(log.outcome) if y != UNSEEN]
    codes = [int(log.outcome[i]) for i in who]
    plain = [outcome.plain(code) for code in codes]
    time = isinstance(outcome, Time)
    values: Columns
    if isinstance(outcome, Levels):
        values = {VALUE: codes, TEXT: [str(value) for value in plain]}
    elif time:
        values = {VALUE: [_part(each, "time") for each in plain], CENSORED: [int(_censored(each)) for each in plain]}
    elif isinstance(outcome, Count):
        exposed = [_part(each, "exposure") if isinstance(each, Mapping) else None for each in plain]
        values = {VALUE: [_part(each, "events") for each in plain], EXPOSURE: exposed}
    else:
        values = {VALUE: [_part(each, "") for each in plain]}
    columns: Columns = {
        **treated.identifiers(None, who),
        PLANNED: [treated.planned[i] for i in who],
        ACTUAL: [treated.taken[i] for i in who],
        CODE: ["TIME" if time else "OUTCOME"] * len(who),
        PARAMETER: ["Time to Event" if time else "Outcome"] * len(who),
        **values,
    }
    named = ("ADTTE", "Time-to-Event Analysis Dataset") if time else ("ADOUT", "Outcome Analysis Dataset")
    return Dataset.of(*named, columns)


def _part(plain: object, name: str) -> Cell:
    """A number of an outcome as reports give it: a number, or a table of them."""
    found = plain[name] if isinstance(plain, Mapping) else plain
    assert isinstance(found, int | float)  # all but levels are
    return found


def _censored(plain: object) -> bool:
    return isinstance(plain, Mapping) and bool(plain["censored"])
