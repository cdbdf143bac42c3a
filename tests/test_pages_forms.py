"""New trials, steering, deciding and reporting by hand, the log: each as a person would use it, without a browser."""

import csv
import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import asgi
from asgi import Reply
from page_visitor import Visitor, choose, harmless
from takeup.live import Trial
from takeup.policies.description import describe
from takeup.service.callers import SCOPES
from takeup.service.pages import spec_form
from takeup.service.pages.choices import choices
from takeup.service.pages.spec_sentences import spec_sentences
from takeup.trial import Design
from takeup.trial.spec import TrialSpec


@pytest.fixture(scope="module")
def boss(api: asgi.Api) -> Visitor:
    return Visitor(api, *SCOPES)


def running(api: asgi.Api, name: str, **changes: Any) -> Trial:
    """A trial that runs."""
    trial = Trial.create(api.store, {**asgi.SPEC, **changes}, trial=name)
    trial.start()
    return trial


def large(reply: Reply) -> str:
    """The proposal on the page."""
    found = re.search(r'<p class="proposal[^"]*">(.*?)</p>', reply.body.decode())
    assert found is not None
    return found[1]


def sequences(reply: Reply) -> list[int]:
    """The numbers of the events on a page of the log."""
    return [int(number) for number in re.findall(r'<li value="(\d+)"', reply.body.decode())]


def test_a_form_becomes_a_draft_which_is_changed_and_started(api: asgi.Api, boss: Visitor) -> None:
    form = choose(name="First trial", contexts="men\nwomen", floor="5", window="90 days", probability_best="95")
    made = boss.post("/app/new", {**form, "do": "save"})
    assert (made.status, made.headers["location"]) == (303, "/app/trials/first-trial")
    trial = Trial(api.store, "first-trial")
    assert trial.state == "draft"
    spec = trial.design.spec
    assert spec.space.contexts == ["men", "women"]
    assert (spec.limits.floor, spec.window, spec.stopping.probability_best) == (0.05, 90 * 86_400, 0.95)
    assert spec.policy == choices()["TS-Obs"].description
    assert trial.events()[0].kind == "created"
    assert "design" in trial.events()[0].body
    again = harmless(boss.get("/app/trials/first-trial/edit"))
    assert (again.value("name"), again.value("floor"), again.value("window")) == ("First trial", "5", "90 days")
    changed = boss.post("/app/trials/first-trial/edit", {**form, "floor": "10", "do": "save"})
    assert changed.status == 303
    assert trial.design.spec.limits.floor == 0.1
    assert boss.post("/app/trials/first-trial/state", {"state": "running"}).status == 303
    assert trial.state == "running"
    assert boss.get("/app/trials/first-trial/edit").status == 409
    assert boss.post("/app/trials/first-trial/edit", {**form, "do": "save"}).status == 409


def test_every_error_stands_beside_its_field_and_what_was_typed_stays(boss: Visitor) -> None:
    cases = {
        "name": choose(name=""),
        "proposals": choose(proposals="one"),
        "implemented": choose(implemented="a\na"),
        "intended": choose(implemented="a\nb", intended="a"),
        "outcome-2": choose(utility__2="3"),
        "utility-1": choose(utility__1="much"),
        "policy": choose(policy="none"),
        "compliance": choose(compliance="perhaps"),
        "floor": choose(floor="70"),
        "ceiling": choose(ceiling="101"),
        "burn_in": choose(burn_in="-3"),
        "window": choose(window="a while"),
        "maximum": choose(maximum="0"),
        "probability_best": choose(probability_best="20"),
    }
    for place, form in cases.items():
        reply = boss.post("/app/new", {**form, "do": "look"})
        assert reply.status == 422, place
        page = harmless(reply)
        assert f"{place}-wrong" in page.ids, (place, page.text)
        kept = [name for name, value in form.items() if name != "policy" and page.value(name) not in (value, None)]
        assert not kept, kept
    both = harmless(boss.post("/app/new", choose(proposals="one", burn_in="many")))
    assert {"proposals-wrong", "burn_in-wrong"} <= set(both.ids)


