"""The International Stroke Trial: what its columns mean, the counts that come with takeup, and broken files."""

import contextlib
import csv
import gzip
import io
import itertools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeup import (
    CovariateEnvironment,
    Environment,
    Evidence,
    InputError,
    Samples,
    UnsuitableError,
    World,
    datasets,
    event,
)
from takeup.checks import IntArray
from takeup.datasets import (
    DAYS,
    STATES,
    Coding,
    DatasetError,
    Outcome,
    ist,
    ist_counts,
    ist_doubts,
    ist_environment,
    ist_evidence,
    ist_rows,
)

CODINGS: tuple[Coding, ...] = get_args(Coding)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
TWO_LEVELS: tuple[Outcome, ...] = ("STS", "LTS", "LTR", "S14")
GIVEN = ["RXASP", "RXHEP", "DASP14", "DLH14", "DMH14", "DHH14"]
COLUMNS = [*GIVEN, "CMPLASP", "CMPLHEP", "DDEAD", "FDEAD", "FRECOVER", "ID14", "OCCODE", "DIED", "TD"]
FATE = ("4", "0", "190")
"""The last three: recovered at six months, and alive on day 190."""
FILE = Path(os.environ.get("TAKEUP_IST", Path(__file__).resolve().parents[2] / "shared" / "data" / "ist.csv.gz"))
with_file = pytest.mark.skipif(
    not FILE.exists(), reason=f"the trial's file is not at {FILE}; set TAKEUP_IST to where it is"
)

Row = tuple[str, ...]
PATIENT: Row = ("Y", "L", "Y", "Y", "N", "", "Y", "Y", "N", "N", "Y", "0", *FATE)


def text(rows: Iterable[Row], columns: list[str] = COLUMNS) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows([columns, *rows])
    return stream.getvalue()


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode("latin-1") if isinstance(content, str) else content)
    return path


def naive_arms(row: Row, coding: Coding) -> tuple[int, int] | None:
    """Assigned and implemented arm, sentence by sentence; None where the patient is left out."""
    r = dict(zip(COLUMNS, row, strict=True))
    dose = {"N": 0, "M": 1, "H": 1, "L": 2}[r["RXHEP"]]
    aspirin = 1 if r["RXASP"] == "Y" else 0
    if coding.startswith("recorded"):
        if r["CMPLASP"] == "" or r["CMPLHEP"] == "":
            return None
        if coding == "recorded-aspirin":
            return aspirin, aspirin if r["CMPLASP"] == "Y" else 1 - aspirin
        return dose, dose if r["CMPLHEP"] == "Y" else (2 if dose == 0 else 0)
    if r["DMH14"] in ("Y", "y") or r["DHH14"] in ("Y", "y"):
        given = 1
    elif r["DLH14"] in ("Y", "y"):
        given = 2
    else:
        given = dose if coding == "paper" else 0
    took = r["DASP14"] == "Y" or (r["DASP14"] == "y" and coding == "as-treated")
    return 3 * aspirin + dose, (3 if took else 0) + given


@pytest.mark.parametrize("coding", CODINGS)
def test_every_combination_of_codes(tmp_path: Path, coding: Coding) -> None:
    """All codes of what was given and complied with, against the naive twin."""
    answers = ("Y", "N", "U", "", "y", "n")
    drugs = itertools.product("YN", "NLMH", answers, ("Y", "N", "U", ""), ("Y", "N", ""), ("Y", "N", ""))
    rows = [(*drug, asp, hep, "N", "N", "Y", "0", *FATE) for drug in drugs for asp, hep in (("Y", "N"), ("N", "Y"))]
    rows += [("Y", "M", "Y", "N", "Y", "N", asp, hep, "N", "N", "Y", "0", *FATE) for asp, hep in (("", "Y"), ("N", ""))]
    trial = ist(write(tmp_path / "ist.csv", text(rows)), coding, patients=None)
    expected = [arms for row in rows if (arms := naive_arms(row, coding)) is not None]
    assert list(zip(trial.proposals.tolist(), trial.implemented.tolist(), strict=True)) == expected


def test_outcomes(tmp_path: Path) -> None:
    """Alive is N of dead; recovered is Y; everything else is failure."""
    codes = [("N", "N", "Y", "0"), ("Y", "Y", "N", "1"), ("U", "U", "U", "0"), ("", "", "", "1"), ("n", "n", "y", "0")]
    trial = ist(write(tmp_path / "ist.csv", text(PATIENT[:8] + each + FATE for each in codes)), patients=None)
    for outcome in ("STS", "LTS", "LTR"):
        assert trial.outcomes[outcome].tolist() == [1, 0, 0, 0, 1]
    assert trial.outcomes["S14"].tolist() == [1, 0, 1, 0, 1]
    assert trial.counts("STS")[5, 5].tolist() == [3, 2]


