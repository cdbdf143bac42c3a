"""Live trials whose policy fits models to its decisions: when, from what, by whom, and what an audit finds."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from takeup import Event, Rows, stream
from takeup.errors import InputError, StoreError
from takeup.live import Trial
from takeup.live.trial_run import tried
from takeup.policies.forgetting import Forgetting
from takeup.policies.logistic import LogitTSObs
from takeup.specfile import SpecError
from takeup.store import Store, Writer, fits
from takeup.store.schema import TRIGGERS
from takeup.trial.design import Design
from takeup.trial.events import link
from takeup.trial.models import close, fitted, models_of

DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)]
KINDS = ("LinTSObs", "LinTSRobust", "LogitTS", "LogitTSObs")
SPEC: dict[str, Any] = {
    "name": "Clinic",
    "rehearsal": True,
    "seed": 7,
    "space": {
        "proposals": ["usual", "new"],
        "contexts": ["young", "old"],
        "outcomes": ["died", "lived"],
        "covariates": {
            "age": {"kind": "measure", "low": 18, "high": 100},
            "state": {"kind": "category", "levels": ["alert", "drowsy"], "missing": "kept"},
        },
    },
    "policy": {"kind": "LogitTSObs"},
    "draws": 100,
}
ANN = {"age": 63, "state": "drowsy"}


def spec(kind: str = "LogitTSObs", **changes: Any) -> dict[str, Any]:
    return {**SPEC, "policy": {"kind": kind}, **changes}


def begun(database: Any, kind: str = "LogitTSObs", **changes: Any) -> Trial:
    trial = Trial.create(database, spec(kind, **changes), trial="clinic")
    trial.start()
    return trial


def live(trial: Trial, many: int, first: int = 0) -> None:
    """People of whom some report nothing, some late, and some what is corrected."""
    rng = stream(first, "clinic")
    for i in range(first, first + many):
        age, state = int(rng.integers(18, 101)), ["alert", "drowsy", None][rng.integers(3)]
        decision = trial.decide(f"{i}", int(rng.integers(2)), covariates={"age": age, "state": state})
        action = None if rng.random() < 0.2 else int(rng.integers(2))
        outcome = None if rng.random() < 0.2 else int(rng.random() < age / 150)
        if action is not None or outcome is not None:
            trial.report(decision, implemented=action, outcome=outcome)
        if i % 7 == 3:
            trial.report(decision, covariates={"age": 40}, reason="typed wrongly")


def log_of(trial: Trial) -> list[dict[str, Any]]:
    return [json.loads(each.body) for each in trial.events(limit=10_000)]


def refits(trial: Trial) -> list[dict[str, Any]]:
    return [each for each in log_of(trial) if each["kind"] == "refitted"]


def rows_at(trial: Trial, known: int) -> Rows:
    """The decisions as the first events of the log tell them, by another way than the book's."""
    names = ("context", "proposal", "implemented", "outcome", "age", "state")
    said: dict[int, dict[str, Any]] = {}
    for body in log_of(trial)[:known]:
        if body["kind"] == "decided":
            said[body["number"]] = body
        elif body["kind"] == "reported":
            row = said[body["decision"]]
            row |= {name: body[name] for name in ("implemented", "outcome") if name in body}
            row["covariates"] = row["covariates"] | body.get("covariates", {})
    table = [each | each["covariates"] for each in said.values()]
    return Rows.of(trial.design.space, {name: [row.get(name) for row in table] for name in names})


