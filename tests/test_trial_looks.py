"""Planned looks at a live trial: the same advice at the same looks as in a simulation, and none in between."""

import json
import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, event, select

import asgi
import tampering
from look_twin import shares
from plans import THREE, told
from store_internals import AS_SCHEMA_7
from takeup import specfile
from takeup.conjugates.quadrature import betas
from takeup.design.bounded import reading_of, with_reading
from takeup.design.plan import Plan
from takeup.design.reference import Trial as Simulated
from takeup.errors import BusyError, StoreError
from takeup.live import Trial, audit
from takeup.live.findings import findings_of
from takeup.live.summary import summary_of
from takeup.live.trial_run import tried
from takeup.policies.judging import GOING_ON, MAXIMUM, Standing, judge
from takeup.policies.readings import Draws
from takeup.randomness import stream
from takeup.service.pages.render.child import dashboard
from takeup.service.pages.spec_sentences import spec_sentences
from takeup.specfile import SpecError
from takeup.store import looking
from takeup.store.reading import snapshot
from takeup.store.schema import trials
from takeup.trial import Book, Decide, Move, Report, perform
from takeup.trial import looking as looks_of
from takeup.trial.allotment import standing_of
from takeup.trial.commands import Ask, decided_event
from takeup.trial.computing import BY, METER, FailedPolicyError
from takeup.trial.design import canonical
from takeup.trial.events import Closed, Decided, Looked
from takeup.trial.met import Met
from takeup.trial.proposal import Proposal
from takeup.trial.secret import Secret
from takeup.trial.steering import created_event

RATES = np.array([0.3, 0.45, 0.7])
SHORT: dict[str, Any] = {
    **THREE,
    "rehearsal": True,
    "seed": 5,
    "limits": {"floor": 0.1, "rule": "proportional", "soften": 0.5},
    "looks": {"first": 20, "every": 10, "last": 80},
    "stopping": {"superiority": 0.97, "inferiority": 0.03},
}
FUTILE = {"probability": 0.9, "margin": 0.02}
STATUSES = ("going on", "superior", "equivalent", "futile", "maximum")


def begun(content: dict[str, Any], seed: int = 5) -> tuple[Plan, Book]:
    plan, secret = Plan.of(content), Secret(f"{seed:064x}", "0" * 32)
    book = Book.begin(created_event("t", plan.design, secret, 0, None), secret)
    perform(Move(state="running"), book, 0)
    return plan, book


def unit(book: Book, number: int, rng: np.random.Generator) -> tuple[int, int]:
    """Propose to one unit and report what came of it; the proposal and the outcome."""
    perform(Decide(ask=Ask(unit=f"u{number}")), book, number)
    z = book.records[book.decisions].proposal
    y = int(rng.random() < RATES[z])
    perform(Report(decision=book.decisions, outcome=y, implemented=z), book, number)
    return z, y


def plan_of(number: int) -> dict[str, Any]:
    """A random plan: with a control or without, thresholds by look, softening, limits, and both kinds of update."""
    rng = stream(number, "live looks")
    at = np.cumsum(rng.integers(5, 15, size=int(rng.integers(2, 6)))).tolist()
    stopping: dict[str, Any] = {
        "superiority": rng.uniform(0.85, 0.99, len(at)).tolist(),
        "inferiority": float(rng.uniform(0.02, 0.2)),
        "equivalence": {"probability": 0.7, "margin": 0.1},
    }
    if number % 2:
        stopping |= {"control": "A", "replace": bool(rng.random() < 0.6), "futility": FUTILE}
    update = "patient" if number % 3 == 2 else "look"
    power: Any = "i/2n" if number % 3 == 2 else rng.uniform(0.3, 1, len(at)).tolist()
    limits = {"floor": 0.05, "rule": ["shift", "proportional"][number % 2], "soften": power}
    kind = "Uniform" if number % 5 == 4 else "TS"
    looks = {"at": at, "update": update}
    return {**SHORT, "policy": {"kind": kind}, "looks": looks, "stopping": stopping, "limits": limits}


