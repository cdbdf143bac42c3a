"""What a blinded key can find out, whatever it asks: no arm of others, no action, no outcome."""

import csv
import io
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

import asgi
from asgi import SPEC, Api, Reply
from page_visitor import RenderHere, Visitor
from store_internals import engine, made_by_0_1
from takeup.errors import StoreError
from takeup.live.findings import findings_of
from takeup.service.pages import trial as trial_page
from takeup.service.pages.render import child
from takeup.store import reading

MANY = 60
ACTIONS, OUTCOMES = ("tea", "coffee"), ("bad", "good")
READS = (
    "progress",
    "events?limit=1000",
    "events?kind=reported&limit=1000",
    "events?decision=1",
    "export?format=jsonl",
    "audit",
)
everywhere_in_long = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)
"""What is said, which does not come from how a database is asked: on PostgreSQL in `make long`."""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages wait for what they show, however busy the machine is; and charts, which take longest, are left out."""
    monkeypatch.setattr(trial_page, "WAIT", 300.0)
    monkeypatch.setattr(trial_page, "FRAGMENT_WAIT", 300.0)
    monkeypatch.setattr(child, "page_charts", lambda found, how, words: [])


@pytest.fixture
def api(database: str) -> Iterator[Api]:
    with asgi.api(database) as running:
        running.app.state.render_cache.process = RenderHere()
        yield running


@pytest.fixture
def key(api: Api) -> str:
    return begun(api)


def begun(api: Api, spec: dict[str, Any] = SPEC, trial: str = "t") -> str:
    """A key that may do everything in this trial, which runs."""
    key = api.key("decide", "report", "read-unblinded", "design", "admin")
    assert api.request("POST", f"/trials?trial={trial}", spec, key).status == 201
    assert api.request("PUT", f"/trials/{trial}/state", {"state": "running"}, key).status == 200
    return key


def decide(api: Api, key: str, unit: str, **headers: str) -> Reply:
    return api.request("POST", "/trials/t/decisions", {"unit": unit, "context": "evening"}, key, headers=headers)


def report(api: Api, key: str, **said: Any) -> Reply:
    return api.request("POST", "/trials/t/reports", said, key)


def filled(api: Api, key: str, many: int = MANY) -> list[tuple[str, str, str]]:
    """Proposal, action and outcome of every decision; the truth."""
    truth = []
    for i in range(many):
        proposal = decide(api, key, f"u{i}").json["proposal"]
        action, outcome = ACTIONS[i % 3 == 0], OUTCOMES[i % 7 < 3]
        assert report(api, key, unit=f"u{i}", implemented=action, outcome=outcome).status == 200
        truth.append((proposal, action, outcome))
    return truth


def exported(api: Api, key: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(api.request("GET", "/trials/t/export", key=key).body.decode())))


def full_page(api: Api) -> str:
    """What a page tells those who see all."""
    book = api.store.read(lambda connection: reading.snapshot(connection, "t"))
    return child.dashboard(findings_of(book, 0), api.store.clock())


def kinds(api: Api, key: str) -> list[str]:
    return [each["kind"] for each in api.request("GET", "/trials/t/events?limit=1000", key=key).json["events"]]


@pytest.mark.requirement("R-4.2")
@everywhere_in_long
def test_asking_again_for_the_units_of_others_tells_no_arm_and_is_logged(api: Api, key: str) -> None:
    """Sixty of sixty arms before, and no event."""
    truth = filled(api, key)
    spy = api.key("decide", "report", "read-blinded")
    units = [row["unit"] for row in exported(api, spy)]
    events = len(kinds(api, key))
    learnt = [decide(api, spy, unit).json.get("proposal") for unit in units]
    assert sum(proposal == arm for proposal, (arm, _, _) in zip(learnt, truth, strict=True)) == 0
    logged = api.request("GET", f"/trials/t/events?after={events}&limit=1000", key=key).json["events"]
    assert [each["kind"] for each in logged] == ["refused"] * MANY
    assert {each["event"]["by"].split()[0] for each in logged} == {"decide/report/read-blinded"}
    assert api.request("GET", "/trials/t/audit", key=key).json["passed"]


@pytest.mark.requirement("R-4.2")
@everywhere_in_long
def test_no_other_way_to_ask_tells_either(api: Api, key: str) -> None:
    """A batch, a guess at somebody's idempotency key, a fallback, the page: refused alike whatever the arm is."""
    assert decide(api, key, "u0", **{"Idempotency-Key": "patient 0"}).status == 200
    drawn = {"unit": "u1", "context": "evening", "proposal": "tea"}
    assert api.request("POST", "/trials/t/fallbacks", drawn, key, headers={"Idempotency-Key": "drawn"}).status == 200
    spy = api.key("decide", "report", "read-blinded")
    batch = {"units": [{"unit": "new", "context": "evening"}, {"unit": "u0", "context": "evening"}]}
    refused = [
        api.request("POST", "/trials/t/decisions/batch", batch, spy),
        decide(api, spy, "u0", **{"Idempotency-Key": "mine"}),
        api.request("POST", "/trials/t/decisions", {"unit": "u0", "context": "morning"}, spy),
    ]
    refused += [
        api.request("POST", "/trials/t/fallbacks", {**drawn, "unit": "u0", "proposal": proposal}, spy)
        for proposal in ACTIONS
    ]
    for reply in refused:
        assert (reply.status, reply.json["type"]) == (403, "urn:takeup:forbidden")
    assert len({reply.body for reply in refused}) == 1
    guesses = [decide(api, spy, "u0", **{"Idempotency-Key": "patient 0"})]
    guesses += [
        api.request(
            "POST", "/trials/t/fallbacks", {**drawn, "proposal": proposal}, spy, headers={"Idempotency-Key": "drawn"}
        )
        for proposal in ACTIONS
    ]
    assert {reply.json["type"] for reply in guesses} == {"urn:takeup:reused-key"}
    assert guesses[1].body == guesses[2].body
    page = Visitor(api, "decide", "read-blinded").post("/app/trials/t/decide", {"unit": "u0", "context": "evening"})
    assert page.status == 403
    assert b"somebody else" in page.body
    assert api.request("GET", "/trials/t/progress", key=key).json["decisions"] == 2
    assert kinds(api, key).count("refused") == len(refused) + len(guesses) + 1
    assert api.request("GET", "/trials/t/audit", key=key).json["passed"]


