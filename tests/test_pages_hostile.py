"""500 hostile texts in every text field of every form: no page breaks, and nothing of theirs is run."""

import json
from collections.abc import Iterator

import pytest

import asgi
from hostile import FEW, texts
from page_visitor import TRY, Parsed, RenderHere, Visitor, choose, harmless
from takeup.live import Trial
from takeup.service.callers import SCOPES

TEXTS = texts()
SPEC_FIELDS = (
    *("name", "trial", "description", "proposals", "contexts", "contexts_too", "implemented", "intended"),
    *("outcome-0", "utility-0", "outcome-2", "utility-2"),
    *("policy", "compliance", "decisions", "floor", "ceiling", "burn_in", "window", "maximum", "probability_best"),
    *(f"known_{part}-0" for part in ("name", "kind", "low", "high", "step", "unit", "levels", "missing")),
    *("interactions", "by", "sketch"),
)
FORMS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "/app/sign-in": ({"key": "", "next": "/app"}, ("key", "next")),
    "/app/new": ({**choose(name=""), "do": "save"}, (*SPEC_FIELDS, "rate-0-1", "rate-1-1", "people", "per_day")),
    "/app/trials/draft/edit": ({**choose(name=""), "do": "save"}, SPEC_FIELDS),
    "/app/trials/open/state": ({"state": "stopped"}, ("state", "reason", "sure")),
    "/app/trials/open/decide": ({"unit": "", "context": "x"}, ("unit", "occasion", "context", "key")),
    "/app/trials/open/report": (
        {"unit": "nobody"},
        ("unit", "occasion", "decision", "implemented", "outcome", "reason", "key"),
    ),
    "/app/try": ({**TRY, "policy": "", "compliance": "always"}, (*TRY, "measured", "policy", "compliance", "do")),
}
"""Every form with every field that holds a text, and what else it sends. None of these goes through: what was typed
comes back, in the page that says what is wrong with it."""


@pytest.fixture(scope="module")
def api() -> Iterator[asgi.Api]:
    with asgi.api() as running:
        running.app.state.render_cache.process = RenderHere()
        running.app.state.service.keys.wrong.wait = lambda _: 0.0  # more wrong keys than one address may send
        Trial.create(running.store, asgi.SPEC, trial="draft")
        Trial.create(running.store, {**asgi.SPEC, "decisions": "many"}, trial="open").start()
        yield running


@pytest.fixture(scope="module")
def boss(api: asgi.Api) -> Visitor:
    return Visitor(api, *SCOPES)


def test_there_are_500_and_no_two_alike() -> None:
    assert len(set(TEXTS)) == 500


def test_every_form_field_is_in_the_table(api: asgi.Api, boss: Visitor) -> None:
    """What a page asks for is what is tested: the fields of each form that is shown, but for hidden tokens."""
    for path, (_, fields) in FORMS.items():
        if path.endswith("/state"):
            continue
        asked = {name for name, _ in harmless(boss.get(path)).controls} - {"form_token"}
        shown = {name for name in asked if not name.startswith(("outcome-", "utility-"))}
        assert shown <= set(fields), (path, shown - set(fields))


@pytest.mark.requirement("R-9.9")
@pytest.mark.parametrize("path", FORMS)
def test_hostile_texts_break_no_form(api: asgi.Api, boss: Visitor, path: str) -> None:
    """The form of a draft is that of a new trial: a tenth has to do there."""
    _send_all(api, boss, path, 10 if path.endswith("/edit") else 1)


@pytest.mark.long
def test_hostile_texts_break_no_draft(api: asgi.Api, boss: Visitor) -> None:
    _send_all(api, boss, "/app/trials/draft/edit", 1)


def test_hostile_specs_break_no_page(api: asgi.Api, boss: Visitor) -> None:
    """Every text pasted for a spec; and in a spec as key, label and value of a spec that is right, but for it."""

    async def story(some: list[str]) -> None:
        for text in some:
            spec = {"name": text, text: 1, "space": {"proposals": [text, "b"], text: 1}, "policy": {"kind": text}}
            for pasted in (text, json.dumps(spec), f"name = {json.dumps(text)}"):
                reply = await boss.sent("/app/new", {"by": "paste", "text": pasted, "trial": "", "do": "save"})
                _check(reply, [text], thorough=pasted == text)

    for first in range(0, len(TEXTS), 100):
        api.run(story(TEXTS[first : first + 100]))