def test_errors_speak_as_the_form_does(api: asgi.Api, boss: Visitor) -> None:
    """In its units, without keys of the API and without repeating what was typed."""
    trial = running(api, "spoken")
    trial.decide("a", "morning")
    cases: tuple[tuple[str, dict[str, str], str], ...] = (
        ("/app/new", choose(name=""), "This is needed."),
        ("/app/new", choose(floor="70"), "2 proposals cannot all have so much: at most 50 %."),
        ("/app/new", choose(ceiling="30"), "2 proposals cannot all have so little: at least 50 %."),
        ("/app/new", choose(probability_best="100"), "Expected: a number above 50 and below 100."),
        ("/app/new", choose(name="x" * 201), "Expected: at most 200 characters."),
        ("/app/new", {**choose(name="x"), "trial": "No Such", "do": "save"}, "Expected: "),
        (f"/app/trials/{trial.id}/decide", {"unit": "b"}, "Expected: one of morning, evening."),
        (f"/app/trials/{trial.id}/report", {"unit": "a"}, "Expected: what was done, what came of it, or that it will"),
    )
    for path, form, said in cases:
        page = harmless(boss.post(path, form))
        assert said in page.text, (form, page.text)
        assert "got " not in page.text
        assert "probability_best:" not in page.text


def test_needless_compliance_is_refused_beside_the_policy(boss: Visitor) -> None:
    reply = boss.post("/app/new", choose(policy="TS-Check", compliance="never"))
    assert reply.status == 422
    assert "policy-wrong" in harmless(reply).ids


@pytest.mark.parametrize("language", ["TOML", "JSON"])
def test_a_spec_can_be_pasted(api: asgi.Api, boss: Visitor, language: str) -> None:
    name = f"Pasted {language}"
    spec = {**asgi.SPEC, "name": name, "draws": 500}
    toml = f'name = "{name}"\ndraws = 500\n[space]\nproposals = ["tea", "coffee"]\n[policy]\nkind = "TSObs"\n'
    text = toml if language == "TOML" else json.dumps(spec)
    made = boss.post("/app/new", {"by": "paste", "text": text, "do": "save"})
    assert made.status == 303, made.body
    trial = made.headers["location"].rpartition("/")[2]
    assert Trial(api.store, trial).design.spec.draws == 500
    form = harmless(boss.get(f"/app/trials/{trial}/edit"))
    assert '"draws": 500' in form.text  # the form has no such field: the draft is changed as it was made
    for wrong in ("", "{", "[[[", "name = 3", '{"name": "x"}', text.replace("TSObs", "Nothing")):
        reply = boss.post("/app/new", {"by": "paste", "text": wrong, "do": "save"})
        assert reply.status == 422
        assert "text-wrong" in harmless(reply).ids
    unknown = boss.post("/app/new", {"by": "paste", "text": toml.replace("draws", "drews")})
    assert "one of the keys name, " in harmless(unknown).text
    assert "did you mean draws?" in harmless(unknown).text


def test_a_name_that_is_taken_and_a_key_of_few_trials(api: asgi.Api, boss: Visitor) -> None:
    form = {**choose(name="Twice"), "do": "save"}
    assert boss.post("/app/new", form).status == 303
    again = boss.post("/app/new", form)
    assert again.status == 409
    assert "trial-wrong" in harmless(again).ids
    few = Visitor(api, "design", trials=["mine"])
    assert few.post("/app/new", {**form, "name": "Other"}).status == 409
    assert few.post("/app/new", {**form, "trial": "yours"}).status == 409
    assert few.post("/app/new", {**form, "trial": "mine"}).headers["location"] == "/app/trials/mine"


@pytest.mark.parametrize("name", choices())
def test_every_policy_has_a_sentence_and_survives_the_form(name: str) -> None:
    contexts = "tea\ncoffee" if name in ("TS-Intent", "TS-Causal") else ""
    known = {"known_name__0": "age", "known_low__0": 18, "known_high__0": 100} if choices()[name].covariates else {}
    checked, wrong = spec_form.read(choose(policy=name, contexts=contexts, **known))
    assert not wrong
    assert checked is not None
    design = checked.design
    assert describe(design.policy) == choices()[name].description
    assert choices()[name].sentence in " ".join(spec_sentences(design))
    assert spec_form.fields_of(design)["policy"] == name


