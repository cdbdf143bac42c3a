"""Everything that may be concluded from a log, in one call."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from takeup import checks
from takeup.analysis.cuts import Cuts, check_cuts
from takeup.analysis.estimate import Estimate
from takeup.analysis.flow import flow
from takeup.analysis.planned import HowMissing, planned_of
from takeup.analysis.readings import BOUNDED, ITT, Readings
from takeup.analysis.results import LEADING, Analysis, Entry, log_digest
from takeup.analysis.scores import keeping_scores
from takeup.analysis.times import longest, shortened, watched_by_all
from takeup.analysis.tipping import Tipping
from takeup.analysis.trial_checks import check_all, looks_check
from takeup.analysis.units_check import one_each
from takeup.analysis.weights import Weights
from takeup.errors import InputError
from takeup.log import Log
from takeup.outcomes import Time
from takeup.space import Label
from takeup.trial.design import Design
from takeup.trial.spec import WordsTable


@keeping_scores()
def analyse(
    log: Log,
    *,
    plan: Design | None = None,
    own: Design | None = None,
    control: Label | None = None,
    promise: float | None = None,
    level: float | None = None,
    weights: Weights | None = None,
    missing: HowMissing | None = None,
    until: float | None = None,
    replays: int | None = None,
    seed: int = 0,
    leave_out: Collection[str] = (),
    finished: bool | None = None,
    cuts: Cuts | None = None,
    name: str = "",
    command: str = "",
    stage: Callable[[str], None] | None = None,
) -> Analysis:
    """Every reading of a single trial, what was planned first.

    Args:
        log: the trial.
        plan: a design whose `[analysis]` names what leads; intention to treat does where there is none. With it the
            trial can be replayed, too.
        own: the trial's own design, which was written down before it, where it is known. It is what is replayed, and
            what another plan is held against: an analysis that it does not name is explored, and says why.
        control: the proposal that all others are compared with; that of the plan, or else the first.
        promise: by how much takers and refusers may differ, for a bounded reading beside the primary one.
        level: of intervals; that of the plan, or else 95 %.
        weights: how decisions count in intention to treat; as planned, or else "uniform".
        missing: whether those whose outcome is missing are left out ("complete"), or others like them count for them,
            too ("weighted"); as planned, or else the former.
        until: up to when times are compared; as planned, or else as long as people of every proposal were watched, and
            of hazards the longest watch.
        replays: how many trials re-randomisation replays; see there.
        seed: of all that is random.
        leave_out: tests that are not made, as they take long.
        finished: whether nothing is pending any more; as the log says where left out. Of a trial that still runs the
            interval that holds at any time leads where nothing else was planned, and what holds at one look alone says
            so.
        cuts: of some measures among covariates, where groups begin, as {"age": [65, 80]}; thirds of those who came
            where left out.
        name: of the trial.
        command: by which it can be repeated.
        stage: is told what is computed.
    """
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    if not len(log):
        raise InputError("log", "no decisions", "at least one")
    seed, say = checks.whole("seed", seed, least=0), stage or (lambda _: None)
    finished = log.finished if finished is None else finished
    check_cuts(log, cuts)
    known, log = log, log.without_covariates()
    asked = {"control": control, "promise": promise, "level": level, "weights": weights, "missing": missing}
    planned = planned_of(log, plan, own=own, until=until, **asked)  # type: ignore[arg-type]  # each of its own kind
    if isinstance(log.space.outcome, Time) and planned.until is None and (common := watched_by_all(log)) < longest(log):
        log = replace(log, inferred=(*log.inferred, f"{shortened(log, common)} --until says otherwise."))
        known = log  # times go without covariates
    if not finished and planned.leads == "by convention" and log.space.outcome.valued:
        planned = replace(planned, any_time=True)
    design = plan if own is None else own
    readings = Readings(log, planned, finished, None if known.features is None else known)
    say("reading what was offered and taken")
    entries = [each for one in readings.others for each in readings.estimates(one)]
    entries += [each for one in readings.others for each in readings.by_context(one)]
    entries += [each for one in range(len(log.space.proposals)) for each in readings.alone(one)]
    say("looking for tipping points and bounds")
    tippings = {one: found for one in readings.others if (found := readings.tipping(one)) is not None}
    entries = [_kept_promise(each, tippings.get(each.one), planned.promise) for each in entries]
    tippings = {one: replace(found, offered=_offered(entries, one)) for one, found in tippings.items()}
    worst = [case for one in readings.others if (case := readings.worst_case(one)) is not None]
    bounds = [each for one in readings.others for each in readings.bounds(one)]
    groups = readings.by_group(cuts)
    say("testing")
    tests = [each for one in readings.others for each in readings.tests(one, design, replays, seed, leave_out)]
    say("checking what is assumed")
    return Analysis(
        name or ("" if design is None else design.spec.name),
        known,
        planned,
        tuple(sorted(entries, key=lambda each: each.kind not in LEADING)),
        tuple(sorted(tests, key=lambda each: each.kind != "planned")),
        tuple(bounds),
        tippings,
        flow(log, finished=finished),
        tuple(worst),
        (*check_all(log, planned.control, seed), one_each(log), looks_check(planned, finished)),
        tuple(dict.fromkeys(readings.left_out)),
        max((each.tested.replays for each in tests), default=0),
        seed,
        log_digest(known),
        command,
        finished,
        WordsTable() if design is None else design.spec.words,
        groups,
    )


def _offered(entries: Sequence[Entry], one: int) -> Estimate | None:
    """Intention to treat at one look, as a difference: as it leads, or else as it is explored."""
    found = [
        each
        for each in entries
        if (each.one, each.context, each.estimate.measure) == (one, "", "difference")
        if each.estimate.reading == ITT and not each.estimate.any_time
    ]
    return min(found, key=lambda each: each.kind not in LEADING).estimate if found else None


def _kept_promise(entry: Entry, tipping: Tipping | None, promise: float | None) -> Entry:
    """A bounded reading whose promise the data contradict is not to be relied upon."""
    if entry.label != BOUNDED or tipping is None or promise is None or promise >= tipping.least_promise:
        return entry
    why = f"the data contradict the promise of {promise:g}: groups differ by more than {tipping.least_promise:.3g}"
    return replace(entry, estimate=replace(entry.estimate, withheld=why))
