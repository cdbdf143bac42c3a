"""Covariates on the form of a new trial: what is filled in is the spec that could have been pasted."""

import json
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import expect

import asgi
import browser
from page_visitor import Visitor, choose, harmless
from takeup.live import Trial
from takeup.service.callers import SCOPES
from takeup.service.pages import spec_form
from takeup.trial import Design

SPEC: dict[str, Any] = {
    "name": "Tea",
    "space": {
        "proposals": ["tea", "coffee"],
        "outcomes": ["bad", "good"],
        "covariates": {
            "age": {"kind": "measure", "low": 18, "high": 100, "unit": "years"},
            "ward x": {"kind": "category", "levels": ["a, b", "c"], "missing": "kept"},
            "lactate": {"kind": "measure", "low": 0, "high": 20, "step": 0.1, "missing": "kept"},
        },
        "interactions": [["age", "ward x"]],
    },
    "policy": {"kind": "LinTS"},
}
ROWS = {
    "known_name-0": "age",
    "known_low-0": "18",
    "known_high-0": "100",
    "known_unit-0": "years",
    "known_name-2": "ward x",
    "known_kind-2": "category",
    "known_levels-2": "a, b\n\nc\n",
    "known_missing-2": "kept",
    "known_name-3": "lactate",
    "known_low-3": "0",
    "known_high-3": "20",
    "known_step-3": "0.1",
    "known_missing-3": "kept",
    "interactions": "age x ward x",
}
"""The second row is blank, as one that was removed; names may have commas and crosses in them."""


def form(**fields: str) -> dict[str, str]:
    return {**choose(policy="LinTS"), **ROWS, **fields}


def test_what_is_filled_in_is_what_could_be_pasted() -> None:
    checked, wrong = spec_form.read(form())
    assert not wrong
    assert checked is not None
    assert checked.design.text == Design.of(SPEC).text
    again = spec_form.fields_of(checked.design)
    assert again["by"] == "form"
    once_more, wrong = spec_form.read(again)
    assert not wrong
    assert once_more is not None
    assert once_more.design.text == checked.design.text


@pytest.mark.parametrize(
    ("place", "changed", "said"),
    [
        ("known_name-0", {"known_name-0": ""}, "Give it a name"),
        ("known_name-2", {"known_name-2": "age"}, "Another row has this name."),
        ("known_name-0", {"known_name-0": "outcome"}, "Another name than context"),
        ("known_low-0", {"known_low-0": ""}, "This is needed."),
        ("known_high-0", {"known_high-0": "many"}, "Expected: a number."),
        ("known_high-0", {"known_high-0": "10"}, "A number above low, which is 18.0"),
        ("known_step-3", {"known_step-3": "0.3"}, "A step that divides 0.0 to 20.0 evenly"),
        ("known_levels-2", {"known_levels-2": "c"}, "At least 2 names, all different"),
        ("known_levels-2", {"known_levels-2": "c\nmissing"}, "Other names"),
        ("interactions", {"interactions": "age, lactate"}, "two of the names above"),
        ("interactions", {"interactions": "age x lactate\nlactate x age"}, "each pair once"),
        ("policy", dict.fromkeys(ROWS, ""), "It learns from what is known before of each person"),
    ],
)
def test_errors_stand_beside_their_fields(api: asgi.Api, place: str, changed: dict[str, str], said: str) -> None:
    reply = Visitor(api, "design").post("/app/new", {**form(**changed), "do": "save"})
    assert reply.status == 422
    page = harmless(reply)
    assert f"{place}-wrong" in page.ids, page.text
    assert said in page.text
    assert (page.value("known_name-3") or "") == {**ROWS, **changed}["known_name-3"]


def test_a_draft_with_covariates_is_changed_in_the_form(api: asgi.Api) -> None:
    boss = Visitor(api, *SCOPES)
    made = boss.post("/app/new", {**form(name="Known"), "do": "save"})
    assert made.status == 303, harmless(made).text
    page = harmless(boss.get("/app/trials/known/edit"))
    assert [page.value(f"known_name-{i}") for i in range(4)] == ["age", "lactate", "ward x", ""]
    assert "How it is decided: finds out for whom it works" in harmless(boss.get("/app/trials/known")).text


def test_rows_come_and_go_in_a_browser(tmp_path: Path) -> None:
    """With scripts: fields of one kind at a time, one more row, one fewer; policies when there is something to learn.

    The trial is that of the pasted spec, and a phone that decides by it has a number pad and is told what is allowed.
    """
    with browser.served_here(tmp_path / "t.db") as served, browser.browser() as started:
        page = started.new_page(viewport={"width": 360, "height": 740})
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
        browser.sign_in(page, served.url, served.key("design", "decide", "read-unblinded"))
        page.goto(f"{served.url}/app/new")
        page.get_by_label("Name", exact=True).fill("Tea")
        page.get_by_label("Proposals, one a line").fill("tea\ncoffee")
        page.get_by_label("Outcome 1", exact=True).fill("bad")
        page.get_by_label("Outcome 2", exact=True).fill("good")
        page.locator("#burn_in").fill("0")
        expect(page.locator("#personal")).to_be_hidden()
        page.locator("#known summary").click()
        expect(page.locator("#known_levels-0")).to_be_hidden()
        values = {"name": "age", "low": "18", "high": "100", "unit": "years"}
        for part, value in values.items():
            page.locator(f"#known_{part}-0").fill(value)
        more = page.get_by_role("button", name="One more", exact=True)
        more.click()
        page.locator("#known_name-1").fill("mistaken")
        more.click()
        page.locator("#known_name-2").fill("ward x")
        page.locator("#known_kind-2").select_option("category")
        expect(page.locator("#known_low-2")).to_be_hidden()
        page.locator("#known_levels-2").fill("a, b\nc")
        page.locator("#known_missing-2").select_option("kept")
        page.get_by_role("button", name="Remove what is known before, 2").click()
        more.click()
        values = {"name": "lactate", "low": "0", "high": "20", "step": "0.1"}
        for part, value in values.items():
            page.locator(f"#known_{part}-3").fill(value)
        page.locator("#known_missing-3").select_option("kept")
        page.locator("#interactions").fill("age x ward x")
        page.locator("#personal summary").click()
        page.locator("#policy-LinTS").check()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.get_by_role("button", name="Save as a draft").click()
        page.get_by_role("button", name="Start").click()
        expect(page.locator(".state.running").first).to_be_visible()
        with Trial.open(served.database) as trial:
            assert json.loads(trial.design.text) == json.loads(Design.of(SPEC).text)

        page.goto(f"{served.url}/app/trials/tea/decide")
        age = page.get_by_label("age", exact=True)
        assert age.get_attribute("inputmode") == "numeric"
        assert page.get_by_label("lactate").get_attribute("inputmode") == "decimal"
        hint = str(age.get_attribute("aria-describedby"))
        assert page.locator(f"#{hint}").inner_text() == "A number from 18 to 100 years."
        page.locator("#unit").fill("1")
        age.fill("710")
        page.get_by_role("button", name="Decide").click()
        assert age.get_attribute("aria-invalid") == "true"
        assert "18 to 100 years" in page.locator(f"#{age.get_attribute('id')}-wrong").inner_text()
        age.fill("71")
        page.get_by_role("button", name="Decide").click()
        assert page.locator(".proposal").inner_text() in ("tea", "coffee")
