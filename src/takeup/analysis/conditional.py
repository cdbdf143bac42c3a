"""The conditional exact test of two proposals and two outcomes, after an adaptive trial: Baas, Jacko & Villar.

If both proposals have the same rate of success, the probability of a table (n_0, s_0, s_1) given the total of successes
does not depend on that rate: it is how often the policy would have come to this table. A forward recursion over all
tables gives it without simulation, and with it an exact p-value. The statistic is the difference of the two rates in
units of its error, half a success and half a failure added to each.
"""

import numpy as np

from takeup.analysis.prefix import pair_of, single
from takeup.analysis.replay import check_log
from takeup.analysis.replay_schedule import INSTEAD, check_own
from takeup.analysis.tested import Alternative, Tested, directed
from takeup.checks import FloatArray, IntArray
from takeup.errors import UnsuitableError
from takeup.log import SOURCES, Log
from takeup.policies import Uniform
from takeup.space import UNSEEN, Label
from takeup.trial import Design
from takeup.trial.looks import Looks
from takeup.trial.planned_analysis import not_exact
from takeup.trial.success_tables import Best, many_more, one_more, prior_of, share_of

MOST_TABLES = 16_000_000
"""How many tables are carried along at once: they take 1 GB."""
ALIKE = 1e-9
"""Statistics that are nearer than this are the same."""
EVEN = np.array([0.5, 0.5])
"""The rates at which tables are computed; given the total of successes any others do."""


def conditional_exact(
    log: Log, design: Design, one: Label, other: Label, *, alternative: Alternative = "two-sided"
) -> Tested:
    """Whether two proposals have the same rate of success, given how many successes there were.

    It applies to TS and Uniform with two proposals, two outcomes and one context, with burn-in, limits and softening,
    where every outcome is known before the next decision or the next look; it is refused elsewhere.

    Args:
        log: of one trial.
        design: the trial's own.
        one: the proposal that is compared,
        other: and with which.
        alternative: what speaks against it: either direction, or that `one` has the larger or the smaller rate.
    """
    single(log)
    first, second = pair_of(log.space, one, other)
    p, refused, names = float("nan"), "", log.space.proposals
    try:
        p = float(conditional_p(log, design, alternative=alternative if first else _turned(alternative)))
    except UnsuitableError as error:
        refused = str(error)
    return Tested(
        test="conditional exact",
        contrast=f"{names[first]} - {names[second]}",
        statistic="difference of the rates in units of its error, half a success and half a failure added to each",
        p=p,
        two_sided=alternative == "two-sided",
        null="both proposals have the same rate of success",
        assumes=(
            "the rate of success stays the same throughout the trial",
            "the trial ended when it was planned to, not by what was seen",
        ),
        survives_adaptation=True,
        survives_drift=False,
        refused=refused,
    )


def _turned(alternative: Alternative) -> Alternative:
    return {"larger": "smaller", "smaller": "larger"}.get(alternative, alternative)  # type: ignore[return-value]  # one of them


def conditional_p(
    log: Log, design: Design, *, check: bool = True, alternative: Alternative = "two-sided"
) -> FloatArray:
    """The p-values of trials side by side, of the shape of the leading axes; an UnsuitableError where it is refused.

    `check` says whether the logged probabilities are held against the design, `alternative` what is looked for in the
    rate of proposal 1.
    """
    _check(log, design)
    if check:
        check_log(log, design)
    good = log.outcome == int(np.argmax(log.space.utility))
    zero = log.proposal == 0
    n_0, s_0, s_1 = zero.sum(axis=-1), (good & zero).sum(axis=-1), (good & ~zero).sum(axis=-1)
    total, units = s_0 + s_1, len(log)
    most = int(total.max(initial=0))
    if (units + 1) * (most + 1) ** 2 > MOST_TABLES:
        raise UnsuitableError(
            f"{units} decisions with {most} successes can have come to more than {MOST_TABLES:,} tables, too many to"
            " carry along; re-randomisation has no such limit"
        )
    tables, found = tables_of(design, units, most), np.empty(log.batch)
    for successes in np.unique(total):
        here = total == successes
        found[here] = p_of(tables, int(successes), alternative)[n_0[here], s_0[here]]
    return found


