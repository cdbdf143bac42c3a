"""Effects by groups of a covariate: how groups are made, how they are drawn together, and what is said of both."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from typer.testing import CliRunner

from covariate_trials import LEVELS, People, Trials, trials
from takeup import Category, Log, Measure, Space
from takeup.analysis import analyse, effect, scores, targets
from takeup.analysis.cuts import parts
from takeup.analysis.mean_intervals import intervals
from takeup.analysis.pooling import heterogeneity, holm, pooled
from takeup.analysis.readings import Readings
from takeup.analysis.subgroups import FEW, LARGE_DIFFERENCE, subgroups
from takeup.charts import document
from takeup.checks import FloatArray
from takeup.cli import app
from takeup.errors import InputError, UnsuitableError


def single(many: Trials, k: int = 0) -> Log:
    log = many.log
    assert log.features is not None
    columns = {name: getattr(log, name)[k] for name in ("outcome", "implemented", "features")}
    return Log.of(log.space, log.proposal[k], log.probability[k], **columns)


# Groups.


def log_of(ages: list[float | None], kind: Measure | Category) -> Log:
    n = len(ages)
    frame = {"arm": ["a", "b"] * (n // 2), "well": [0, 1, 1, 0] * (n // 4), "age": ages}
    return Log.from_frame(frame, assigned="arm", outcome="well", probability=0.5, covariates={"age": kind})


@pytest.mark.parametrize(
    ("ages", "cuts", "found"),
    [
        ([*range(12)], None, {"below 4 years": 4, "4 to below 8 years": 4, "8 years or more": 4}),
        ([0] * 6 + [*range(1, 7)], None, {"below 1 years": 6, "1 to below 3 years": 2, "3 years or more": 4}),
        ([5] * 12, None, {"all years": 12}),
        ([*range(11), None], None, {"below 4 years": 4, "4 to below 7 years": 3, "7 years or more": 4, "missing": 1}),
        ([*range(12)], [2, 10], {"below 2 years": 2, "2 to below 10 years": 8, "10 years or more": 2}),
        ([*range(12)], [11.5], {"below 11.5 years": 12}),
    ],
)
def test_measures_are_cut(ages: list[float | None], cuts: list[float] | None, found: dict[str, int]) -> None:
    log = log_of(ages, Measure(0, 20, unit="years", missing="kept"))
    made = parts(log, "age", None if cuts is None else {"age": cuts})
    assert {each.label: int(each.rows.sum()) for each in made} == found


def test_categories_are_their_levels() -> None:
    log = log_of(["1", "2", None, "1"] * 3, Category(["0", "1", "2"], missing="kept"))  # type: ignore[list-item]
    assert {each.label: int(each.rows.sum()) for each in parts(log, "age")} == {"1": 6, "2": 3, "missing": 3}


@pytest.mark.parametrize(
    ("cuts", "words"),
    [
        ({"height": [3]}, "cuts: got 'height', expected one of the measures age"),
        ({"site": [3]}, "cuts: got 'site', expected one of the measures age"),
        ({"age": [70, 60]}, r"cuts.age: got \[70, 60\], expected rising numbers above 0 and up to 100"),
        ({"age": []}, "rising numbers"),
        ({"age": [0, 50]}, "rising numbers"),
        ({"age": ["old"]}, "cuts.age"),
    ],
)
def test_cuts_that_cannot_be_are_named(cuts: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        analyse(single(trials(People(), 2, 40, 1)), cuts=cuts)


# Drawing together.


def by_grid(y: FloatArray, s: FloatArray, scale: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and ends of each effect, by summing over τ and μ, with effects given both."""
    tau = (np.arange(600) + 0.5) * (30 * scale / 600)
    mu = np.linspace(y.min() - 12 * s.max(), y.max() + 12 * s.max(), 201)
    t, m = np.meshgrid(tau, mu, indexing="ij")
    total = t[..., np.newaxis] ** 2 + s**2
    weight = np.exp(-0.5 * ((y - m[..., np.newaxis]) ** 2 / total + np.log(total)).sum(axis=-1)) / (
        1 + (t / scale) ** 2
    )
    weight /= weight.sum()
    kept = t[..., np.newaxis] ** 2 / total
    mean, sd = kept * y + (1 - kept) * m[..., np.newaxis], np.sqrt(kept) * s
    at = np.linspace(y.min() - 6 * s.max(), y.max() + 6 * s.max(), 120)
    ends = []
    for g in range(y.size):
        below = np.array([(weight * ndtr((each - mean[..., g]) / sd[..., g])).sum() for each in at])
        ends.append([np.interp(q, below, at) for q in (0.025, 0.975)])
    low, high = np.array(ends).T
    return np.einsum("tm,tmg->g", weight, mean), low, high


def test_what_is_drawn_is_what_a_grid_says() -> None:
    y, s = np.array([0.1, -0.05, 0.3]), np.array([0.05, 0.1, 0.08])
    found, (mean, low, high) = pooled(y, s, 0.1, 0.95), by_grid(y, s, 0.1)
    assert np.allclose(found.value, mean, atol=2e-3)
    assert np.allclose(found.low, low, atol=4e-3)
    assert np.allclose(found.high, high, atol=4e-3)


