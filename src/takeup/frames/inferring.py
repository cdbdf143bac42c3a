"""What a table of somebody else's trial holds: its columns, and which labels there are where nobody says."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from takeup.checks import shown
from takeup.errors import InputError
from takeup.frames import labels, measured
from takeup.frames.columns import Column, Frame, column, named, number_of, text_of
from takeup.frames.contexts import NOT_RECORDED, crossed, known_contexts
from takeup.frames.exposures import over
from takeup.frames.spelling import alike, near
from takeup.outcomes import Better

MOST_PROPOSALS = 20
"""So many things may be proposed, however few rows; and so many whose labels are numbers."""

CODES = "The proposals are numbers: they are taken for codes, names in the order of numbers, and not for amounts."


class TrialColumns(NamedTuple):
    """The columns of a trial, in which each label is spelled in one way.

    Attributes:
        proposed: what was proposed.
        did: what was implemented; None where no column says.
        came: what came of it, with its exposure where there is one.
        met: what people were told apart by; None where no column says.
        said: a sentence for each label that was spelled in several ways.
    """

    proposed: Column
    did: Column | None
    came: Column
    met: Column | None
    said: tuple[str, ...]


def columns_of(
    frame: Frame,
    *,
    assigned: str,
    outcome: str,
    taken: str | None = None,
    context: str | Sequence[str] | None = None,
    exposure: str | None = None,
    offers: Sequence[str] = (),
    levels: Sequence[str] = (),
    contexts: Sequence[str] = (),
) -> TrialColumns:
    """The columns by their names.

    Args:
        frame: the table.
        assigned: see `takeup.log.frames.log_of`, as for all up to `exposure`.
        outcome: likewise.
        taken: likewise.
        context: likewise.
        exposure: likewise.
        offers: what can be proposed and implemented, as far as somebody said.
        levels: what levels the outcome has, likewise.
        contexts: what contexts there are, likewise.
    """
    proposed = labels.required(column(frame, "assigned", assigned))
    if not proposed.codes.size:
        raise InputError("frame", "no rows", "a row for each decision")
    both = [proposed] if taken is None else [proposed, column(frame, "taken", taken)]
    both, said = alike(both, offers)
    happened = column(frame, "outcome", outcome)
    if exposure is not None:
        happened = over(happened, column(frame, "exposure", exposure))
    (came,), more = alike([happened], levels)
    met, others = crossed(frame, context, contexts)
    return TrialColumns(both[0], None if taken is None else both[1], came, met, (*said, *more, *others))


def inferred(
    found: TrialColumns,
    *,
    probability: object = None,
    levels: Sequence[str] | None = None,
    better: Better | None = None,
    exposure: str | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """What there is, as far as the columns tell: the arguments of a `takeup.Space`, and what was taken to be so.

    Args:
        found: the columns.
        probability: as `takeup.log.frames.log_of` takes it, which may say the order of the proposals.
        levels: the labels of the outcome from worst to best, where somebody says.
        better: which end of numbers is the good one.
        exposure: the name of the column of exposures.
    """
    proposals, said = _proposals(found.proposed, probability)
    implemented, intended = proposals, None
    if found.did is not None:
        implemented = labels.actions(found.did, proposals)
        codes = labels.indices(found.proposed, proposals), labels.indices(found.did, implemented)
        intended, how = labels.intended(proposals, implemented, *codes)
        if implemented != proposals:
            said.append(f"Actions: {', '.join(implemented)}.")
        said += [how] if how else []
    kind, sentence = measured.outcome_from(found.came, levels, better, exposure or "")
    contexts: list[str] | int = 1
    if found.met is not None:
        known, missing = known_contexts(found.met), found.met.missing
        contexts = [*known, *([NOT_RECORDED] if missing else [])]
        lost = f"; those of {missing} are not recorded, which is a context of its own" if missing else ""
        between = "; " if any(", " in each for each in known) else ", "
        said.append(f"Contexts: {named(known, between)}{lost}.")
    arguments = {"proposals": proposals, "implemented": implemented, "contexts": contexts, "outcomes": kind}
    told = [each for each in (found.proposed, found.did, found.met) if each is not None]
    return {**arguments, "intended": intended}, [*said, sentence, *found.said, *near(told)]


def once(**columns: object) -> None:
    """No column is named for two things."""
    roles: dict[str, str] = {}
    for role, given in columns.items():
        names = [given] if isinstance(given, str) else given if isinstance(given, list | tuple) else []
        for name in names:
            if (first := roles.setdefault(name, role)) != role or names.count(name) > 1:
                raise InputError(role, shown(name), "a column of its own", f"the same column is named for {first}=")


def _proposals(proposed: Column, probability: object) -> tuple[list[str], list[str]]:
    """What was proposed, the control first where one name says that it is, and what was taken to be so."""
    if isinstance(probability, Mapping):
        names, order = [text_of(label) for label in probability], "in the order of their probabilities"
    else:
        names, order = labels.several(labels.ordered(proposed.values), proposed), "in the order of their labels"
    numbers = all(number_of(name) is not None for name in names)
    _few_enough(names, proposed, numbers=numbers)
    control = labels.control_in(names)
    in_columns = probability is not None and not isinstance(probability, str | Mapping)
    if control is not None and not in_columns:  # columns are in the order of labels
        names.insert(0, names.pop(control))
        return names, [f"Proposals, {names[0]} first, which is the control by its name: {', '.join(names)}."]
    return names, [f"Proposals, {order}: {', '.join(names)}.", *([CODES] if numbers else [])]


def _few_enough(names: Sequence[str], proposed: Column, *, numbers: bool) -> None:
    """Refuse amounts and identifiers, which are no arms."""
    if len(names) > MOST_PROPOSALS and (numbers or 2 * len(names) > proposed.codes.size):
        value = f"{len(names):,} different values in {proposed.codes.size:,} rows of the column {proposed.name!r}"
        hint = "make a column of groups from amounts, such as doses; identifiers are named with unit="
        raise InputError("assigned", value, "a column of few labels, each of many people, such as the arm", hint)