def test_doubts_are_counted(tmp_path: Path) -> None:
    """Two whose aspirin is not known, one with two doses, one assigned a dose and given none, one not known dead."""
    changes: list[dict[int, str]] = [{2: "U"}, {2: "U"}, {4: "Y"}, {3: "N"}, {9: ""}, {}]
    rows = [tuple(change.get(i, code) for i, code in enumerate(PATIENT)) for change in changes]
    path = write(tmp_path / "ist.csv", text(rows))
    heparin = ("RXHEP", "DLH14", "DMH14", "DHH14")
    doubts = [(d.columns, d.codes, d.patients, d.taken_as) for d in ist(path, patients=None).doubts]
    assert doubts == [
        (("DASP14",), ("U",), 2, "no aspirin"),
        (heparin, ("L", "N", "N", ""), 1, "the assigned dose"),
        (heparin, ("L", "Y", "Y", ""), 1, "medium heparin"),
        (("FDEAD",), ("",), 1, "died"),
    ]
    treated = [(d.columns, d.patients) for d in ist(path, "as-treated", patients=None).doubts]
    assert treated == [(("DASP14",), 2), (heparin, 1), (("FDEAD",), 1)]


def test_the_file_as_others_save_it(tmp_path: Path) -> None:
    """A byte order mark, quotes, other case and spaces in names, old bytes, other line ends, blank lines: no matter."""
    rows = [PATIENT, ("N", "M", "N", "N", "Y", "", "Y", "Y", "Y", "", "", "1", *FATE)]
    plain = ist(write(tmp_path / "plain.csv", text(rows)), patients=None)
    columns = ["RDATE", *(f" {name.lower()} " for name in COLUMNS), "COUNTRY"]
    dressed = text((("pa\x9f-91", *row, "a, b") for row in rows), columns)
    for content in (
        b"\xef\xbb\xbf" + dressed.encode("latin-1"),
        dressed.replace("\r\n", "\r").encode("latin-1"),
        (dressed.replace("\r\n", "\n") + "\n \n").encode("latin-1"),
        gzip.compress(dressed.encode("latin-1")),
    ):
        other = ist(write(tmp_path / "other", content), patients=None)
        for outcome in OUTCOMES:
            np.testing.assert_array_equal(plain.counts(outcome), other.counts(outcome))
        assert plain.doubts == other.doubts


@pytest.mark.parametrize("coding", CODINGS)
def test_shipped_counts_are_whole(coding: Coding) -> None:
    """Everybody was assigned something, whatever the outcome: 19,435, or 19,422 with compliance recorded.

    The state at six months is not known of 150 of them, of whom two have no compliance recorded.
    """
    tables = [ist_counts(outcome, coding) for outcome in (*TWO_LEVELS, "DAYS")]
    assert ist_counts("STATE", coding).sum() == (19_274 if coding.startswith("recorded") else 19_285)
    for table in tables:
        assert table.min() >= 0
        assert table.sum() == (19_422 if coding.startswith("recorded") else 19_435)
        np.testing.assert_array_equal(table.sum(axis=-1), tables[0].sum(axis=-1))
    environment = Environment.from_evidence(ist_evidence("LTS", coding))
    np.testing.assert_allclose(environment.value()[0], tables[1].sum(axis=1)[:, 1] / tables[1].sum(axis=(1, 2)))


def test_codings_agree_on_who_was_assigned_what() -> None:
    for outcome in OUTCOMES:
        paper, treated = (ist_counts(outcome, coding).sum(axis=1) for coding in ("paper", "as-treated"))
        np.testing.assert_array_equal(paper, treated)


def test_evidence_has_names() -> None:
    space = ist_evidence("LTR").space
    assert space.proposals[4] == "aspirin, medium heparin"
    assert space.outcomes == ("not recovered", "recovered")
    assert space.intended == tuple(range(6))