@pytest.mark.requirement("R-2.11")
def test_a_key_is_told_of_its_own_decisions_and_of_its_sites(api: Api, key: str) -> None:
    """Every time the log says who asked; a retry under its idempotency key has no event, as before."""

    def made(**asked: Any) -> str:
        reply = api.request("POST", "/keys", {"name": "nurse", "scopes": ["decide"], **asked}, key)
        assert reply.json["site"] == asked.get("site")
        return str(reply.json["key"])

    north, other, south, alone = made(site="north"), made(site="north"), made(site="south"), made()
    first = decide(api, north, "a", **{"Idempotency-Key": "k"})
    assert decide(api, north, "a", **{"Idempotency-Key": "k"}).body == first.body
    assert kinds(api, key) == ["created", "moved", "decided"]
    assert decide(api, north, "a").body == first.body
    assert decide(api, other, "a").body == first.body
    assert decide(api, other, "a", **{"Idempotency-Key": "k"}).body == first.body  # the site has another key now
    assert decide(api, key, "a").body == first.body  # unblinded
    assert kinds(api, key)[3:] == ["answered"] * 4
    for stranger in (south, alone):
        assert decide(api, stranger, "a").status == 403
    own = decide(api, alone, "b")
    assert decide(api, alone, "b").body == own.body
    assert decide(api, north, "b").status == 403
    event = api.request("GET", "/trials/t/events?kind=decided", key=key).json["events"][0]["event"]
    assert (event["site"], event["by"].startswith("nurse (")) == ("north", True)
    assert api.request("GET", "/trials/t/audit", key=key).json["passed"]


@pytest.mark.requirement("R-4.2")
@everywhere_in_long
def test_guessing_in_reports_tells_neither_action_nor_outcome(api: Api, key: str) -> None:
    """Sixty of sixty actions and outcomes before: the guess that was not refused was right."""
    truth = filled(api, key)
    spy = api.key("decide", "report", "read-blinded")
    right = 0
    for i, (_, action, outcome) in enumerate(truth):
        for name, labels, true in (("implemented", ACTIONS, action), ("outcome", OUTCOMES, outcome)):
            replies = {label: report(api, spy, unit=f"u{i}", **{name: label}) for label in labels}
            taken = [label for label, reply in replies.items() if reply.status == 200]
            right += taken == [true]
            assert len({re.sub(rb'"sequence":\d+', b"", reply.body) for reply in replies.values()}) == 1
    assert right == 0
    progress = api.request("GET", "/trials/t/progress", key=key).json
    assert (progress["disputes"], progress["corrections"]) == (2 * MANY, 0)
    rows = exported(api, key)
    assert [(row["ARM"], row["ACTARM"], row["outcome"]) for row in rows] == truth
    assert sum(int(row["disputes"]) for row in rows) == 2 * MANY
    assert api.request("GET", "/trials/t/audit", key=key).json["passed"]