@pytest.mark.requirement("R-6.6")
def test_a_live_trial_says_what_its_simulation_says_at_the_same_looks_and_nothing_in_between() -> None:
    """It would mean little if nothing were dropped, or every trial ended alike."""
    held = [look for number in range(12) for look in followed(number)]
    assert {each.status for each in held} >= {"going on", "superior", "maximum"}
    assert sum(each.status == "going on" and each.dropped is not None for each in held) > 2


def followed(number: int) -> list[Looked]:
    """The naive twin: betas from a table of one's own, `judge` folded at the planned counts, shares as in the twin."""
    plan, book = begun(plan_of(number), number)
    rng, table = stream(number, "units"), np.ones((3, 2))
    standing, ended, look, share = Standing.of(3, plan.rules), False, 0, np.array(plan.design.even)
    for known in range(1, int(plan.looks.at[-1]) + 4):
        before = book.look
        if plan.looks.update == "patient" and not ended:
            share = shares(plan, table, list(standing.offered), min(known, len(plan.soften)) - 1)
        z, y = unit(book, known, rng)
        (decided,) = [entry.event for entry in book.changes.entries if isinstance(entry.event, Decided)][-1:]
        np.testing.assert_allclose(decided.probability, share, atol=5e-9)  # parts of 2^32, and of 2^30
        table[z, 1 - y] += 1
        if known not in plan.looks.at:
            assert book.look is before
            continue
        assert book.look is not None
        assert (book.look.look, book.look is before) == (look + 1, False)
        if not ended:
            verdict = judge(betas(table), plan.rules, look, standing)
            status = MAXIMUM if verdict.status == GOING_ON and look == plan.looks.at.size - 1 else verdict.status
            assert (book.look.status, book.look.outcomes) == (STATUSES[status], known)
            assert book.look.offered == tuple("ABC"[k] for k in verdict.standing.offered)
            assert set(book.look.dropped or ()) == {"ABC"[k] for k in verdict.dropped}
            told = [(each["rule"], each["probability"], each["threshold"]) for each in book.look.compared]
            right = [(rule, pytest.approx(p, abs=1e-8), t) for rule, _, p, t in verdict.probabilities]
            assert told == right  # which of two that tie is the first is up to the last digit
            ended = status != GOING_ON
            if not ended:
                standing = verdict.standing
                share = shares(plan, table, list(standing.offered), look)
            elif plan.looks.update == "patient":
                share = shares(plan, table, list(standing.offered), min(known, len(plan.soften) - 1))
        advice = summary_of(book, 0).advice
        assert advice.stop is ended
        look += 1
    return [entry.event for entry in book.changes.entries if isinstance(entry.event, Looked)]


SOON = {"superiority": 0.9, "inferiority": 0.1}
READ: list[dict[str, Any]] = [
    {"policy": {"kind": "TS"}, "stopping": SOON},
    {"policy": {"kind": "TS"}, "stopping": {**SOON, "control": "A", "reading": "compliers", "futility": FUTILE}},
    {"policy": {"kind": "TSCheck"}, "stopping": {**SOON, "reading": "policy"}},
    {"policy": {"kind": "TSObs"}, "stopping": SOON},
    {"policy": {"kind": "TS"}, "stopping": {**SOON, "control": "A", "reading": {"bounded": 0.02}, "futility": FUTILE}},
]


