"""A policy from outside the package: the one that CONTRIBUTING shows, in simulations, in a spec file and live."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import takeup
from takeup import TS, Environment, Evidence, InputError, Reporting, Space, World, simulate, stream
from takeup.live import Trial, trials
from takeup.policies import Card, Exact, FromEvidence, registry
from takeup.policies.card import Variant
from takeup.policies.registry import kinds, policy_of, register
from takeup.store import Store
from takeup.trial.design import _of_text

PAGE = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
FILES = {
    "softmax_policy.py": next(block for block in BLOCKS if "class Softmax" in block),
    "softmax_kernel.py": next(block for block in BLOCKS if "def reveal" in block),
}
WORLD = Environment.from_world(World.bernoulli([[0.9, 0.1], [0.2, 0.8]], [0.2, 0.8]))
SPEC = """
name = "a policy of our own"
rehearsal = true
seed = 1
compliance = "always"

[space]
proposals = ["usual care", "new drug"]

[policy]
kind = "Softmax"
temperature = 0.2
"""
SIMULATION = """
horizon = 50
replications = 20

[environments.easy]
compliance = [[0.9, 0.1], [0.2, 0.8]]
success = [0.2, 0.8]

[[policies]]
kind = "Softmax"
temperature = 0.2
"""
LIVE = """
import sys
from takeup import Trial
with Trial.create(sys.argv[1], sys.argv[2]) as trial:
    trial.start()
    for i in range(30):
        decision = trial.decide(f"unit {i}")
        trial.report(decision, implemented=decision.proposal, outcome="1" if decision.proposal == "new drug" else "0")
    print(trial.summary().overall.proposals[1].decisions)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the two files."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def softmax(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The class, registered in this process for one test."""
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.syspath_prepend(site)
    yield import_module("softmax_policy").Softmax
    registry.variants.cache_clear()
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_it_is_registered_and_runs(softmax: Any) -> None:
    policy = policy_of({"kind": "Softmax", "temperature": 0.2})
    trace = simulate(WORLD, [policy, TS()], 60, 40, engine="reference")
    assert 0 < trace.summary()["Softmax"].mean < 0.21 * 60
    chance = softmax(temperature=0.2).allocation(Evidence.empty(Space(3)), 0, stream(0))
    assert chance.exact
    assert chance.probability.tolist() == [1 / 3] * 3
    with pytest.raises(InputError, match="temperature: got 0, expected one number above 0"):
        policy_of({"kind": "Softmax", "temperature": 0})


@pytest.mark.parametrize("temperature", [0.2, 0.001])
def test_its_kernel_agrees_with_the_reference(softmax: Any, temperature: float) -> None:
    """Kolmogorov-Smirnov on the regret of 2,000 runs each; a false alarm in 1 of 10,000 seeds."""
    reporting = Reporting(delay=2, batch=3)
    ours, theirs = (
        simulate(WORLD, softmax(temperature=temperature), 60, 2_000, engine=engine, reporting=reporting)
        for engine in ("cpu", "reference")
    )
    assert ours.setup.engines == ("cpu",)
    assert stats.ks_2samp(ours.final("Softmax"), theirs.final("Softmax")).pvalue > 1e-4


def test_registering_twice_is_nothing_and_another_of_that_name_is_refused(softmax: Any) -> None:
    assert register(softmax) is softmax
    other = type("Softmax", (softmax,), {"card": softmax.card})
    other.__module__ = "elsewhere"
    with pytest.raises(InputError, match=r"there is softmax_policy\.Softmax"):
        register(other)
    with pytest.raises(InputError, match="there is takeup"):
        register(type("TS", (softmax,), {"card": softmax.card}))
    with pytest.raises(InputError, match="a card of its own"):
        register(type("MyTS", (TS,), {}))
    with pytest.raises(InputError, match="a card with another name than TS"):
        register(type("MyTS", (TS,), {"card": TS.card}))
    with pytest.raises(InputError, match="with beliefs"):
        register(type("Half", (FromEvidence,), {"card": softmax.card}))
    with pytest.raises(InputError, match="a class, as in register"):
        register(TS())  # type: ignore[type-var]  # as a user may


