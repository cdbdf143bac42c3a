"""Simulations from TOML: what a file can say, and errors that name file, key and value."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from takeup import Environment, Normals, Trace, TSLat, World
from takeup.cli import app
from takeup.simulation.spec import SpecError, load

GOOD = """
horizon = 50
replications = 30
seed = 5

[space]
proposals = ["rest", "drug"]
outcomes = ["died", "ill", "well"]
utility = [0.0, 0.4, 1.0]

[environments.plain]
compliance = [[0.9, 0.1], [0.3, 0.7]]
outcome = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]

[environments.types]
share = [0.5, 0.5]
response = [[1, 1], [0, 1]]
outcome = [[[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]], [[0.3, 0.3, 0.4], [0.5, 0.3, 0.2]]]

[reporting]
compliance = 0.5

[[policies]]
kind = "TSLat"
soft_start = 10

[[policies]]
kind = "TS"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trial.toml"
    path.write_text(GOOD)
    return path


def invoke(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["simulate", *map(str, arguments)])
    return result.exit_code, result.output + (str(result.exception) if result.exception else "")


def test_a_file_says_it_all(file: Path) -> None:
    simulation = load(file)
    assert (simulation.replications, simulation.seed, simulation.arguments["horizon"]) == (30, 5, 50)
    policy = simulation.arguments["policies"][0]
    assert isinstance(policy, TSLat)
    assert policy.soft_start == 10
    assert simulation.arguments["environment"]["types"].types is not None
    assert simulation.arguments["reporting"].compliance == 0.5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 50", "horizon = 0", "trial.toml: horizon: got 0, expected greater than or equal to 1"),
        ("horizon = 50", "", "trial.toml: horizon is missing; expected a value"),
        ("horizon = 50", "horison = 50", "horizon, replications, seed, record, steps, space, environments, policies"),
        ("horizon = 50", "horison = 50", "; did you mean horizon?"),
        ("share = [0.5, 0.5]", "shares = [0.5, 0.5]", "environments.types.shares: got [0.5, 0.5], expected one of"),
        ("horizon = 50", "horizon = ", "expected TOML"),
        ("[0.9, 0.1]", "[0.9, 0.2]", "trial.toml: environments.plain.compliance: got a row with sum 1.1"),
        ("soft_start = 10", "soft_start = -1", "trial.toml: policies.0.soft_start: got -1"),
        ("soft_start = 10", "warm = true", "trial.toml: policies.0.warm: got True, expected a parameter of TSLat"),
        ('kind = "TS"', 'kind = "UCB"', "trial.toml: policies.1.kind: got 'UCB', expected one of "),
        ("utility = [0.0, 0.4, 1.0]", "", "trial.toml: space.utility"),
        ("compliance = 0.5", "compliance = 5", "trial.toml: reporting.compliance: got 5"),
        ("share = [0.5, 0.5]", "", "trial.toml: environments.types.keys: got outcome, response"),
        ("[[1, 1], [0, 1]]", "[[1, 2], [0, 1]]", "trial.toml: environments.types.response: got action 2"),
    ],
)
def test_errors_name_file_key_and_value(file: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(SpecError) as error:
        load(file)
    assert message in str(error.value)


NUMBERS = """
horizon = 20
replications = 5

[space]
proposals = ["rest", "drug"]
outcomes = { kind = "number", low = 60, high = 220, unit = "mmHg", better = "lower" }

[environments.hoped]
compliance = [[0.9, 0.1], [0.3, 0.7]]
outcome = { kind = "normal", mean = [130, 118], sd = 15 }

[[policies]]
kind = "TSObs"
likelihood = { kind = "normal", about = 120, rarely_outside = [90, 160] }
"""
FAMILY = '"normal", mean = [130, 118], sd = 15'
SPACE = NUMBERS[NUMBERS.index("[space]") : NUMBERS.index("[environments")]


def test_a_file_may_have_outcomes_from_a_family(tmp_path: Path) -> None:
    """The environment is that of the same world in Python; every other family is known by its name."""
    file = tmp_path / "trial.toml"
    file.write_text(NUMBERS)
    environment = load(file).arguments["environment"]["hoped"]
    world = World([[0.9, 0.1], [0.3, 0.7]], Normals([130, 118], 15), environment.space.outcome)
    np.testing.assert_array_equal(environment.response, Environment.from_world(world).response)
    code, shown = invoke(file, "--engine", "reference")
    assert code == 0, shown
    for old, new in (
        (FAMILY, '"samples", values = [[120, 140], [110]]'),
        ('low = 60, high = 220, unit = "mmHg"', 'low = 60, high = 220, scale = "log"'),
    ):
        file.write_text(NUMBERS.replace(old, new))
        load(file)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"normal", mean', '"normall", mean', "hoped.outcome.kind: got 'normall', expected one of normal, lognormal"),
        ("sd = 15 }", "sdd = 15 }", "hoped.outcome.sdd: got 15, expected one of the keys mean, sd; did you mean sd?"),
        (", sd = 15", "", "hoped.outcome.sd is missing; expected a list with an entry for each action"),
        ("sd = 15", "sd = -1", "hoped.outcome.sd: got -1.0, expected numbers above 0"),
        (FAMILY, '"poisson", rate = [1, 2]', "kind: got 'poisson', expected one of normal, lognormal, samples, as an"),
        (FAMILY, '"poisson", rate = 2', 'where it is a count, say so under [space]: outcomes = {kind = "count", ..}'),
        (SPACE, "", "hoped.outcome.kind: got 'normal' without a [space], expected a [space] table that says what"),
        (FAMILY, '"samples", values = [1, 2]', "outcome.values: got [1, 2], expected a list of outcomes for each"),
        (FAMILY, '"samples", values = 5', "outcome.values: got 5, expected a list of outcomes for each action"),
        (FAMILY, '"samples", values = ["120", "130"]', "outcome.values: got ['120', '130'], expected a list of"),
        (FAMILY, '"samples", values = [[120], [500]]', "outcome: got 500 mmHg"),
        ("about = 120", "about = 12", "policies.0.likelihood.about: got 12, expected a number between 90 and 160"),
        ("[90, 160]", "[160, 90]", "policies.0.likelihood.rarely_outside: got 160 to 90, expected a lower number"),
    ],
)
def test_errors_about_families_and_priors_name_file_key_and_value(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in NUMBERS
    (tmp_path / "trial.toml").write_text(NUMBERS.replace(old, new))
    with pytest.raises(SpecError) as error:
        load(tmp_path / "trial.toml")
    assert message in str(error.value)


NAMED = """
[policies.plain]
kind = "TS"

[policies.sure]
kind = "TS"
alpha = 50
"""


def test_policies_by_name(file: Path, tmp_path: Path) -> None:
    file.write_text(GOOD[: GOOD.index("[[policies]]")] + NAMED)
    code, shown = invoke(file, "--engine", "reference", "--json", "--out", tmp_path / "named.parquet")
    assert code == 0, shown
    assert list(json.loads(shown)["simulation"]["regret"]["plain"]) == ["plain", "sure"]
    trace = Trace.read(str(tmp_path / "named.parquet"))
    assert list(trace.setup.policies) == ["plain", "sure"]
    assert not np.array_equal(trace.final("plain", "types"), trace.final("sure", "types"))
    for old, new, message in [
        ("alpha = 50", "warm = true", "trial.toml: policies.sure.warm: got True, expected a parameter of TS"),
        ('kind = "TS"\nalpha', "alpha", "trial.toml: policies.sure.kind is missing; expected one of "),
    ]:
        assert old in NAMED
        file.write_text(GOOD[: GOOD.index("[[policies]]")] + NAMED.replace(old, new))
        with pytest.raises(SpecError) as error:
            load(file)
        assert message in str(error.value)
    file.write_text('policies = "TS"\n' + GOOD[: GOOD.index("[[policies]]")])
    with pytest.raises(SpecError, match="policies: got 'TS', expected a list, or a table of keys and values"):
        load(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="No such file"):
        load(tmp_path / "absent.toml")


def test_options_that_would_have_no_effect_are_refused(file: Path, tmp_path: Path) -> None:
    code, shown = invoke(file, "--out", tmp_path / "results.csv")
    assert (code, "a name that ends in .parquet" in shown) == (1, True)
    code, shown = invoke(file, "--engine", "cpu", "--scheduler", "tcp://127.0.0.1:1")
    assert (code, "choose the engine dask" in shown) == (1, True)


def test_simulate_prints_a_table_and_json(file: Path) -> None:
    code, shown = invoke(file, "--engine", "reference", "--replications", "10")
    assert code == 0
    assert "TS-Lat-10" in shown
    assert "10 runs, seed 5" in shown
    code, shown = invoke(file, "--engine", "reference", "--json", "--seed", "6")
    figures = json.loads(shown)["simulation"]
    assert figures["spec"]["seed"] == 6
    assert figures["regret"]["types"]["TS"]["replications"] == 30


def test_simulate_goes_on_with_a_file_and_refuses_another_simulation(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.parquet"
    assert invoke(file, "--engine", "reference", "--out", out, "--replications", "10")[0] == 0
    assert invoke(file, "--engine", "reference", "--out", out)[0] == 0
    grown = Trace.read(str(out))
    assert grown.replications.size == 30
    again = tmp_path / "again.parquet"
    invoke(file, "--engine", "reference", "--out", again)
    np.testing.assert_array_equal(grown.regret, Trace.read(str(again)).regret)
    code, shown = invoke(file, "--engine", "reference", "--out", out, "--seed", "6")
    assert code != 0
    assert "holds another simulation" in shown
    assert "differ in seed" in shown


INTERRUPTED = """
import os, signal
from takeup.cli import main
from takeup.simulation.run import Plan

run = Plan.run

def interrupted(plan, replications, progress):
    def report(made):
        if replications.start:  # in the second block
            os.kill(os.getpid(), signal.SIGINT)
        progress(made)
    return run(plan, replications, report)

Plan.run = interrupted
main()
"""


def test_ctrl_c_keeps_the_finished_blocks(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.parquet"
    file.write_text(GOOD.replace("replications = 30", "replications = 1000000").replace("horizon = 50", "horizon = 2"))
    command = [sys.executable, "-c", INTERRUPTED, "simulate", str(file), "--engine", "reference", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert "the same command goes on from there" in done.stderr
    assert "Traceback" not in done.stderr
    np.testing.assert_array_equal(Trace.read(str(out)).replications, np.arange(100))