@pytest.mark.parametrize("tables", READ)
def test_what_a_simulation_went_through_ends_alike_and_at_the_same_look_where_it_is_lived(
    tables: dict[str, Any],
) -> None:
    """Trials of the reference engine: the same units get the same proposals, do the same and fare the same.

    Of a bounded reading the live trial has the weights that were written down, the reference those that it chooses.
    """
    truth = {"apart": {"success": [0.4, 0.6, 0.5], "take_up": 0.8}}
    looks = {"first": 20, "every": 20, "last": 100, "lag": 7}
    content = {**SHORT, "looks": looks, "scenarios": truth, **tables}
    plan = Plan.of(content)
    reading: Any = plan.reading if isinstance(plan.reading, str) else reading_of(plan)
    content = tomllib.loads(specfile.toml(with_reading(plan).content))
    ends = []
    for number in range(4):
        simulated = Simulated(plan, reading, plan.scenarios["apart"].environment, 3, number)
        output = simulated.run()
        _, book = begun(content)
        for known in range(1, int(plan.looks.at[-1]) + 8):
            if known <= simulated.randomised:
                made = Proposal(int(simulated.units[known - 1, 0]), (1 / 3, 1 / 3, 1 / 3), (1 / 3, 1 / 3, 1 / 3))
                book.append(decided_event(book, known, (f"u{known}", ""), Met(0), made, at=known))
            if 7 < known <= simulated.randomised + 7:
                _, a, y = simulated.units[known - 8].tolist()
                perform(Report(decision=known - 7, implemented=a, outcome=y), book, known)
        held = [entry.event for entry in book.changes.entries if isinstance(entry.event, Looked)]
        held = [each for each in held if each.ended is None or each.ended == each.look]
        assert (held[-1].look, held[-1].status) == (output.look + 1, STATUSES[int(output.status)])
        last = {each.look: c["probability"] for each in held for c in each.compared if c["rule"] == "superiority"}
        if plan.reading != "policy":  # which is counted in draws
            np.testing.assert_allclose([last.get(look + 1, 0.0) for look in range(5)], output.top, atol=1e-8)
        dropped = {label: each.look for each in held for label in each.dropped or ()}
        assert dropped == {"ABC"[k]: look for k, look in enumerate(output.dropped.tolist()) if look}
        ends.append((held[-1].look, held[-1].status))
    assert len(set(ends)) > 1


BOUNDED: dict[str, Any] = {
    **SHORT,
    "looks": {"at": [20, 40]},
    "stopping": {"control": "A", "superiority": 0.9, "reading": {"bounded": 0.02}},
    "scenarios": {"apart": {"success": [0.4, 0.6, 0.5], "take_up": 0.8}},
}


def test_the_audit_derives_looks_of_a_bounded_reading_again(tmp_path: Path) -> None:
    with Trial.create(tmp_path / "t.db", with_reading(Plan.of(BOUNDED)).content, trial="bounded") as trial:
        trial.start()
        played(trial, 1, 42)
        found, advice = trial.audit(), trial.summary().advice
    assert (found.passed, found.looks, found.looks_other_software) == (True, 2, 0), found
    assert advice.looks is not None
    assert advice.looks.reading == "by the bounded reading with 0.02"


def test_a_share_of_the_control_is_kept_to() -> None:
    """With three arms sqrt(2) / (sqrt(2) + 2) = 0.414 for the control, from the first unit on."""
    stopping = {"control": "A", "control_share": "sqrt"}
    _, book = begun({**SHORT, "stopping": stopping, "limits": {}})
    rng = stream(1)
    for number in range(1, 25):
        unit(book, number, rng)
    decided = [entry.event for entry in book.changes.entries if isinstance(entry.event, Decided)]
    share = 2**0.5 / (2**0.5 + 2)
    assert {round(each.probability[0], 8) for each in decided} == {round(share, 8)}
    np.testing.assert_allclose(decided[0].probability[1], (1 - share) / 2, atol=1e-9)


def test_windows_close_up_to_a_look_and_the_rest_after_it() -> None:
    """Thirty windows close at one moment, and looks are at 20 and 30: each sees what the plan says it sees."""
    _, book = begun({**SHORT, "window": 10, "looks": {"at": [20, 30, 50]}})
    for number in range(1, 36):
        perform(Decide(ask=Ask(unit=f"u{number}")), book, 0)
        perform(Report(decision=number, outcome=number % 2, implemented=0), book, 1)
    assert book.look is None
    perform(Decide(ask=Ask(unit="later")), book, 60_000_000)
    kinds = [
        entry.event.outcomes if isinstance(entry.event, Looked) else len(entry.event.decisions)
        for entry in book.changes.entries
        if isinstance(entry.event, Looked | Closed)
    ]
    assert kinds == [20, 20, 10, 30, 5]


def test_corrections_change_no_verdict_and_hold_no_look_twice() -> None:
    _, book = begun(SHORT)
    rng = stream(2)
    for number in range(1, 21):
        unit(book, number, rng)
    held = book.look
    perform(Report(decision=20, missing=("outcome",), reason="mistake"), book, 21)
    perform(Report(decision=20, outcome=1, reason="found again"), book, 22)
    perform(Report(decision=19, outcome=1, reason="typing error"), book, 23)
    assert held is not None
    assert book.look is held