@pytest.mark.parametrize("kind", KINDS)
class TestEvery:
    def test_a_fit_is_one_of_what_the_log_had_told(self, tmp_path: Path, kind: str) -> None:
        """To the bit: it is a function of the multiset."""
        with begun(tmp_path / "clinic.db", kind) as trial:
            live(trial, 25)
            assert len(refits(trial)) > 10
            for each in refits(trial):
                rows = rows_at(trial, each["known"])
                assert rows.size == each["decisions"]
                assert fitted(trial.design, rows) == each["models"]
            found = trial.audit()
        assert found.difference is None
        assert found.rederived == 25
        assert found.refits == len(refits(Trial.open(tmp_path / "clinic.db")))

    def test_it_is_fitted_when_simulations_fit_it(self, tmp_path: Path, kind: str) -> None:
        """One rule for both: after every event the last models are those of the policy's own state."""
        with begun(tmp_path / "clinic.db", kind) as trial:
            design, rng = trial.design, stream(3)
            policy: Any = design.policy
            state, moments = policy.start(design.space), 0
            for i in range(30):
                age, x, a, y = (int(rng.integers(n)) for n in (83, 2, 2, 2))
                covariates = {"age": 18 + age, "state": None}
                decision = trial.decide(f"{i}", x, covariates=covariates)
                features = design.space.profile(covariates, context=x).features
                z = design.space.proposals.index(decision.proposal)
                before, after = (Event(x, z, *seen, number=i, features=features) for seen in ((-1, -1), (a, y)))
                stages = [policy.learn(state, before, rng)]
                if i % 3:
                    stages.append(policy.report(stages[0], before, after, rng))
                    trial.report(decision, implemented=a, outcome=y)
                moments += sum(
                    one.models is not other.models for one, other in zip([state, *stages], stages, strict=False)
                )
                state = stages[-1]
                for one, other in zip(state.models, models_of(design, refits(trial)[-1]["models"]), strict=True):
                    np.testing.assert_allclose(one.mode, other.mode, rtol=1e-9, atol=1e-12)
            assert len(refits(trial)) == moments

    @pytest.mark.parametrize("emptied", DATABASES, indirect=True)
    def test_batches_the_past_and_a_summary(self, emptied: str, kind: str) -> None:
        past = {
            "unit": list("abcd"),
            "context": ["young", "old", "old", "young"],
            "assigned": ["usual", "new", "new", "usual"],
            "implemented": ["usual", "new", None, "new"],
            "outcome": ["died", "lived", "lived", None],
            "age": [50, 61, 70, 33],
            "state": ["alert", None, "drowsy", "alert"],
        }
        with Store(emptied) as store:
            trial = Trial.create(store, spec(kind), trial="clinic", past=past)
            (first,) = refits(trial)
            assert first["decisions"] == 4, "before it begins"
            trial.start()
            made = trial.decide_many([{"unit": f"{i}", "context": i % 2, "covariates": ANN} for i in range(20)])
            assert refits(trial)[-1]["decisions"] == 24
            for each in made:
                trial.report(each, implemented=each.proposal, outcome="lived")
            assert len(refits(trial)) > 5, "as reports come in, whether or not anybody is decided about"
            trial.fallback("f", "new", "old", covariates=ANN)
            trial.decide("next", "old", covariates=ANN)
            trial.summary()
            assert trial.audit().difference is None

    def test_its_trial_run_passes(self, kind: str) -> None:
        assert tried(spec(kind)).design.policy.name


