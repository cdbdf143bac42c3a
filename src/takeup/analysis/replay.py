"""Re-randomisation: what the trial's own policy would have drawn, had proposals made no difference to anybody.

Under the sharp null hypothesis that nobody's outcome depends on what was proposed, the recorded outcomes are those of
any other proposals too. The trial can then be replayed: the same people in the same order, each outcome known when it
was known, and proposals drawn anew with the probabilities that the policy would have had. How extreme the trial was
among its replays is a p-value that holds for any policy, any drift and any size (Simon & Simon; Nair & Janson).

Looks are held again, too, and a replay ends where they say. One that goes on where the trial itself had ended has no
outcomes to go on with, so that trials are ordered by their end first: with a claim the earlier the more extreme, then
those that went on, then those without a claim, the later the more extreme. For a trial that ended at a look it is then
enough to know which replays end there or before, and what they had (Tsiatis, Rosner & Mehta 1984).
"""

import numpy as np

from takeup import checks
from takeup.analysis.prefix import pair_of, single
from takeup.analysis.replay_reference import NONE, level_of
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


def re_randomise(
    log: Log,
    design: Design,
    one: Label,
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
        one: the proposal that is compared,
        other: and with which.
        statistic: what makes a trial extreme: the difference of the two means, or the martingale score.
        replays: how many; where left out as many as `usual` says, which depends on the trial alone.
        seed: of the replays; the same log and seed give the same p-value on any machine.
        stronger: whether to test instead that neither outcomes nor what is implemented depend on proposals.
        alternative: whether both directions count, or that outcomes of `one` are larger, or smaller.
    """
    single(log)
    pair, p, many, refused = pair_of(log.space, one, other), float("nan"), 0, ""
    try:
        p, many = _tested(log, design, pair, statistic, replays, seed, stronger, True, alternative)
    except UnsuitableError as error:
        refused = str(error)
    what = "neither the outcome nor what is implemented depends" if stronger else "the outcome does not depend"
    names = log.space.proposals
    return Tested(
        test="re-randomisation",
        contrast=f"{names[pair[0]]} - {names[pair[1]]}",
        statistic=STATISTICS[statistic],
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
    one: Label,
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
    pair, found = pair_of(log.space, one, other), np.empty(log.batch)
    for number, place in enumerate(np.ndindex(*log.batch)):
        found[place] = _tested(one_of(log, place), design, pair, statistic, replays, seed + number, stronger, check)[0]
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


def _tested(
    log: Log,
    design: Design,
    pair: tuple[int, int],
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
    trial = Replayable.of(log, design, pair, stronger)
    seen, form = trial.observed(check=check, score=statistic == "score"), trial.form(statistic)
    many = usual(trial, statistic, seen.draws) if replays is None else checks.whole("replays", replays, least=1)
    own = float(directed(seen.statistics[list(STATISTICS).index(statistic)], alternative))
    alike = NEARLY_ALIKE if form == "quadrature" and statistic == "score" else ALIKE
    least = own - alike * max(abs(own), 1.0)
    looks = trial.schedule.look_at.size
    if not looks:
        extreme = directed(trial.replays(statistic, many, seed), alternative) >= least
        return (1 + int(extreme.sum())) / (1 + many), many
    held = looks if seen.ended == NONE else seen.ended + 1
    value, found = trial.by_reference(statistic, many, seed, held)
    claims = _claims(log.space, pair, alternative)
    level, own_level = found.level(looks, claims), level_of(seen.ended, seen.chosen, looks, claims)
    extreme = (level > own_level) | ((level == own_level) & (directed(value, alternative) >= least))
    return (1 + int(extreme.sum())) / (1 + many), many


def _claims(space: Space, pair: tuple[int, int], alternative: Alternative) -> tuple[int, ...]:
    """Of which proposals it speaks against no effect that they are called superior."""
    if alternative == "two-sided":
        return pair
    return (pair[0] if (alternative == "larger") == larger_is_better(space, "difference") else pair[1],)