def test_a_look_that_cannot_be_computed_pauses_the_trial_and_is_held_when_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise FailedPolicyError("no time")

    _, book = begun(SHORT)
    rng = stream(2)
    for number in range(1, 20):
        unit(book, number, rng)
    with monkeypatch.context() as patched:
        patched.setattr(looks_of, "conclude", fail)
        unit(book, 20, rng)
        assert (book.state, book.look) == ("paused", None)
        sequence = book.sequence
        perform(Report(decision=20, outcome=1, reason="typing error"), book, 20)
        assert book.sequence == sequence + 1  # it is not tried again before somebody resumes the trial
        perform(Move(state="running"), book, 21)
        assert book.state == "paused"
    perform(Move(state="running"), book, 22)
    assert book.look is not None
    assert (book.state, book.look.outcomes) == ("running", 20)


def test_looks_that_became_due_while_takeup_had_paused_a_trial_are_all_held_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four looks, nine outcomes: they follow each other before anything else can, and the audit says the same."""

    def fail(*_: object) -> None:
        raise FailedPolicyError("no time")

    with Trial.create(tmp_path / "t.db", {**SHORT, "looks": {"at": [2, 4, 6, 8, 20]}}, trial="t") as trial:
        trial.start()
        decided = [trial.decide(f"u{number}") for number in range(9)]
        with monkeypatch.context() as patched:
            patched.setattr(looks_of, "conclude", fail)
            for each in decided:
                trial.report(unit=each.unit, outcome="none", implemented=each.proposal)
        trial.start()
        trial.decide("next")
        log = [json.loads(each.body) for each in trial.events()][-6:]
        assert [each["kind"] for each in log] == ["moved", *["looked"] * 4, "decided"]
        assert [each.get("outcomes") for each in log[1:5]] == [9] * 4
        assert trial.audit().passed


def test_a_look_that_comes_to_no_number_pauses_the_trial_and_no_such_trial_is_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, book = begun(SHORT)
    rng = stream(2)
    for number in range(1, 20):
        unit(book, number, rng)
    monkeypatch.setattr(looks_of, "comparison", lambda *_: Draws(np.full((1, 3), np.nan), np.full(3, np.nan)))
    unit(book, 20, rng)
    assert (book.state, book.look) == ("paused", None)
    with pytest.raises(SpecError, match="could not be computed: it is no number"):
        tried(SHORT)


def test_utilities_far_from_zero_are_looked_at_too() -> None:
    """The same forty outcomes, worth a million and a hundredth more or 0 and 1: what a look compares is the same."""
    stopping = {"reading": "compliers", "control": "A"}
    scenarios = {"null": {"role": "null", "success": [0.5, 0.5]}}
    held = []
    for utility, margin in (([1e6, 1e6 + 0.01], 0.003), ([0, 1], 0.3)):
        space = {"proposals": ["A", "B"], "outcomes": ["bad", "good"], "utility": utility}
        rules = {**stopping, "equivalence": {"probability": 0.9, "margin": margin}}
        plan = {**SHORT, "space": space, "looks": {"at": [40, 80]}, "stopping": rules, "scenarios": scenarios}
        _, book = begun(plan)
        for number in range(1, 41):
            perform(Decide(ask=Ask(unit=f"u{number}")), book, number)
            z = book.records[number].proposal
            perform(Report(decision=number, outcome=number // 2 % 2, implemented=z * (number % 3 > 0)), book, number)
        assert book.look is not None
        held.append([each["probability"] for each in book.look.compared])
    np.testing.assert_allclose(held[0], held[1], atol=1e-6)


def test_a_look_waits_for_the_next_transaction_where_much_was_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise BusyError("much")

    _, book = begun(SHORT)
    rng = stream(2)
    for number in range(1, 20):
        unit(book, number, rng)
    with monkeypatch.context() as patched:
        patched.setattr(METER, "run", busy)
        unit(book, 20, rng)
        assert book.look is None
        with pytest.raises(BusyError):
            perform(Decide(ask=Ask(unit="next")), book, 21)
        assert book.decisions == 20
    perform(Decide(ask=Ask(unit="next")), book, 21)
    assert book.look is not None


def played(trial: Trial, first: int, last: int) -> None:
    """Units that come one after the other, with outcomes that depend on their number and their proposal."""
    for number in range(first, last + 1):
        proposal = trial.decide(f"u{number}").proposal
        chance = stream(number, "outcome").random()
        outcome = "none" if chance < RATES["ABC".index(proposal)] else "event"
        trial.report(unit=f"u{number}", outcome=outcome, implemented=proposal)


def bodies(trial: Trial) -> list[str]:
    """What the log says, but for when."""
    return [json.dumps({**json.loads(each.body), "at": 0}) for each in trial.events()]


@pytest.mark.requirement("R-6.7")
def test_looks_survive_a_crash_and_the_audit_derives_every_one_again(tmp_path: Path) -> None:
    """A copy of the files as they are in the middle is what a kill leaves; it goes on as the first does."""
    with Trial.create(tmp_path / "t.db", told(SHORT), trial="victim") as trial:
        trial.start()
        played(trial, 1, 34)
        for file in tmp_path.glob("t.db*"):
            shutil.copy(file, tmp_path / f"copy{file.name}")
        played(trial, 35, 85)
        found = trial.audit()
        assert found.passed, found
        assert (found.looks, found.looks_other_software, found.rederived) == (7, 0, 85)
        whole = bodies(trial)
    with Trial.open(tmp_path / "copyt.db", "victim") as again:
        played(again, 35, 85)
        assert [body.split('"secret"')[0] for body in bodies(again)] == whole
        assert again.audit().passed
        advice = again.summary().advice
    assert advice.stop
    assert advice.looks is not None
    assert advice.looks.error is not None
    assert (advice.looks.next, advice.looks.error.found) == (None, 0.0493)


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("looks") / "victim.db"
    with Trial.create(path, SHORT, trial="victim") as trial:
        trial.start()
        played(trial, 1, 45)
    return path


def forged(victim: Path, folder: Path, change: Any) -> Any:
    """What the audit finds after a log was changed, its hashes and its tables made to fit."""
    path = tampering.copied(victim, folder / "forged.db")
    forger = tampering.Forger(path, stream(1))
    with forger.unlocked(True):
        events = [json.loads(body) for body in forger.bodies()]
        place = next(i for i, event in enumerate(events) if event["kind"] == "looked")
        change(events, place)
        forger.rebuild([json.dumps(e, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for e in events])
    forger.close()
    with looking(path) as connection:
        return audit(connection, "victim"), place + 1


def another_verdict(events: list[dict[str, Any]], place: int) -> None:
    events[place] |= {"status": "superior", "chosen": "C", "ended": 1}


def another_probability(events: list[dict[str, Any]], place: int) -> None:
    events[place]["compared"][0]["probability"] += 1e-6


def another_share(events: list[dict[str, Any]], place: int) -> None:
    events[place]["probability"] = events[place]["probability"][::-1]


def no_look(events: list[dict[str, Any]], place: int) -> None:
    del events[place]


def one_too_many(events: list[dict[str, Any]], place: int) -> None:
    events.insert(place + 1, {**events[place], "look": 2})


@pytest.mark.requirement("R-6.7")
@pytest.mark.parametrize("change", [another_verdict, another_probability, another_share, no_look, one_too_many])
def test_the_audit_finds_a_forged_look(victim: Path, tmp_path: Path, change: Any) -> None:
    found, place = forged(victim, tmp_path, change)
    assert not found.passed
    assert found.difference.where == f"event {place + (change is one_too_many)}"


def test_the_audit_finds_a_forged_row(victim: Path, tmp_path: Path) -> None:
    path = tampering.copied(victim, tmp_path / "forged.db")
    forger = tampering.Forger(path, stream(1))
    forger.connection.execute("UPDATE trials SET looks = replace(looks, 'going on', 'superior')")
    forger.close()
    with looking(path) as connection:
        assert "the trial's looks" in str(audit(connection, "victim").difference)


def test_the_page_says_when_the_next_look_is_and_what_the_last_one_said() -> None:
    stopping = {name: value for name, value in SHORT["stopping"].items() if name != "inferiority"}
    _, book = begun(told({**SHORT, "stopping": stopping}))
    rng = stream(3)
    page = dashboard(findings_of(book, 0), 1)
    assert "The next look is at 20 known outcomes, of 80 in all" in page
    assert "err in 4.93 % ± 0.07 % of 100,000 simulated trials of the scenario null" in page
    number = 0
    while book.look is None or book.look.ended is None:
        number += 1
        unit(book, number, rng)
    found = findings_of(book, 0)
    page = dashboard(found, 1)
    assert "The stopping rule advises an end: look" in page
    assert f"{book.look.chosen} is superior" in page
    assert f"superiority of {book.look.chosen}: probability 0.9" in page
    assert "threshold 0.97" in page
    words = " ".join(spec_sentences(book.design))
    assert "looked at 7 times, when 20 to 80 outcomes are known, by intention to treat" in words


def test_blinded_readers_of_the_log_cannot_tell_that_an_end_was_advised() -> None:
    """Looks that were planned beyond it are in the log as well; they repeat what was concluded."""
    _, book = begun({**SHORT, "stopping": {"superiority": 0.33}})
    rng = stream(3)
    for number in range(1, 81):
        unit(book, number, rng)
    held = [entry.event for entry in book.changes.entries if isinstance(entry.event, Looked)]
    assert [each.look for each in held] == [1, 2, 3, 4, 5, 6, 7]
    assert {(each.status, each.ended, each.outcomes) for each in held} == {("superior", 1, 20)}
    advice = summary_of(book, 0).advice
    assert advice.looks is not None
    assert advice.looks.last is not None
    assert (advice.looks.next, advice.looks.last.look, advice.looks.last.outcomes) == (None, 1, 20)


@pytest.mark.parametrize(
    ("tables", "named"),
    [
        ({"stopping": {"control": "A", "reading": {"bounded": 0.05}}}, r"stopping\.reading\.moved is missing.*--out"),
        (
            {"stopping": {"control": "A", "reading": {"bounded": 0.05, "moved": []}}, "compliance": "sometimes"},
            r"stopping\.reading.*sometimes",
        ),
        ({"stopping": {"control": "A", "reading": "compliers"}, "compliance": "never"}, r"stopping\.reading.*never"),
        (
            {
                "stopping": {"control": "A", "reading": "compliers"},
                "space": {"proposals": list("ABC"), "implemented": 2},
            },
            r"stopping: .*complying",
        ),
    ],
)
def test_readings_that_a_live_trial_cannot_have_are_refused_when_it_is_to_begin(
    tables: dict[str, Any], named: str
) -> None:
    with pytest.raises(SpecError, match=named):
        tried({**SHORT, **tables})


def test_more_scenarios_than_a_page_can_show_are_refused_when_a_trial_is_to_begin() -> None:
    """A plan may have any number."""
    many = {f"s{number}": {"success": [0.3, 0.3, 0.3]} for number in range(201)}
    with pytest.raises(SpecError, match="spec: scenarios: got 201, expected at most 200 of them; leave some out"):
        tried({**SHORT, "scenarios": many})
    assert len(Plan.of({**SHORT, "scenarios": many}).scenarios) == 201


def test_the_wire_says_what_a_look_said_to_those_who_see_all_and_to_no_others() -> None:
    with asgi.api() as api:
        every = api.key("design", "decide", "report", "read-unblinded")
        site = api.key("decide", "report", "read-blinded")
        assert api.request("POST", "/trials", told(SHORT), every).status == 201
        api.request("PUT", "/trials/three-arms/state", {"state": "running"}, every)
        for number in range(20):
            proposal = api.request("POST", "/trials/three-arms/decisions", {"unit": f"u{number}"}, site).json[
                "proposal"
            ]
            report = {"unit": f"u{number}", "outcome": number % 2, "implemented": proposal}
            api.request("POST", "/trials/three-arms/reports", report, site)
        assert api.request("GET", "/trials/three-arms/summary", key=site).status == 403
        looks = api.request("GET", "/trials/three-arms/summary", key=every).json["advice"]["looks"]
        events = api.request("GET", "/trials/three-arms/events?kind=looked", key=site).json["events"]
    assert (looks["next"], looks["reading"], looks["error"]["found"]) == (30, "by intention to treat", 0.0493)
    assert (looks["last"]["look"], looks["last"]["outcomes"]) == (1, 20)
    assert {each["threshold"] for each in looks["last"]["compared"]} <= {0.97, 0.03}
    assert [each["kind"] for each in events] == ["looked"]
    assert not any(word in json.dumps(events) for word in ("status", "going on", "superior", "compared"))


def test_a_trial_that_takeup_had_paused_before_there_were_looks_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with Trial.create(path, {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "TS"}}, trial="old") as trial:
        trial.start()
        trial.store.submit("old", Move(state="paused", reason="its policy failed", by=BY)).result()
    forger = tampering.Forger(path, stream(1))
    for statement in (*AS_SCHEMA_7, "ALTER TABLE trials DROP COLUMN looks"):
        forger.connection.execute(statement)
    forger.connection.execute("UPDATE alembic_version SET version_num = '0006'")
    forger.close()
    with Trial.open(path) as trial:
        assert trial.audit().passed, trial.audit()


def test_what_is_offered_is_found_in_one_way_through_the_proposals() -> None:
    """Of 300 labels none is compared with more than a few others; to search for each took 45,000 comparisons."""
    compared = []

    class Label(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return str.__eq__(self, other)

    labels = tuple(Label(number) for number in range(300))
    design: Any = SimpleNamespace(space=SimpleNamespace(proposals=labels))
    offered = tuple(str(number) for number in range(0, 300, 2))
    look = Looked(at=0, look=1, outcomes=1, version=1, status="going on", offered=offered, control="2", software="")
    assert standing_of(design, look) == Standing(tuple(range(0, 300, 2)), 2)
    assert len(compared) <= 2 * len(labels)


def test_the_last_look_is_written_when_it_is_held_and_not_at_every_commit(tmp_path: Path) -> None:
    """Twenty-one decisions and as many outcomes, with a look at the twentieth: once for that, once for the start."""
    written: list[bool] = []

    def see(_: object, __: object, statement: str, *___: object) -> None:
        if statement.startswith("UPDATE trials"):
            written.append("looks=" in statement)

    with Trial.create(tmp_path / "t.db", SHORT, trial="t") as trial:
        event.listen(Engine, "before_cursor_execute", see)
        try:
            trial.start()
            played(trial, 1, 21)
        finally:
            event.remove(Engine, "before_cursor_execute", see)
        last = next(json.loads(each.body) for each in trial.events() if each.kind == "looked")
        assert (len(written), written.index(True), sum(written)) == (43, 0, 2)
        with looking(tmp_path / "t.db") as connection:
            assert connection.execute(select(trials.c.looks)).scalar_one() == canonical({"last": last})
        assert trial.audit().passed


DAMAGES: list[dict[str, Any]] = [
    {"control": "D"},
    {"chosen": "D"},
    {"offered": ["A", "D"]},
    {"offered": "ABC"},
    {"offered": [["A"]]},
    {"dropped": {"D": "inferior"}},
    {"dropped": ["A"]},
    {"look": "one"},
    {"look": 9},
    {"ended": 4},
    {"status": "gone"},
    {"probability": [0.5, 0.5]},
    {"best": 1},
    {"compared": [1]},
]


def test_a_trial_whose_last_look_is_damaged_is_not_loaded(victim: Path, tmp_path: Path) -> None:
    path = tampering.copied(victim, tmp_path / "damaged.db")
    with looking(path) as connection:
        last = json.loads(connection.execute(select(trials.c.looks)).scalar_one())["last"]
        assert snapshot(connection, "victim").look is not None
    looks = ["{", "null", "[1]", '"last"', '{"last": []}', '{"unlooked": 1}', '{"other": 1}']
    for damaged in [*looks, *(json.dumps({"last": last | each}) for each in DAMAGES)]:
        forger = tampering.Forger(path, stream(1))
        forger.connection.execute("UPDATE trials SET looks = ?", (damaged,))
        forger.close()
        with looking(path) as connection, pytest.raises(StoreError, match="run takeup audit"):
            snapshot(connection, "victim")
