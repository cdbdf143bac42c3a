"""What a trial goes through once its spec was accepted: decisions, the worst of reports, readers, an audit, an end."""

import json
import math
from collections.abc import Mapping
from typing import Any

from fuzzing import wire
from fuzzing.client import Client, kind_of
from fuzzing.covariates import values, wrong
from fuzzing.specs import near
from fuzzing.values import Dice, as_json, as_toml, mangled

TOLERANCE = 1e-6


async def specs(client: Client, dice: Dice, mark: str) -> None:
    """Send a spec; a trial that the service accepts must start, and decide whatever is reported to it."""
    answer = await _sent(client, dice, "POST", f"/trials?trial={mark}" if dice.chance(0.97) else "/trials")
    if answer.status != 201:
        client.tally.refused[kind_of(answer)] += 1
        return
    client.tally.accepted += 1
    shown = json.loads(answer.body)
    if dice.chance(0.1):
        answer = await _sent(client, dice, "PUT", f"/trials/{shown['trial']}/spec")
        if answer.status == 200:
            shown = json.loads(answer.body)
    await Life(client, dice, shown).live()
    client.tally.lived += 1


async def _sent(client: Client, dice: Dice, method: str, path: str) -> wire.Answer:
    """A spec as JSON or TOML, now and then with spoiled bytes."""
    toml = dice.chance(0.3)
    spec = near(dice)
    raw = as_toml(spec) if toml else as_json(spec)
    if dice.chance(0.05):
        raw = mangled(dice, raw)
    return await client.call(method, path, raw, "application/toml" if toml else "application/json")


