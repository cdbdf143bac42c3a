"""The store against a model on paper: any sequence of requests, on both databases."""

from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from model import MISSING, PENDING, Case, Model
from takeup.errors import ConflictError, StateError
from takeup.live import Past, Trial
from takeup.space import Space
from takeup.store import Store, reading
from takeup.trial import Book

SECOND = 1_000_000
UNITS = ["ann", "bob", "cy", "di", "ed"]
SPEC: dict[str, Any] = {
    "name": "Any order",
    "space": {"proposals": ["rest", "drug"], "implemented": ["rest", "drug", "both"], "contexts": ["young", "old"]},
    "draws": 100,
    "decisions": "many",
    "compliance": "sometimes",
}
POLICIES: list[dict[str, Any]] = [
    {"kind": "TSObs"},
    {"kind": "Forgetting", "base": {"kind": "TSObs"}, "half_life": 1, "epoch": 2},
]
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "implemented": st.sampled_from([0, 1, 2, MISSING]),
        "outcome": st.sampled_from([0, 1, MISSING]),
    },
).filter(bool)
PAST = st.lists(
    st.tuples(
        st.sampled_from(["ann", "eve"]),
        st.sampled_from("12"),
        st.integers(0, 1),
        st.integers(0, 1),
        st.sampled_from([0, 1, 2, None]),
        st.sampled_from([0, 1, None]),
        st.integers(0, 15),
    ),
    max_size=4,
    unique_by=lambda row: row[:2],
)
"""Unit, occasion, context, proposal, action, outcome, and how many seconds ago."""