def test_the_key_of_a_report_is_answered_to_its_maker_alone(api: Api, key: str) -> None:
    """A colleague of the site got 200 for a right guess under it, and 422 for a wrong one."""

    def made(name: str) -> str:
        asked = {"name": name, "scopes": ["decide", "report"], "site": "north"}
        return str(api.request("POST", "/keys", asked, key).json["key"])

    def said(by: str, outcome: str) -> Reply:
        what = {"unit": "a", "implemented": "tea", "outcome": outcome}
        return api.request("POST", "/trials/t/reports", what, by, headers={"Idempotency-Key": "k"})

    nurse, colleague = made("nurse"), made("colleague")
    decide(api, nurse, "a")
    first = said(nurse, "good")
    guesses = [said(colleague, outcome) for outcome in OUTCOMES]
    assert {reply.json["type"] for reply in guesses} == {"urn:takeup:reused-key"}
    assert guesses[0].body == guesses[1].body
    assert kinds(api, key)[-2:] == ["refused"] * 2
    assert said(nurse, "good").body == first.body
    assert said(key, "good").status == 200  # unblinded
    assert decide(api, colleague, "a").status == 200
    assert api.request("GET", "/trials/t/audit", key=key).json["passed"]


GUESSES: list[dict[str, Any]] = [
    {"outcome": "?"},
    {"outcome": "?", "reason": "typing error"},
    {"outcome": "?", "implemented": "tea"},
    {"outcome": "?", "missing": ["implemented"], "reason": "lost"},
]


@pytest.mark.requirement("R-4.3")
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("way", ["single", "batch", "a key of others", "page"])
def test_nothing_that_a_blinded_key_sees_depends_on_whether_its_guess_was_right(way: str) -> None:
    """Two services with the same trials to the microsecond; one is told the known outcome, the other another."""
    right, wrong = _seen(way, "good"), _seen(way, "bad")
    assert len(right) == 2 * len(GUESSES)
    for case, told in right.items():
        assert [status for status, _ in told] == [told[0][0]] + [200] * (len(told) - 1), case
        assert [text.replace("Outcome: bad", "Outcome: good") for _, text in wrong[case]] == [text for _, text in told]


def _seen(way: str, outcome: str) -> dict[str, list[tuple[int, str]]]:
    """What a blinded key is told that guesses this outcome in this way, in a trial for each guess."""
    found: dict[str, list[tuple[int, str]]] = {}
    with asgi.api(clock=lambda: 10**15) as api:
        spy, token = Visitor(api, "decide", "report", "read-blinded"), api.key("decide", "report", "read-blinded")
        for i, (guess, window) in enumerate(itertools.product(GUESSES, (None, "10 days"))):
            trial = f"t{i}"
            key = begun(api, {**SPEC, "rehearsal": True, "seed": 1, "window": window}, trial)
            api.request("POST", f"/trials/{trial}/decisions", {"unit": "u", "context": "evening"}, key)
            known, once = {"unit": "u", "outcome": "good"}, {"Idempotency-Key": "u, done"}
            assert api.request("POST", f"/trials/{trial}/reports", known, key, headers=once).status == 200
            said = {"unit": "u", **guess, "outcome": outcome}
            replies: list[Reply] = []
            if way == "page":
                form = {**said, "outcome": str(OUTCOMES.index(outcome))}
                missing = form.pop("missing", ())
                form |= dict.fromkeys(missing, "missing")
                form |= {"implemented": "0"} if "implemented" in guess else {}
                replies.append(spy.post(f"/app/trials/{trial}/report", form))
            elif way == "batch":
                replies.append(api.request("POST", f"/trials/{trial}/reports/batch", {"reports": [said, known]}, token))
            else:
                headers = once if way == "a key of others" else None
                replies.append(api.request("POST", f"/trials/{trial}/reports", said, token, headers=headers))
            replies += [api.request("GET", f"/trials/{trial}/{what}", key=token) for what in READS]
            replies.append(api.request("GET", "/trials", key=token))
            replies += [
                spy.get(f"/app/trials/{trial}{path}") for path in ("", "/log", "/log?kind=reported", "/dashboard")
            ]
            changing = r'[0-9a-f]{12}|"?key" value="[\w-]+|form_token" value="\w+'
            found[f"{guess}, {window}"] = [(each.status, re.sub(changing, "", each.body.decode())) for each in replies]
    return found


