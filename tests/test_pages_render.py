"""A trial's page as it is served: what it hides, that it is drawn once and elsewhere, that it follows the trial."""

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from asgi import Api, Reply, api
from browser import browser, sign_in
from page_fixtures import ARMS, LEVELS, SPEC, assert_strict
from serving import served
from takeup.errors import StoreError
from takeup.live import Trial
from takeup.service.pages import live_updates
from takeup.service.pages.render import cache, child
from takeup.service.pages.render.child import render_trial
from takeup.service.pages.render.process import Rendered, RenderError, RenderProcess, RenderTask
from takeup.service.problem import ProblemError
from takeup.store import Store, reading


class Here:
    """Renders in this process, and counts."""

    def __init__(self) -> None:
        self.tasks: list[RenderTask] = []
        self.pid = None

    async def ask(self, task: RenderTask) -> Rendered:
        """Draw."""
        self.tasks.append(task)
        return await asyncio.to_thread(render_trial, task)

    async def close(self) -> None:
        """Nothing to do."""


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """RenderCache without charts, which take longest."""
    monkeypatch.setattr(child, "page_charts", lambda found, how, words: [])


@contextmanager
def clinic(database: str = "sqlite://") -> Iterator[tuple[Api, Here, Trial]]:
    """A service with a running trial that has some decisions."""
    with api(database) as running:
        worker = Here()
        running.app.state.render_cache.process = worker
        trial = Trial.create(running.store, SPEC, trial="clinic")
        trial.start()
        for i in range(30):
            made = trial.decide(f"unit-{i}", "hill" if i % 2 else "vale")
            trial.report(made, implemented=ARMS[i % 3 == 0], outcome=LEVELS[i % 5 > 1])
        yield running, worker, trial


def cookie(running: Api, *scopes: str) -> dict[str, str]:
    """Sign in with a new key."""
    service = running.app.state.service
    key = running.run(service.keys.find(running.key(*scopes)))
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
    with clinic() as (running, worker, trial):
        seen, unseen = cookie(running, "read-unblinded"), cookie(running, "read-blinded")
        secret = [*ARMS, *LEVELS, trial.progress().hash, "probability", "regret"]
        pages = ("/app", "/app/trials/clinic", "/app/trials/clinic/dashboard")
        for path in pages:
            reply = patient(running, path, unseen)
            assert reply.status == 200
            assert not [word for word in secret if word in reply.body.decode()], path
        assert b"30 decisions" in running.request("GET", "/app/trials/clinic", headers=unseen).body
        assert not worker.tasks
        said = running.run(heard(running, unseen, lambda: None))
        assert re.fullmatch(r'retry: 3000\n\n(data: \{"sequence": \d+, "rendered": \d+\}\n\n)+', said), said
        for path in pages:
            body = patient(running, path, seen).body.decode()
            assert any(arm in body for arm in ARMS), path


@pytest.mark.usefixtures("plain")
def test_the_page_needs_a_reader_and_a_trial() -> None:
    with clinic() as (running, _, _):
        for path in (
            "/app/trials/clinic",
            "/app/trials/clinic/dashboard",
            "/app/trials/clinic/stream",
        ):
            assert running.request("GET", path).status == 303
            assert running.request("GET", path, headers=cookie(running, "decide")).status == 403
            there = path.replace("clinic", "claws")
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
        "path": "/app/trials/clinic/stream",
        "raw_path": b"/app/trials/clinic/stream",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"cookie", headers["cookie"].encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    listening = asyncio.create_task(running.app(scope, receive, send))
    await asyncio.wait_for(got.wait(), 300)
    got.clear()
    await asyncio.to_thread(then)
    if then.__name__ != "<lambda>":
        await asyncio.wait_for(got.wait(), 300)
    assert running.app.state.live_updates.listeners == 1
    running.app.state.service.closing.set()
    await asyncio.wait_for(listening, 300)
    assert running.app.state.live_updates.listeners == 0
    return b"".join(said).decode()


@pytest.mark.usefixtures("plain")
def test_the_stream_tells_of_new_events_and_ends_with_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_updates, "EVERY", 0.02)
    monkeypatch.setattr(cache, "EVERY", 0.02)
    monkeypatch.setattr(cache, "SHARE", 0.0)
    with clinic() as (running, worker, trial):

        def decide() -> None:
            trial.decide("one-more", "hill")

        before = trial.progress().sequence
        said = running.run(heard(running, cookie(running, "read-unblinded"), decide))
        numbers = [int(found) for found in re.findall(r'"sequence": (\d+)', said)]
        assert numbers[0] == before
        assert numbers[-1] == before + 1
        assert len(worker.tasks) == len(set(numbers)) == 2