class Requests(RuleBasedStateMachine):
    """Requests in any order, repeated, corrected, across restarts, and on PostgreSQL to two servers."""

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000 * SECOND
        self.store = Store(self.url, clock=lambda: self.now)
        self.beside = Store(self.url, clock=lambda: self.now) if self.url.startswith("postgres") else None
        self.done: list[tuple[str, dict[str, Any], object]] = []
        self.keys = 0

    @initialize(
        window=st.sampled_from([None, 10]),
        started=st.sampled_from([True, True, True, False]),
        past=PAST,
        at_once=st.booleans(),
        policy=st.sampled_from(POLICIES),
    )
    def create(
        self,
        window: int | None,
        started: bool,
        past: list[tuple[Any, ...]],
        at_once: bool,
        policy: dict[str, Any],
    ) -> None:
        count = len(self.store.read(reading.identifiers))
        space = Space(**SPEC["space"])
        table = self.assigned(space, past)
        taken: dict[str, Any] = {"past": table} if past and at_once else {}
        spec = SPEC | {"window": window, "policy": policy}
        self.trial = Trial.create(self.store, spec, trial=f"t{count}", **taken)
        self.model = Model(self.trial.design.space, None if window is None else window * SECOND)
        if past and not at_once:
            arguments: dict[str, Any] = {"past": table, "key": self.key()}
            self.remember("take_over", arguments, self.trial.take_over(**arguments))
        for unit, occasion, x, z, a, y, ago in sorted(past, key=lambda row: -row[-1]):
            known = (PENDING if value is None else value for value in (a, y))
            self.model.take_over(unit, occasion, Case(x, z, self.now - ago * SECOND, *known))
        if started:
            self.move("start")
            self.decide("ann", "3", 0, keyed=True)
            self.decide("bob", "1", 1, keyed=False)

    @rule(state=st.sampled_from(["start", "start", "start", "pause"]))
    def move(self, state: str) -> None:
        wanted = {"start": "running", "pause": "paused"}[state]
        if self.model.state == "draft" and wanted == "paused":
            with pytest.raises(StateError):
                self.trial.pause()
        else:
            assert getattr(self.trial, state)() == wanted
            self.model.state = wanted

    @rule(unit=st.sampled_from(UNITS), occasion=st.sampled_from("12"), context=st.integers(0, 1), keyed=st.booleans())
    def decide(self, unit: str, occasion: str, context: int, keyed: bool) -> None:
        arguments: dict[str, Any] = {"unit": unit, "occasion": occasion, "context": context}
        arguments["key"] = self.key() if keyed else None
        standing = self.model.units.get((unit, occasion))
        if standing is None and self.model.state != "running":
            with pytest.raises(StateError):
                self.trial.decide(**arguments)
            return
        if standing is not None and self.model.cases[standing - 1].context != context:
            with pytest.raises(ConflictError):
                self.trial.decide(**arguments)
            return
        decision = self.trial.decide(**arguments)
        self.take(unit, occasion, context, decision)
        self.remember("decide", arguments, decision)

    @precondition(lambda self: self.model.state == "running")
    @rule(units=st.lists(st.tuples(st.sampled_from(UNITS), st.sampled_from("1234"), st.integers(0, 1)), min_size=1))
    def decide_many(self, units: list[tuple[str, str, int]]) -> None:
        asked = [{"unit": unit, "occasion": occasion, "context": context} for unit, occasion, context in units]
        contexts: dict[tuple[str, str], int] = {}
        for unit, occasion, context in units:
            standing = self.model.units.get((unit, occasion))
            had = context if standing is None else self.model.cases[standing - 1].context
            if had != context or contexts.setdefault((unit, occasion), context) != context:
                with pytest.raises(ConflictError):
                    self.trial.decide_many(asked)
                return
        arguments: dict[str, Any] = {"units": asked, "key": self.key()}
        decisions = self.trial.decide_many(**arguments)
        for (unit, occasion, context), decision in zip(units, decisions, strict=True):
            self.take(unit, occasion, context, decision)
        self.remember("decide_many", arguments, decisions)

    @precondition(lambda self: self.model.state == "running")
    @rule(unit=st.sampled_from(UNITS), proposal=st.integers(0, 1), keyed=st.booleans())
    def fall_back(self, unit: str, proposal: int, keyed: bool) -> None:
        arguments: dict[str, Any] = {"unit": unit, "occasion": "9", "proposal": proposal, "context": 0}
        arguments["key"] = self.key() if keyed else None
        decision = self.trial.fallback(**arguments)
        self.take(unit, "9", 0, decision)
        self.remember("fallback", arguments, decision)

    @precondition(lambda self: self.model.cases)
    @rule(which=st.integers(0, 10**6), said=VALUES, reason=st.sampled_from([None, "typing error"]), keyed=st.booleans())
    def report(self, which: int, said: dict[str, int | str], reason: str | None, keyed: bool) -> None:
        number = which % min(3, len(self.model.cases)) + 1
        arguments: dict[str, Any] = {name: value for name, value in said.items() if value != MISSING}
        arguments |= {"missing": [name for name, value in said.items() if value == MISSING], "reason": reason}
        arguments |= {"decision": number, "key": self.key() if keyed else None}
        if self.model.contradicts(number, said) and reason is None:
            with pytest.raises(ConflictError):
                self.trial.report(**arguments)
            return
        receipt = self.trial.report(**arguments)
        assert receipt.decision == number
        self.model.report(number, said)
        self.remember("report", arguments, receipt)

    @precondition(lambda self: self.model.cases)
    @rule(which=st.integers(0, 10**6), outcome=st.sampled_from([0, 1, MISSING]), reason=st.sampled_from(["", "lost"]))
    def correct(self, which: int, outcome: int | str, reason: str) -> None:
        """An outcome, and at once another one."""
        self.report(which, {"outcome": 1}, "a first value", keyed=False)
        self.report(which, {"outcome": outcome}, reason or None, keyed=True)

    @precondition(lambda self: self.done)
    @rule(which=st.integers(0, 10**6))
    def ask_again(self, which: int) -> None:
        """Under the same key: the same answer, and no effect."""
        method, arguments, answer = self.done[which % len(self.done)]
        assert getattr(self.trial, method)(**arguments) == answer

    @precondition(lambda self: self.done and self.model.cases)
    @rule(which=st.integers(0, 10**6))
    def use_a_key_twice(self, which: int) -> None:
        _, arguments, _ = self.done[which % len(self.done)]
        with pytest.raises(ConflictError, match="used for another request"):
            self.trial.report(1, outcome=0, reason="never said before", key=arguments["key"])
        with pytest.raises(ConflictError, match="used for another request"):
            self.trial.decide("nobody else", 0, occasion="1", key=arguments["key"])

    @rule(seconds=st.sampled_from([1, 4, 11]))
    def wait(self, seconds: int) -> None:
        self.now += seconds * SECOND
        self.trial.tick()

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = Store(self.url, clock=lambda: self.now)
        self.trial = Trial.open(self.store, self.trial.id)

    @precondition(lambda self: self.beside is not None)
    @rule()
    def go_to_the_other_server(self) -> None:
        assert self.beside is not None
        self.store, self.beside = self.beside, self.store
        self.trial = Trial.open(self.store, self.trial.id)

    @invariant()
    def same_as_the_model(self) -> None:
        if not hasattr(self, "trial"):
            return
        book = self.store.read(lambda connection: reading.snapshot(connection, self.trial.id))
        np.testing.assert_array_equal(book.counts, self.model.evidence(self.now))
        self.same_epochs(book)
        progress = self.trial.progress()
        assert {name: getattr(progress, name) for name in self.model.statuses(0)} == self.model.statuses(self.now)
        assert progress.state == self.model.state

    def same_epochs(self, book: Book) -> None:
        """Those that are loaded by themselves, and what a policy that forgets is shown in the next decision."""
        epochs = book.design.epochs
        if epochs is None:
            assert book.epochs is None
            return
        assert book.epochs is not None
        wanted = self.model.by_epoch(self.now, epochs.length)
        newest = max(wanted, default=0)
        shown = book.seen_by(book.decisions + 1)
        for slot in range(epochs.kept):
            np.testing.assert_array_equal(shown[slot], wanted.pop(newest - slot, np.zeros_like(book.counts)))
        np.testing.assert_array_equal(shown[-1], sum(wanted.values(), np.zeros_like(book.counts)))
        assert not book.epochs.amounts.keys() & wanted.keys(), "older ones are not read"

    def teardown(self) -> None:
        found = self.trial.audit() if hasattr(self, "trial") else None
        for store in (self.store, self.beside):
            if store is not None:
                store.close()
        assert found is None or found.passed, found

    def assigned(self, space: Space, past: list[tuple[Any, ...]]) -> Past:
        """The table that somebody brings along."""
        names = ("unit", "occasion", "context", "assigned", "taken", "outcome", "time")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for unit, occasion, x, z, a, y, ago in past:
            at = datetime.fromtimestamp(self.now // SECOND - ago, UTC)
            action = None if a is None else space.implemented[a]
            row = (unit, occasion, space.contexts[x], space.proposals[z], action, y, at)
            for name, value in zip(names, row, strict=True):
                columns[name].append(value)
        return Past.of(columns)

    def key(self) -> str:
        self.keys += 1
        return f"key {self.keys}"

    def remember(self, method: str, arguments: dict[str, Any], answer: object) -> None:
        if arguments["key"] is not None:
            self.done.append((method, arguments, answer))

    def take(self, unit: str, occasion: str, context: int, decision: Any) -> None:
        """A decision that is new is the next one; one that is not is the one that the unit had."""
        number = self.model.units.get((unit, occasion))
        if number is None:
            proposal = self.model.space.proposals.index(decision.proposal)
            number = self.model.decide(unit, occasion, context, proposal, self.now)
        assert decision.number == number
        assert decision.proposal == self.model.space.proposals[self.model.cases[number - 1].proposal]


@pytest.mark.requirement("R-3.6")
@pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.long)])
def test_any_sequence_of_requests(emptied: str, times: int) -> None:
    few = settings(
        max_examples=times * (8 if emptied.startswith("sqlite") else 3),
        stateful_step_count=40,
        suppress_health_check=list(HealthCheck),
    )
    machine = type("Requests", (Requests,), {"url": emptied})
    run_state_machine_as_test(machine, settings=few)
