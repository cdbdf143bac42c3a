"""Every reading of a log: each estimate, test and bound that can be had, and why the others cannot."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from takeup.analysis import targets
from takeup.analysis.betting import betting
from takeup.analysis.bounded import bounded_effect
from takeup.analysis.bounds import Bounds, action_bounds
from takeup.analysis.compliers import complier_effect
from takeup.analysis.conditional import conditional_exact
from takeup.analysis.cuts import Cuts
from takeup.analysis.effects import ADJUSTED, compliance, effect, value
from takeup.analysis.estimate import Estimate, Measure
from takeup.analysis.missing import WorstCase, worst_case
from takeup.analysis.naive import as_treated, naive_difference, per_protocol
from takeup.analysis.planned import Planned
from takeup.analysis.rates import rate_effect
from takeup.analysis.replay import re_randomise
from takeup.analysis.results import LEADING, Entry, Kind, LeftOut, TestEntry
from takeup.analysis.score_test import martingale_score
from takeup.analysis.sequences import any_time_effect
from takeup.analysis.subgroups import Subgroups, subgroups
from takeup.analysis.tested import Alternative, Tested
from takeup.analysis.times import time_effect
from takeup.analysis.tipping import Tipping, tipping
from takeup.errors import InputError, UnsuitableError
from takeup.log import Log
from takeup.outcomes import Count, Outcome, Time
from takeup.space import UNSEEN
from takeup.trial.design import Design
from takeup.trial.planned_analysis import larger_is_better, measures

Found = TypeVar("Found")
Made: TypeAlias = tuple[str, Kind, Callable[[], Estimate]]
"""What an estimate is called, what kind of answer it is, and what makes it."""

BOUNDED: Final = "bounded reading"
ITT: Final = "intention to treat"
AT_ANY_TIME: Final = f"{ITT}, at any time"
RE_RANDOMISED: Final = "re-randomisation"
STILL_RUNS = (
    "The trial still runs, and this is for one look at its end: looked at again and again it errs more often, and what"
    " is pending is left out as if it were missing."
)
TAKING: Final = {"compliers": "complier effect", "bounded": BOUNDED, "per protocol": "per protocol"}
"""What readings by what people took are called in a list."""
NO_DESIGN = "it needs the trial's own design: give the plan"


def leading_label(planned: Planned) -> str:
    """What the estimate that leads is called in a list; empty where there is none, as of a policy's own model."""
    if planned.reading != ITT:
        return TAKING.get(planned.reading, "")
    names = [ITT] if planned.measure == "difference" else [ITT, planned.measure]
    names += [] if planned.weights == "uniform" else [f"{planned.weights} weights"]
    names += [] if planned.missing == "complete" else ["weights for what is missing"]
    if planned.any_time:
        return AT_ANY_TIME if names == [ITT] else ""
    return ", ".join(names)