class Life:
    """The life of one trial."""

    def __init__(self, client: Client, dice: Dice, shown: Mapping[str, Any]) -> None:
        self.client, self.dice, self.path = client, dice, f"/trials/{shown['trial']}"
        self.spec, self.space = shown["spec"], shown["spec"]["space"]
        self.many = self.spec["decisions"] == "many"
        self.known = self.space.get("covariates") or {}
        self.units = 0

    async def live(self) -> None:
        """All of it; whatever fails is put on record by the client."""
        await self._must("cannot start", "PUT", f"{self.path}/state", {"state": "running"})
        contexts = self._contexts()
        for context in contexts:
            await self._decide(context)
        for _ in range(self.dice.whole(1, 2)):
            await self._report(self.dice.pick(contexts))
            for context in contexts:
                await self._decide(context)
        if self.known:
            await self._misled(self.dice.pick(contexts))
        await self._read()
        await self._must("cannot stop", "PUT", f"{self.path}/state", {"state": "stopped", "reason": "over"})

    def _contexts(self) -> list[str]:
        found = self.space["contexts"]
        return list(dict.fromkeys((found[0], found[-1], self.dice.pick(found))))

    def _unit(self, context: str) -> dict[str, Any]:
        self.units += 1
        known = {"covariates": values(self.dice, self.known)} if self.known else {}
        return {"unit": f"u{self.units}", "context": context, **({"occasion": "1"} if self.many else {}), **known}

    async def _decide(self, context: str) -> None:
        made = await self._must("cannot decide", "POST", f"{self.path}/decisions", self._unit(context))
        if made["proposal"] not in self.space["proposals"]:
            raise self._wrong("proposes what there is not", made)

    async def _misled(self, context: str) -> None:
        """Covariates that are wrong, and then the right ones of the same unit; both corrected, wrongly and rightly."""
        unit = self._unit(context)
        for _ in range(self.dice.whole(1, 4)):
            asked = {**unit, "unit": f"{unit['unit']} wrong", "covariates": wrong(self.dice, self.known)}
            await self.client.call("POST", f"{self.path}/decisions", as_json(asked))
        made = await self._must("cannot decide", "POST", f"{self.path}/decisions", unit)
        await self._must("gives another answer", "POST", f"{self.path}/decisions", unit)
        for _ in range(self.dice.whole(1, 3)):
            report = {"decision": made["number"], "covariates": wrong(self.dice, self.known), "reason": "a correction"}
            await self.client.call("POST", f"{self.path}/reports", as_json(report))
            report["covariates"] = values(self.dice, self.known)
            if self.dice.chance(0.5):
                name = self.dice.pick(list(self.known))
                report["covariates"] = {name: report["covariates"][name]}
            await self._must("cannot correct covariates", "POST", f"{self.path}/reports", report)

    async def _report(self, context: str) -> None:
        """Decide for many at once, and report the same of all of them or of each something else; then correct it."""
        count = self.dice.pick((4, 8, 8, 60)) if self.dice.chance(0.95) else 600
        several = [context] if self.dice.chance(0.7) else self.space["contexts"]
        units = [self._unit(several[i % len(several)]) for i in range(count)]
        made = await self._must("cannot decide", "POST", f"{self.path}/decisions/batch", {"units": units})
        alike = self._told() if self.dice.chance(0.6) else None
        for reason in ({}, {"reason": "a correction"}) if self.dice.chance(0.2) else ({},):
            reports = [{**(alike or self._told()), **reason, "decision": each["number"]} for each in made["decisions"]]
            if self.spec["compliance"] == "never":
                reports = [{**each, "implemented": None} for each in reports]
            answered = await self._must("cannot report", "POST", f"{self.path}/reports/batch", {"reports": reports})
            bad = [each for each in answered["results"] if (each.get("problem") or {"status": 0})["status"] >= 500]
            if bad:
                raise self._wrong(f"status {bad[0]['problem']['status']} in a batch", bad[0])
            alike = self._told()

    def _told(self) -> dict[str, Any]:
        """What may be reported of a decision."""
        action, outcomes = self.dice.pick(self.space["implemented"]), self.space["outcomes"]
        number = isinstance(outcomes, dict)
        outcome = self.dice.pick((outcomes["low"], outcomes["high"]) if number else outcomes)
        both = {"implemented": action, "outcome": outcome}
        less: list[dict[str, Any]] = [{"outcome": outcome}, {"implemented": action}]
        missing = [{"missing": ["implemented", "outcome"]}, {"missing": ["outcome"], "implemented": action}]
        return self.dice.pick([both] * 5 + less + missing)

    async def _read(self) -> None:
        """Look at it in some of the ways that there are."""
        for share, what in ((0.3, "progress"), (0.5, "summary"), (0.1, "course"), (0.02, "export"), (0.1, "audit")):
            if self.dice.chance(share):
                answer = await self.client.call("GET", f"{self.path}/{what}")
                if answer.status == 429:
                    continue  # somebody else's audit or export, all the time
                if answer.status != 200:
                    raise self._wrong(
                        f"cannot read its {what}: {kind_of(answer)}", answer.body.decode(errors="replace")
                    )
                if what == "audit" and not json.loads(answer.body)["passed"]:
                    raise self._wrong("its audit finds a difference", answer.body.decode())
        if self.dice.chance(0.3):
            events = await self._must("cannot read its events", "GET", f"{self.path}/events?kind=decided&limit=40")
            for each in events["events"]:
                self._check(each["event"])
        if self.dice.chance(0.02):
            headers = {"Cookie": f"takeup={self.client.furniture.cookie('all')}", "X-Request-ID": self.client.id}
            page = await self.client.send(wire.request("GET", f"/app{self.path}", headers))
            if page.status != 200:
                raise self._wrong(f"cannot show its page: {page.status}", page.body.decode(errors="replace"))

    def _check(self, decided: Mapping[str, Any]) -> None:
        """Probabilities are numbers from 0 to 1 that add up to 1."""
        for name in ("probability", "best"):
            given = decided.get(name)
            if given is not None:
                fine = all(p is not None and math.isfinite(p) and -TOLERANCE <= p <= 1 + TOLERANCE for p in given)
                if not fine or abs(sum(given) - 1) > TOLERANCE:
                    raise self._wrong(f"its {name} is not a distribution", given)

    async def _must(self, what: str, method: str, path: str, body: Any = None) -> Any:
        """An answer that says that it is done."""
        answer = await self.client.call(method, path, body)
        if answer.status != 200:
            raise self._wrong(f"{what}: {kind_of(answer)}", answer.body.decode("utf-8", "replace"))
        return json.loads(answer.body)

    def _wrong(self, what: str, answer: object) -> Exception:
        spec = json.dumps(self.spec).encode()
        return self.client.failed(f"accepted, but {what}", spec, str(answer), self.client.id)
