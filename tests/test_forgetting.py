"""Epochs against a list of decisions, forgetting against its base, and environments that change."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from takeup import (
    TS,
    UNSEEN,
    Environment,
    Event,
    Evidence,
    Forgetting,
    InputError,
    MismatchError,
    Policy,
    Prior,
    Reporting,
    Space,
    TSCheck,
    TSLat,
    TSObs,
    TSRobust,
    UnsuitableError,
    WarmTSLat,
    World,
    simulate,
    stream,
)
from takeup.conjugates import Normal, NormalGamma
from takeup.conjugates.quadrature import largest_beta
from takeup.epochs import Epochs
from takeup.outcomes import Number
from takeup.policies.description import describe, environment_of
from takeup.policies.registry import policy_of
from takeup.simulation.kernels import forgetting, uniform
from takeup.simulation.kernels.choice import bound, choose
from takeup.simulation.kernels.compile import Builder
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.tables import Observation, State
from takeup.simulation.run import Record, plan

SPACE = Space(2, contexts=2)
SUCCESS = [0.25, 0.75]
BEFORE = Environment.from_world(World.bernoulli([[0.9, 0.1], [0.1, 0.9]], SUCCESS))
AFTER = Environment.from_world(World.bernoulli([[0.2, 0.8], [0.7, 0.3]], SUCCESS))
LATE = Reporting(compliance=0.8, delay=30, batch=7)


def by_hand(decisions: list[Event], epochs: int, length: int) -> np.ndarray:
    """The table of decisions as they are known now, each put in its place on its own."""
    counts = np.zeros((epochs, *Evidence.empty(SPACE).counts.shape), dtype=np.int64)
    newest = (len(decisions) - 1) // length
    for i, e in enumerate(decisions):
        counts[min(newest - i // length, epochs - 1), e.context, e.proposal, e.implemented, e.outcome] += 1
    return counts


class TestEpochs:
    @pytest.mark.parametrize(("epochs", "length"), [(1, 3), (3, 1), (4, 7), (40, 5)])
    def test_equal_a_list_of_decisions_after_any_reports(self, epochs: int, length: int) -> None:
        """60 decisions, after each of which some earlier one, however old, may become better known."""
        rng = stream(1, epochs, length)
        state = Epochs.empty(SPACE, epochs, length)
        known: list[Event] = []
        for i in range(60):
            known.append(Event(int(rng.integers(2)), int(rng.integers(2)), number=i))
            state = state.record(known[-1])
            j = int(rng.integers(i + 1))
            after = replace(known[j], implemented=int(rng.integers(2)), outcome=int(rng.integers(UNSEEN, 2)))
            state, known[j] = state.move(known[j], after), after
            np.testing.assert_array_equal(state.counts, by_hand(known, epochs, length))
        assert state.total() == Evidence.of(SPACE, known)

    def test_decisions_without_a_number_come_one_after_the_other(self) -> None:
        events = [Event(0, i % 2, 0, 1) for i in range(20)]
        plain, numbered = Epochs.empty(SPACE, 4, 3), Epochs.empty(SPACE, 4, 3)
        for i, e in enumerate(events):
            plain, numbered = plain.record(e), numbered.record(replace(e, number=i))
        np.testing.assert_array_equal(plain.counts, numbered.counts)

    def test_a_gap_in_the_numbers_lets_epochs_pass(self) -> None:
        """Decision 0 and then decision 1,000, 100 epochs later: the first is among the old."""
        state = Epochs.empty(SPACE, 5, 10).record(Event(0, 0, 0, 1, 0)).record(Event(0, 1, 1, 1, 1000))
        assert state.counts[4, 0, 0, 0, 1] == 1
        assert state.counts[0, 0, 1, 1, 1] == 1

    def test_a_report_must_say_which_decision_it_is_about(self) -> None:
        state = Epochs.empty(SPACE, 3, 5).record(Event(0, 0))
        for number in (None, 1):
            with pytest.raises(InputError, match="number: got"):
                state.move(Event(0, 0, number=number), Event(0, 0, 1, number=number))
        with pytest.raises(MismatchError, match="no decision is known"):
            state.move(Event(0, 1, number=0), Event(0, 1, 1, number=0))

    def test_weighted_evidence_is_for_reading(self) -> None:
        weighted = Epochs.empty(SPACE, 2, 1).record(Event(0, 0, 0, 1)).weighted(np.array([0.5, 0.1]))
        assert weighted.counts[0, 0, 0, 1] == 0.5
        assert weighted.at(0).counts.sum() == 0.5
        with pytest.raises(MismatchError, match="for reading"):
            weighted.record(Event(0, 0))
        with pytest.raises(MismatchError, match="for reading"):
            weighted.move(Event(0, 0, 0, 1), Event(0, 0, 0, 0))


class TestForgetting:
    def test_old_decisions_count_half_after_a_half_life(self) -> None:
        """Epochs of 4, a half-life of 8. A success of arm 0 two epochs ago counts 1/2, one of arm 1 now counts 1.

        So TS compares Beta(1.5, 1) with Beta(2, 1).
        """
        policy = Forgetting(half_life=8, epoch=4)
        state = policy.start(Space(2))
        for number, z in ((0, 0), (8, 1)):
            state = policy.learn(state, Event(0, z, z, 1, number), stream(0))
        allocation = policy.allocation(state, 0, stream(0))
        assert allocation.exact
        np.testing.assert_allclose(allocation.probability, largest_beta(np.array([[1.5, 1], [2, 1]])))

    def test_old_numbers_count_half_as_well(self) -> None:
        """40 two epochs ago counts 1/2, 60 now counts 1, and the prior is worth one outcome of 50 with sd 10.

        So the centre is (50 + 40 / 2 + 60) / 2.5 = 52. Around the mean 53.33 of the two the squares sum to 133.33. With
        3 * 100 of the prior and 1.5 / 2.5 * 3.33^2 between, that is 440, by a freedom of 4.5.
        """
        base = TS(likelihood=Normal(mean=50, sd=10))
        policy = Forgetting(base=base, half_life=8, epoch=4)
        state = policy.start(Space(2, outcomes=Number(0, 100)))
        for number, y in ((0, 40), (8, 60)):
            state = policy.learn(state, Event(0, 0, 0, y, number), stream(0))
        block = base.posterior(state.weighted(policy.weights), stream(0)).block
        assert isinstance(block, NormalGamma)
        found = [each[0, 0] for each in (block.centre, block.weight, block.freedom, block.square)]
        np.testing.assert_allclose(found, [52, 2.5, 4.5, 440 / 4.5], rtol=1e-12)

    def test_what_cannot_count_by_halves_is_refused(self) -> None:
        """Gibbs sampling places whole decisions; and a half-life of a billion decisions is not kept one by one."""
        with pytest.raises(InputError, match="base: got TS-Lat-0 Gibbs"):
            Forgetting(base=TSLat(inference="gibbs"))
        with pytest.raises(InputError, match="epoch: got 1, expected at least 800000"):
            Forgetting(half_life=10**9, epoch=1)

    def test_a_pilot_informs_the_base(self) -> None:
        space = Space(2)
        pilot = Prior.from_evidence(Evidence.of(space, [Event(0, 1, 1, 1)] * 8))
        told = Forgetting().informed(pilot)
        expected = TS().informed(pilot).allocation(Evidence.empty(space), 0, stream(0)).probability
        np.testing.assert_array_equal(told.allocation(told.start(space), 0, stream(0)).probability, expected)

    def test_a_late_outcome_counts_as_much_as_its_decision(self) -> None:
        policy = Forgetting(half_life=8, epoch=4)
        state = policy.start(Space(2))
        for number in (0, 8):
            state = policy.learn(state, Event(0, 0, 0, number=number), stream(0))
        state = policy.report(state, Event(0, 0, 0, number=0), Event(0, 0, 0, 1, 0), stream(0))
        weighted = state.weighted(policy.weights)
        assert weighted.counts[0, 0, 0, 1] == 0.5
        assert weighted.counts[0, 0, 0, UNSEEN] == 1

    @pytest.mark.parametrize("base", [TS(), TSObs(), TSLat(), TSRobust()], ids=lambda p: p.name)
    def test_one_that_forgets_nothing_decides_as_its_base(self, base: TS) -> None:
        patient = Forgetting(base=base, half_life=10**9, epoch=10**9)
        for reporting in (Reporting(), Reporting(compliance=0.5, delay=3, batch=2)):
            trace = simulate(BEFORE, [base, patient], 25, 5, engine="reference", reporting=reporting)
            np.testing.assert_array_equal(trace.pulls[0, 0], trace.pulls[0, 1])

    @pytest.mark.parametrize(
        ("base", "reporting", "record"),
        [
            pytest.param(TS(), Reporting(), "curve", marks=pytest.mark.long),
            (TSObs(), Reporting(), "curve"),
            (TSObs(), Reporting(delay=4), "full"),
        ],
    )
    def test_it_follows_a_compliance_that_changes_and_pays_for_it_before(
        self, base: TS, reporting: Reporting, record: Record
    ) -> None:
        """Who was told the better arm gets the worse one after half of 1,200 decisions, with outcomes at once or late.

        Means over 100 runs, each comparison by more than 5 standard errors of the difference. The machine code for
        late outcomes and whole records is that of other tests of this file, the other one of TSObs that of robust.md.
        """
        forgetful = Forgetting(base=base, half_life=100, epoch=20)
        world = BEFORE.switch(600, AFTER)
        trace = simulate(
            world, [base, forgetful], 1200, 100, seed=2, record=record, steps=[600, 1200], reporting=reporting
        )
        assert trace.setup.engines == ("cpu", "cpu")
        halves = np.stack([trace.regret[0, :, :, 0], trace.regret[0, :, :, 1] - trace.regret[0, :, :, 0]])
        difference = halves[:, 0] - halves[:, 1]
        error = difference.std(axis=1, ddof=1) / 10
        assert difference[0].mean() < -5 * error[0]
        assert difference[1].mean() > 5 * error[1]

    def test_it_survives_a_round_trip_through_its_description(self) -> None:
        policy = Forgetting(base=TSRobust(shared=0.5), half_life=300, epoch=30)
        again = policy_of(describe(policy))
        assert describe(again) == describe(policy)
        assert again.name == policy.name

    def test_bad_parameters_are_refused(self) -> None:
        with pytest.raises(InputError, match="base: got TS-Lat-0 warm"):
            Forgetting(base=WarmTSLat())  # type: ignore[arg-type]  # as a user may
        for argument in ("half_life", "epoch"):
            with pytest.raises(InputError, match=f"{argument}: got"):
                Forgetting(**{argument: 0})  # type: ignore[arg-type]  # as a user may

    @pytest.mark.parametrize("base", [TSLat(), TSRobust()], ids=lambda p: p.name)
    def test_where_there_is_no_kernel_the_error_says_what_to_use(
        self, base: TSLat, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(UnsuitableError, match="use engine='reference'"):
            simulate(BEFORE, Forgetting(base=base), 5, 5, engine="cpu")
        assert plan(BEFORE, Forgetting(), 5, reporting=Reporting(delay=1)).setup.engines == ("cpu",)
        monkeypatch.setattr(forgetting, "AT_ONCE", True, raising=False)
        with pytest.raises(UnsuitableError, match="reports that wait; use engine='reference'"):
            simulate(BEFORE, Forgetting(), 5, 5, engine="cpu", reporting=Reporting(delay=1))
        assert simulate(BEFORE, Forgetting(), 5, 5, reporting=Reporting(delay=1)).setup.engines == ("reference",)

    def test_one_that_forgets_is_no_base_of_another(self) -> None:
        with pytest.raises(InputError, match=r"base: got TS half-life 1000, expected .* that count less than one"):
            Forgetting(base=Forgetting())  # type: ignore[arg-type]  # as a user may

    def test_more_epochs_than_can_be_read_are_refused_with_what_would_do(self) -> None:
        """20 x 10 x 11 x 3 cells are 6,600, of which 75 fit: the newest, 73 before it, and the older ones together."""
        space = Space(10, contexts=20)
        with pytest.raises(InputError, match="epoch: got 5, expected at least 110 for a half-life of 1000 and a table"):
            Forgetting(epoch=5).start(space)
        assert Forgetting(epoch=110).start(space).counts.size <= 500_000


class TestKernel:
    @pytest.mark.parametrize("late", [0, 3, 9, 80])
    @pytest.mark.parametrize("base", [TS(alpha=[[2.0, 1.0], [0.5, 3.0]]), TSCheck(), TSObs()], ids=lambda p: p.name)
    def test_its_shapes_are_the_weighted_evidence(self, base: TS, late: int) -> None:
        """The kernel as plain Python, after each of 120 decisions, against `Epochs`; to the digits of float32.

        Outcomes come so many decisions later: in this epoch or the next, three epochs later, or when all is forgotten.
        """
        policy, space, rng = Forgetting(base=base, half_life=6, epoch=4), Space(2, contexts=2), stream(5)
        parameters = forgetting.parameters(policy, space)
        counts, reals = forgetting.size(policy, space)
        column = State(np.zeros((counts, 1), dtype=np.int32), np.zeros((reals, 1), dtype=np.float32), 0)
        prior = base.prior(space)
        bind, switches = bound(choose(policy, space), policy, parameters), forgetting.switches(policy, space)
        build = Builder(lambda copy, _: copy, bind, switches, {})
        begin, learn, reveal = build(uniform.begin), build(uniform.learn), build(uniform.reveal)
        begin(column, space.shape, parameters)
        state = policy.start(space)
        slots, third = int(parameters.slots), 1 / 3
        events: list[Event] = []
        for step in range(120):
            x, z, a, y = rng.integers(2, size=4).tolist()
            events.append(Event(x, z, UNSEEN if step % 7 == 0 else a, y, step))
            first = replace(events[-1], outcome=UNSEEN) if late else events[-1]
            moment = (0, 0, 0, np.uint32(step))
            learn(column, _observed(first), space.shape, parameters, moment)
            state = policy.learn(state, first, rng)
            if late and step >= late:
                known = events[step - late]
                reveal(column, _observed(known), space.shape, parameters, moment)
                state = policy.report(state, replace(known, outcome=UNSEEN), known, rng)
            weighted = state.weighted(policy.weights)
            if isinstance(base, TSObs):
                assert prior.compliance is not None
                blocks = prior.outcome + weighted.implemented_outcomes, prior.compliance + weighted.compliance
                shapes = np.concatenate([block.reshape(2, -1) for block in blocks], axis=1).ravel()
            else:
                kept = weighted.complied_outcomes if isinstance(base, TSCheck) else weighted.proposed_outcomes
                shapes = (prior.outcome + kept).ravel()
            d = column.real[:slots, 0] + third
            boosted = column.real[2 * slots : 3 * slots, 0] > 0 if min(prior.outcome.min(), 1) < 1 else np.zeros(slots)
            np.testing.assert_allclose(d - boosted, shapes, rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize(
        ("base", "reporting"),
        [
            (TSObs(), Reporting()),
            (TSObs(), LATE),
            *(pytest.param(base, Reporting(), marks=pytest.mark.long) for base in (TS(), TSCheck())),
            *(pytest.param(base, LATE, marks=pytest.mark.long) for base in (TS(), TSCheck())),
        ],
    )
    def test_kernel_and_reference_agree_in_a_world_that_changes(self, base: TS, reporting: Reporting) -> None:
        """Mean regret of 400 runs before and after the change; 12 comparisons at 4 errors: one false alarm in 1,300."""
        policy = Forgetting(base=base, half_life=60, epoch=20)
        world = BEFORE.switch(150, AFTER).switch(250, BEFORE)
        record: Record = "full" if reporting.waiting else "curve"  # two kinds of machine code instead of four
        both = [
            simulate(
                world, policy, 300, 400, seed=4, engine=engine, record=record, steps=[150, 300], reporting=reporting
            )
            for engine in ("reference", "cpu")
        ]
        before = [trace.regret[0, 0, :, 0] for trace in both]
        after = [trace.regret[0, 0, :, 1] - trace.regret[0, 0, :, 0] for trace in both]
        for one, other in (before, after):
            error = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 400)
            assert abs(one.mean() - other.mean()) < 4 * error
        assert (both[1].pulls.sum(axis=(-1, -2)) == 300).all()

    def test_regret_in_a_world_that_changes_is_that_of_its_decisions(self) -> None:
        """Recounted decision by decision, for one that does not forget and for one that does."""
        world = BEFORE.switch(7, AFTER).switch(20, BEFORE)
        policies: list[Policy[Any]] = [TS(), Forgetting(base=TSObs(), epoch=5, half_life=9)]
        trace = simulate(world, policies, 30, 40, engine="cpu", record="full", reporting=Reporting(delay=2))
        frame = trace.every_decision()
        gap = {phase: environment.regret() for phase, (_, environment) in enumerate(world.phases)}
        starts = np.array([step for step, _ in world.phases])
        expected = np.zeros((2, 40))
        names = list(trace.setup.policies)
        for name, replication, step, z in frame.select("policy", "replication", "step", "proposal").iter_rows():
            phase = int(np.searchsorted(starts, step - 1, side="right")) - 1
            proposal = world.space.proposals.index(z) if isinstance(z, str) else z
            expected[names.index(name), replication] += gap[phase][0, proposal]
        np.testing.assert_allclose(trace.regret[0, :, :, -1], expected, atol=1e-12)

    def test_a_change_counts_only_if_the_trial_lasts_until_then(self) -> None:
        later = BEFORE.switch(50, AFTER)
        for horizon, changing in ((50, False), (51, True)):
            assert Layout.of(plan(later, TSObs(), horizon).setup, TSObs()).switches["CHANGING"] == changing


def _observed(event: Event) -> Observation:
    found = (event.context, event.proposal, event.implemented, event.outcome)
    return Observation(*(int(np.asarray(index)) for index in found))


class TestSwitch:
    def test_regret_is_that_of_the_environment_of_the_time(self) -> None:
        """Every decision's gap, looked up one by one, with two changes and a delay, sums to the recorded regret."""
        world = BEFORE.switch(15, AFTER).switch(40, BEFORE)
        trace = simulate(
            world, TS(), 60, 20, seed=3, record="full", reporting=Reporting(delay=4), steps=[10, 15, 16, 40, 60]
        )
        _, z, _, _ = np.unravel_index(trace.decisions[0, 0], world.space.shape)
        gap = np.array([(BEFORE if t < 15 or t >= 40 else AFTER).regret()[0] for t in range(60)])
        steps = np.cumsum(np.take_along_axis(gap, z.T, axis=1).T, axis=1)
        np.testing.assert_allclose(trace.regret[0, 0], steps[:, [9, 14, 15, 39, 59]], atol=1e-12)

    def test_responses_are_those_of_the_environment_of_the_time(self) -> None:
        """Everyone complies, then nobody does."""
        turned = [Environment.from_world(World.bernoulli(each, SUCCESS)) for each in (np.eye(2), 1 - np.eye(2))]
        trace = simulate(turned[0].switch(30, turned[1]), TS(), 60, 10, record="full", reporting=Reporting(delay=4))
        _, z, a, _ = np.unravel_index(trace.decisions[0, 0], SPACE.of_one_context().shape)
        assert (a[:, :30] == z[:, :30]).all()
        assert (a[:, 30:] != z[:, 30:]).all()

    def test_lanes_change_each_at_its_own_time(self) -> None:
        """What a simulation gives does not depend on what runs beside it."""
        worlds = {"late": BEFORE.switch(20, AFTER), "early": BEFORE.switch(7, AFTER), "never": BEFORE}
        together = simulate(worlds, TS(), 30, 100, seed=4, engine="reference")
        for i, world in enumerate(worlds.values()):
            alone = simulate(world, TS(), 30, 100, seed=4, engine="reference")
            np.testing.assert_array_equal(together.regret[i], alone.regret[0])

    def test_it_is_part_of_the_fingerprint_and_of_the_description(self) -> None:
        world = BEFORE.switch(10, AFTER)
        assert len({e.fingerprint() for e in (BEFORE, world, BEFORE.switch(11, AFTER), BEFORE.switch(10, BEFORE))}) == 4
        assert environment_of(describe(world)).fingerprint() == world.fingerprint()

    def test_bad_changes_are_refused(self) -> None:
        world = BEFORE.switch(10, AFTER)
        with pytest.raises(InputError, match="step: got 0"):
            BEFORE.switch(0, AFTER)
        with pytest.raises(InputError, match="step: got 10"):
            world.switch(10, BEFORE)
        with pytest.raises(InputError, match="other: got"):
            BEFORE.switch(5, world)
        three = Environment.from_world(World.bernoulli(np.eye(3), [0.1, 0.2, 0.3]))
        with pytest.raises(MismatchError, match="cannot change its space"):
            BEFORE.switch(5, three)