class TestDecisions:
    def test_a_trial_that_is_opened_again_decides_the_same(self, tmp_path: Path) -> None:
        probabilities = []
        for i, again in enumerate((False, True)):
            path = tmp_path / f"{i}.db"
            trial = begun(path)
            live(trial, 12)
            if again:
                trial.close()
                trial = Trial.open(path)
            trial.decide("next", "old", covariates=ANN)
            probabilities.append(log_of(trial)[-1]["probability"])
            trial.close()
        assert probabilities[0] == probabilities[1]

    def test_models_decide(self, tmp_path: Path) -> None:
        """The probabilities are the policy's own, of the last fit."""
        with begun(tmp_path / "clinic.db", draws=20_000) as trial:
            live(trial, 10)
            trial.decide("next", "old", covariates=ANN)
            design, body = trial.design, next(each for each in log_of(trial)[::-1] if each["kind"] == "decided")
            before = [each for each in log_of(trial)[: log_of(trial).index(body)] if each["kind"] == "refitted"][-1]
            state = design.state(
                np.zeros(design.start.counts.shape, dtype=np.int64), models_of(design, before["models"])
            )
            unit = design.space.profile(ANN, context=1)
            wanted = design.policy.allocation(state, unit, stream(1), 20_000).probability
        np.testing.assert_allclose(body["probability"], wanted, atol=0.025)  # five standard errors of two estimates

    def test_a_correction_counts_from_the_next_fit_on(self, tmp_path: Path) -> None:
        with begun(tmp_path / "clinic.db") as trial:
            live(trial, 20)
            many, before = len(refits(trial)), refits(trial)[-1]
            trial.report(2, covariates={"age": 99}, reason="typed wrongly")
            assert len(refits(trial)) == many, "it is as many decisions, of which as much is seen"
            due = before["due"][0]
            for i in range(due - 20):
                trial.decide(f"later {i}", 0, covariates=ANN)
            last = refits(trial)[-1]
            assert last["decisions"] == due
            rows = rows_at(trial, last["known"])
            assert rows.features[1, 1] == trial.design.space.profile({"age": 99, "state": None}, context=0).features[1]
            assert fitted(trial.design, rows) == last["models"]
            assert trial.audit().difference is None

    def test_outcomes_whose_window_is_open_do_not_count(self, tmp_path: Path) -> None:
        now = [1_000_000]
        trial = Trial.create(tmp_path / "clinic.db", spec(window=60), trial="clinic", clock=lambda: now[0])
        trial.start()
        for i in range(6):
            decision = trial.decide(f"{i}", 0, covariates=ANN | {"age": 20 + i})
            trial.report(decision, implemented="new", outcome="lived")
        early = refits(trial)[-1]
        now[0] += 61_000_000
        trial.tick()
        late = refits(trial)[-1]
        rows = rows_at(trial, late["known"])
        assert fitted(trial.design, rows) == late["models"]
        assert not close(trial.design, early["models"], late["models"])
        assert trial.audit().difference is None
        trial.close()

    def test_a_draft_that_is_amended_is_fitted_anew(self, tmp_path: Path) -> None:
        past = {
            "unit": ["a"],
            "context": ["old"],
            "assigned": ["new"],
            "outcome": ["died"],
            "age": [50],
            "state": [None],
        }
        with Trial.create(tmp_path / "clinic.db", spec(), trial="clinic", past=past) as trial:
            trial.amend(spec("LogitTS", seed=None))
            first, second = refits(trial)
            assert len(second["models"]) < len(first["models"])
            trial.start()
            trial.decide("next", "old", covariates=ANN)
            assert trial.audit().difference is None


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first fits are made by another process."""
    monkeypatch.setattr(fits, "AT_ONCE", 5)


def waited(store: Store) -> None:
    assert isinstance(store.writer, Writer)
    store.writer.fits.wait()


@pytest.mark.usefixtures("few")
class TestAnotherProcess:
    @pytest.mark.parametrize("emptied", DATABASES, indirect=True)
    def test_fits_while_decisions_go_on(self, emptied: str) -> None:
        with Store(emptied) as store:
            trial = begun(store)
            live(trial, 6)
            live(trial, 3, first=6)  # whether or not it has finished
            waited(store)
            live(trial, 1, first=9)
            waited(store)
            live(trial, 1, first=10)
            found = refits(trial)
            assert found[-1]["decisions"] >= 9
            for each in found:
                assert fitted(trial.design, rows_at(trial, each["known"])) == each["models"]
            assert trial.audit().difference is None

    def test_what_it_found_is_dropped_where_another_was_first(self, tmp_path: Path) -> None:
        with Store(tmp_path / "clinic.db") as one, Store(tmp_path / "clinic.db") as other:
            trial = begun(one)
            live(trial, 6)
            again = Trial(other, "clinic")
            waited(one)
            live(again, 1, first=6)
            waited(other)
            live(trial, 1, first=7)
            live(again, 1, first=8)
            assert trial.audit().difference is None
            late = [each for each in refits(trial) if log_of(trial).index(each) > each["known"]]
            assert late, "others went on between what it knew and when it was taken up"

    def test_where_it_fails_the_models_before_go_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(fits, "MODULE", "takeup.no_such_module")
        with Store(tmp_path / "clinic.db") as store:
            trial = begun(store)
            live(trial, 8)
            waited(store)
            live(trial, 1, first=8)
            assert refits(trial)[-1]["decisions"] <= 5
            assert "the models of trial clinic were not fitted, as the process ended with" in caplog.text
            waited(store)
            monkeypatch.undo()
            live(trial, 4, first=9)
            assert refits(trial)[-1]["decisions"] > 5
            assert trial.audit().difference is None


def forged(path: Path, bodies: list[str]) -> None:
    """A log with a valid chain, and a head that fits."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in TRIGGERS["sqlite"]:
            connection.execute(f"DROP TRIGGER {name}")
        previous = "0" * 64
        for sequence, body in enumerate(bodies, start=1):
            previous = link(previous, sequence, body)
            row = (previous, body, sequence)
            connection.execute("UPDATE events SET hash = ?, body = ? WHERE sequence = ?", row)
        connection.execute("UPDATE trials SET hash = ?", (previous,))
        for statement in TRIGGERS["sqlite"].values():
            connection.execute(statement)