def test_what_a_class_lacks_is_told() -> None:
    @dataclass(frozen=True)
    class Half:
        card: ClassVar[Card] = Card(
            name="Half", family="bandits", source="", compliance="not used", variants=(Variant("Half of one."),)
        )

    with pytest.raises(InputError, match=r"Half, expected a subclass .* with compliance, live, name, start, propose"):
        register(Half)
    assert "Half" not in kinds()


@pytest.fixture
def installed(site: Path) -> dict[str, str]:
    """An environment in which a package that names the policy as an entry point is installed."""
    metadata = site / "softmax_policy-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: softmax-policy\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text(
        "[takeup.policies]\nSoftmax = softmax_policy:Softmax\nBroken = softmax_policy:Nobody\n"
    )
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def run(env: dict[str, str], *arguments: str) -> str:
    """What a command prints; it may warn of the entry point that names nobody, and of nothing else."""
    done = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is left out") == done.stderr.count(
        "the policy Broken of softmax_policy:Nobody is left out"
    )
    return done.stdout


@pytest.mark.long
def test_an_entry_point_is_known_in_every_process(installed: dict[str, str], tmp_path: Path) -> None:
    """Listed, simulated from a file, and live: decided in one process, and derived again from the log in another."""
    listed = json.loads(run(installed, "-m", "takeup", "policies", "--json"))["policies"]
    assert next(row for row in listed if row["kind"] == "Softmax")["live"]
    (tmp_path / "simulation.toml").write_text(SIMULATION)
    told = json.loads(run(installed, "-m", "takeup", "simulate", str(tmp_path / "simulation.toml"), "--json"))
    assert "Softmax" in json.dumps(told)
    (tmp_path / "trial.toml").write_text(SPEC)
    database = str(tmp_path / "trials.db")
    made = int(run(installed, "-c", LIVE, database, str(tmp_path / "trial.toml")))
    assert made > 15, "the new drug always works, and 30 decisions at temperature 0.2 find that out"
    assert "30 decisions, 30 derived again" in run(installed, "-m", "takeup", "audit", database)


def test_a_trial_whose_policy_is_not_installed_takes_no_other_with_it(
    softmax: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Store(tmp_path / "trials.db") as store:
        for name, kind in (("ours", "Softmax"), ("theirs", "TS")):
            spec = {"name": name, "space": {"proposals": 2}, "policy": {"kind": kind}}
            Trial.create(store, spec, trial=name)
        assert [each.trial for each in trials(store)] == ["ours", "theirs"]
        registry._registered.clear()
        _of_text.cache_clear()
        assert [each.trial for each in trials(store)] == ["theirs"]
    assert "trial ours cannot be read: the stored spec: policy.kind: got 'Softmax'" in caplog.text


def test_a_file_in_the_package_is_enough(tmp_path: Path) -> None:
    """The same text as a module of `takeup.policies`, in a copy of the package: listed, and there by its name."""
    copy = tmp_path / "src" / "takeup"
    shutil.copytree(Path(takeup.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = FILES["softmax_policy.py"].replace("@register\n", "").replace(", register", "")
    (copy / "policies" / "softmax.py").write_text(text)
    code = "import takeup; print(takeup.Softmax().name in [each.name for each in takeup.policies.registered()])"
    assert run({**os.environ, "PYTHONPATH": str(copy.parent)}, "-c", code).strip() == "True"


def test_an_audit_asks_the_policy_again_in_the_same_process(softmax: Any, tmp_path: Path) -> None:
    """A policy whose beliefs are not a function of the evidence is found out, whatever the process remembers."""
    mood = iter(np.linspace(0.3, 0.6, 1_000).tolist())

    @dataclass(frozen=True, kw_only=True, eq=False)
    class Moody(softmax):  # type: ignore[misc]  # a class that a test made
        card: ClassVar[Card] = replace(softmax.card, name="Moody", kernels=(), parameters={})

        def beliefs(self, evidence: Any, context: Any, rng: Any) -> Exact:
            first = next(mood)
            return Exact(np.array([first, 1 - first]))

    register(Moody)
    with Trial.create(
        tmp_path / "trials.db", {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "Moody"}}
    ) as t:
        t.start()
        t.decide("somebody")
        assert not t.audit().passed