@pytest.mark.usefixtures("patient")
@everywhere_in_long
def test_those_who_see_all_are_told_of_contradictions(api: Api, key: str) -> None:
    """Whoever reports with them is refused in words; of the blinded, progress, log, page and export speak."""
    filled(api, key, 1)
    words = report(api, key, unit="u0", outcome="bad" if exported(api, key)[0]["outcome"] == "good" else "good")
    assert (words.status, words.json["type"]) == (409, "urn:takeup:conflict")
    assert "a correction needs a reason" in words.json["detail"]
    had = exported(api, key)[0]["outcome"]
    said = next(label for label in OUTCOMES if label != had)
    assert report(api, api.key("report"), unit="u0", outcome=said).json["corrected"] == []
    event = api.request("GET", "/trials/t/events?after=4", key=key).json["events"][0]
    assert (event["kind"], event["event"]["outcome"], event["event"]["stands"]) == ("reported", said, {"outcome": had})
    assert exported(api, key)[0]["outcome"] == had
    boss = Visitor(api, "read-unblinded")
    assert "1 report contradicted" in full_page(api)
    assert b"Disputed." in boss.get("/app/trials/t/log").body
    corrected = report(api, api.key("report"), unit="u0", outcome=said, reason="typing error")
    assert corrected.json["corrected"] == []
    assert exported(api, key)[0]["outcome"] == said
    assert api.request("GET", "/trials/t/progress", key=key).json["corrections"] == 1
    assert api.request("GET", "/trials/t/audit", key=key).json["passed"]


@everywhere_in_long
def test_what_a_report_adds_counts_where_the_rest_of_it_is_disputed(api: Api, key: str) -> None:
    """Else a blinded reader would see from the counts that the rest of the report was wrong."""
    decide(api, key, "u")
    report(api, key, unit="u", outcome="good")
    report(api, api.key("report"), unit="u", outcome="bad", implemented="coffee")
    (row,) = exported(api, key)
    assert (row["outcome"], row["ACTARM"]) == ("good", "coffee")


@everywhere_in_long
def test_a_key_that_is_valid_nowhere_learns_of_no_trial(api: Api, key: str) -> None:
    nowhere = api.key("decide", "report", "read-blinded", "read-unblinded", "design", trials=["ghost"])
    visitor = Visitor(api, "decide", "report", "read-unblinded", "design", trials=["ghost"])
    missing = [
        api.request("GET", f"/trials/ghost{path}", key=nowhere) for path in ("", "/progress", "/events", "/audit")
    ]
    missing += [visitor.get(f"/app/trials/ghost{path}") for path in ("", "/log", "/decide", "/stream")]
    for reply in missing:
        assert reply.status == 404
        assert b"'ghost'" in reply.body or b"&#39;ghost&#39;" in reply.body
        assert b" t" not in reply.body.partition(b"there is no trial")[2].partition(b"<")[0].replace(b" this", b"")
    assert api.request("GET", "/trials", key=nowhere).json == {"trials": []}
    assert json.loads(api.request("GET", "/trials/t", key=nowhere).body)["status"] == 403


@everywhere_in_long
def test_an_audit_names_the_cell_to_those_who_may_see_it_alone(api: Api, key: str) -> None:
    """The name of a cell is a context, a proposal, an action and an outcome."""
    filled(api, key, 1)
    with engine(api.store).begin() as connection:
        connection.execute(text("UPDATE evidence SET amount = 7 WHERE amount = 1"))
    spy, boss = Visitor(api, "read-blinded"), Visitor(api, "read-unblinded")
    token = api.key("read-blinded")
    assert api.request("GET", "/trials/t/audit", key=token).json["where"] == "the tables"
    assert api.request("GET", "/trials/t/audit", key=key).json["where"].startswith("evidence (")
    spy.post("/app/trials/t/audit", {})
    assert b"part at the tables." in spy.get("/app/trials/t").body
    assert b"part at evidence (" in boss.get("/app/trials/t").body