def _send_all(api: asgi.Api, boss: Visitor, path: str, step: int) -> None:
    """Every text, or every so many, is in every field once: in the i-th sending field j holds text i + 61 j."""
    whole, fields = FORMS[path]
    free = [name for name in fields if name not in ("do", "by", "state", "sure")]

    async def story(some: range) -> None:
        for i in some[::step]:
            given = {name: TEXTS[(i + 61 * j) % len(TEXTS)] for j, name in enumerate(free)}
            _check(await boss.sent(path, {**whole, **given}), list(given.values()), thorough=i % 10 == 0)

    for first in range(0, len(TEXTS), 100):
        api.run(story(range(first, first + 100)))


def _check(reply: asgi.Reply, given: list[str], thorough: bool) -> None:
    assert reply.status in (200, 303, 400, 401, 403, 404, 409, 413, 422), (reply.status, given)
    if reply.status == 303:
        assert reply.headers["location"].startswith("/app")
        assert "\n" not in reply.headers["location"]
        return
    shown = reply.body.decode()
    for text in given:
        if "<" in text[:-1] or "=window" in text:
            assert text.strip() not in shown, text
    if thorough:
        _not_added(harmless(reply))


def _not_added(page: Parsed) -> None:
    """No element came from a text: none of these is in any template."""
    assert not {"iframe", "object", "embed", "base", "body-x"} & set(page.tags)
    assert page.tags.count("title") == 1
    assert page.tags.count("form") <= 4


def test_hostile_names_live_in_a_trial_and_every_page_shows_them(api: asgi.Api, boss: Visitor) -> None:
    """Texts that a trial accepts, as its name, labels, units, occasions and reasons; and every page that shows them."""
    usable = [t for t in TEXTS if len(t) <= 200 and t.strip() and t.isprintable() and t == t.strip()]
    assert len(usable) > 300
    for i in range(0, len(usable) - 10, 40):
        some = usable[i : i + 10]
        spec = {
            "name": some[0],
            "description": some[1],
            "space": {"proposals": some[2:4], "contexts": some[4:6], "outcomes": some[6:8]},
            "policy": {"kind": "TS"},
            "decisions": "many",
        }
        trial = Trial.create(api.store, spec, trial=f"h{i}")
        edit = harmless(boss.get(f"/app/trials/{trial.id}/edit"))
        assert some[0] in (edit.value("name") or edit.text)
        trial.start()
        form = {"unit": some[8], "occasion": some[9], "context": some[4]}
        decided = boss.post(f"/app/trials/{trial.id}/decide", form)
        assert decided.status == 200, decided.body
        assert some[8] in harmless(decided).text
        reported = {"decision": "1", "implemented": "0", "outcome": "1"}
        assert boss.post(f"/app/trials/{trial.id}/report", reported).status == 200
        wrong = boss.post(f"/app/trials/{trial.id}/report", {**reported, "outcome": "0"})
        assert wrong.status == 409
        harmless(wrong)
        assert (
            boss.post(f"/app/trials/{trial.id}/report", {**reported, "outcome": "0", "reason": some[1]}).status == 200
        )
        log = harmless(boss.get(f"/app/trials/{trial.id}/log"))
        for text in some[:2] + some[8:]:
            assert text in log.text, ascii(text)
        for kind in ("csv", "jsonl"):
            assert boss.get(f"/app/trials/{trial.id}/export?format={kind}").status == 200
        harmless(boss.get("/app"))


def test_hostile_queries_break_no_page(boss: Visitor) -> None:
    from urllib.parse import quote

    for text in (*FEW, *TEXTS[::25]):
        given = quote(text[:500], safe="")
        for path, names in (("log", ("kind", "unit", "decision", "before", "after")), ("report", ("unit", "decision"))):
            query = "&".join(f"{name}={given}" for name in names)
            harmless(boss.get(f"/app/trials/open/{path}?{query}"))
        harmless(boss.get(f"/app/trials/open/decide?unit={given}&context={given}"))
        harmless(boss.get(f"/app/new?by={given}"))
        harmless(boss.get(f"/app/sign-in?next={given}"))
        assert boss.get(f"/app/new/{quote(text[:100], safe='')}").status in (404, 400)
        assert boss.get(f"/app/trials/open/export?format={given}").status == 422
