"""Two worlds that differ in nothing but arms, actions and outcomes; and all that those who are blinded see of them.

A world is a service with a trial. What happens in it, and when, follows from one seed; what was proposed, done and came
of it from another. Whoever is blinded must see the same in two worlds that share the first.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import asgi
from asgi import Api, Reply
from fuzzing.furniture import COVARIATES, SPEC
from fuzzing.requests import BODIES, MARK
from fuzzing.values import Dice
from page_visitor import Visitor, person
from shown_fields import plain
from takeup.live.export_files import check
from takeup.service import pages
from takeup.service.pages import live_updates
from takeup.service.pages import trial as trial_page
from takeup.service.people import ROLES
from takeup.service.routes import routes
from takeup.trial.formats import FORMATS

ARMS, LEVELS, CONTEXTS = SPEC["space"]["proposals"], SPEC["space"]["outcomes"], SPEC["space"]["contexts"]
DAY = 86_400_000_000
BEGIN = 10**15
STREAM = "/app/trials/{trial}/stream"
PEOPLE = ("clinician", "coordinator", "observer", "admin", "statistician", "safety board")
"""Roles of people; the last two are blinded until they sign."""
SOFTWARE: dict[str, tuple[str, ...]] = {
    **{scope: (scope,) for scope in ("decide", "report", "read-blinded", "design", "admin", "lease")},
    **{role: ROLES[role] for role in ("clinician", "coordinator")},
}
"""Keys without the right to see arms."""
VARIANTS: dict[str, list[dict[str, str]]] = {
    "/trials/{trial}/events": [{}, {"kind": "reported"}, {"kind": "decided"}, {"decision": "2"}, {"backwards": "1"}],
    "/trials/{trial}/export": [{"format": each} for each in FORMATS],
    "/app/trials/{trial}/export": [{"format": each} for each in FORMATS],
    "/app/trials/{trial}/log": [{}, {"kind": "reported"}, {"unit": "u1"}, {"decision": "2"}],
    "/app/trials/{trial}/report": [{}, {"decision": "2"}, {"unit": "u1"}],
    "/app/trials/{trial}/decide": [{}, {"unit": "u1", "context": "0"}],
    "/app/trials/{trial}/worklist": [{}, {"find": "u"}],
}
"""What is asked of some; of all others without a query."""
DRAFTS = {
    **dict.fromkeys(("/trials/{trial}/spec", "/trials/{trial}/past", "/app/trials/{trial}/edit"), "draft"),
    "/app/trials/{trial}/past": "draft",
    "/trials/{trial}/state": "moved",
}
"""What is done to other trials, or else there would be nothing to see of the first."""
OWN = {("POST", "/trials/{trial}/decisions"), ("POST", "/trials/{trial}/decisions/batch")}
"""What answers with an arm, to whoever asked for it."""
_CHANGING = re.compile(
    rb"[A-Z2-7]{32}|[A-Z2-7]{8}(?: [A-Z2-7]{8}){3}"  # keys of one-time codes
    rb'|p?[0-9a-f]{12}\b|takeup_[\w-]+|"?key" value="[\w-]+|form_token" value="\w+'
    rb'|[0-9a-f]{8}(?:@|%40)clinic|/app/static/\S+|"oldest_seconds":[\d.]+'
)


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer to somebody who is blinded.

    Attributes:
        who: with which rights.
        place: method and path, as the routes have it.
        asked: the address itself.
        reply: what came.
    """

    who: str
    place: tuple[str, str]
    asked: str
    reply: Reply

    @property
    def told(self) -> bytes:
        """Status and body, without what is another in every service."""
        return b"%d " % self.reply.status + _CHANGING.sub(b"", plain(self.reply))


