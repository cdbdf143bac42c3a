"""Every requirement is held by a test, no test names one that there is not, and docs/validation.md says so."""

import re

import traceability
from takeup.qualification import areas, requirements


def test_every_requirement_is_held_by_a_test() -> None:
    held = traceability.holding()
    assert [number for number in requirements() if number not in held] == []


def test_no_test_names_a_requirement_that_there_is_not() -> None:
    wrong = [(each.file, each.name, each.numbers) for each in traceability.marked() if not each.numbers]
    wrong += [
        (each.file, each.name, (number,))
        for each in traceability.marked()
        for number in each.numbers
        if number not in requirements()
    ]
    assert wrong == []


def test_no_requirement_rests_on_tests_that_take_long_alone() -> None:
    """`make test` holds each of them, as far as this machine has what its tests need."""
    held = traceability.holding()
    assert [number for number, tests in held.items() if all(each.long for each in tests)] == []


def test_the_page_is_what_requirements_and_markers_say() -> None:
    assert traceability.PAGE.read_text(encoding="utf-8") == traceability.page(), "run `make validation`"


def test_requirements_are_sentences() -> None:
    assert [area.number for area in areas()] == list(range(1, len(areas()) + 1))
    for each in requirements().values():
        assert re.fullmatch(r"R-\d+\.\d+", each.number)
        assert each.text.endswith("."), each
        assert "|" not in each.text, each


def test_the_page_names_no_requirement_that_there_is_not() -> None:
    text = traceability.PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"R-\d+\.\d+", text)) | set(re.findall(r"R-\d+\.\d+", _threats()))
    assert named <= requirements().keys()


def _threats() -> str:
    return (traceability.ROOT / "docs" / "threats.md").read_text(encoding="utf-8")


def test_every_way_to_mark_a_test_is_read() -> None:
    """Markers of a whole module or class would be overlooked: there are none."""
    for file in (traceability.ROOT / "tests").glob("test_*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name == "test_validation.py":
            continue
        decorated = len(re.findall(r"^\s*@pytest\.mark\.requirement\(", text, flags=re.M))
        assert text.count("mark.requirement") == decorated == len(traceability.marked_in(file)), file.name
