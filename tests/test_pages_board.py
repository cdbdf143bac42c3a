"""A trial's page: what it says, what it hides, that it is drawn once and elsewhere, and that it follows the trial."""

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from asgi import Api, Reply, api
from browser import browser, sign_in
from serving import served
from takeup import Evidence, Space
from takeup.live import Trial
from takeup.live.course import Point
from takeup.live.findings import Findings, disagreements, findings_of
from takeup.live.summary import Withheld
from takeup.randomness import stream
from takeup.service.pages import boards, drawing, watch, words
from takeup.service.pages.drawing import board, draw
from takeup.service.pages.figures import interval, merged
from takeup.service.pages.worker import DrawingError, Drawn, Task, Worker
from takeup.store import Store, reading
from takeup.trial.book import Book
from takeup.trial.design import Design
from takeup.trial.rollup import Rollup
from takeup.trial.secret import Secret

ARMS = ("zebra", "yak")
LEVELS = ("lost", "won")
SPEC = {
    "name": "hooves",
    "space": {"proposals": list(ARMS), "contexts": ["hill", "vale"], "outcomes": list(LEVELS)},
    "policy": {"kind": "TSObs"},
}


def book_of(counts: Any, spec: dict[str, Any] = SPEC) -> Book:
    """A trial with this evidence n[x, z, a, y] and one stretch of decisions in each context."""
    design = Design.of(spec)
    table = np.zeros(Evidence.empty(design.space).counts.shape, dtype=np.int64)
    given = np.asarray(counts)
    contexts, proposals, actions, levels = given.shape
    table[:contexts, :proposals, :actions, :levels] = given
    rollup, number, even = Rollup(), 0, [0.5] * proposals
    for x, z, a, y in np.ndindex(table.shape):
        for _ in range(table[x, z, a, y]):
            number += 1
            rollup.add(number, x, z, even, even, number)
    return Book("hooves", design, Secret("", ""), table, "running", 7, "f" * 64, 7, number, 7, rollup=rollup)


def ignorable() -> Book:
    """Seven in ten comply, and outcomes follow the action."""
    return book_of([[[[28, 42], [9, 21]], [[12, 18], [21, 49]]]] * 2)


def confounded() -> Book:
    """Half take the yak whatever is proposed and do well; the other half do as told, and the yak harms them."""
    return book_of([[[[100, 100], [50, 150]], [[0, 0], [200, 200]]]] * 2)


@pytest.fixture(scope="module")
def sound() -> Findings:
    return findings_of(ignorable(), late=0)


@pytest.fixture(scope="module")
def unsound() -> Findings:
    return findings_of(confounded(), late=3)


def test_the_headline_says_it_in_words(sound: Findings) -> None:
    """140 were offered the yak, and 98 took it, which is 70 %."""
    said = words.headline(replace_pending(sound, pending=12))
    assert re.fullmatch(
        r"yak is best with probability \S.*; 70\u00a0% of those offered yak took it; 12 outcomes pending\.", said
    ), said


def replace_pending(found: Findings, pending: int) -> Findings:
    """The same with so many outcomes pending."""
    progress = replace(found.summary.progress, outcomes_pending=pending)
    return replace(found, summary=replace(found.summary, progress=progress))


def test_the_headline_takes_sides_with_intention_to_treat(unsound: Findings) -> None:
    """Proposing the zebra wins 5 in 8, proposing the yak 1 in 2; TS-Obs believes otherwise, and is wrong."""
    assert words.headline(unsound).startswith("By intention to treat zebra is best with probability >\u00a00.99;")
    assert "the policy's own model says yak" in words.headline(unsound)


def test_readings_that_disagree_are_told_apart(sound: Findings, unsound: Findings) -> None:
    assert [each.kind for each in sound.disagreements] == []
    kinds = {(each.kind, each.reading) for each in unsound.disagreements}
    assert ("selection", "complied only") in kinds  # of 400 who took the yak as told 200 won, of all 800 700 in 16
    assert any(reading == "the policy's model" for _, reading in kinds)
    for each in unsound.disagreements:
        assert words.disagreement(each).count(each.proposal)


def test_sure_readings_of_different_arms_are_a_disagreement() -> None:
    """Who did the yak wins 3 in 5, who did not 1 in 2; who is offered it 4 in 9, who is offered the zebra 2 in 3."""
    found = findings_of(book_of([[[[400, 400], [10, 390]], [[50, 50], [400, 300]]]] * 2), late=0)
    (leader,) = [each for each in found.disagreements if each.reading == "as treated"]
    assert (leader.kind, leader.proposal, leader.other) == ("leader", "zebra", "yak")
    assert min(leader.probability, leader.other_probability) >= 0.8
    without = Space(list(ARMS), implemented=["a", "b", "c"])
    assert disagreements(without, replace(found.summary.overall, implemented=Withheld("unknown"))) != [leader]