def test_there_is_a_limit_to_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_updates, "MOST_LISTENERS", 0)
    with clinic() as (running, _, _):
        reply = running.request("GET", "/app/trials/clinic/stream", headers=cookie(running, "read-blinded"))
        assert reply.status == 503
        assert reply.headers["retry-after"] == "30"


def test_one_key_has_a_part_of_the_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_updates, "MOST_OF_A_KEY", 2)
    with clinic() as (running, _, _):
        updates = running.app.state.live_updates

        async def story() -> None:
            for _ in range(2):
                first = updates.join("clinic", "one", "blinded", 0)
            with pytest.raises(ProblemError, match="2 live pages are open with this key"):
                updates.join("another", "one", "unblinded", 0)
            updates.join("clinic", "two", "blinded", 0)
            updates.leave("clinic", first)
            updates.join("clinic", "one", "blinded", 0)
            assert updates.listeners == 3
            await updates.close()

        running.run(story())


def test_a_stream_ends_with_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the reader may still listen, and then no more."""
    monkeypatch.setattr(live_updates, "HEARTBEAT", 0.01)
    monkeypatch.setattr(live_updates, "CHECK", 0.02)
    answers = [True, True, False]

    async def welcome() -> bool:
        return answers.pop(0)

    async def story() -> list[bytes]:
        return [part async for part in live_updates.news(live_updates.Listener("key", "blinded", 0), welcome)]

    assert asyncio.run(story()) == [live_updates.RETRY, b": still here\n\n", b": still here\n\n"]


def test_a_stream_ends_before_it_says_anything_to_a_key_that_was_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there is news or none; it used to last until the next sign of life, 15 seconds and more."""
    monkeypatch.setattr(live_updates, "CHECK", 0.01, raising=False)

    async def welcome() -> bool:
        return False

    async def story(*news: Rendered) -> list[bytes]:
        listener = live_updates.Listener("key", "blinded", 0)
        for each in news:
            listener.tell(each)
        return [part async for part in live_updates.news(listener, welcome)]

    for news in ((), (Rendered(sequence=1, at=1),)):
        assert asyncio.run(asyncio.wait_for(story(*news), 10)) == [live_updates.RETRY]