def test_what_is_alike_is_one_and_what_is_far_apart_is_itself() -> None:
    """Equal estimates are drawn to their mean, with intervals between a group's own and that of all together."""
    same, error = pooled(np.zeros(4), np.full(4, 1.0), 0.1, 0.95), 1.959964
    assert np.allclose(same.value, 0, atol=1e-12)
    assert np.all((same.high > error / 2) & (same.high < 0.7 * error))
    assert same.p == 1
    apart, s = np.array([-50.0, 0.0, 50.0]), np.full(3, 0.1)
    far = pooled(apart, s, 0.1, 0.95)
    assert np.allclose(far.value, apart, atol=0.01)
    assert np.allclose(far.high - far.low, 2 * error * 0.1, rtol=0.01)
    assert far.p < 1e-12
    assert far.between[1] > 10


def test_the_test_of_heterogeneity_is_that_of_two_means() -> None:
    """Of two groups Cochran's Q is the square of their difference by its error."""
    y, s = np.array([0.1, 0.4]), np.array([0.1, 0.15])
    z = 0.3 / np.hypot(0.1, 0.15)
    assert heterogeneity(y, s) == pytest.approx(2 * ndtr(-z), abs=1e-12)
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])


# Effects.


def test_groups_are_those_of_the_log() -> None:
    log = single(trials(People(effect=(0.0, 0.1, 0.2)), 2, 300, 4))
    age, site = subgroups(log, 0)
    assert (age.covariate, site.covariate) == ("age", "site")
    of = scores(log, targets.outcome(log.space), adjusted=True)
    for each, part in zip(site.groups, parts(log, "site"), strict=True):
        assert (each.label, each.n) == (part.label, int(part.rows.sum()))
        own = effect(log.only(part.rows), "new", "usual", of=of.only(part.rows))
        assert (each.own.value, each.own.low, each.own.high) == (own.value, own.low, own.high)
        score = of.score[part.rows]
        assert own.value == pytest.approx(np.mean(score[:, 1] - score[:, 0]), abs=1e-9)
        assert each.drawn is not None
        assert each.drawn.high - each.drawn.low < own.high - own.low
    assert site.tests == age.tests == 2
    assert site.corrected is not None
    assert site.p is not None
    assert age.p is not None
    assert min(age.corrected or 1, site.corrected) == pytest.approx(min(1, 2 * min(age.p, site.p)))


def test_few_are_called_few_and_lone_groups_are_withheld() -> None:
    """A site of six people has no interval, and nothing is drawn from it or to it."""
    space = Space(["usual", "new"], outcomes=["ill", "well"], covariates={"site": Category(["a", "b", "c"])})
    rng = np.random.default_rng(5)
    site = np.repeat([0, 1, 2], [120, 60, 6])
    features = np.stack([np.full(186, 1000), 1000 * (site == 1), 1000 * (site == 2)], axis=-1)
    z, y = rng.integers(0, 2, 186), rng.integers(0, 2, 186)
    (found,) = subgroups(Log.of(space, z, [0.5, 0.5], outcome=y, features=features), 0)
    a, b, c = found.groups
    assert not a.few
    assert c.own.withheld
    assert c.drawn is None
    assert "small: " in c.few
    assert f"below {FEW} chance decides" in c.few
    assert b.drawn is not None
    assert found.p is not None
    plain = json.loads(json.dumps([each.plain() for each in found.groups]))
    assert plain[2]["drawn"] is None


def test_groups_need_covariates() -> None:
    log = single(trials(People(), 2, 40, 1))
    with pytest.raises(UnsuitableError, match="no covariates"):
        subgroups(log.without_covariates(), 0)


# Side by side.


