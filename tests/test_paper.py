"""`takeup paper`: the shape of its JSON, a report that needs nothing but itself, and clean ends."""

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from takeup import charts
from takeup.cli import app
from takeup.errors import InputError, MissingExtraError
from takeup.paper import contextual, regret, report, reproduction, stroke

runner = CliRunner()

QUICK = ["--replications", "3", "--engine", "reference", "--seed", "2"]


@pytest.fixture(autouse=True, scope="module")
def _short() -> Iterator[None]:
    """Trials of a few patients: the figures mean nothing, their shape is the same."""
    with pytest.MonkeyPatch.context() as patched:
        for module in (contextual, regret, stroke):
            patched.setattr(module, "HORIZON", 30)
        yield


def paper(*arguments: str) -> Result:
    return runner.invoke(app, ["paper", *arguments])


def figures(part: str, *more: str) -> dict[str, Any]:
    done = paper(part, *QUICK, "--json", *more)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_json_of_table2() -> None:
    found = figures("table2")
    cells = found["table2"]["cells"]
    keys = {"environment", "policy", "statistic", "published", "measured", "mcse", "agrees"}
    assert all(set(cell) == keys for cell in cells)
    assert len(cells) == 4 * 5 * 3 == found["table2"]["compared"]
    assert found["table2"]["agreeing"] == sum(cell["agrees"] for cell in cells)
    ts = next(c for c in cells if (c["environment"], c["policy"], c["statistic"]) == (1, "TS", "mean"))
    assert ts["published"] == 10.18
    assert set(found) == {"table2", "about"}
    assert found["about"]["seed"] == 2


def test_json_of_regret() -> None:
    found = figures("regret")["regret"]
    assert len(found["points"]) == 63
    assert set(found["points"][0]) == {"policy", "p", "mean", "sd", "median", "mcse"}
    assert {"claim", "holds"} <= set(found["claims"][0])
    assert all(isinstance(claim["holds"], bool) for claim in found["claims"])


def test_json_of_stroke() -> None:
    found = figures("stroke")["stroke"]
    assert [each["parameters"] for each in found] == ["paper", "recomputed", "as-treated", "patients"]
    for each in found:
        assert {(row["outcome"], row["policy"]) for row in each["excess"]} == {
            (outcome, policy) for outcome in ("STS", "LTS", "LTR") for policy in ("TS", "TS-Check", "TS-Obs")
        }
        assert {"outcome", "policy", "mean", "mcse"} <= set(each["excess"][0])


def test_json_is_the_same_with_the_same_seed() -> None:
    first, again = (figures("regret")["regret"] for _ in range(2))
    assert first == again


def test_latent_rows_can_be_left_out() -> None:
    cells = figures("table2", "--latent-replications", "0")["table2"]["cells"]
    assert len(cells) == 36


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper") / "report"
    done = paper("all", *QUICK, "--out", str(folder))
    assert done.exit_code == 0, done.output
    return folder / "report.html"


def test_the_report(page: Path) -> None:
    """One page that loads nothing, with headings, captions and text alternatives, and its charts beside it."""
    text = page.read_text()
    parsed = Page()
    parsed.feed(text)
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(parsed.tags)
    loading = [a for a in parsed.attributes if a[1] in ("src", "href", "xlink:href", "srcset", "action")]
    assert not [a for a in loading if re.match(r"\s*(\w+:)?//", a[2])]
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", text)
    assert parsed.tags.count("h1") == 1
    assert parsed.tags.count("table") == parsed.tags.count("caption") > 5
    assert parsed.tags.count("figure") == parsed.tags.count("svg") == parsed.tags.count("figcaption")
    assert all(value for tag, name, value in parsed.attributes if (tag, name) == ("svg", "aria-label"))
    assert len([a for a in parsed.attributes if a[:2] == ("svg", "aria-label")]) == parsed.tags.count("svg")
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for target in (value for tag, name, value in parsed.attributes if (tag, name) == ("a", "href")):
        assert target[1:] in ids if target.startswith("#") else (page.parent / target).exists()
    for shown in ("seed", "numpy", "wall time", "prefers-color-scheme: dark"):
        assert shown in text
    files = {file.suffix for file in page.parent.iterdir()}
    assert files == {".html", ".svg", ".png"}
    assert [file.name for file in page.parent.parent.iterdir()] == ["report"]


def test_the_terminal_shows_tables_and_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = paper("table2", *QUICK)
    assert "of 60 figures agree" in done.output
    assert "TS-Lat-40" in done.output
    assert "✓" in done.output or "✗" in done.output
    assert not list(tmp_path.iterdir())  # a report only where it is asked for


def test_an_interrupted_report_leaves_the_old_one(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {file.name: file.read_bytes() for file in page.parent.iterdir()}

    def stop(_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(charts, "png", stop)
    done = paper("regret", *QUICK, "--out", str(page.parent))
    assert done.exit_code != 0
    assert {file.name: file.read_bytes() for file in page.parent.iterdir()} == before
    assert [file.name for file in page.parent.parent.iterdir()] == ["report"]


@pytest.mark.parametrize(
    "arguments",
    [["tables"], ["all", "--replications", "1"], ["all", "--engine", "abacus"], ["all", "--seed", "-1"]],
)
def test_bad_arguments_exit_with_2(arguments: list[str]) -> None:
    assert paper(*arguments).exit_code == 2


def test_a_folder_that_cannot_be_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual, "table", lambda *_, **__: pytest.fail("it ran"))
    (tmp_path / "file").write_text("mine")
    for taken in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="--out"):
            runner.invoke(app, ["paper", "all", "--out", str(taken)], catch_exceptions=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"takeup\[report\]"):
        report.check(tmp_path / "report")


def test_progress_adds_up_to_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[float] = []
    stages: list[str] = []
    settings = reproduction.Settings(replications=2, engine="reference")
    reproduction.reproduce(list(reproduction.PARTS), settings, done.append, stages.append)
    assert sum(done) == reproduction.work(list(reproduction.PARTS), settings)
    assert stages == list(reproduction.PARTS)


def test_cheap_rows_get_enough_runs() -> None:
    settings = reproduction.Settings(replications=500, engine="cpu")
    assert (settings.observing, settings.latent) == (reproduction.ENOUGH, 500)
    many = reproduction.Settings(replications=100_000, engine="gpu")
    assert (many.observing, many.latent) == (100_000, reproduction.LATENT_REPLICATIONS)