@dataclass(slots=True)
class Readings:
    """What is computed of one log, and what cannot be.

    Attributes:
        log: a single trial.
        planned: the primary analysis.
        finished: whether nothing is pending any more.
        known: the same log with covariates, where there are some.
        left_out: what could not be computed so far.
    """

    log: Log
    planned: Planned
    finished: bool = True
    known: Log | None = None
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def others(self) -> list[int]:
        """The proposals that are compared with the control."""
        return [k for k in range(len(self.log.space.proposals)) if k != self.planned.control]

    @property
    def compliance_seen(self) -> bool:
        """Whether it is known of anybody what was taken."""
        return bool((self.log.implemented != UNSEEN).any())

    def estimates(self, one: int) -> list[Entry]:
        """Every comparison of a proposal with the control."""
        return self._entries(one, self._comparisons(one))

    def primary(self, one: int) -> Entry | None:
        """The comparison that leads, by itself; None where it cannot be had."""
        leading = [made for made in self._comparisons(one) if made[1] in LEADING]
        return next(iter(self._entries(one, leading)), None)

    def _comparisons(self, one: int) -> list[Made]:
        made: list[Made] = [
            self._made(ITT if measure == "difference" else f"{ITT}, {measure}", make)
            for measure, make in self._by_proposal(one).items()
        ]
        made += self._otherwise_weighted(one)
        if self.known is not None and not self.known.estimated and self.log.space.outcome.valued:
            make = partial(effect, self.known, one, self.planned.control, level=self._level, adjusted=True)
            made.append(self._made(ADJUSTED, make))
        if self.log.space.outcome.valued:
            made.append(self._made(AT_ANY_TIME, self._at_any_time(one)))
            made += self._by_taking(one)
            made.append(("naive difference", "naive", self._pair(naive_difference, one)))
        self.left_out += [LeftOut("what was planned", why) for why in self.planned.refused]
        return made

    def by_context(self, one: int) -> list[Entry]:
        """Intention to treat in each context, where there are several."""
        contexts = self.log.space.contexts
        if len(contexts) == 1 or not self.log.space.outcome.valued:
            return []
        return [
            entry
            for x, label in enumerate(contexts)
            for entry in self._entries(one, [(ITT, "explored", self._pair(effect, one, context=x))], label)
        ]

    def by_group(self, cuts: Cuts | None = None) -> tuple[Subgroups, ...]:
        """Intention to treat in the groups of each covariate, where there are covariates."""
        if self.known is None:
            return ()
        make = partial(subgroups, self.known, self.planned.control, level=self._level, cuts=cuts)
        found = self._tried("effects by covariates", make) or ()
        return tuple(each.changed(self._at_one_look) for each in found)

    def alone(self, proposal: int) -> list[Entry]:
        """What comes of a proposal by itself, and who takes what it means."""
        made: list[Made] = []
        if self.log.space.outcome.valued:
            made.append(("value", "explored", partial(value, self.log, proposal, level=self._level)))
        if self.compliance_seen and self.log.space.intended is not None:
            made.append(("compliance", "explored", partial(compliance, self.log, proposal, level=self._level)))
        return self._entries(proposal, made)

    def tests(
        self, one: int, design: Design | None, replays: int | None, seed: int, leave_out: Collection[str] = ()
    ) -> list[TestEntry]:
        """Every test of a proposal against the control, but those that are to be left out."""
        made = self._tests(one, design, replays, seed)
        if design is None and self.planned.test not in ("", *made, *leave_out):
            self.left_out.append(LeftOut(self.planned.test, NO_DESIGN))
        found = []
        for name, make in made.items():
            if name in leave_out:
                continue
            planned = self.planned.named and name == self.planned.test and not self._of_all(name)
            if (tested := self._tried(name, make)) is not None:
                if not (self.finished or tested.any_time):
                    tested = replace(tested, assumes=(STILL_RUNS, *tested.assumes))
                found.append(TestEntry(one, "planned" if planned else "explored", tested))
        return found

    def planned_test(self, one: int, design: Design | None, replays: int | None, seed: int) -> Tested | None:
        """The planned test of a proposal against the control, by itself; None where there is none."""
        make = self._tests(one, design, replays, seed).get(self.planned.test)
        return None if make is None or self._of_all(self.planned.test) else self._tried(self.planned.test, make)

    def _of_all(self, test: str) -> bool:
        """Whether a test is of all proposals together: it is made once, and is no conclusion about two."""
        return test == RE_RANDOMISED and len(self.others) > 1

    def _tests(
        self, one: int, design: Design | None, replays: int | None, seed: int
    ) -> dict[str, Callable[[], Tested]]:
        """What makes each test."""
        pair = (one, self.planned.control)
        made: dict[str, Callable[..., Tested]] = {
            "betting": partial(betting, self.log, *pair, finished=self.finished),
            "martingale score": partial(martingale_score, self.log, *pair),
        }
        if design is not None:
            if one == self.others[0]:
                what = (None, pair[1]) if self._of_all(RE_RANDOMISED) else pair
                made[RE_RANDOMISED] = partial(re_randomise, self.log, design, *what, replays=replays, seed=seed)
            made["conditional exact"] = partial(conditional_exact, self.log, design, *pair)
        if self.planned.sided == 1 and self.planned.test in made and self.planned.test != "betting":
            better: Alternative = "larger" if larger_is_better(self.log.space, "difference") else "smaller"
            made[self.planned.test] = partial(made[self.planned.test], alternative=better)
        return made

    def bounds(self, one: int) -> list[Bounds]:
        """What everybody's taking it would do, within bounds."""
        actions = self._actions(one)
        if actions is None or not self.compliance_seen:
            return []
        found = self._tried("bounds", partial(action_bounds, self.log, *actions, level=self._level))
        return [] if found is None else [found]

    def tipping(self, one: int) -> Tipping | None:
        """What is left of the effect over what may be promised of takers and refusers."""
        if not self.compliance_seen or not self.log.space.outcome.valued:
            return None
        return self._tried("tipping point", self._pair(tipping, one))

    def worst_case(self, one: int) -> WorstCase | None:
        """What the effect may be whatever the missing outcomes were; None where none are missing."""
        if not self.log.space.outcome.valued or (self.log.outcome != UNSEEN).all():
            return None
        outcome = targets.outcome(self.log.space)
        make = partial(worst_case, self.log, outcome, one, self.planned.control, self._level)
        return self._tried("worst case of what is missing", make)

    def _at_any_time(self, one: int) -> Callable[[], Estimate]:
        other, planned = self.planned.control, {} if self.planned.size is None else {"planned": self.planned.size}
        return partial(any_time_effect, self.log, one, other, self._level, finished=self.finished, **planned)

    def _by_proposal(self, one: int) -> dict[Measure, Callable[[], Estimate]]:
        """Intention to treat, by each measure that the outcome has."""
        outcome = self.log.space.outcome
        by_kind: dict[type[Outcome], Callable[..., Estimate]] = {Time: time_effect, Count: rate_effect}
        own = by_kind.get(type(outcome), effect)
        if own is time_effect:
            own = partial(time_effect, until=self.planned.until)
        return {
            measure: self._pair(effect if outcome.valued and measure == "difference" else own, one, measure=measure)
            for measure in measures(outcome)
        }

    def _otherwise_weighted(self, one: int) -> list[Made]:
        """Intention to treat as a plan wants it, where not every decision is to count the same."""
        planned = self.planned
        given: dict[str, Any] = {} if planned.weights == "uniform" else {"weights": planned.weights}
        given |= {} if planned.missing == "complete" else {"missing": planned.missing}
        if not given or planned.refused:
            return []
        return [self._made(leading_label(planned), self._pair(effect, one, measure=planned.measure, **given))]

    def _by_taking(self, one: int) -> list[Made]:
        """What needs to know who took what."""
        if not self.compliance_seen:
            self.left_out.append(LeftOut("readings by what people took", "it was never reported"))
            return []
        made: list[Made] = [self._made(TAKING["compliers"], self._pair(complier_effect, one))]
        if (promise := self.planned.moved or self.planned.promise) is not None:
            made.append(self._made(BOUNDED, self._pair(bounded_effect, one, promise)))
        made.append(self._made(TAKING["per protocol"], self._pair(per_protocol, one), "naive"))
        if (actions := self._actions(one)) is not None:
            made.append(("as treated", "naive", partial(as_treated, self.log, *actions, level=self._level)))
        return made

    @property
    def _level(self) -> float:
        return self.planned.two_sided_level

    def _actions(self, one: int) -> tuple[int, int] | None:
        """What a proposal and the control mean, where that differs."""
        intended = self.log.space.intended
        if intended is None or intended[one] == intended[self.planned.control]:
            return None
        return intended[one], intended[self.planned.control]

    def _pair(self, make: Callable[..., Found], one: int, *more: Any, **options: Any) -> Callable[[], Found]:
        """A comparison with the control."""
        return partial(make, self.log, one, self.planned.control, *more, level=self._level, **options)

    def _made(self, label: str, make: Callable[[], Estimate], otherwise: Kind = "explored") -> Made:
        """An estimate in its place: it leads where it is called what leads."""
        leads = self.planned.leads if label == leading_label(self.planned) else "explored"
        return label, leads if leads in LEADING else otherwise, make

    def _entries(self, one: int, made: list[Made], context: str = "") -> list[Entry]:
        found = []
        for label, kind, make in made:
            estimate = self._tried(f"{label}, {self.log.space.proposals[one]}", make)
            if estimate is not None:
                estimate = replace(self._at_one_look(estimate), sided=self.planned.sided)
                found.append(Entry(label, one, kind, estimate, context))
        return found

    def _at_one_look(self, estimate: Estimate) -> Estimate:
        """What is for one look says so while a trial runs."""
        if self.finished or estimate.any_time:
            return estimate
        return replace(estimate, assumes=(STILL_RUNS, *estimate.assumes))

    def _tried(self, what: str, make: Callable[[], Found]) -> Found | None:
        """What is found, or nothing and a line why not."""
        try:
            return make()
        except (UnsuitableError, InputError) as error:
            self.left_out.append(LeftOut(what, str(error)))
            return None