def tables_of(design: Design, units: int, most: int | None = None) -> FloatArray:
    """The probability of every table (n_0, s_0, s_1) of so many outcomes where both rates are one half.

    `most` leaves out tables in which a proposal has more successes. The last look changes no probabilities: whoever
    comes after it is offered what was offered before.
    """
    best, here = Best.begin(prior_of(design), most), np.ones((1, 1, 1))
    looks = design.looks
    if looks is None or looks.update == "patient":
        last = units if looks is None else min(units, int(looks.at[-1]))
        for t in range(last):
            here = one_more(here, share_of(design, best.p, t, t), EVEN, most)
            best.step()
        if last == units:
            return here
        return many_more(here, share_of(design, best.p, last - 1, last), EVEN, units - last, most)
    before = 0
    for look, after in enumerate([*_updates(looks, units), units]):
        even = np.full(here.shape, design.even[0])
        share = share_of(design, best.p, look - 1, before) if look else even
        here = many_more(here, share, EVEN, after - before, most)
        for _ in range(after - before):
            best.step()
        before = after
    return here


def _updates(looks: Looks, units: int) -> list[int]:
    """After how many outcomes probabilities change, where they do so at looks."""
    found: list[int] = looks.at[:-1][looks.at[:-1] < units].tolist()
    return found


def p_of(tables: FloatArray, successes: int, alternative: Alternative = "two-sided") -> FloatArray:
    """The p-value of every table with this total of successes, by (n_0, s_0); 1 where it cannot be."""
    units, s = tables.shape[0] - 1, np.arange(successes + 1)
    mass = tables[:, s, successes - s]
    n_0, s_0 = np.nonzero(mass)
    apart = standard_difference(n_0, s_0, units - n_0, successes - s_0)
    size = np.round(directed(apart, alternative) / ALIKE)
    order = np.argsort(-size, kind="stable")
    tail = np.cumsum(mass[n_0, s_0][order]) / mass.sum()
    last = np.searchsorted(-size[order], -size, side="right") - 1  # ties count whole
    found = np.ones(mass.shape)
    found[n_0, s_0] = np.minimum(tail[last], 1.0)
    return found


def standard_difference(n_0: IntArray, s_0: IntArray, n_1: IntArray, s_1: IntArray) -> FloatArray:
    """r_1 - r_0 in units of its error, with half a success and half a failure more on each side."""
    r_0, r_1 = (s_0 + 0.5) / (n_0 + 1), (s_1 + 0.5) / (n_1 + 1)
    return np.asarray((r_1 - r_0) / np.sqrt(r_0 * (1 - r_0) / (n_0 + 1) + r_1 * (1 - r_1) / (n_1 + 1)))


def _check(log: Log, design: Design) -> None:
    """An UnsuitableError that says why the test does not apply."""
    looks, n = design.looks, len(log)
    if why := not_exact(design):
        raise UnsuitableError(f"{why}; {INSTEAD}")
    if (log.outcome == UNSEEN).any():
        raise UnsuitableError(f"{int((log.outcome == UNSEEN).sum())} outcomes are missing, and it needs all of them")
    if (log.source == SOURCES.index("fallback")).any():
        raise UnsuitableError("clients drew some proposals by themselves; re-randomisation takes them as they were")
    check_own(log)
    ends = np.arange(n) + 1
    if looks is not None and looks.update == "look":
        places = np.array([*_updates(looks, n), n])
        ends = places[np.searchsorted(places, ends)]
    if (log.outcome_by > ends).any() and not isinstance(design.policy, Uniform):
        raise UnsuitableError("some outcomes were known later than at once; re-randomisation takes them as they came")