def test_checks_sound_where_they_should(sound: Findings, unsound: Findings) -> None:
    assert [check.state for check in words.checks(sound)] == ["fine", "fine", "fine", "fine"]
    states = {check.name: check.state for check in words.checks(unsound)}
    assert states == {
        "Sample ratio": "fine",
        "Ignorable compliance": "sounds",
        "Exclusion": "fine",
        "Late outcomes": "sounds",
    }
    assert "3 outcomes late" in words.warnings(unsound)


def test_merged_points_keep_counts_and_means() -> None:
    rng = stream(1, "points")
    sizes = rng.integers(1, 9, size=(37, 2))
    best = rng.random(37)
    ends = sizes.sum(axis=1).cumsum()
    points = [
        Point(int(end - n.sum()) + 1, int(end), i, tuple(n.tolist()), (0.5, 0.5), (float(b), 1 - float(b)))
        for i, (n, b, end) in enumerate(zip(sizes, best, ends, strict=True))
    ]
    fewer = merged(points, 8)
    assert len(fewer) <= 8
    assert [sum(column) for column in zip(*(p.proposed for p in fewer), strict=True)] == sizes.sum(axis=0).tolist()
    assert (fewer[0].first, fewer[-1].last) == (1, int(ends[-1]))
    total = sum(sum(p.proposed) * p.best[0] for p in fewer)
    assert total == pytest.approx(float(sizes.sum(axis=1) @ best))
    assert [point.first for point in merged(points, 37)] == [point.first for point in points]


def test_the_board_shows_the_summary(unsound: Findings) -> None:
    html = board(unsound, 1_000_000)
    for proposal in unsound.summary.overall.proposals:
        assert interval(proposal.value) in html
    assert html.count("<svg ") == html.count('role="img"') == 5
    assert html.count("<details id=") >= 5
    for name in ("best", "allocation", "values", "compliance", "outcomes"):
        assert f'id="table-{name}"' in html
    assert "Those who comply differ from those who do not" in html
    assert_strict(html)


def test_what_is_not_identified_is_withheld_with_the_reason() -> None:
    never = {**SPEC, "policy": {"kind": "TS"}, "compliance": "never"}
    counts = np.zeros((2, 2, 3, 3), dtype=np.int64)
    counts[:, :, 2, :2] = 30
    html = board(findings_of(book_of(counts, never), 0), 1)
    assert "Withheld: compliance is never reported in this trial" in html
    assert 'id="figure-compliance"' not in html
    assert 'id="figure-outcomes"' not in html
    assert 'id="figure-values"' in html
    assert "Compliance not checked" in html
    assert "As treated and complied only are withheld" in html
    assert "They agree" not in html


def test_an_empty_trial_has_a_page() -> None:
    html = board(findings_of(book_of(np.zeros((2, 2, 2, 2), dtype=np.int64)), 0), 1)
    assert "No decision has been made yet." in html
    assert "<svg" not in html


def test_silence_means_nothing_as_long_as_little_is_known() -> None:
    counts = np.zeros((2, 2, 2, 2), dtype=np.int64)
    counts[0, :, 0, 0] = 3
    few = words.checks(findings_of(book_of(counts), 0))
    assert [check.state for check in few[:2]] == ["unknown", "unknown"]
    assert few[0].words == "Too early to say, with 6 decisions."


def test_hostile_labels_run_nothing() -> None:
    hostile = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>']
    spec = {
        **SPEC,
        "name": "</h1><script>x</script>",
        "space": {"proposals": hostile, "outcomes": ["a&b", "</svg><b>"]},
    }
    html = board(findings_of(book_of([[[[8, 12], [4, 6]], [[5, 5], [7, 13]]]], spec), 0), 1)
    assert assert_strict(html).isdisjoint({"script", "img", "b"})
    assert "&lt;script&gt;" in html


