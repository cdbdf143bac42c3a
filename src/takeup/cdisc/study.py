"""What datasets are made from: a trial's log, one decision a subject, and when and where each was made."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from takeup.checks import shown
from takeup.errors import InputError
from takeup.log import Log


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A study, a decision a subject.

    Attributes:
        name: STUDYID.
        log: the decisions.
        subject: SUBJID of each.
        decided: when each was made, in the time zone of the study; None where nobody says.
        site: where, as far as is known.
        untreated: the action that means that nothing was taken.
        rehearsal: whether it is no real trial.
        modified: when the database was last written to.
    """

    name: str
    log: Log
    subject: tuple[str, ...]
    decided: tuple[datetime | None, ...]
    site: tuple[str | None, ...]
    untreated: int | None = None
    rehearsal: bool = False
    modified: datetime | None = None

    @classmethod
    def of(
        cls,
        log: Log,
        name: str,
        *,
        decided: Sequence[datetime | None] | None = None,
        site: Sequence[str | None] | None = None,
        untreated: str | None = None,
    ) -> "Study":
        """The study of a log of anybody's.

        Args:
            log: a decision a subject; those without names are called by their number.
            name: STUDYID.
            decided: when each decision was made.
            site: where.
            untreated: the action that means that nothing was taken, as opposed to another treatment.

        Raises:
            InputError: subjects with several decisions, or an action that is the treatment of an arm.
        """
        n = len(log)
        width = len(str(n))
        subject = [f"{i:0{width}}" for i in range(1, n + 1)] if log.unit is None else [str(unit) for unit in log.unit]
        check_one_each(subject)
        for argument, given in (("decided", decided), ("site", site)):
            if given is not None and len(given) != n:
                raise InputError(argument, f"{len(given)} values", f"one for each of {n} decisions")
        nothing: tuple[None, ...] = (None,) * n
        return cls(
            name,
            log,
            tuple(subject),
            nothing if decided is None else tuple(decided),
            nothing if site is None else tuple(site),
            untreated_of(log, untreated),
        )


def check_one_each(subjects: Sequence[str], occasions: Sequence[str] = ()) -> None:
    """Several decisions of a subject are several treatments, and which one is the arm nobody but the study can say."""
    most, many = Counter(subjects).most_common(1)[0]
    if many > 1:
        its = [each for subject, each in zip(subjects, occasions, strict=False) if subject == most]
        named = f" ({', '.join(its[:5])}{', ..' if many > 5 else ''})" if its else ""
        hint = "choose one occasion, or make a study of each" if its else "choose one row a subject"
        raise InputError(
            "subject", f"{many} decisions of {shown(most)}{named}", "one a subject: DM and ADSL have a row each", hint
        )


def untreated_of(log: Log, label: str | None) -> int | None:
    """The action that means that nothing was taken, if it is the treatment of no arm."""
    if label is None:
        return None
    action = log.space.index("implemented", label)
    if action in (log.space.intended or ()):
        arm = log.space.proposals[(log.space.intended or ()).index(action)]
        allowed = "an action that is the treatment of no arm"
        raise InputError("untreated", repr(label), allowed, f"the arm {arm} is treated as planned by it")
    return action
