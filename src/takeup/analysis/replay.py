"""Re-randomisation: what the trial's own policy would have drawn, had proposals made no difference to anybody.

Under the sharp null hypothesis that nobody's outcome depends on what was proposed, the recorded outcomes are those of
any other proposals too. The trial can then be replayed: the same people in the same order, each outcome known when it
was known, and proposals drawn anew with the probabilities that the policy would have had. How extreme the trial was
among its replays is a p-value that holds for any policy, any drift and any size (Simon & Simon; Nair & Janson).
"""

import numpy as np

from takeup import checks
from takeup.analysis.prefix import pair_of, single
from takeup.analysis.replayable import STATISTICS, Replayable, Statistic
from takeup.analysis.tested import Tested
from takeup.checks import FloatArray
from takeup.errors import InputError, UnsuitableError
from takeup.log import Log
from takeup.space import Label
from takeup.trial import Design

MANY, FEW = 10_000, 1_000
"""How many replays there are by default: where they are fast, and elsewhere; see `takeup.analysis.replayable.Form`."""
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
) -> Tested:
    """Whether proposals make any difference, by replaying the trial.

    The p-value is (1 + the replays that are as extreme as the trial) / (1 + all of them), both directions counted. It
    is refused, with the reason, where the log is not of this design, where looks may end the trial, and for policies
    that read compliance: what others would have implemented is not known.

    Args:
        log: of one trial.
        design: the trial's own.
        one: the proposal that is compared,
        other: and with which.
        statistic: what makes a trial extreme: the difference of the two means, or the martingale score.
        replays: how many; 10,000 for two proposals and for policies with a kernel, 1,000 within limits or without one.
        seed: of the replays; the same log and seed give the same p-value on any machine.
        stronger: whether to test instead that neither outcomes nor what is implemented depend on proposals.
    """
    single(log)
    pair, p, many, refused = pair_of(log.space, one, other), float("nan"), 0, ""
    try:
        p, many = _tested(log, design, pair, statistic, replays, seed, stronger, check=True)
    except UnsuitableError as error:
        refused = str(error)
    what = "neither the outcome nor what is implemented depends" if stronger else "the outcome does not depend"
    names = log.space.proposals
    return Tested(
        test="re-randomisation",
        contrast=f"{names[pair[0]]} - {names[pair[1]]}",
        statistic=STATISTICS[statistic],
        p=p,
        two_sided=True,
        null=f"{what} on the proposal, for anybody",
        assumes=(
            "the trial ended when it was planned to, not by what was seen",
            "when an outcome became known does not depend on the proposal",
        ),
        survives_adaptation=True,
        survives_drift=True,
        replays=many,
        refused=refused,
    )


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
        Replayable.of(one_of(log, place), design, (0, 1), stronger).statistics(check=True)


def _tested(
    log: Log,
    design: Design,
    pair: tuple[int, int],
    statistic: Statistic,
    replays: int | None,
    seed: int,
    stronger: bool,
    check: bool,
) -> tuple[float, int]:
    """The p-value of one trial, and how many replays it rests on."""
    if statistic not in STATISTICS:
        raise InputError("statistic", repr(statistic), f"one of {', '.join(STATISTICS)}")
    trial = Replayable.of(log, design, pair, stronger)
    observed = trial.statistics(check=check, score=statistic == "score")
    form = trial.form(statistic)
    alike = NEARLY_ALIKE if form == "quadrature" and statistic == "score" else ALIKE
    usual = MANY if form in ("recurrence", "draws") else FEW
    many = usual if replays is None else checks.whole("replays", replays, least=1)
    column = list(STATISTICS).index(statistic)
    found, own = np.abs(trial.replays(statistic, many, seed)), abs(observed[column])
    extreme = int((found >= own - alike * max(own, 1.0)).sum())
    return (1 + extreme) / (1 + many), many