class Strict(HTMLParser):
    """Reads a page and minds whatever the content policy would block, and addresses of other hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """The parser calls this."""
        self.tags.add(tag)
        given = {name: value or "" for name, value in attrs}
        if tag == "style" or (tag == "script" and not given.get("src", "").startswith("/app/static/")):
            self.wrong.append(tag)
        for name, value in given.items():
            elsewhere = name in ("href", "src", "action", "xlink:href") and not re.match(r"/(?!/)|#", value)
            if name == "style" or name.startswith("on") or elsewhere:
                self.wrong.append(f"{tag} {name}={value}")


def assert_strict(html: str) -> set[str]:
    """Nothing that the content policy would block; which elements there are."""
    reader = Strict()
    reader.feed(html)
    assert reader.wrong == []
    return reader.tags


class Here:
    """A worker that draws in this process, and counts."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.pid = None

    async def ask(self, task: Task) -> Drawn:
        """Draw."""
        self.tasks.append(task)
        return await asyncio.to_thread(draw, task)

    async def close(self) -> None:
        """Nothing to do."""


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards without charts, which take longest."""
    monkeypatch.setattr(drawing, "figures", lambda found: [])


@contextmanager
def hooves(database: str = "sqlite://") -> Iterator[tuple[Api, Here, Trial]]:
    """A service with a running trial that has some decisions."""
    with api(database) as running:
        worker = Here()
        running.app.state.boards.worker = worker
        trial = Trial.create(running.store, SPEC, trial="hooves")
        trial.start()
        for i in range(30):
            made = trial.decide(f"unit-{i}", "hill" if i % 2 else "vale")
            trial.report(made, implemented=ARMS[i % 3 == 0], outcome=LEVELS[i % 5 > 1])
        yield running, worker, trial


def cookie(running: Api, *scopes: str) -> dict[str, str]:
    """Sign in with a new key."""
    service = running.app.state.service
    key = running.run(service.ring.find(running.key(*scopes)))
    assert key is not None
    return {"cookie": f"takeup={running.run(service.sessions.begin(key))}"}


def patient(running: Api, path: str, headers: dict[str, str]) -> Reply:
    """The page once it has been drawn."""
    for _ in range(100):
        reply = running.request("GET", path, headers=headers)
        if b"being drawn" not in reply.body and b"being worked out" not in reply.body:
            return reply
    raise AssertionError("it was never drawn")


def test_blinded_readers_learn_nothing_about_any_arm() -> None:
    """Neither in the list, nor on the page, in the part that is fetched, or in the stream."""
    with hooves() as (running, worker, trial):
        seen, unseen = cookie(running, "read-unblinded"), cookie(running, "read-blinded")
        secret = [*ARMS, *LEVELS, trial.progress().hash, "probability", "regret"]
        pages = ("/app", "/app/trials/hooves", "/app/trials/hooves/board")
        for path in pages:
            reply = patient(running, path, unseen)
            assert reply.status == 200
            assert not [word for word in secret if word in reply.body.decode()], path
        assert b"30 decisions" in running.request("GET", "/app/trials/hooves", headers=unseen).body
        assert not worker.tasks
        said = running.run(heard(running, unseen, lambda: None))
        assert re.fullmatch(r'retry: 3000\n\n(data: \{"sequence": \d+, "drawn": \d+\}\n\n)+', said), said
        for path in pages:
            body = patient(running, path, seen).body.decode()
            assert any(arm in body for arm in ARMS), path


@pytest.mark.usefixtures("plain")
def test_the_page_needs_a_reader_and_a_trial() -> None:
    with hooves() as (running, _, _):
        for path in ("/app/trials/hooves", "/app/trials/hooves/board", "/app/trials/hooves/stream"):
            assert running.request("GET", path).status == 303
            assert running.request("GET", path, headers=cookie(running, "decide")).status == 403
            there = path.replace("hooves", "claws")
            assert running.request("GET", there, headers=cookie(running, "read-unblinded")).status == 404


async def heard(running: Api, headers: dict[str, str], then: Callable[[], None]) -> str:
    """What a stream says until there is news, and then until the service stops."""
    said: list[bytes] = []
    got = asyncio.Event()

    async def send(message: Any) -> None:
        said.append(message.get("body", b""))
        if b"data:" in said[-1]:
            got.set()

    async def receive() -> Any:
        await asyncio.Event().wait()

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/app/trials/hooves/stream",
        "raw_path": b"/app/trials/hooves/stream",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"cookie", headers["cookie"].encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    listening = asyncio.create_task(running.app(scope, receive, send))
    await asyncio.wait_for(got.wait(), 30)
    got.clear()
    await asyncio.to_thread(then)
    if then.__name__ != "<lambda>":
        await asyncio.wait_for(got.wait(), 30)
    assert running.app.state.watches.listeners == 1
    running.app.state.service.closing.set()
    await asyncio.wait_for(listening, 30)
    assert running.app.state.watches.listeners == 0
    return b"".join(said).decode()


@pytest.mark.usefixtures("plain")
def test_the_stream_tells_of_new_events_and_ends_with_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "EVERY", 0.02)
    monkeypatch.setattr(boards, "EVERY", 0.02)
    monkeypatch.setattr(boards, "SHARE", 0.0)
    with hooves() as (running, worker, trial):

        def decide() -> None:
            trial.decide("one-more", "hill")

        before = trial.progress().sequence
        said = running.run(heard(running, cookie(running, "read-unblinded"), decide))
        numbers = [int(found) for found in re.findall(r'"sequence": (\d+)', said)]
        assert numbers[0] == before
        assert numbers[-1] == before + 1
        assert len(worker.tasks) == len(set(numbers)) == 2


def test_there_is_a_limit_to_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MOST_LISTENERS", 0)
    with hooves() as (running, _, _):
        reply = running.request("GET", "/app/trials/hooves/stream", headers=cookie(running, "read-blinded"))
        assert reply.status == 503
        assert reply.headers["retry-after"] == "30"


def test_a_stream_ends_with_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the reader may still listen, and then no more."""
    monkeypatch.setattr(watch, "HEARTBEAT", 0.01)
    answers = [True, True, False]

    async def welcome() -> bool:
        return answers.pop(0)

    async def story() -> list[bytes]:
        return [part async for part in watch.news(watch.Listener("blinded", 0), welcome)]

    assert asyncio.run(story()) == [watch.RETRY, b": still here\n\n", b": still here\n\n"]


