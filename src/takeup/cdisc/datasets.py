"""DM, EX and ADSL of a study, and its outcomes: ADTTE where they are times, else ADOUT."""

from dataclasses import replace

from takeup.cdisc.outcomes import outcomes_of
from takeup.cdisc.study import Study
from takeup.cdisc.treatments import SITE, SUBJECT_OF_STUDY, Treated
from takeup.cdisc.variables import Cell, Columns, Dataset, Variable
from takeup.space import UNSEEN

REFERENCE_START = Variable("RFSTDTC", "Subject Reference Start Date/Time", "datetime", "when the arm was drawn")
SEQUENCE = Variable("EXSEQ", "Sequence Number", "integer", "1: a subject has one decision", 3)
TREATMENT = Variable("EXTRT", "Name of Treatment", "string", "the action that was reported as implemented")
START = Variable("EXSTDTC", "Start Date/Time of Treatment", "datetime", "null: no report says when")

PLANNED = Variable("TRT01P", "Planned Treatment for Period 01", "string", "ARM")
PLANNED_NUMBER = Variable("TRT01PN", "Planned Treatment for Period 01 (N)", "integer", "the number of the arm")
ACTUAL = Variable("TRT01A", "Actual Treatment for Period 01", "string", "ACTARM, or else ACTARMUD")
ACTUAL_NUMBER = Variable(
    "TRT01AN", "Actual Treatment for Period 01 (N)", "integer", "the number of the arm; other actions come after"
)
INTENT_TO_TREAT = Variable("ITTFL", "Intent-To-Treat Population Flag", "string", "Y: everybody was assigned")
PER_PROTOCOL = Variable(
    "PPROTFL", "Per-Protocol Population Flag", "string", "Y where what was proposed is known to have been taken, else N"
)
RANDOMISED = Variable("RANDDT", "Date of Randomization", "date", "the date of RFSTDTC")
ORDER = Variable("RANDSEQ", "Order of Randomization", "integer", "1 was drawn first")
STRATUM = Variable("STRATAR", "Strata Used for Randomization", "string", "the context")


def datasets_of(study: Study) -> tuple[Dataset, ...]:
    """DM, EX, ADSL and the outcomes, in this order; each has a row a subject, or fewer."""
    treated = Treated.of(study)
    made = (_dm(treated), _ex(treated), _adsl(treated), outcomes_of(treated))
    return tuple(replace(each, label=f"REHEARSAL {each.label}") for each in made) if study.rehearsal else made


def probability_variable(arm: int) -> str:
    """The name of the variable with the probability of an arm, counted from 1."""
    return f"RNDPR{arm:02}"


def _dm(treated: Treated) -> Dataset:
    study = treated.study
    columns: Columns = {
        **treated.identifiers("DM"),
        SUBJECT_OF_STUDY: study.subject,
        REFERENCE_START: [None if at is None else at.isoformat(timespec="seconds") for at in study.decided],
        SITE: study.site,
        **treated.arms(),
    }
    return Dataset.of("DM", "Demographics", columns)


def _ex(treated: Treated) -> Dataset:
    """A row for whoever took something, whatever it was."""
    log = treated.study.log
    took = [i for i, a in enumerate(log.implemented) if a not in (UNSEEN, treated.study.untreated)]
    columns: Columns = {
        **treated.identifiers("EX", took),
        SEQUENCE: [1] * len(took),
        TREATMENT: [log.space.implemented[log.implemented[i]] for i in took],
        START: [None] * len(took),
    }
    return Dataset.of("EX", "Exposure", columns)


def _adsl(treated: Treated) -> Dataset:
    study, log, space = treated.study, treated.study.log, treated.study.log.space
    numbers = {label: number for number, label in enumerate(dict.fromkeys((*space.proposals, *space.implemented)), 1)}
    columns: Columns = {
        **treated.identifiers(),
        SUBJECT_OF_STUDY: study.subject,
        SITE: study.site,
        **treated.arms(),
        PLANNED: treated.planned,
        PLANNED_NUMBER: [numbers[label] for label in treated.planned],
        ACTUAL: treated.taken,
        ACTUAL_NUMBER: [None if label is None else numbers[label] for label in treated.taken],
        INTENT_TO_TREAT: ["Y"] * len(log),
        **_per_protocol(study),
        RANDOMISED: [None if at is None else at.date().isoformat() for at in study.decided],
        ORDER: range(1, len(log) + 1),
        STRATUM: [space.contexts[x] for x in log.context],
        **_probabilities(study),
    }
    return Dataset.of("ADSL", "Subject-Level Analysis Dataset", columns)


def _per_protocol(study: Study) -> Columns:
    """Left out where nobody said what complying means."""
    log, intended = study.log, study.log.space.intended
    if intended is None:
        return {}
    return {
        PER_PROTOCOL: ["Y" if a == intended[z] else "N" for z, a in zip(log.proposal, log.implemented, strict=True)]
    }


def _probabilities(study: Study) -> Columns:
    """Of every arm, when one was drawn: what analyses after adaptive allocation need."""
    how = ", estimated as the share of what was proposed" if study.log.estimated else " when the arm was drawn"
    found: dict[Variable, list[Cell]] = {}
    for arm, label in enumerate(study.log.space.proposals, start=1):
        named = f"Randomization Probability of Arm {arm:02}"
        variable = Variable(probability_variable(arm), named, "float", f"that of {label}{how}")
        found[variable] = [float(p) for p in study.log.probability[:, arm - 1]]
    return found