def test_a_stream_outlives_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said while nobody knows whether the reader still may; what there was to say comes later."""
    monkeypatch.setattr(live_updates, "CHECK", 0.01)
    answers: list[bool | StoreError] = [StoreError("away"), StoreError("away"), True, False]

    async def welcome() -> bool:
        answer = answers.pop(0)
        if isinstance(answer, StoreError):
            raise answer
        return answer

    async def story() -> list[bytes]:
        listener = live_updates.Listener("key", "blinded", 0)
        listener.tell(Rendered(sequence=1, at=1))
        return [part async for part in live_updates.news(listener, welcome)]

    assert asyncio.run(story()) == [live_updates.RETRY, b'data: {"sequence": 1, "rendered": 1}\n\n']


@pytest.mark.usefixtures("plain")
def test_a_paused_trial_says_so_in_the_list() -> None:
    with clinic() as (running, _, trial):
        headers = cookie(running, "read-unblinded")
        assert b"Paused: nothing is decided" not in patient(running, "/app", headers).body
        trial.pause(reason="to look closer")
        page = patient(running, "/app", headers).body.decode()
        assert "Paused: nothing is decided" in page
        assert re.search(r'<p class="leader">Offering yak rather than zebra', page)


@pytest.mark.usefixtures("plain")
def test_a_page_that_lags_behind_says_which_state_the_trial_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "EVERY", 1e6)
    with clinic() as (running, _, trial):
        headers = cookie(running, "read-unblinded")
        assert b"The trial is" not in patient(running, "/app/trials/clinic", headers).body
        trial.pause(reason="to look closer")
        page = patient(running, "/app/trials/clinic", headers).body
        assert b"The trial is paused now" in page
        assert re.search(rb'<span class="state paused" id="state"[^>]*>paused</span>', page)


@pytest.mark.usefixtures("plain")
def test_a_state_is_drawn_once_for_all_and_not_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "EVERY", 1e6)
    with clinic() as (running, worker, trial):
        found = running.app.state.render_cache

        async def many() -> list[Rendered | None]:
            sequence = await found.sequence("clinic")
            return list(await asyncio.gather(*(found.look("clinic", "full", sequence, 60) for _ in range(8))))

        first = running.run(many())
        assert len(worker.tasks) == 1
        assert len({id(each) for each in first}) == 1
        assert worker.tasks[0].book is not None  # a database in memory is nobody else's to open
        assert worker.tasks[0].book[0].secret.seed == ""
        trial.decide("another", "hill")
        again = running.run(many())
        assert len(worker.tasks) == 1  # too early
        assert again == first
        monkeypatch.setattr(cache, "EVERY", 0.0)
        monkeypatch.setattr(cache, "SHARE", 0.0)
        last = running.run(many())[0]
        assert len(worker.tasks) == 2
        assert first[0] is not None
        assert last is not None
        assert last.sequence == first[0].sequence + 1


@pytest.mark.usefixtures("plain")
def test_whoever_has_the_latest_gets_nothing_again() -> None:
    with clinic() as (running, _, _):
        headers = {**cookie(running, "read-unblinded"), "accept-encoding": "gzip"}
        reply = patient(running, "/app/trials/clinic/dashboard", headers)
        assert reply.headers["content-encoding"] == "gzip"
        at = running.app.state.render_cache.latest("clinic", "full").at
        assert running.request("GET", f"/app/trials/clinic/dashboard?after={at}", headers=headers).status == 204
        assert running.request("GET", "/app/trials/clinic/dashboard?after=-1e9", headers=headers).status == 200


@pytest.mark.usefixtures("plain")
def test_the_audit_form_runs_the_audit() -> None:
    with clinic() as (running, _, _):
        headers = cookie(running, "read-unblinded")
        page = patient(running, "/app/trials/clinic", headers).body.decode()
        assert "No audit has been run here" in page
        assert_strict(page)
        found = re.search(
            r'action="/app/trials/clinic/audit">\s*<input type="hidden" name="form_token" value="(\w+)"', page
        )
        assert found is not None
        form = {**headers, "content-type": "application/x-www-form-urlencoded"}
        path = "/app/trials/clinic/audit"
        assert running.request("POST", path, raw=b"form_token=no", headers=form).status == 403
        sent = running.request("POST", path, raw=f"form_token={found[1]}".encode(), headers=form)
        assert (sent.status, sent.headers["location"]) == (303, "/app/trials/clinic#audit")
        assert b"30 of 30 decisions derived again" in running.request("GET", "/app/trials/clinic", headers=headers).body


def test_a_worker_that_fails_does_not_take_the_page_with_it() -> None:
    with clinic() as (running, _, _):
        running.app.state.render_cache.process = RenderProcess((sys.executable, "-c", "raise SystemExit(3)"))
        headers = cookie(running, "read-unblinded")
        reply = patient(running, "/app/trials/clinic", headers)
        assert reply.status == 200
        assert b"could not be drawn: the process that renders has ended" in reply.body
        assert b"Audit now" in reply.body
        assert running.request("GET", "/app", headers=headers).status == 200


def test_the_worker_is_replaced_when_it_dies(tmp_path: Path) -> None:
    """On a file, which the worker opens by itself."""
    file = str(tmp_path / "trials.db")
    with Store(file) as store:
        trial = Trial.create(store, SPEC, trial="clinic")
        trial.start()
        trial.report(trial.decide("unit", "hill"), implemented="yak", outcome="won")
        expected = store.read(lambda connection: reading.head(connection, "clinic").sequence)
        task = RenderTask("clinic", store.clock(), False, file)

        async def story() -> None:
            worker = RenderProcess()
            drawn = await worker.ask(task)
            assert drawn.sequence == expected
            assert drawn.brief is not None
            first = worker.pid
            assert worker._process is not None
            worker._process.kill()
            worker._process.wait()
            assert worker.pid is None
            with pytest.raises(RenderError, match="there is no trial"):
                await worker.ask(replace(task, trial="claws"))
            assert worker.pid not in (None, first)
            await worker.close()
            assert worker.pid is None

        asyncio.run(story())


def test_a_worker_that_hangs_is_given_up() -> None:
    async def story() -> None:
        worker = RenderProcess((sys.executable, "-c", "import time; time.sleep(60)"), patience=0.2)
        with pytest.raises(RenderError, match=r"longer than 0\.2 seconds"):
            await worker.ask(RenderTask("clinic", 0, True, "none"))
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
        go_on(5, 25)
        expect(page.locator("#reports dd").first).to_have_text("25", timeout=60_000)
        assert page.evaluate("window.same")
        assert page.evaluate("document.querySelector('#table-values').open")
        assert page.evaluate("document.activeElement === document.querySelector('#table-values summary')")
        assert "25 decisions; no outcome pending" in page.inner_text("#believed")
        assert page.inner_text("#age").startswith("live")
        page.locator('#figure-compliance [role="graphics-symbol"]').first.hover()
        expect(page.locator(".tip")).to_contain_text("zebra was proposed, zebra was done")
        assert wrong == []

        other = chromium.new_context().new_page()
        sign_in(other, service.url, service.key("read-blinded"))
        other.goto(f"{service.url}/app/trials/{trial}")
        go_on(25, 27)
        expect(other.locator("#reports dd").first).to_have_text("27", timeout=60_000)
        assert not [word for word in (*ARMS, *LEVELS) if word in other.content()]