@dataclass(slots=True)
class World:
    """A service with a trial t, and somebody who sees all."""

    api: Api
    dice: Dice
    truth: Dice
    at: list[int]
    boss: str = ""
    covariates: dict[str, Any] | None = None
    known: dict[int, dict[str, Any]] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object, key: str = "") -> Any:
        """A request that must succeed; time goes on."""
        self.at[0] += 60_000_000
        reply = self.api.request(method, path, body, key or self.boss)
        assert reply.status in (200, 201), reply.body
        return reply.json

    def live(self) -> None:
        """Those from before, decisions, reports, corrections, what is missing, a fallback, disputes, perhaps an end."""
        self.boss = self.api.key("decide", "report", "read-unblinded", "design", "admin")
        dice, truth, known, contexts = self.dice, self.truth, self.dice.chance(0.6), CONTEXTS
        spec = {**SPEC, "rehearsal": True, "seed": truth.whole(1, 2**40), "compliance": "sometimes"}
        if known:
            spec["space"] = {**SPEC["space"], "covariates": COVARIATES}
        if dice.chance(0.4):
            spec["window"] = "10 days"
        elif dice.chance(0.5):
            spec |= {"looks": {"at": [8, 16]}, "stopping": {"superiority": 0.95}}
            contexts = contexts[:1]
            spec["space"] = {**spec["space"], "contexts": contexts}
        self.ask("POST", "/trials?trial=t", spec)
        for other in ("draft", "moved"):
            self.ask("POST", f"/trials?trial={other}", {**SPEC, "fallback": dict.fromkeys(ARMS, 1 / len(ARMS))})
        covariates = self.covariates = {"age": 50, "state": "alert", "pressure": None} if known else None
        past = [
            {"unit": f"p{i}", "context": dice.pick(contexts), "proposal": truth.pick(ARMS), "decided": BEGIN - DAY}
            | {"covariates": covariates}
            for i in range(2)
        ]
        self.ask("POST", "/trials/t/past", {"past": past})
        self.ask("PUT", "/trials/t/state", {"state": "running"})
        for i in range(dice.whole(10, 24)):
            asked = {"unit": f"u{i}", "context": dice.pick(contexts), "covariates": covariates}
            number = self.ask("POST", "/trials/t/decisions", asked)["number"]
            self._report(number, dice.pick(("both", "both", "both", "outcome", "implemented", "missing", "none")))
        drawn = {"unit": "f", "context": 0, "proposal": truth.pick(ARMS), "covariates": covariates}
        self.ask("POST", "/trials/t/fallbacks", drawn)
        spy = self.api.key("report")
        for number in list(self.known)[: dice.whole(1, 4)]:
            outcome = self.known[number].get("outcome")
            if outcome is not None:
                corrected = {"decision": number, "outcome": _another(truth, LEVELS, outcome), "reason": "typing error"}
                self.ask("POST", "/trials/t/reports", corrected)
                self.ask("POST", "/trials/t/reports", {"decision": number, "outcome": dice.pick(LEVELS)}, spy)
        for state in dice.pick(((), ("paused",), ("stopped",), ("paused", "running"))):
            self.ask("PUT", "/trials/t/state", {"state": state, "reason": "planned"})
        if dice.chance(0.5):
            self.at[0] += 11 * DAY
            self.api.request("GET", "/trials/t/progress", key=self.boss)

    def _report(self, number: int, what: str) -> None:
        said: dict[str, Any] = {"decision": number}
        if what in ("both", "outcome"):
            said["outcome"] = self.truth.pick(LEVELS)
        if what in ("both", "implemented"):
            said["implemented"] = self.truth.pick(ARMS)
        if what == "missing":
            said["missing"] = ["outcome"]
        if what != "none":
            self.ask("POST", "/trials/t/reports", said)
            self.known[number] = said

    def views(self, roles: Any = None) -> Iterator[Seen]:
        """What everybody who is blinded gets from every operation, page, export and stream."""
        self.at[0] += 60_000_000  # lists are in the order of time
        Visitor(self.api, "read-blinded").post("/app/trials/t/audit", {})  # pages show what it found
        for who, scopes in SOFTWARE.items():
            self.at[0] += 60_000_000
            if roles is None or who in roles:
                yield from self._operations(who, self.api.key(*scopes))
        for role in PEOPLE:
            self.at[0] += 60_000_000
            if roles is None or role in roles:
                yield from self._pages(role)

    def _operations(self, who: str, key: str) -> Iterator[Seen]:
        for route in routes():
            place = "".join(route.methods or ()), route.path
            body = BODIES.get(place)
            if place in (("DELETE", "/keys/{id}"), ("GET", "/metrics")):  # ends a key; counts requests, and no trial's
                continue
            known = {MARK: f"{who} {route.path}", '"unit": "a"': '"unit": "u1"', '"paused"': '"running"'}
            if self.covariates is not None and route.path not in DRAFTS:
                said = f'"covariates": {json.dumps(self.covariates)}'
                known |= {'"covariates": null': said, '"context": "morning"}': f'"context": "morning", {said}}}'}
            given = None if body is None else json.loads(_replaced(json.dumps(body), known))
            for query in VARIANTS.get(route.path, [{}]):
                asked = _address(route.path, query)
                self.at[0] += 1
                yield Seen(who, place, asked, self.api.request(place[0], asked, given, key))

    def _pages(self, role: str) -> Iterator[Seen]:
        visitor = Visitor(self.api, caller=person(self.api, role))
        for page in pages.routes():
            place = "".join(page.methods or ()), page.path
            if place[0] == "POST" or "static" in page.path or page.path == "/app/try":
                continue
            for query in VARIANTS.get(page.path, [{}]):
                asked = _address(page.path, query)
                if page.path == STREAM:
                    yield Seen(role, place, asked, self._stream(visitor))
                else:
                    yield Seen(role, place, asked, visitor.get(asked))

    def _stream(self, visitor: Visitor) -> Reply:
        """The beginning of a stream, up to its first news."""
        sent: list[Any] = []

        async def listen() -> None:
            got = asyncio.Event()

            async def send(message: Any) -> None:
                sent.append(message)
                if message["type"] == "http.response.body" and (
                    b"data:" in message.get("body", b"") or not message.get("more_body")
                ):
                    got.set()

            async def receive() -> Any:
                await asyncio.Event().wait()

            asked = asgi.scope("GET", "/app/trials/t/stream", None, visitor.headers)
            listening = asyncio.create_task(self.api.app(asked, receive, send))
            await asyncio.wait_for(got.wait(), asgi.WAIT)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

        self.api.run(listen())
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return Reply(sent[0]["status"], {}, re.sub(rb'"rendered": \d+', b'"rendered": 0', body))


