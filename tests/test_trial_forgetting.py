"""Live trials whose policy forgets: evidence by epoch, against a twin that keeps it in memory."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, text

from store_internals import engine
from takeup import Environment, Event, Evidence, Forgetting, Number, World, stream
from takeup.epochs import Epochs
from takeup.errors import StateError, StoreError
from takeup.live import Trial, audit
from takeup.live.estimates import values_by_model
from takeup.live.simulated_units import response
from takeup.policies.registry import policy_of
from takeup.specfile import SpecError
from takeup.store import Store, reading
from takeup.trial import Ask, Book, Decide, Design, perform
from takeup.trial.leases import GRAIN
from takeup.trial.proposal import known_to
from takeup.trial.secret import Secret
from takeup.trial.steering import Move, created_event

POLICY: dict[str, Any] = {"kind": "Forgetting", "base": {"kind": "TS"}, "half_life": 3, "epoch": 4}
SPEC: dict[str, Any] = {
    "name": "Drift",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"]},
    "policy": POLICY,
    "compliance": "sometimes",
    "rehearsal": True,
    "seed": 7,
}
KEPT = 7
"""Of these epochs are kept apart: 8 half-lives of 3 decisions, and the newest."""


ON_SQLITE = pytest.mark.parametrize(
    "emptied", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)
"""For what is computed from a trial, whatever keeps it."""


@pytest.fixture
def store(emptied: str) -> Iterator[Store]:
    with Store(emptied) as opened:
        yield opened


def book_of(trial: Trial) -> Book:
    return trial.store.read(lambda connection: reading.snapshot(connection, trial.id))


def logged(trial: Trial, decision: int) -> np.ndarray:
    """The probability that each proposal is best, as the log has it."""
    (body,) = (each.body for each in trial.events(decision=decision, kind="decided"))
    said = json.loads(body)
    return np.array(said.get("best", said["probability"]))


class Twin:
    """What a simulation would keep: `Epochs` in memory, and what was said of each decision."""

    def __init__(self, design: Design) -> None:
        self.policy: Any = design.policy
        self.state: Epochs = self.policy.start(design.space)
        self.known: list[Event] = []

    def decide(self, context: int, proposal: int) -> None:
        self.known.append(Event(context, proposal, number=len(self.known)))
        self.state = self.policy.learn(self.state, self.known[-1], stream(0))

    def report(self, number: int, **said: Any) -> None:
        after = replace(self.known[number - 1], **said)
        self.state = self.policy.report(self.state, self.known[number - 1], after, stream(0))
        self.known[number - 1] = after

    def probability(self, context: int) -> np.ndarray:
        return np.asarray(self.policy.allocation(self.state, context, stream(0)).probability)


def lived(trial: Trial, decisions: int, twin: Twin | None = None, seed: int = 3) -> None:
    """Decisions, and reports of any of them, late ones and corrections among them; a twin is told, and must agree."""
    rng, space = stream(seed, "world"), trial.design.space
    for i in range(decisions):
        x = int(rng.integers(2))
        expected = np.empty(0) if twin is None else twin.probability(x)
        decision = trial.decide(f"unit {seed} {i}", x)
        if twin is not None:
            np.testing.assert_allclose(logged(trial, decision.number), expected, rtol=0, atol=2 / GRAIN)
            twin.decide(x, space.proposals.index(decision.proposal))
        for number in rng.integers(1, decision.number + 1, size=2).tolist():
            said: dict[str, Any] = {"outcome": int(rng.integers(2))}
            if rng.random() < 0.5:
                said["implemented"] = int(rng.integers(2))
            trial.report(number, **said, reason="as it turned out")
            if twin is not None:
                twin.report(number, **said)


@pytest.mark.parametrize("emptied", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True)
def test_decisions_are_those_of_a_twin_that_keeps_epochs_in_memory(emptied: str) -> None:
    """Sixty decisions in epochs of four, of which seven count; what is reported late or corrected is in old epochs too.

    The store is closed and opened again on the way: what is loaded is what was kept.
    """
    with Trial.create(emptied, SPEC) as trial:
        trial.start()
        twin = Twin(trial.design)
    for part in range(3):
        with Store(emptied) as store:
            trial = Trial.open(store, trial.id)
            lived(trial, 20, twin, seed=part)
            np.testing.assert_array_equal(book_of(trial).seen_by(len(twin.known) + 1), twin.state.counts)
            assert trial.evidence() == twin.state.total()
            found = trial.audit()
            assert found.passed, found
            assert found.rederived == 20 * (part + 1)


@ON_SQLITE
def test_a_summary_shows_what_the_policy_believes_from_what_is_left(store: Store) -> None:
    trial = Trial.create(store, SPEC)
    trial.start()
    twin = Twin(trial.design)
    lived(trial, 40, twin)
    summary, book = trial.summary(), book_of(trial)
    believed = values_by_model(twin.policy, twin.state, stream(0), 4_000)
    assert believed is not None
    for x, group in enumerate(summary.contexts):
        for z, proposal in enumerate(group.proposals):
            assert proposal.model_value is not None
            error = believed[:, x, z].std() * np.sqrt(2 / 4_000)
            assert abs(proposal.model_value.mean - believed[:, x, z].mean()) < 5 * error
    assert sum(each.decisions for each in summary.overall.proposals) == 40
    assert int(Evidence(book.design.space, book.counts).total) == 40


def test_a_batch_across_epochs_is_derived_again_one_by_one(store: Store) -> None:
    """Decisions 10 to 20 at once: what is old is one epoch older after decision 12, and again after decision 16."""
    trial = Trial.create(store, SPEC)
    trial.start()
    lived(trial, 9)
    made = trial.decide_many([{"unit": f"batch {i}", "context": 0} for i in range(11)])
    each = [tuple(logged(trial, decision.number)) for decision in made]
    assert [each.index(p) for p in each] == [0] * 4 + [4] * 4 + [8] * 3
    found = trial.audit()
    assert found.passed, found


def test_only_the_newest_epochs_are_read_and_a_late_report_reads_its_own(store: Store) -> None:
    trial = Trial.create(store, SPEC)
    trial.start()
    lived(trial, 60)
    epochs = book_of(trial).epochs
    assert epochs is not None
    assert list(epochs.amounts) == list(range(15 - KEPT, 15))
    written: list[Any] = []

    def look(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if "INSERT INTO evidence_epochs" in statement:
            written.append(parameters)

    event.listen(engine(store), "before_cursor_execute", look)
    trial.report(2, outcome=0, reason="read again")
    trial.report(2, outcome=1, reason="and once more")
    event.remove(engine(store), "before_cursor_execute", look)
    assert written
    rows = store.read(lambda connection: list(reading.stored(connection, trial.id, "evidence_epochs")))
    assert sorted({place[0] for place, _ in rows}) == list(range(15))
    for epoch in range(15):
        assert sum(row["amount"] for (of, *_), row in rows if of == epoch) == 4
    assert trial.audit().passed


def test_what_nobody_forgets_has_no_epochs(store: Store) -> None:
    trial = Trial.create(store, SPEC | {"policy": {"kind": "TS"}})
    trial.start()
    lived(trial, 5)
    assert store.read(lambda connection: list(reading.stored(connection, trial.id, "evidence_epochs"))) == []
    assert book_of(trial).epochs is None
    with engine(store).begin() as connection:
        connection.execute(text(f"INSERT INTO evidence_epochs VALUES ('{trial.id}', 0, 0, 0, 0, 0, 1)"))
    difference = trial.audit().difference
    assert difference is not None
    assert difference.where == "evidence_epochs (0, 0, 0, 0, 0)"


TAMPERED = {
    "a count": "UPDATE evidence_epochs SET amount = amount + 1 WHERE epoch = 14",
    "an old count": "UPDATE evidence_epochs SET amount = amount + 1 WHERE epoch = 0",
    "two that cancel out": "UPDATE evidence_epochs SET amount = 4 - amount WHERE epoch = 3",
    "an epoch that is gone": "DELETE FROM evidence_epochs WHERE epoch = 13",
    "epochs in another order": "UPDATE evidence_epochs SET epoch = 1000 - epoch",
    "an epoch to come": "INSERT INTO evidence_epochs SELECT id, 15, 0, 0, 0, 0, 1 FROM trials",
    "a cell that there is none of": "INSERT INTO evidence_epochs SELECT id, 14, 9, 0, 0, 0, 0 FROM trials",
}


def test_tampering_is_found(store: Store) -> None:
    """One thing after the other, each of which is rolled back."""
    trial = Trial.create(store, SPEC)
    trial.start()
    lived(trial, 60)
    for how, statement in TAMPERED.items():
        with engine(store).connect() as connection, connection.begin() as transaction:
            connection.execute(text(statement))
            difference = audit(connection, trial.id).difference
            transaction.rollback()
        assert difference is not None, how
        assert "evidence_epochs" in difference.where, how
    assert trial.audit().passed


def test_a_trial_whose_newest_epochs_are_not_what_they_were_makes_no_decisions(emptied: str) -> None:
    with Trial.create(emptied, SPEC) as trial:
        trial.start()
        lived(trial, 20)
        identifier = trial.id
    for statement, told in (
        (
            "DELETE FROM evidence_epochs WHERE epoch = 3",
            "epoch 3 of trial drift has 0 of 4 decisions; run takeup audit",
        ),
        (
            "INSERT INTO evidence_epochs VALUES ('drift', 4, 7, 0, 0, 0, 0)",
            "evidence_epochs holds a row of trial drift",
        ),
    ):
        with Store(emptied) as store:
            with engine(store).begin() as connection:
                connection.execute(text(statement))
            with pytest.raises(StoreError, match=told):
                Trial.open(store, identifier).decide("another", 0)
            with engine(store).begin() as connection:
                connection.execute(text("DELETE FROM evidence_epochs WHERE context = 7"))
                if "DELETE" in statement:
                    connection.execute(text("INSERT INTO evidence_epochs VALUES ('drift', 3, 0, 0, 0, 0, 4)"))


def test_past_assignments_belong_to_epochs_by_their_numbers(store: Store) -> None:
    """Ten of them: two epochs and a half, before the first decision of the trial's own."""
    past = {
        "unit": [f"before {i}" for i in range(10)],
        "assigned": ["rest", "drug"] * 5,
        "context": ["young"] * 10,
        "outcome": [0, 1] * 5,
    }
    trial = Trial.create(store, SPEC, past=past)
    twin = Twin(trial.design)
    for i in range(10):
        twin.decide(0, i % 2)
        twin.report(i + 1, outcome=i % 2)
    with pytest.raises(StateError, match="10 past assignments, counted by what its policy forgets when"):
        trial.amend(SPEC | {"seed": None, "policy": POLICY | {"epoch": 5}})
    trial.amend(SPEC | {"seed": None, "draws": 500})
    trial.start()
    np.testing.assert_array_equal(book_of(trial).seen_by(11), twin.state.counts)
    lived(trial, 6, twin)
    trial.report(1, outcome=1, reason="read again")
    twin.report(1, outcome=1)
    np.testing.assert_array_equal(book_of(trial).seen_by(17), twin.state.counts)
    assert trial.audit().passed


