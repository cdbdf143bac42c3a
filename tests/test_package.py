"""The package as its users meet it: what it exports, what importing it costs, and docs that run."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import takeup
from takeup import simulate, trial
from takeup.design import Plan
from takeup.simulation.spec import load
from takeup.trial import Design
from takeup.trial.spec import parse

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

SPEC = {"name": "Any", "space": {"proposals": ["A", "B"]}, "policy": {"kind": "TS"}}


def test_public_names_are_sorted_and_exist() -> None:
    assert takeup.__all__ == sorted(takeup.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    for name in takeup.__all__:
        assert hasattr(takeup, name)


def test_what_is_seen_of_the_package_is_what_it_exports() -> None:
    assert dir(takeup) == sorted(takeup.__all__)
    assert "Trial" in dir(takeup)
    assert "Any" not in dir(takeup)


@pytest.mark.parametrize("installed", [True, False])
def test_a_star_imports_what_is_installed(installed: bool) -> None:
    """Without the extra `server` there is no Trial, and asking for it names the extra."""
    code = f"""
import sys
if not {installed}:
    sys.modules.update(dict.fromkeys(["sqlalchemy", "alembic", "fastapi", "uvicorn"]))
import takeup
from takeup import *
print(*(name for name in takeup.__all__ if name not in globals()), "Trial" in globals(), "Trial" in dir(takeup))
try:
    takeup.Trial
except ImportError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    missing = "this needs sqlalchemy, which is not installed; pip install 'takeup[server]'\n"
    assert shown == ("True True\n" if installed else f"False False\n{missing}")


def test_the_package_says_that_it_is_typed() -> None:
    """A wheel has every file of the package's folder; this one tells type checkers to read its types."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "Typing :: Typed" in settings["project"]["classifiers"]
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/takeup"]}
    assert (Path(takeup.__file__).parent / "py.typed").exists()


def test_import_is_light() -> None:
    """Neither the extras nor what only the command line needs."""
    heavy = {
        "numba",
        "polars",
        "altair",
        "jinja2",
        "fastapi",
        "sqlalchemy",
        "dask",
        "pydantic",
        "typer",
        "rich",
        "scipy.stats",
    }
    code = "import sys, takeup; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert heavy.isdisjoint(loaded)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The blocks of Python and of text of a page, in order."""
    return re.findall(r"```(python|text)\n(.*?)```", page.read_text(), flags=re.DOTALL)


RUN = """
import contextlib, gc, io, json, sys, traceback
gc.set_threshold(50_000, 20, 50)  # compiling kernels makes millions of objects that stay
for name, program in json.load(sys.stdin).items():
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(program, name, "exec"), {"__name__": "__main__"})
        except BaseException:
            error = traceback.format_exc()
    print(json.dumps([name, printed.getvalue(), error]), flush=True)
"""


@pytest.fixture(scope="module")
def printed() -> dict[str, tuple[str, str]]:
    """What the Python of each page prints, and its error; one process runs them all, and compiles a kernel once."""
    programs = {str(page): "\n".join(code for kind, code in blocks(page) if kind == "python") for page in PAGES}
    given = json.dumps(programs)
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=given, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return {name: (text, error) for name, text, error in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page: Path, printed: dict[str, tuple[str, str]]) -> None:
    """The Python blocks of a page, in order, as one program; what a block prints is what the next text block says."""
    text, error = printed[str(page)]
    assert not error
    if any(kind == "python" for kind, _ in blocks(page)):
        assert text == "".join(said for kind, said in blocks(page) if kind == "text")


def test_no_page_links_to_what_is_not_there() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_specs_in_the_docs_run(page: Path, tmp_path: Path) -> None:
    for block in re.findall(r"```toml\n(.*?)```", page.read_text(), flags=re.DOTALL):
        file = tmp_path / "spec.toml"
        file.write_text(block)
        if "[scenarios" in block:
            assert Plan.load(file).scenarios
            continue
        part = tomllib.loads(block)
        if not {"name", "horizon"} & part.keys():  # tables to be added to a spec: their keys and types
            assert parse({**SPEC, **part}, page.name).name == SPEC["name"]
            continue
        if "horizon" not in block:
            assert Design.of(trial.load(file)).space.proposals
            continue
        simulation = load(file)
        trace = simulate(**simulation.arguments | {"horizon": 100}, replications=2, engine="reference")
        assert trace.replications.size == 2


def test_the_walks_are_true() -> None:
    """CONTRIBUTING's walks name files and functions that are there; a decision crosses at most 25 files."""
    page, package = (ROOT / "CONTRIBUTING.md").read_text(), ROOT / "src" / "takeup"
    words = set(re.findall(r"\w+", "".join(file.read_text() for file in package.rglob("*.py"))))
    walks = dict(re.findall(r"^### (.*?), file by file\n(.*?)(?=^##)", page, flags=re.M | re.S))
    assert len(walks) == 3
    assert len(re.findall(r"^\d+\. `", walks["One decision over HTTP"], flags=re.M)) <= 25
    for title, walk in walks.items():
        folder = package / "simulation" if "simulated" in title else package
        for name in re.findall(r"`([\w/]+/\w+\.py)`", walk):
            assert (folder / name).exists(), name
        for name in re.findall(r"`(\w+(?:\.\w+)?)`", walk):
            assert words.issuperset(name.removesuffix(".py").split(".")), name
