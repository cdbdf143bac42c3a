"""What `make test AREA=..` and `make test-changed` run."""

from pathlib import Path

import pytest

import areas
import defects


@pytest.fixture(scope="module")
def sources() -> areas.Sources:
    return areas.Sources()


def test_every_test_file_is_in_one_area() -> None:
    everywhere = {file.name: areas.areas_of(file) for file in areas.test_files(areas.ROOT)}
    assert {name: of for name, of in everywhere.items() if len(of) != 1} == {}
    assert {of[0] for of in everywhere.values()} == areas.AREAS.keys()
    assert [file.name for file in areas.of_area("log")] == sorted(n for n, of in everywhere.items() if of == ["log"])
    with pytest.raises(SystemExit, match=r"AREA=logs: expected one of model, log, policies"):
        areas.of_area("logs")


def tree(root: Path) -> areas.Sources:
    texts = {
        "src/takeup/__init__.py": "from takeup.rules import TS\nfrom takeup import words\n",
        "src/takeup/rules/__init__.py": "from takeup.rules.thompson import TS\n",
        "src/takeup/rules/thompson.py": "def TS():\n    import takeup.deep\n",
        "src/takeup/deep.py": "",
        "src/takeup/words.py": "",
        "src/takeup/pages/__init__.py": "",
        "src/takeup/pages/shown.py": "PAGE = 'page.html'\n",
        "src/takeup/pages/templates/page.html": "",
        "src/takeup/run.py": "import takeup.pages.shown\n",
        "tests/conftest.py": "def api(): import takeup.run\ndef trial(api): ...\n",
        "tests/test_rule.py": "from takeup import TS\n",
        "tests/test_words.py": "import takeup\ntakeup.words.say()\n",
        "tests/test_run.py": "COMMAND = ['python', '-m', 'takeup.run']\n",
        "tests/test_api.py": "def test_it(trial): assert 'guide.md'\n",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "gates").mkdir()
    return areas.Sources(root)


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        ("src/takeup/rules/thompson.py", {"test_rule.py": 1}),
        ("src/takeup/deep.py", {"test_rule.py": 2}),
        ("src/takeup/words.py", {"test_words.py": 1}),
        ("src/takeup/run.py", {"test_run.py": 1, "test_api.py": 1}),
        ("src/takeup/pages/templates/page.html", {"test_run.py": 2, "test_api.py": 2}),
        ("docs/guide.md", {"test_api.py": 1}),
        ("tests/test_words.py", {"test_words.py": 0}),
        ("tests/conftest.py", dict.fromkeys(("test_api.py", "test_rule.py", "test_run.py", "test_words.py"), 1)),
    ],
)
def test_a_change_touches_what_imports_it(changed: str, touched: dict[str, int], tmp_path: Path) -> None:
    """By re-exports, within functions, by attributes, through fixtures, by `-m`; what is no module by its folder."""
    found = tree(tmp_path).touched(Path(changed))
    assert {file.name: far for file, far in found.items()} == touched


def test_every_seeded_defect_is_a_slip_in_the_source_as_it_is() -> None:
    """The long run of `make defects` would else end at the first whose line has moved."""
    seeded = defects.defects()
    texts = {each.file: (areas.ROOT / each.file).read_text(encoding="utf-8") for each in seeded}
    assert [each.name for each in seeded if texts[each.file].count(each.old) != 1 or each.old == each.new] == []
    assert len({each.name for each in seeded}) == len(seeded) >= 60


@pytest.mark.long
def test_the_nearest_come_first(sources: areas.Sources) -> None:
    near = areas.nearest(sources, [Path("src/takeup/analysis/effects.py")])
    names = [file.name for file in near]
    assert list(near.values()) == sorted(near.values())
    assert names.index("test_analysis_effects.py") < 12
    assert "test_kernels_streams.py" not in names
    assert "test_service_scopes.py" in [f.name for f in sources.touched(Path("src/takeup/service/routes/decisions.py"))]