def test_states_and_days(tmp_path: Path) -> None:
    """Unknown states are left out; who died later than day 183, or was seen later, lived through it."""
    fates = [
        ("1", "1", "12"),
        ("2", "1", "184"),
        ("3", "0", "170"),
        ("4", "0", "183"),
        ("1", "1", "183"),
        ("0", "0", ""),
    ]
    trial = ist(write(tmp_path / "ist.csv", text(PATIENT[:12] + each for each in fates)), patients=None)
    assert trial.outcomes["STATE"].tolist() == [0, 1, 2, 3, 0, -1]
    days = ["12 days", "183+ days", "170+ days", "183+ days", "183 days", "0+ days"]
    assert [DAYS.text(code) for code in trial.outcomes["DAYS"].tolist()] == days
    assert trial.counts("STATE").sum() == 5
    doubts = {doubt.columns: (doubt.codes, doubt.taken_as) for doubt in trial.doubts}
    assert doubts == {("OCCODE",): (("0",), "left out"), ("TD",): (("",), "watched for 0 days")}


def test_states_are_worth_what_the_rankin_scale_says() -> None:
    """Chaisinanunkul et al. (2015): 1, .91, .76, .65, .33, 0, 0 for the steps from 0 to 6."""
    rankin = [1, 0.91, 0.76, 0.65, 0.33, 0, 0]
    steps = ([6], [3, 4, 5], [1, 2], [0])
    assert STATES.utility == pytest.approx([np.mean([rankin[step] for step in some]) for some in steps], abs=0.006)
    assert ist_environment("STATE").space.utility == STATES.utility


def each_patient(counts: IntArray) -> list[tuple[int, int, int]]:
    """(z, a, y) of every patient."""
    return [(int(z), int(a), int(y)) for z, a, y in np.argwhere(counts) for _ in range(counts[z, a, y])]


def test_evidence_of_days_is_that_of_every_patient() -> None:
    """The table from counts is the one that reports one by one would make; and 4,241 died."""
    evidence = ist_evidence("DAYS", "recorded-aspirin")
    patients = each_patient(ist_counts("DAYS", "recorded-aspirin"))[::20]
    some = np.zeros((2, 2, DAYS.size), dtype=np.int64)
    for z, a, y in patients:
        some[z, a, y] += 1
    space = evidence.space
    reported = Evidence.of(space, [event(space, z, a, DAYS.plain(y)) for z, a, y in patients])
    assert datasets.stroke.evidence_of(some, "DAYS", "recorded-aspirin") == reported
    assert ist_evidence("DAYS").counts[..., -3].sum() == 4_241


def test_samples_of_real_people_are_the_counts() -> None:
    """The paper's model with the times of those who got each arm: `Samples` and the table say the same."""
    counts = ist_counts("DAYS", "recorded-aspirin")
    plain = [DAYS.plain(y) for y in range(DAYS.size)]
    values = [[plain[y] for y in np.repeat(range(DAYS.size), counts[:, arm].sum(axis=0))] for arm in range(2)]
    world = World([[0.9, 0.1], [0.2, 0.8]], Samples(values), DAYS)
    shares = counts.sum(axis=0) / counts.sum(axis=(0, 2))[:, np.newaxis]
    np.testing.assert_allclose(world.family.table()[0], shares, atol=1e-12)
    assert Environment.from_world(world).value()[0] == pytest.approx(world.compliance[0] @ shares @ DAYS.worths)


@with_file
@pytest.mark.parametrize("coding", CODINGS)
def test_shipped_counts_come_from_the_file(coding: Coding) -> None:
    trial = ist(FILE, coding)
    for outcome in OUTCOMES:
        np.testing.assert_array_equal(trial.counts(outcome), ist_counts(outcome, coding))
        assert trial.evidence(outcome) == ist_evidence(outcome, coding)
    assert trial.doubts == ist_doubts(coding)


@with_file
def test_all_112_columns(tmp_path: Path) -> None:
    """4,000 lines of the file with eighty more columns between those that count, and bytes that are not UTF-8."""
    with gzip.open(FILE, "rt", encoding="latin-1", newline="") as stream:
        header, *rows = itertools.islice(csv.reader(stream), 4_001)
    more = [f"MORE{i}" for i in range(112 - len(header))]
    wide = text((tuple(row[:5] + ["pa\x9f, 91"] * len(more) + row[5:]) for row in rows), header[:5] + more + header[5:])
    trial = ist(write(tmp_path / "IST_corrected.csv", wide), patients=None)
    narrow = ist(write(tmp_path / "narrow.csv", text(map(tuple, rows), header)), patients=None)
    assert trial.proposals.size == 4_000
    np.testing.assert_array_equal(trial.counts("LTS"), narrow.counts("LTS"))


@with_file
@pytest.mark.parametrize("share", [0.3, 0.999])
def test_a_gzip_file_cut_off(tmp_path: Path, share: float) -> None:
    content = FILE.read_bytes()
    path = write(tmp_path / "cut.csv.gz", content[: int(share * len(content))])
    with pytest.raises(DatasetError, match=r"cut\.csv\.gz, line \d+: got damaged gzip data") as caught:
        ist(path)
    line = int(str(caught.value).split("line ")[1].split(":")[0])
    assert share * 19_436 * 0.8 <= line <= 19_436