@pytest.mark.usefixtures("plain")
def test_a_paused_trial_says_so_in_the_list() -> None:
    with hooves() as (running, _, trial):
        headers = cookie(running, "read-unblinded")
        assert b"Paused: nothing is decided" not in patient(running, "/app", headers).body
        trial.pause(reason="to look closer")
        page = patient(running, "/app", headers).body.decode()
        assert "Paused: nothing is decided" in page
        assert re.search(r"(zebra|yak) is best with probability", page)


@pytest.mark.usefixtures("plain")
def test_a_page_that_lags_behind_says_which_state_the_trial_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "EVERY", 1e6)
    with hooves() as (running, _, trial):
        headers = cookie(running, "read-unblinded")
        assert b"The trial is" not in patient(running, "/app/trials/hooves", headers).body
        trial.pause(reason="to look closer")
        assert b"The trial is paused now" in patient(running, "/app/trials/hooves", headers).body


@pytest.mark.usefixtures("plain")
def test_a_state_is_drawn_once_for_all_and_not_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "EVERY", 1e6)
    with hooves() as (running, worker, trial):
        found = running.app.state.boards

        async def many() -> list[Drawn | None]:
            sequence = await found.sequence("hooves")
            return list(await asyncio.gather(*(found.look("hooves", "full", sequence, 60) for _ in range(8))))

        first = running.run(many())
        assert len(worker.tasks) == 1
        assert len({id(each) for each in first}) == 1
        assert worker.tasks[0].book is not None  # a database in memory is nobody else's to open
        assert worker.tasks[0].book[0].secret.seed == ""
        trial.decide("another", "hill")
        again = running.run(many())
        assert len(worker.tasks) == 1  # too early
        assert again == first
        monkeypatch.setattr(boards, "EVERY", 0.0)
        monkeypatch.setattr(boards, "SHARE", 0.0)
        last = running.run(many())[0]
        assert len(worker.tasks) == 2
        assert first[0] is not None
        assert last is not None
        assert last.sequence == first[0].sequence + 1


@pytest.mark.usefixtures("plain")
def test_whoever_has_the_latest_gets_nothing_again() -> None:
    with hooves() as (running, _, _):
        headers = {**cookie(running, "read-unblinded"), "accept-encoding": "gzip"}
        reply = patient(running, "/app/trials/hooves/board", headers)
        assert reply.headers["content-encoding"] == "gzip"
        at = running.app.state.boards.latest("hooves", "full").at
        assert running.request("GET", f"/app/trials/hooves/board?after={at}", headers=headers).status == 204
        assert running.request("GET", "/app/trials/hooves/board?after=-1e9", headers=headers).status == 200


@pytest.mark.usefixtures("plain")
def test_the_audit_form_runs_the_audit() -> None:
    with hooves() as (running, _, _):
        headers = cookie(running, "read-unblinded")
        page = patient(running, "/app/trials/hooves", headers).body.decode()
        assert "No audit has been run here" in page
        assert_strict(page)
        found = re.search(
            r'action="/app/trials/hooves/audit">\s*<input type="hidden" name="form_token" value="(\w+)"', page
        )
        assert found is not None
        form = {**headers, "content-type": "application/x-www-form-urlencoded"}
        path = "/app/trials/hooves/audit"
        assert running.request("POST", path, raw=b"form_token=no", headers=form).status == 403
        sent = running.request("POST", path, raw=f"form_token={found[1]}".encode(), headers=form)
        assert (sent.status, sent.headers["location"]) == (303, "/app/trials/hooves#audit")
        assert b"30 of 30 decisions derived again" in running.request("GET", "/app/trials/hooves", headers=headers).body


