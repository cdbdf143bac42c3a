"""Re-randomisation: what the trial's own policy would have drawn, had proposals made no difference to anybody.

Under the sharp null hypothesis that nobody's outcome depends on what was proposed, the recorded outcomes are those of
any other proposals too. The trial can then be replayed: the same people in the same order, each outcome known when it
was known, and proposals drawn anew with the probabilities that the policy would have had. How extreme the trial was
among its replays is a p-value that holds for any policy, any drift and any size (Simon & Simon; Nair & Janson).

All proposals are drawn anew, so that it speaks of all of them together. With three or more nothing is said of two:
where one does better than the others, replays give its outcomes to them, too, and two that are alike seem to differ.

Looks are held again, too, and a replay ends where they say. One that goes on where the trial itself had ended has no
outcomes to go on with, so that trials are ordered by their end first: with a claim the earlier the more extreme, then
those that went on, then those without a claim, the later the more extreme. For a trial that ended at a look it is then
enough to know which replays end there or before, and what they had (Tsiatis, Rosner & Mehta 1984).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.analysis.prefix import pair_of, single
from takeup.analysis.replay_reference import NONE, Replays, level_of
from takeup.analysis.replay_schedule import INSTEAD
from takeup.analysis.replayable import STATISTICS, Replayable, Statistic
from takeup.analysis.tested import Alternative, Tested, directed
from takeup.checks import FloatArray
from takeup.errors import InputError, UnsuitableError
from takeup.log import Log
from takeup.space import Label, Space
from takeup.trial import Design
from takeup.trial.planned_analysis import larger_is_better

MANY, FEW, LEAST = 10_000, 1_000, 39
"""How many replays there are by default: where they are fast, at most and at least elsewhere; see `usual`."""
WORK = 120_000
"""How many probabilities replays without a kernel work out, of each proposal and state: half a minute at most."""
PROPOSED = 50
"""How many are drawn from what a policy believes in the time in which one is worked out."""
DRAWS = 1_000
"""How many draws such a probability rests on, where it is counted; more count as several."""
ALIKE, NEARLY_ALIKE = 1e-9, 1e-4
"""Statistics that differ by less than this part are the same: sums in another order, and scores by quadrature."""
ANY = "any difference between proposals"
LARGEST = "{}: the largest against {}, each in units of its size over replays"
ALL_TOGETHER = "replays draw all proposals anew, and say nothing of two of more; one=None tests all of them together"


def re_randomise(
    log: Log,
    design: Design,
    one: Label | None,
    other: Label,
    *,
    statistic: Statistic = "difference",
    replays: int | None = None,
    seed: int = 0,
    stronger: bool = False,
    alternative: Alternative = "two-sided",
) -> Tested:
    """Whether proposals make any difference, by replaying the trial.

    The p-value is (1 + the replays that are as extreme as the trial) / (1 + all of them). It is refused, with the
    reason, where the log is not of this design, and for policies and rules that read compliance: what others would
    have implemented is not known.

    Args:
        log: of one trial.
        design: the trial's own.
        one: the proposal that is compared; None for all others together, by the largest of their differences. It has
            to be None where there are more than two.
        other: with which.
        statistic: what makes a trial extreme: the difference of the two means, or the martingale score.
        replays: how many; where left out as many as `usual` says, which depends on the trial alone.
        seed: of the replays; the same log and seed give the same p-value on any machine.
        stronger: whether to test instead that neither outcomes nor what is implemented depend on proposals.
        alternative: whether both directions count, or that outcomes of `one` are larger, or smaller.
    """
    single(log)
    pairs, p, many, refused = _pairs(log.space, one, other), float("nan"), 0, ""
    try:
        p, many = _tested(log, design, pairs, statistic, replays, seed, stronger, True, alternative)
    except UnsuitableError as error:
        refused = str(error)
    what = "neither the outcome nor what is implemented depends" if stronger else "the outcome does not depend"
    names, several = log.space.proposals, len(pairs) > 1
    return Tested(
        test="re-randomisation",
        contrast=ANY if several else " - ".join(names[k] for k in pairs[0]),
        statistic=LARGEST.format(STATISTICS[statistic], names[pairs[0][1]]) if several else STATISTICS[statistic],
        p=p,
        two_sided=alternative == "two-sided",
        null=f"{what} on the proposal, for anybody",
        assumes=(
            "the trial ended when it was planned to, or at a look by its rules, and by nothing else that was seen",
            "when an outcome became known does not depend on the proposal",
        ),
        survives_adaptation=True,
        survives_drift=True,
        replays=many,
        error=(p * (1 - p) / many) ** 0.5 if many else 0.0,
        refused=refused,
    )


def usual(trial: Replayable, statistic: Statistic, draws: int) -> int:
    """How many replays there are where nobody says.

    10,000 where P(best) is kept up to date or a policy's kernel draws, 1,000 where it is computed anew. Without a
    kernel as many as take `WORK` probabilities, of all proposals in all states that the policy is asked about, at most
    1,000. An UnsuitableError where those are fewer than 39.
    """
    form = trial.form(statistic)
    if form != "reference":
        return MANY if form in ("recurrence", "draws") else FEW
    each = max(1, trial.schedule.asks * len(trial.log.space.proposals) * max(1, draws // DRAWS))
    work = WORK * PROPOSED if trial.free and statistic == "difference" else WORK
    if work // each < LEAST:
        raise UnsuitableError(
            f"{trial.design.policy.name} has no kernel for this trial, and {LEAST} replays would work out"
            f" {LEAST * each:,} probabilities, more than {work:,}; replays={LEAST} asks for them nevertheless"
        )
    return min(work // each, FEW)


def replayed(
    log: Log,
    design: Design,
    one: Label | None,
    other: Label,
    *,
    statistic: Statistic = "difference",
    replays: int | None = None,
    seed: int = 0,
    stronger: bool = False,
    check: bool = True,
) -> FloatArray:
    """The p-values of trials side by side, of the shape of the leading axes; an UnsuitableError where one is refused.

    `check` says whether the logged probabilities are held against the design, as those of one's own simulations need
    not be.
    """
    pairs, found = _pairs(log.space, one, other), np.empty(log.batch)
    for number, place in enumerate(np.ndindex(*log.batch)):
        found[place] = _tested(one_of(log, place), design, pairs, statistic, replays, seed + number, stronger, check)[0]
    return found


def one_of(log: Log, place: tuple[int, ...]) -> Log:
    """One of several trials side by side."""
    names = ("context", "implemented", "outcome", "implemented_by", "outcome_by", "source")
    return Log.of(
        log.space, log.proposal[place], log.probability[place], **{name: getattr(log, name)[place] for name in names}
    )


def check_log(log: Log, design: Design, *, stronger: bool = False) -> None:
    """An UnsuitableError where the log is not of a trial of this design, or where it cannot be derived again."""
    for place in np.ndindex(*log.batch):
        Replayable.of(one_of(log, place), design, (0, 1), stronger).observed(check=True)


def _pairs(space: Space, one: Label | None, other: Label) -> tuple[tuple[int, int], ...]:
    """What is compared: two proposals, or each with the other one."""
    if one is not None:
        return (pair_of(space, one, other),)
    control = space.index("proposal", other)
    return tuple((k, control) for k in range(len(space.proposals)) if k != control)


def _tested(
    log: Log,
    design: Design,
    pairs: tuple[tuple[int, int], ...],
    statistic: Statistic,
    replays: int | None,
    seed: int,
    stronger: bool,
    check: bool,
    alternative: Alternative = "two-sided",
) -> tuple[float, int]:
    """The p-value of one trial, and how many replays it rests on."""
    if statistic not in STATISTICS:
        raise InputError("statistic", repr(statistic), f"one of {', '.join(STATISTICS)}")
    if len(pairs) < len(log.space.proposals) - 1:
        raise UnsuitableError(f"{ALL_TOGETHER}; {INSTEAD}")
    trial = Replayable.of(log, design, pairs[0], stronger)
    each = [replace(trial, pair=pair) for pair in pairs]
    seen, form = trial.observed(check=check, score=statistic == "score"), trial.form(statistic)
    many = usual(trial, statistic, seen.draws) if replays is None else checks.whole("replays", replays, least=1)
    more = [one.observed(check=False, score=statistic == "score") for one in each[1:]]
    column, looks = list(STATISTICS).index(statistic), trial.schedule.look_at.size
    own = directed([one.statistics[column] for one in (seen, *more)], alternative)
    alike = NEARLY_ALIKE if form == "quadrature" and statistic == "score" else ALIKE
    held = looks if seen.ended == NONE else seen.ended + 1
    value, found = _replayed(each, statistic, many, seed, held if looks else None)
    extreme = _as_extreme(own, directed(value, alternative), alike)
    if looks and found is not None:
        claims = _claims(log.space, pairs, alternative)
        level, own_level = found.level(looks, claims), level_of(seen.ended, seen.chosen, looks, claims)
        extreme = (level > own_level) | ((level == own_level) & extreme)
    return (1 + int(extreme.sum())) / (1 + many), many


def _replayed(
    each: list[Replayable], statistic: Statistic, many: int, seed: int, looks: int | None
) -> tuple[FloatArray, Replays | None]:
    """The statistic of each replay in each comparison, (R, P), with so many looks; and the replays, where it has them.

    One seed gives the same replays whatever is compared.
    """
    first = each[0]
    if looks is None and first.form(statistic) != "reference":
        return np.stack([one.replays(statistic, many, seed) for one in each], axis=-1), None
    value, found = first.by_reference(statistic, many, seed, looks)
    more = [
        one.difference(found.proposal)
        if statistic == "difference"
        else one.by_reference(statistic, many, seed, looks)[0]
        for one in each[1:]
    ]
    return np.stack([value, *more], axis=-1), found


def _as_extreme(own: FloatArray, value: FloatArray, alike: float) -> NDArray[np.bool_]:
    """Which replays are as extreme as the trial, of what is compared, (P,) and (R, P) -> (R,).

    Several statistics are in units of their root mean square, over the replays and the trial: the trial is then one
    like the others.
    """
    if own.size > 1:
        size = np.sqrt(np.mean(np.vstack([own, value]) ** 2, axis=0))
        own, value = own / np.where(size > 0, size, 1.0), value / np.where(size > 0, size, 1.0)
    most = float(own.max())
    return np.asarray(value.max(axis=-1) >= most - alike * max(abs(most), 1.0))


def _claims(space: Space, pairs: tuple[tuple[int, int], ...], alternative: Alternative) -> tuple[int, ...]:
    """Of which proposals it speaks against no effect that they are called superior."""
    ours, theirs = tuple(one for one, _ in pairs), (pairs[0][1],)
    if alternative == "two-sided":
        return ours + theirs
    return ours if (alternative == "larger") == larger_is_better(space, "difference") else theirs