def test_what_a_spec_means_is_said_in_words() -> None:
    form = choose(
        implemented="tea\ncoffee\nwater",
        contexts="men\nwomen",
        floor="10",
        ceiling="90",
        burn_in="20",
        window="2 weeks",
        maximum="500",
        probability_best="97.5",
        compliance="sometimes",
        decisions="many",
    )
    checked, _ = spec_form.read(form)
    assert checked is not None
    said = " ".join(spec_sentences(checked.design)).replace("\u00a0", " ")
    for part in (
        "tea or coffee is offered",
        "tea, coffee or water",
        "men and women",
        "bad (worth 0) or good (worth 1)",
        "first 20 decisions",
        "less likely than 10 % or more likely than 90 %",
        "2 weeks after its decision",
        "after 500 decisions or once one proposal is best with probability 0.975",
        "for some and not for others",
        "many decisions",
    ):
        assert part in said, part


def test_forms_and_specs_are_two_ways_to_say_the_same() -> None:
    form = choose(implemented="a\nb\nc", intended="c\na", contexts="x\ny", ceiling="87.5", utility__0="-1.25")
    checked, wrong = spec_form.read(form)
    assert checked is not None, wrong
    back, _ = spec_form.read(spec_form.fields_of(checked.design))
    assert back is not None
    assert back.design.text == checked.design.text
    odd = TrialSpec.model_validate({**asgi.SPEC, "limits": {"floor": {"tea": 0.2}}})
    fields = spec_form.fields_of(Design.of(odd))
    assert fields["by"] == "paste"
    pasted, wrong = spec_form.read(fields)
    assert pasted is not None, wrong
    assert pasted.design.text == Design.of(odd).text


def test_stopping_needs_a_reason_and_a_tick(api: asgi.Api, boss: Visitor) -> None:
    trial = running(api, "stopping")
    path = f"/app/trials/{trial.id}/state"
    assert boss.post(path, {"state": "paused"}).status == 303
    assert trial.state == "paused"
    for form in ({}, {"reason": "done"}, {"sure": "yes"}, {"reason": "  ", "sure": "yes"}):
        reply = boss.post(path, {"state": "stopped", **form})
        assert reply.status == 422
        assert harmless(reply).value("state") == "stopped"
        assert trial.state == "paused"
    assert boss.post(path, {"state": "gone"}).status == 422
    assert boss.post(path, {"state": "stopped", "reason": "enough", "sure": "yes"}).status == 303
    assert trial.state == "stopped"
    assert '"reason":"enough"' in trial.events(backwards=True)[0].body
    assert boss.post(path, {"state": "running"}).status == 409


@pytest.mark.parametrize("state", ["draft", "running", "paused", "stopped"])
@pytest.mark.parametrize("scopes", [SCOPES, ("read-blinded",), ("design",), ("decide",)])
def test_steering_offers_what_can_be_done(api: asgi.Api, state: str, scopes: tuple[str, ...]) -> None:
    from takeup.service.pages.page import Visit
    from takeup.service.pages.templates import render

    service = api.app.state.service
    key = api.run(service.keys.find(api.key(*scopes)))
    visit = Visit(None, service, "cookie", key)  # type: ignore[arg-type]  # the template asks for the key alone
    values = {"visit": visit, "trial": "t", "state": state, "taken_over": False, "form_token": "token"}
    reply = Reply(200, {}, render("steer", **values).encode())
    page = harmless(reply)
    offered = {value for name, value in page.controls if name == "state"}
    able = {"draft": {"running", "stopped"}, "running": {"paused", "stopped"}, "paused": {"running", "stopped"}}
    assert offered == (able.get(state, set()) if "design" in scopes else set())
    assert ("/decide" in "".join(page.attributes)) == ("decide" in scopes and state == "running")
    assert ("/past" in "".join(page.attributes)) == ("design" in scopes and state == "draft")