def _replaced(text: str, others: dict[str, str]) -> str:
    for one, other in others.items():
        text = text.replace(one, other)
    return text


def _another(dice: Dice, values: list[str], than: str) -> str:
    return dice.pick([each for each in values if each != than])


def _address(path: str, query: dict[str, str]) -> str:
    where = path.replace("{number}", "1").replace("{trial}", DRAFTS.get(path, "t")).replace("{path:path}", "nowhere")
    return re.sub(r"{\w+}", "0" * 12, where) + ("?" + "&".join(f"{a}={b}" for a, b in query.items()) if query else "")


@contextmanager
def world(seed: int, truth: int) -> Iterator[World]:
    """A world that has lived."""
    at = [BEGIN]
    for kind in FORMATS:
        check(kind)
    before = trial_page.WAIT, trial_page.FRAGMENT_WAIT, live_updates.EVERY
    trial_page.WAIT = trial_page.FRAGMENT_WAIT = float(asgi.WAIT)
    live_updates.EVERY = 0.05
    try:
        with asgi.api(clock=lambda: at[0]) as api:
            made = World(api, Dice(seed, "what happens"), Dice(seed, "truth", truth), at)
            made.live()
            yield made
    finally:
        trial_page.WAIT, trial_page.FRAGMENT_WAIT, live_updates.EVERY = before
