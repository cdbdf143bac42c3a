"""Who was planned and who got which treatment: the variables that DM, ADSL and analysis datasets share."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from takeup.cdisc.arms import Actual, actual_arms, arm_codes
from takeup.cdisc.study import Study
from takeup.cdisc.variables import Cell, Columns, Variable

STUDY = Variable("STUDYID", "Study Identifier", "string", "the study", 1)
DOMAIN = Variable("DOMAIN", "Domain Abbreviation", "string", "the dataset")
SUBJECT = Variable("USUBJID", "Unique Subject Identifier", "string", "STUDYID, a hyphen and SUBJID", 2)
SUBJECT_OF_STUDY = Variable("SUBJID", "Subject Identifier for the Study", "string", "the unit")
SITE = Variable("SITEID", "Study Site Identifier", "string", "the site of whoever asked, as far as is known")

PLANNED_CODE = Variable("ARMCD", "Planned Arm Code", "string", "ARM, as a code")
PLANNED = Variable("ARM", "Description of Planned Arm", "string", "what was proposed")
ACTUAL_CODE = Variable("ACTARMCD", "Actual Arm Code", "string", "ACTARM, as a code")
ACTUAL = Variable("ACTARM", "Description of Actual Arm", "string", "the arm whose treatment was implemented")
REASON = Variable("ARMNRS", "Reason Arm and/or Actual Arm is Null", "string", "why ACTARM is null")
UNPLANNED = Variable(
    "ACTARMUD",
    "Description of Unplanned Actual Arm",
    "string",
    "what was implemented where that is the treatment of no arm",
)


class Treated(NamedTuple):
    """A study with what became of its subjects.

    Attributes:
        study: the study.
        actual: the actual arm of each subject.
    """

    study: Study
    actual: Sequence[Actual]

    @classmethod
    def of(cls, study: Study) -> "Treated":
        """With the actual arms that follow from the log."""
        return cls(study, actual_arms(study.log, study.untreated))

    @property
    def planned(self) -> list[str]:
        """The treatment that each was to have."""
        return [self.study.log.space.proposals[z] for z in self.study.log.proposal]

    @property
    def taken(self) -> list[str | None]:
        """What each had: the label of its arm, or else of the action."""
        labels = self.study.log.space.proposals
        return [labels[each.arm] if each.arm is not None else each.unplanned for each in self.actual]

    def identifiers(self, domain: str | None = None, who: Iterable[int] | None = None) -> Columns:
        """Study and subject, of all or of some; with the domain where it is one of SDTM."""
        subjects = self.study.subject if who is None else [self.study.subject[i] for i in who]
        many = len(subjects)
        of_domain: dict[Variable, Sequence[Cell]] = {} if domain is None else {DOMAIN: [domain] * many}
        named = [f"{self.study.name}-{subject}" for subject in subjects]
        return {STUDY: [self.study.name] * many, **of_domain, SUBJECT: named}

    def arms(self) -> Columns:
        """Planned and actual arms."""
        labels, z = self.study.log.space.proposals, self.study.log.proposal
        codes = arm_codes(labels)
        return {
            PLANNED_CODE: [codes[each] for each in z],
            PLANNED: [labels[each] for each in z],
            ACTUAL_CODE: [None if each.arm is None else codes[each.arm] for each in self.actual],
            ACTUAL: [None if each.arm is None else labels[each.arm] for each in self.actual],
            REASON: [each.reason for each in self.actual],
            UNPLANNED: [each.unplanned for each in self.actual],
        }