def test_a_proposal_in_large_type_and_sent_twice_decided_once(api: asgi.Api) -> None:
    trial, clerk = running(api, "by-hand"), Visitor(api, "decide")
    path = f"/app/trials/{trial.id}/decide"
    key = harmless(clerk.get(path)).value("key") or ""
    form = {"unit": "p-1", "context": "morning", "key": key}
    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda _: clerk.post(path, form), range(4)))
    assert {reply.status for reply in replies} == {200}
    assert len({large(reply) for reply in replies}) == 1
    assert trial.progress().decisions == 1
    assert large(replies[0]) in ("tea", "coffee")
    decided = next(each for each in trial.events() if each.kind == "decided")
    for hidden in ("probability", "0.5", decided.hash):
        assert hidden not in harmless(replies[0]).text
    other = clerk.post(path, {**form, "unit": "p-2"})
    assert other.status == 409  # the key stands for p-1
    page = harmless(other)
    assert page.value("unit") == "p-2"
    assert page.value("key") != key
    assert clerk.post(path, {**form, "unit": "p-2", "key": page.value("key") or ""}).status == 200
    assert harmless(clerk.post(path, {"unit": "", "context": "morning"})).ids.count("unit-wrong") == 1
    assert clerk.post(path, {"unit": "p-3", "context": "noon"}).status == 422
    assert clerk.post(path, {"unit": "p-1", "context": "evening"}).status == 409
    assert trial.progress().decisions == 2
    trial.pause()
    paused = clerk.post(path, {"unit": "p-4", "context": "morning"})
    assert paused.status == 409
    assert "paused" in harmless(paused).text


def test_occasions_are_asked_for_where_there_are_many(api: asgi.Api, boss: Visitor) -> None:
    trial = running(api, "visits", decisions="many")
    path = f"/app/trials/{trial.id}/decide"
    assert "occasion" in harmless(boss.get(path)).ids
    assert "occasion-wrong" in harmless(boss.post(path, {"unit": "p", "context": "morning"})).ids
    for visit in ("1", "2"):
        assert boss.post(path, {"unit": "p", "context": "morning", "occasion": visit}).status == 200
    told = {"unit": "p", "occasion": "2", "outcome": "1"}
    assert boss.post(f"/app/trials/{trial.id}/report", told).status == 200
    assert trial.progress().outcomes_counted == 1
    assert "decision 2" in harmless(boss.get(f"/app/trials/{trial.id}/log?unit=p")).text


def test_reports_missing_ones_and_corrections(api: asgi.Api) -> None:
    trial = running(api, "told")
    for unit in ("a", "b"):
        trial.decide(unit, "morning")
    blind, path = Visitor(api, "report", "read-blinded"), f"/app/trials/{trial.id}/report"
    key = harmless(blind.get(f"{path}?decision=1")).value("key") or ""
    first = {"decision": "1", "implemented": "0", "outcome": "1", "key": key}
    assert "Recorded for decision 1" in harmless(blind.post(path, first)).text
    events = trial.progress().sequence
    assert blind.post(path, first).status == 200  # loaded again
    assert trial.progress().sequence == events
    contrary = {"unit": "a", "outcome": "0"}
    reply = harmless(blind.post(path, contrary))
    assert "Recorded for decision 1" in reply.text
    assert "that one stands, and those who may see both are told" in reply.text
    assert (trial.progress().disputes, trial.progress().corrections) == (1, 0)
    seeing = Visitor(api, "report", "read-unblinded")
    refused = seeing.post(path, contrary)
    assert refused.status == 409
    assert "reason-wrong" in harmless(refused).ids
    assert "'good'" in harmless(refused).text
    corrected = harmless(blind.post(path, {**contrary, "reason": "typing error"}))
    assert "If there was one, yours replaces it" in corrected.text
    assert "was corrected" not in corrected.text
    assert trial.progress().corrections == 1
    assert "was corrected" in harmless(seeing.post(path, {**contrary, "outcome": "1", "reason": "no"})).text
    assert "will never be known" in harmless(blind.post(path, {"unit": "b", "outcome": "missing"})).text
    assert trial.progress().outcomes_missing == 1
    for form, status, place in (
        ({"outcome": "1"}, 422, "unit"),
        ({"unit": "a", "decision": "1", "outcome": "1"}, 422, "unit"),
        ({"decision": "one", "outcome": "1"}, 422, "decision"),
        ({"decision": "99", "outcome": "1"}, 404, "decision"),
        ({"unit": "nobody", "outcome": "1"}, 404, "unit"),
        ({"unit": "a", "outcome": "7"}, 422, "outcome"),
    ):
        wrong = blind.post(path, form)
        assert wrong.status == status, form
        assert f"{place}-wrong" in harmless(wrong).ids, form
    assert blind.post(path, {"unit": "a"}).status == 422