def canonical(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("lived") / "clinic.db"
    with begun(path) as trial:
        live(trial, 12)
    return path.read_bytes()


def others(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Ways to forge a fit, and what is said of each where its trial goes on from it."""
    models, refused = body["models"], "no log can lead to"
    yield "another number", body | {"models": ("A" if models[20] != "A" else "B").join([models[:20], models[21:]])}, ""
    yield "too few numbers", body | {"models": models[:32]}, refused
    yield "no numbers", body | {"models": "?" + models[1:]}, refused
    yield "known earlier", body | {"known": body["known"] - 3}, ""
    yield "known later", body | {"known": body["known"] + 3}, ""
    yield "fewer decisions", body | {"decisions": body["decisions"] - 1}, ""
    yield "due later", body | {"due": [body["due"][0] + 1, body["due"][1]]}, ""


class TestTampering:
    @pytest.mark.parametrize("way", range(7))
    def test_with_a_fit_is_found(self, tmp_path: Path, lived: bytes, way: int) -> None:
        """Although the chain was computed again: what no anchor shows is derived again."""
        path = tmp_path / "clinic.db"
        path.write_bytes(lived)
        with Trial.open(path) as trial:
            events = log_of(trial)
        place = max(i for i, each in enumerate(events) if each["kind"] == "refitted")
        words, body, refused = list(others(events[place]))[way]
        forged(path, [canonical(body if i == place else each) for i, each in enumerate(events)])
        with Trial.open(path) as trial:
            difference = trial.audit().difference
            assert difference is not None, words
            assert difference.where == f"event {place + 1}"
            if refused:
                with pytest.raises(StoreError, match=refused):
                    trial.decide("next", 0, covariates=ANN)

    @pytest.mark.parametrize(
        ("statement", "where"),
        [
            ("UPDATE trials SET fitted = fitted - 1", "the trial's fitted"),
            ("UPDATE trials SET fitted = 0", "the trial's fitted"),
            ("UPDATE decisions SET covariates = replace(covariates, '40', '41')", "decisions 4"),
        ],
    )
    def test_with_what_says_where_it_is_is_found(
        self, tmp_path: Path, lived: bytes, statement: str, where: str
    ) -> None:
        path = tmp_path / "clinic.db"
        path.write_bytes(lived)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)
        with Trial.open(path) as trial:
            difference = trial.audit().difference
        assert difference is not None
        assert difference.where == where

    def test_a_fit_of_another_version_is_compared_as_far_as_it_can_be(self, tmp_path: Path, lived: bytes) -> None:
        """Its numbers are its own; when it was made, and from what, is not."""
        path = tmp_path / "clinic.db"
        path.write_bytes(lived)
        with Trial.open(path) as trial:
            events = log_of(trial)
        place = max(i for i, each in enumerate(events) if each["kind"] == "refitted")
        first = next(each for each in events if each["kind"] == "refitted")
        other = events[place] | {"models": first["models"], "software": "takeup 9"}
        forged(path, [canonical(other if i == place else each) for i, each in enumerate(events)])
        with Trial.open(path) as trial:
            found = trial.audit()
        assert found.refits_other_software == 1
        if found.difference is not None:
            assert int(found.difference.where.split()[1]) > place + 1, "decisions that were made by the true one"


class TestRefused:
    def test_one_that_forgets(self) -> None:
        with pytest.raises(InputError, match="works from the evidence alone"):
            Forgetting(base=LogitTSObs())  # type: ignore[arg-type]  # that is what is refused

    def test_models_that_are_too_large_for_a_log(self) -> None:
        levels = [f"{i}" for i in range(40)]
        space = {
            "proposals": 2,
            "contexts": 9,
            "covariates": {"site": {"kind": "category", "levels": levels}},
        }
        with pytest.raises(SpecError, match="models of at most 50,000 numbers"):
            Design.of(spec(space=space))