GOOD = text([PATIENT] * 3)


def changed(column: str, code: str) -> str:
    row = list(PATIENT)
    row[COLUMNS.index(column)] = code
    return text([PATIENT, tuple(row), PATIENT])


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", r"line 1: got an empty file, expected a header with the columns RXASP"),
    "blank": ("\n\n  \n", r"line 1: got an empty file"),
    "no patients": (text([]), r"line 1: got the last of 0 patients, expected 3"),
    "cut between lines": (text([PATIENT] * 2), r"line 3: got the last of 2 patients, expected 3"),
    "too many": (text([PATIENT] * 4), r"line 5: got the last of 4 patients, expected 3"),
    "cut inside a line": (GOOD[:-20], r"line 4: got 7 fields, expected 15, as many as the header has; .*cut off"),
    "one field more": (GOOD.replace("Y,L", "Y,x,L", 1), r"line 2: got 16 fields, expected 15"),
    "a missing column": (GOOD.replace("FDEAD", "F_DEAD"), r"line 1: got no column FDEAD among 15 \('RXASP', "),
    "a column twice": (text([], [*COLUMNS, "FDEAD"]), r"line 1: got 2 columns called FDEAD, expected one"),
    "semicolons": (GOOD.replace(",", ";"), r"line 1: got no column RXASP .*not separated by commas"),
    "another file": ("a,b\n1,2\n", r"line 1: got no column RXASP among 2 \('A', 'B'\), expected a column RXASP"),
    "an open quote": (GOOD.replace("Y,L", 'Y,"L', 1), r"line 2: got unexpected end of data, expected fields"),
    "binary": (b"\x89PNG\r\n\x00\x01", r"line 2: got a byte of zero, expected text"),
    "sixteen bits": (GOOD.encode("utf-16"), r"line 1: got a byte of zero"),
    "gzip of nothing": (gzip.compress(b""), r"line 1: got an empty file"),
    "gzip with damage": (gzip.compress(GOOD.encode())[:-8] + bytes(8), r"line \d: got damaged gzip data"),
    "only a gzip header": (b"\x1f\x8b", r"line 1: got damaged gzip data"),
    "an impossible arm": (changed("RXHEP", "Q"), r"line 3, RXHEP: got 'Q', expected one of N, L, M, H"),
    "no arm": (changed("RXASP", ""), r"line 3, RXASP is missing; expected one of Y, N"),
    "an impossible answer": (changed("DASP14", "7"), r"line 3, DASP14: got '7', expected one of Y, N, U, nothing"),
    "an impossible outcome": (changed("FDEAD", "X"), r"line 3, FDEAD: got 'X'"),
    "a date of death": (changed("ID14", "2"), r"line 3, ID14: got '2', expected one of 0, 1"),
    "an unknown state": (changed("OCCODE", "8"), r"line 3, OCCODE: got '8', expected one of 1, 2, 3, 4, 0, 9"),
    "days in words": (changed("TD", "ten"), r"line 3, TD: got 'ten', expected a whole number or nothing"),
    "days before": (changed("TD", "-3"), r"line 3, TD: got '-3', expected a whole number or nothing"),
    "too many days": (changed("TD", "9" * 30), r"line 3, TD: got '999"),
}


@pytest.mark.parametrize("what", list(BROKEN))
def test_broken_files(tmp_path: Path, what: str) -> None:
    content, complaint = BROKEN[what]
    path = write(tmp_path / "ist.csv", content)
    with pytest.raises(DatasetError, match=complaint) as caught:
        ist(path, patients=3)
    assert str(path) in str(caught.value)


def test_the_good_file_is_good(tmp_path: Path) -> None:
    assert ist(write(tmp_path / "ist.csv", GOOD), patients=3).counts("STS")[5, 5, 1] == 3


def test_lines_are_counted_as_editors_do(tmp_path: Path) -> None:
    """A field over two lines and a blank line stand before the one that is wrong, which starts on line 6."""
    rows = text([(*PATIENT, "two\nlines"), (*PATIENT, "one")], [*COLUMNS, "NOTE"]).replace("\r\n", "\n")
    wrong = rows + "\n" + text([("Y", "Q", *PATIENT[2:], "")]).split("\r\n")[1] + "\n"
    with pytest.raises(DatasetError, match="line 6, RXHEP: got 'Q'"):
        ist(write(tmp_path / "ist.csv", wrong), patients=None)