def test_sums_of_numbers_are_kept_by_epoch_too(store: Store) -> None:
    space = {
        "proposals": ["rest", "drug"],
        "contexts": ["young", "old"],
        "outcomes": {"kind": "number", "low": 0, "high": 9},
    }
    trial = Trial.create(store, SPEC | {"space": space, "draws": 200})
    trial.start()
    lived(trial, 30)
    assert trial.audit().passed
    shown = book_of(trial).seen_by(31)
    np.testing.assert_array_equal(shown.sum(axis=0), trial.evidence().counts)
    assert isinstance(trial.design.space.outcome, Number)


@ON_SQLITE
def test_a_base_that_borrows_reads_the_epochs_of_all_contexts(store: Store) -> None:
    base = {"kind": "Borrowing", "base": {"kind": "TS"}}
    trial = Trial.create(store, SPEC | {"policy": POLICY | {"base": base}, "draws": 100})
    trial.start()
    lived(trial, 20)
    known = known_to(trial.design, book_of(trial).seen_by(21), 0)
    assert known.shape == (KEPT + 1, *trial.design.space.table)
    assert trial.audit().passed


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"policy": POLICY | {"epoch": 0}}, "policy.epoch: got 0"),
        ({"policy": POLICY | {"base": {"kind": "EXP3"}}}, "policy.base: got EXP3"),
        ({"policy": POLICY | {"base": POLICY}}, "policy.base: got TS half-life 3"),
        ({"analysis": {"test": "re-randomisation"}}, "counts decisions by when they were made, which replays do not"),
    ],
)
def test_what_cannot_be_is_refused_with_words(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        Design.of(SPEC | changed)


def test_a_spec_file_has_the_base_inside_it() -> None:
    design = Design.of(SPEC | {"policy": {"kind": "Forgetting", "base": {"kind": "TSObs"}, "half_life": 300}})
    assert isinstance(design.policy, Forgetting)
    assert design.policy.name == "TS-Obs half-life 300"
    assert json.loads(design.text)["policy"]["base"]["kind"] == "TSObs"
    assert design.policy.name == policy_of(design.spec.policy).name


def shares(policy: dict[str, Any], seed: int) -> np.ndarray:
    """Whether the second of two is proposed in each of 300 decisions: it is the better one in 200, then the worse."""
    spec = SPEC | {"space": {"proposals": 2}, "policy": policy, "compliance": "always"}
    design, before = Design.of(spec), Environment.from_world(World.bernoulli(np.eye(2), [0.2, 0.8]))
    after = Environment.from_world(World.bernoulli(np.eye(2), [0.8, 0.2]))
    secret = Secret.new(f"{seed:064x}")
    book = Book.begin(created_event("drift", design, secret, 0, None), secret)
    perform(Move(state="running"), book, 0)
    fate, made = stream(seed, "fate").random(300), np.zeros(300)
    for i in range(300):
        decision = perform(Decide(ask=Ask(unit=str(i))), book, i)
        made[i] = decision.proposal == "1"
        perform(response(before if i < 200 else after, decision, 0, fate[i], seen=True), book, i)
    return made


def test_in_a_world_that_changes_it_follows_and_the_other_does_not() -> None:
    """The better proposal becomes the worse one. Means of three trials, 50 decisions later; the seeds are fixed."""
    patient, forgetful = (
        np.mean([shares(policy, seed) for seed in range(3)], axis=0)
        for policy in ({"kind": "TS"}, POLICY | {"half_life": 30, "epoch": 10})
    )
    assert patient[150:200].mean() > 0.9
    assert forgetful[150:200].mean() > 0.8
    assert forgetful[250:].mean() < 0.3
    assert patient[250:].mean() > 0.6