def test_compliance_that_is_never_reported_is_not_asked_for(api: asgi.Api, boss: Visitor) -> None:
    trial = running(api, "unseen", compliance="never", policy={"kind": "TS"})
    assert "implemented" not in harmless(boss.get(f"/app/trials/{trial.id}/report")).ids


def test_the_log_is_searched_paged_and_blinded(api: asgi.Api, boss: Visitor) -> None:
    trial = running(api, "logged")
    for i in range(60):
        decision = trial.decide(f"unit {i}", "morning", by="site")
        trial.report(decision, implemented="tea", outcome="good")
    trial.report(5, outcome="bad", reason="misread")
    path = f"/app/trials/{trial.id}/log"
    seen, reply, pages = [], boss.get(path), 0
    while True:
        seen += sequences(reply)
        pages += 1
        older = re.search(r'rel="next" href="([^"]+)"', reply.body.decode())
        if older is None:
            break
        reply = boss.get(older[1].replace("&amp;", "&"))
    last = trial.progress().sequence
    assert seen == list(range(last, 0, -1))
    assert pages == 3
    newer = re.search(r'rel="prev" href="([^"]+)"', reply.body.decode())
    assert newer is not None
    assert sequences(boss.get(newer[1].replace("&amp;", "&"))) == seen[50:100]
    correction = harmless(boss.get(f"{path}?decision=5"))
    assert "Correction" in correction.text
    assert "misread" in correction.text
    assert "unit 4" in correction.text
    assert len(sequences(boss.get(f"{path}?unit=unit+4"))) == 3
    assert len(sequences(boss.get(f"{path}?unit=unit+4&kind=decided"))) == 1
    assert sequences(boss.get(f"{path}?unit=nobody")) == []
    assert sequences(boss.get(f"{path}?unit=unit+4&decision=6")) == []
    assert boss.get(f"{path}?decision=x").status == 422
    blind = Visitor(api, "read-blinded")
    pages_seen = [blind.get(path), blind.get(f"{path}?decision=5"), blind.get(f"{path}?unit=unit+4")]
    for each in pages_seen:
        shown = harmless(each).text
        hashes = [entry.hash for entry in trial.events(limit=1_000)]
        assert not [h for h in hashes if h in each.body.decode()]
        for word in ("tea", "coffee", "good", "bad", "misread", "0.5"):
            assert word not in shown, word
        assert sequences(each)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "json"])
def test_exports_are_those_of_the_api(api: asgi.Api, boss: Visitor, kind: str) -> None:
    trial = running(api, f"out-{kind}")
    trial.report(trial.decide("=1+1", "morning"), implemented="tea", outcome="good")
    trial.decide("'quoted", "evening")
    for scope in ("read-unblinded", "read-blinded"):
        page = Visitor(api, scope).get(f"/app/trials/{trial.id}/export?format={kind}")
        told = api.request("GET", f"/trials/{trial.id}/export?format={kind}", key=api.key(scope))
        assert page.status == told.status == 200
        assert page.headers["content-type"] == told.headers["content-type"]
        assert "attachment" in page.headers["content-disposition"]
        assert page.body == told.body
        if kind == "csv":
            rows = list(csv.DictReader(io.StringIO(page.body.decode())))
            assert [row["unit"] for row in rows] == ["'=1+1", "''quoted"]
            assert ("ARM" in rows[0]) == (scope == "read-unblinded")
    assert boss.get(f"/app/trials/{trial.id}/export?format=exe").status == 422