def test_a_worker_that_fails_does_not_take_the_page_with_it() -> None:
    with hooves() as (running, _, _):
        running.app.state.boards.worker = Worker((sys.executable, "-c", "raise SystemExit(3)"))
        headers = cookie(running, "read-unblinded")
        reply = patient(running, "/app/trials/hooves", headers)
        assert reply.status == 200
        assert b"could not be drawn: the process that draws has ended" in reply.body
        assert b"Audit now" in reply.body
        assert running.request("GET", "/app", headers=headers).status == 200


def test_the_worker_is_replaced_when_it_dies(tmp_path: Path) -> None:
    """On a file, which the worker opens by itself."""
    file = str(tmp_path / "trials.db")
    with Store(file) as store:
        trial = Trial.create(store, SPEC, trial="hooves")
        trial.start()
        trial.report(trial.decide("unit", "hill"), implemented="yak", outcome="won")
        expected = store.read(lambda connection: reading.head(connection, "hooves").sequence)
        task = Task("hooves", store.clock(), False, file)

        async def story() -> None:
            worker = Worker()
            drawn = await worker.ask(task)
            assert drawn.sequence == expected
            assert drawn.brief is not None
            first = worker.pid
            assert worker._process is not None
            worker._process.kill()
            await worker._process.wait()
            assert worker.pid is None
            with pytest.raises(DrawingError, match="there is no trial"):
                await worker.ask(replace(task, trial="claws"))
            assert worker.pid not in (None, first)
            await worker.close()
            assert worker.pid is None

        asyncio.run(story())


def test_a_worker_that_hangs_is_given_up() -> None:
    async def story() -> None:
        worker = Worker((sys.executable, "-c", "import time; time.sleep(60)"), patience=0.2)
        with pytest.raises(DrawingError, match=r"longer than 0\.2 seconds"):
            await worker.ask(Task("hooves", 0, True, "none"))
        assert worker.pid is None

    asyncio.run(story())


@pytest.mark.long
def test_the_page_follows_the_trial_in_a_browser(tmp_path: Path) -> None:
    """Without a reload; what is open stays open, and what has the focus keeps it. Blinded readers see counts alone."""
    with served(tmp_path / "trials.db", tmp_path) as service, browser() as chromium:
        admin = service.key("design", "decide", "report", "read-unblinded")
        trial = service.trial(SPEC, admin)

        def go_on(first: int, last: int) -> None:
            units = [{"unit": f"u{i}", "context": "hill"} for i in range(first, last)]
            status, made = service.request("POST", f"/trials/{trial}/decisions/batch", {"units": units}, admin)
            assert status < 300, made
            for each in made["decisions"]:
                body = {"decision": each["number"], "implemented": each["proposal"], "outcome": "won"}
                assert service.request("POST", f"/trials/{trial}/reports", body, admin)[0] < 300

        go_on(0, 5)
        page = chromium.new_page()
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        sign_in(page, service.url, admin)
        page.goto(f"{service.url}/app/trials/{trial}")
        page.wait_for_selector("#table-values summary", timeout=60_000)
        page.evaluate("window.same = true")
        page.locator("#table-values summary").focus()
        page.keyboard.press("Enter")
        go_on(5, 12)
        expect(page.locator("#reports dd").first).to_have_text("12", timeout=60_000)
        assert page.evaluate("window.same")
        assert page.evaluate("document.querySelector('#table-values').open")
        assert page.evaluate("document.activeElement === document.querySelector('#table-values summary')")
        assert "took it; no outcome pending" in page.inner_text("#headline")
        assert page.inner_text("#age").startswith("live")
        page.locator('#figure-compliance [role="graphics-symbol"]').first.hover()
        expect(page.locator(".tip")).to_contain_text("zebra was proposed, zebra was done")
        assert wrong == []

        other = chromium.new_context().new_page()
        sign_in(other, service.url, service.key("read-blinded"))
        other.goto(f"{service.url}/app/trials/{trial}")
        go_on(12, 14)
        expect(other.locator("#reports dd").first).to_have_text("14", timeout=60_000)
        assert not [word for word in (*ARMS, *LEVELS) if word in other.content()]