def test_what_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"got No such file or directory, expected a file that can be read"):
        ist(tmp_path / "nowhere.csv")
    with pytest.raises(DatasetError, match=r"got Is a directory"):
        ist(tmp_path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(GOOD)), st.integers(0, 40), st.binary(max_size=6), st.booleans())
def test_damage_is_refused_or_harmless(tmp_path: Path, at: int, cut: int, put: bytes, packed: bool) -> None:
    """Some bytes replaced by others, before or after packing: three patients, or a DatasetError and no other."""
    content = GOOD.encode()
    content = gzip.compress(content, mtime=0) if packed else content
    path = write(tmp_path / "ist.csv", content[:at] + put + content[at + cut :])
    with contextlib.suppress(DatasetError):
        assert ist(path, patients=3).proposals.size == 3


@pytest.mark.parametrize("call", [lambda: ist_counts("STS", "honest"), lambda: ist(Path("x"), "honest")])  # type: ignore[arg-type]  # as a user may
def test_unknown_codings(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="coding: got 'honest', expected one of paper, as-treated, recorded-aspirin"):
        call()


def test_unknown_outcomes() -> None:
    with pytest.raises(InputError, match="outcome: got 'XYZ', expected one of STS, LTS, LTR, S14, STATE, DAYS"):
        ist_counts("XYZ")  # type: ignore[arg-type]  # as a user may


def test_whom_it_comes_from() -> None:
    assert "10.7488/ds/104" in datasets.ATTRIBUTION
    assert "Trials 12:101" in datasets.ATTRIBUTION


# Covariates.


def test_patients_come_with_what_was_known_of_them(tmp_path: Path) -> None:
    """Age 15 is 0 and 100 is 1, so 66 is 0.6; 12 of 48 hours, and 100 of 50 to 300 mmHg."""
    known = ["AGE", "SEX", "RCONSC", "RDELAY", "RSBP", "STYPE", "RATRIAL"]
    one, other = ("66", "F", "D", "12", "100", "LACS", ""), ("100", "M", "F", "48", "300", "PACS", "Y")
    rows: list[Row] = [(*PATIENT, *one), (*PATIENT, *other)]
    path = write(tmp_path / "ist.csv", text(rows, [*COLUMNS, *known]))
    found = ist_rows(path, "LTS", patients=None)
    assert found.features.tolist() == [
        [1000, 600, 1000, 1000, 0, 250, 200, 0, 1000, 0, 0, 0, 1000],
        [1000, 1000, 0, 0, 0, 1000, 1000, 0, 0, 0, 0, 1000, 0],
    ]
    values = found.space.covariates.values(found.features[0])  # type: ignore[union-attr]
    assert values["syndrome"] == "lacunar"
    assert values["fibrillation"] is None
    assert found.proposal.tolist() == [5, 5]
    assert found.outcome.tolist() == [1, 1]
    some = ist_rows(path, "LTS", covariates=["delay", "consciousness"], patients=None)
    assert some.features.tolist() == [[1000, 250, 1000, 0], [1000, 1000, 0, 0]]
    for wrong_names in (["weight"], [], "age"):
        with pytest.raises(InputError, match="expected a list of some of age, sex, consciousness"):
            ist_rows(path, "LTS", covariates=wrong_names, patients=None)
    with pytest.raises(UnsuitableError, match="covariates go with"):
        ist_rows(path, "DAYS", patients=None)
    wrong = write(tmp_path / "wrong.csv", text([(*rows[0][:-2], "LACS?", "")], [*COLUMNS, *known]))
    with pytest.raises(DatasetError, match=r"line 2, STYPE: got 'LACS\?'"):
        ist_rows(wrong, patients=None)


@with_file
@pytest.mark.parametrize(("coding", "patients"), [("paper", 19_435), ("recorded-aspirin", 19_422)])
def test_all_patients_with_covariates_are_those_without(coding: Coding, patients: int) -> None:
    """The same counts; and in a world like theirs, without exclusion, proposals are worth what they were worth."""
    rows = ist_rows(FILE, "LTS", coding)
    assert rows.size == patients
    evidence = rows.evidence()
    assert np.array_equal(evidence.statistic[0, :, :-1], ist_counts("LTS", coding))
    if coding == "recorded-aspirin":
        environment = CovariateEnvironment.fitted(rows, exclusion=False)
        share, units = environment.population.atoms()
        counts = ist_counts("LTS", coding)
        rate = counts[..., 1].sum(axis=1) / counts.sum(axis=(1, 2))
        np.testing.assert_allclose(share @ environment.value(units), rate, atol=0.001)