@everywhere_in_long
def test_an_error_of_the_database_names_no_file(
    api: Api, key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    words = "/srv/secret/trials.db did not take it: disk I/O error"

    def fail(*_: Any, **__: Any) -> None:
        raise StoreError(words)

    boss = Visitor(api, "read-unblinded", "decide")
    monkeypatch.setattr(api.store, "submit_to", fail)
    replies = [decide(api, key, "u"), boss.post("/app/trials/t/decide", {"unit": "u", "context": "evening"})]
    monkeypatch.setattr(api.store, "read", fail)
    replies += [api.request("GET", "/trials/t/progress", key=key), api.request("GET", "/ready")]
    for reply in replies:
        assert reply.status == 503
        assert b"ask again" in reply.body or b"log says why" in reply.body
        assert b"secret" not in reply.body
        assert reply.headers["retry-after"] == "1"
    assert caplog.text.count(words) == len(replies)


@everywhere_in_long
def test_a_seed_that_somebody_chose_is_refused_or_told_of(api: Api, key: str) -> None:
    """Thirty of thirty proposals were foreseen by whoever chose the seed, and nothing said so."""
    seeded = {**SPEC, "name": "foretold", "seed": 1}
    boss = Visitor(api, "design", "read-unblinded")
    for reply in (
        api.request("POST", "/trials", seeded, key),
        api.request("PUT", "/trials/t/spec", seeded, key),
        boss.post("/app/new", {"by": "paste", "text": json.dumps(seeded), "do": "save"}),
    ):
        assert reply.status == 422
        assert b"rehearsal = true" in reply.body
    made = api.request("POST", "/trials", {**seeded, "rehearsal": True}, key).json
    assert (made["rehearsal"], made["seeded"]) == (True, True)
    listed = {each["trial"]: each["rehearsal"] for each in api.request("GET", "/trials", key=key).json["trials"]}
    assert listed == {"t": False, "foretold": True}
    assert api.request("GET", "/trials/foretold/audit", key=key).json["seeded"] is True
    boss.post("/app/trials/foretold/audit", {})
    page = boss.get("/app/trials/foretold").body
    for words in (
        b"Rehearsal: not a real trial.",
        b"Its seed was given: whoever knows it",
        b"Its seed was given, so that",
    ):
        assert words in page
    assert b"with a seed that was given" in boss.get("/app/trials/foretold/log").body
    assert boss.get("/app").body.count(b"Rehearsal: not a real trial.") == 1
    assert b"Rehearsal" not in boss.get("/app/trials/t").body


@everywhere_in_long
def test_a_seed_that_version_0_1_may_have_been_given_is_told_of(
    api: Api, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by_0_1(monkeypatch)
    assert api.request("POST", "/trials?trial=old", {**SPEC, "name": "old"}, key).json["seeded"] is None
    assert api.request("GET", "/trials/old/audit", key=key).json["seeded"] is None
    boss = Visitor(api, "read-unblinded")
    boss.post("/app/trials/old/audit", {})
    page = boss.get("/app/trials/old").body
    assert b"did not say whether its seed was given: whoever" in page
    assert b"Its log does not say whether its seed was given." in page
    assert b"whether its seed was given is not known" in boss.get("/app/trials/old/log").body
    boss.post("/app/trials/t/audit", {})
    for known in ("/app/trials/t", "/app/trials/t/log"):
        assert b"seed was given" not in boss.get(known).body


@pytest.mark.usefixtures("patient")
@everywhere_in_long
def test_fallbacks_are_limited_and_shown(api: Api) -> None:
    """A key that may decide chose as many arms as it liked, also after the end, and nothing showed it."""
    key = begun(api, {**SPEC, "fallback_limits": {"a_day": 15}})
    clinic = api.key("decide")

    def draw(unit: str, token: str = clinic, **said: Any) -> Reply:
        body = {"unit": unit, "context": "evening", "proposal": "tea", **said}
        return api.request("POST", "/trials/t/fallbacks", body, token)

    taken = [draw(f"u{i}").status for i in range(100)]
    assert (taken.count(200), taken.count(409)) == (15, 85)
    blind, shown = Visitor(api, "read-blinded"), full_page(api)
    assert "Fallbacks did not come as often as agreed" in shown
    for page in (shown, blind.get("/app/trials/t/dashboard").body.decode()):
        assert re.search(r"Fallbacks were recorded by decide \(\w+\) \(15\)", page)
    assert b"at most 15 a day from one key" in blind.get("/app/trials/t").body
    audit = api.request("GET", "/trials/t/audit", key=key).json
    assert (audit["fallbacks"], list(audit["fallbacks_by"].values())) == (15, [15])
    api.request("PUT", "/trials/t/state", {"state": "stopped"}, key)
    assert draw("after the end", api.key("decide")).status == 409
    late = draw("after the end", api.key("decide"), drawn=api.store.clock() + 200_000_000)
    assert late.status == 200  # a clock may be a little ahead
    refused = draw("later still", api.key("decide"), drawn=api.store.clock() + 10**12)
    assert (refused.status, refused.json["argument"]) == (422, "drawn")
