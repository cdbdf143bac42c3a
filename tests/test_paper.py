"""`takeup paper`: the shape of its JSON, a report that needs nothing but itself, and clean ends."""

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from papers import shorten_beyond, shorten_related
from takeup.charts import document
from takeup.cli import app
from takeup.errors import InputError, MissingExtraError
from takeup.paper import contextual, regret, report, reproduction, stroke, theory
from takeup.paper.chapters.related import PAPERS

runner = CliRunner()

QUICK = ["--replications", "3", "--engine", "reference", "--seed", "2"]


@pytest.fixture(autouse=True, scope="module")
def _short() -> Iterator[None]:
    """Trials of a few patients: the figures mean nothing, their shape is the same."""
    with pytest.MonkeyPatch.context() as patched:
        for module, horizon in ((contextual, 4), (regret, 5), (stroke, 4)):
            patched.setattr(module, "HORIZON", horizon)
        patched.setattr(theory, "HORIZONS", (10, 30))
        patched.setattr(theory, "DRAWS", 100)
        shorten_related(patched)
        shorten_beyond(patched)
        yield


def paper(*arguments: str) -> Result:
    return runner.invoke(app, ["paper", *arguments])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper") / "report"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(document, "png", lambda chart: b"drawn elsewhere, in seconds")
        done = paper("all", *QUICK, "--json", "--out", str(folder))
    assert done.exit_code == 0, done.output
    folder.with_suffix(".json").write_text(done.stdout)
    return folder / "report.html"


@pytest.fixture(scope="module")
def found(page: Path) -> dict[str, Any]:
    """What --json printed of the run that wrote the page."""
    printed: dict[str, Any] = json.loads(page.parent.with_suffix(".json").read_text())
    return printed


def test_json_of_table2(found: dict[str, Any]) -> None:
    cells = found["table2"]["cells"]
    keys = {"environment", "policy", "statistic", "published", "measured", "mcse", "agrees"}
    assert all(set(cell) == keys for cell in cells)
    assert len(cells) == 4 * 5 * 3 == found["table2"]["compared"]
    assert found["table2"]["agreeing"] == sum(cell["agrees"] for cell in cells)
    ts = next(c for c in cells if (c["environment"], c["policy"], c["statistic"]) == (1, "TS", "mean"))
    assert ts["published"] == 10.18


def test_json_of_regret(found: dict[str, Any]) -> None:
    points, claims = found["regret"]["points"], found["regret"]["claims"]
    assert len(points) == 63
    assert set(points[0]) == {"policy", "p", "mean", "sd", "median", "mcse"}
    assert {"claim", "holds"} <= set(claims[0])
    assert all(isinstance(claim["holds"], bool) for claim in claims)


def test_json_of_stroke(found: dict[str, Any]) -> None:
    settings = found["stroke"]
    assert [each["parameters"] for each in settings] == ["paper", "recomputed", "as-treated", "patients"]
    for each in settings:
        assert {(row["outcome"], row["policy"]) for row in each["excess"]} == {
            (outcome, policy)
            for outcome in ("STS", "LTS", "LTR")
            for policy in ("TS", "TS-Check", "TS-Obs", *(["TS-Robust"] if each["parameters"] == "patients" else []))
        }
        assert {"outcome", "policy", "mean", "mcse"} <= set(each["excess"][0])


def test_json_of_theory(found: dict[str, Any]) -> None:
    theorems = found["theory"]
    assert {"checks", "conjecture", "bounds"} <= set(theorems)
    assert [row["arms"] for row in theorems["conjecture"]] == list(range(2, 21))
    assert [row["p"] for row in theorems["bounds"]] == pytest.approx(regret.GRID)


def test_json_of_related(found: dict[str, Any]) -> None:
    """Every paper has figures with verdicts; `all` leaves out the runs of a million decisions."""
    told = found["related"]
    assert told["replications"] == 2  # a fifth of three, and two at the least
    assert not told["long"]
    assert {f["source"].partition(",")[0] for f in told["figures"]} == set(PAPERS)
    assert {f["experiment"] for f in told["figures"]} >= {"trap world", "greedy casino", "stroke trial, aspirin"}
    assert told["agreeing"] == sum(f["agrees"] for f in told["figures"])
    assert all({"claim", "holds", "rule", "found", "source"} == set(s) for s in told["statements"])


def test_json_of_beyond(found: dict[str, Any]) -> None:
    """Audits, pilots, drift, the five bars and the patients; `all` leaves out the trade-off curves."""
    told = found["beyond"]
    assert {(row["environment"], row["fraction"]) for row in told["audited"]["rows"]} == {
        (number, fraction) for number in (3, 4) for fraction in (0, 0.05, 0.1, 0.25, 0.5, 0.75, 1)
    }
    assert {(row["environment"], row["patients"]) for row in told["piloted"]["rows"]} == {
        (number, size) for number in (3, 4) for size in (0, 50, 500)
    }
    assert len(told["drift"]["costs"]) == 12
    assert [bar["limit"] for bar in told["robust"]["bars"]] == [0.62, 1.2, 1.0, 1.3, 1.9]
    assert told["robust"]["curve"] == []
    assert {row["policy"] for row in told["patients"]["gains"]} >= {"TS-Robust", "TS"}


def test_json_says_how_it_was_run(found: dict[str, Any]) -> None:
    assert set(found) == {*reproduction.PARTS, "about"}
    assert found["about"]["seed"] == 2
    assert set(found["about"]["seconds"]) == set(reproduction.PARTS)
    assert "numpy" in found["about"]["versions"]


def test_a_part_alone_has_the_same_figures_and_rows_can_be_left_out(found: dict[str, Any]) -> None:
    done = paper("table2", *QUICK, "--json", "--latent-replications", "0")
    alone = json.loads(done.stdout)
    assert set(alone) == {"table2", "about"}
    whole = [cell for cell in found["table2"]["cells"] if not cell["policy"].startswith("TS-Lat")]
    assert alone["table2"]["cells"] == whole


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


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
    assert {file.name for file in page.parent.parent.iterdir()} == {"report", "report.json"}


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

    monkeypatch.setattr(document, "png", stop)
    done = paper("regret", *QUICK, "--out", str(page.parent))
    assert done.exit_code != 0
    assert {file.name: file.read_bytes() for file in page.parent.iterdir()} == before
    assert {file.name for file in page.parent.parent.iterdir()} == {"report", "report.json"}


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


def test_progress_adds_up_to_the_work() -> None:
    done: list[float] = []
    stages: list[str] = []
    settings = reproduction.PaperSettings(replications=2, engine="reference")
    parts = ["stroke", "theory"]
    reproduction.reproduce(parts, settings, done.append, stages.append)
    assert sum(done) == reproduction.work(parts, settings)
    assert stages == parts


def test_cheap_rows_get_enough_runs() -> None:
    settings = reproduction.PaperSettings(replications=500, engine="cpu")
    assert (settings.observing, settings.latent) == (reproduction.ENOUGH, 500)
    many = reproduction.PaperSettings(replications=100_000, engine="gpu")
    assert (many.observing, many.latent) == (100_000, reproduction.LATENT_REPLICATIONS)


def test_every_option_is_in_the_docs() -> None:
    shown = paper("--help").output
    page = (Path(__file__).parent.parent / "docs" / "paper.md").read_text()
    options = set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help"}
    assert len(options) >= 8
    assert all(f"`{option}" in page or f", `{option}" in page for option in options), options