def together(who: People, many: int, n: int, policy: str, seed: int, numbers: bool = False) -> dict[str, float]:
    """Of the groups of both covariates, in many trials: coverage and mean squared error of each kind, and alarms."""
    made = trials(who, many, n, seed, policy, numbers=numbers)  # type: ignore[arg-type]
    of, effects = targets.outcome(made.log.space), made.value[..., 1] - made.value[..., 0]
    kinds: dict[str, list[float]] = {name: [] for name in ("own", "drawn", "own error", "drawn error", "alarm")}
    every = scores(made.log, of, adjusted=True)
    scale = LARGE_DIFFERENCE * np.nanstd(every.value, axis=-1)
    for name in ("age", "site"):
        if name == "age":
            groups = [np.asarray(made.log.features)[..., 1] // 334 == k for k in range(3)]
        else:
            groups = [each.rows for each in parts(made.log, name)]
        value, low, high, truth = (np.empty((many, 3)) for _ in range(4))
        for g, rows in enumerate(groups):
            marked = _only(every, rows)
            found = intervals(marked, (0, 1), "difference")
            value[:, g], low[:, g], high[:, g] = found.value, found.low, found.high
            truth[:, g] = np.where(rows, effects, 0).sum(axis=-1) / rows.sum(axis=-1)
        error = (high - low) / (2 * 1.959964)
        for k in range(many):
            one = pooled(value[k], error[k], float(scale[k]), 0.95)
            kinds["own"] += ((low[k] <= truth[k]) & (truth[k] <= high[k])).tolist()
            kinds["drawn"] += ((one.low <= truth[k]) & (truth[k] <= one.high)).tolist()
            kinds["own error"] += ((value[k] - truth[k]) ** 2).tolist()
            kinds["drawn error"] += ((one.value - truth[k]) ** 2).tolist()
            kinds["alarm"].append(one.p < 0.05)
    return {name: float(np.mean(each)) for name, each in kinds.items()}


def _only(every: Any, rows: Any) -> Any:
    """Scores of some decisions of each trial: the others have none."""
    from dataclasses import replace

    return replace(every, score=np.where(rows[..., np.newaxis], every.score, np.nan), sums={})


EQUAL, DIFFERENT = People(effect=(0.1, 0.1, 0.1)), People(effect=(-0.1, 0.1, 0.3))


@pytest.mark.parametrize(("who", "gain"), [pytest.param(EQUAL, 0.6, marks=pytest.mark.long), (DIFFERENT, 0.95)])
def test_groups_keep_their_level_and_drawing_helps(who: People, gain: float) -> None:
    """200 trials of 400 by LinTS: 1,200 groups, whose intervals hold in 95 %; one seed in 1,000 would miss .93.

    Drawn effects have less than so much of the mean squared error of those by themselves.
    """
    found = together(who, 200, 400, "LinTS", 9)
    assert found["own"] > 0.93
    assert found["drawn"] > 0.92
    assert found["drawn error"] < gain * found["own error"]


@pytest.mark.long
@pytest.mark.parametrize("policy", ["TS", "LinTS"])
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize(("who", "gain", "alarms"), [(People(), 0.6, 0.09), (EQUAL, 0.6, 0.09), (DIFFERENT, 1.0, 1.0)])
def test_groups_keep_their_level_everywhere(
    policy: str, numbers: bool, who: People, gain: float, alarms: float
) -> None:
    """1,000 trials of 400 a cell, 6,000 groups; where effects are the same an alarm at 5 % is raised in at most 9 %."""
    found = together(who, 1_000, 400, policy, 31, numbers)
    assert found["own"] > 0.94
    assert found["drawn"] > 0.92
    assert found["drawn error"] < gain * found["own error"]
    assert found["alarm"] < alarms


# What people see.


def test_the_command_reads_covariates_of_a_file(tmp_path: Path) -> None:
    import polars as pl

    log = single(trials(People(effect=(0.0, 0.1, 0.3)), 2, 200, 6))
    assert log.features is not None
    assert LEVELS.covariates is not None
    known = [LEVELS.covariates.values(row) for row in log.features.tolist()]
    frame = pl.DataFrame(
        {
            "arm": np.array(log.space.proposals)[log.proposal],
            "outcome": log.outcome,
            "p": log.probability_of_proposal,
            "age": [each["age"] for each in known],
            "site": [each["site"] for each in known],
        }
    )
    path = tmp_path / "theirs.csv"
    frame.write_csv(path)
    options = ["--assigned", "arm", "--outcome", "outcome", "--probability", "p", "--covariate", "age"]
    said = CliRunner().invoke(app, ["analyse", str(path), *options, "--covariate", "site", "--cut", "age=50", "--json"])
    assert said.exit_code == 0, said.output
    found = json.loads(said.stdout.strip().splitlines()[-1])["analysis"]
    assert [each["covariate"] for each in found["subgroups"]] == ["age", "site"]
    assert [each["group"] for each in found["subgroups"][0]["groups"]] == ["below 50", "50 or more"]
    assert any(each["reading"] == "intention to treat, adjusted for covariates" for each in found["estimates"])
    shown = CliRunner().invoke(app, ["analyse", str(path), *options, "--cut", "age=50"])
    assert "new - usual, by covariates" in shown.stdout
    assert "whether the effect differs between groups" in shown.stdout
    for wrong, words in (
        (["--cut", "age"], "--cut: got 'age', expected NAME=NUMBER"),
        (["--cut", "age=500"], "--cut age: got"),
        (["--cut", "site=3"], "--cut: got 'site', expected one of the measures age"),
        (["--covariate", "hight"], "--covariate: got 'hight'"),
    ):
        refused = CliRunner().invoke(app, ["analyse", str(path), *options, *wrong])
        assert isinstance(refused.exception, InputError)
        assert words in str(refused.exception)


def test_the_report_has_a_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "png", lambda chart: b"drawn elsewhere, in seconds")
    monkeypatch.setattr(Readings, "tipping", lambda self, one: None)  # charts of which are tested elsewhere
    log = single(trials(People(effect=(0.0, 0.1, 0.3)), 2, 200, 6))
    names = analyse(log).write(tmp_path / "out")
    assert "subgroups-1.svg" in names
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Effects by covariates" in page
    assert "like draws from one bell curve" in page
