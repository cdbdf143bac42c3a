"""The stroke trial of Stirn & Jebara (2019), section 5: what adaptive proposals would have gained.

An excess success is the expected number of additional successes over uniform exploration, "the difference in final
cumulative regret". In replication i it is

    R_i(Uniform) - R_i(policy) = Σ_t v[z_t] - Σ_t v[z'_t],        R of eq. 4,

where z and z' are what the policy and Uniform proposed to the same 20,000 patients, and v[z] = E[r given z].
"""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, get_args

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.datasets import Outcome
from takeup.environment import Environment
from takeup.errors import LabelError
from takeup.paper.agreement import STANDARD_ERRORS
from takeup.paper.stroke_claims import REPLICATIONS, Claim, claims
from takeup.paper.stroke_parameters import OUTCOMES, Parameters, SixArms, environments
from takeup.policies import TS, Policy, TSCheck, TSObs, TSRobust, Uniform, WarmTSLat
from takeup.simulation import Reporting, Trace, simulate
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName

HORIZON = 20_000
"""How many patients a simulated trial has."""

LATENT_REPLICATIONS = 20
"""How many TS-Lat gets where nothing else is said: it fits the model anew after every patient."""

ROBUST_REPLICATIONS = 100
"""How many TS-Robust gets at the most where nothing else is said: a trial of it takes as long as fifty of TS."""

POLICIES: tuple[Policy[Any], ...] = (TS(), TSCheck(), TSObs())
LATENT = WarmTSLat()
ROBUST = TSRobust()
"""Not of the paper: it runs with the patients as they are, whose compliance is not ignorable."""

_NAMES = {LATENT.name: "TS-Lat"}


@dataclass(frozen=True, slots=True, eq=False)
class Excess:
    """The excess successes of one policy for one outcome.

    Attributes:
        outcome: "STS", "LTS" or "LTR".
        policy: "TS", "TS-Check", "TS-Obs", "TS-Lat", or "TS-Robust" with the patients.
        mean: over the replications.
        mcse: the Monte Carlo error of the mean.
        sd: the standard deviation of a single trial's excess.
        sample: the excess of each replication.
    """

    outcome: Outcome
    policy: str
    mean: float
    mcse: float
    sd: float
    sample: FloatArray

    @property
    def replications(self) -> int:
        """How many trials were simulated."""
        return self.sample.size


@dataclass(frozen=True, slots=True)
class Best:
    """What always proposing the best would gain, which no policy can beat in expectation.

    Attributes:
        outcome: "STS", "LTS" or "LTR".
        proposal: the best proposal.
        excess: T times its value above the average one.
    """

    outcome: Outcome
    proposal: str
    excess: float


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The experiment under one set of parameters.

    Attributes:
        parameters: where the truth comes from.
        excess: a row an outcome and policy.
        best: a row an outcome.
        claims: what the paper says about it, with verdicts.
    """

    parameters: Parameters
    excess: tuple[Excess, ...]
    best: tuple[Best, ...]
    claims: tuple[Claim, ...]

    def cell(self, outcome: Outcome, policy: str) -> Excess:
        """The row of an outcome and a policy."""
        for row in self.excess:
            if (row.outcome, row.policy) == (outcome, policy):
                return row
        known = ", ".join(f"{row.outcome} {row.policy}" for row in self.excess)
        raise LabelError("cell", f"{outcome} {policy}", f"one of {known}")


@dataclass(frozen=True, slots=True)
class Contrast:
    """What the paper's model predicts beside what the patients would have given.

    Attributes:
        parameters: where the model's Π and μ come from.
        outcome: "STS", "LTS" or "LTR".
        policy: the policy.
        predicted: the mean excess under the model.
        patients: the mean excess with the patients as they are.
        error: the standard error of the difference.
    """

    parameters: Parameters
    outcome: Outcome
    policy: str
    predicted: float
    patients: float
    error: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within four standard errors."""
        return abs(self.predicted - self.patients) <= STANDARD_ERRORS * self.error


@dataclass(frozen=True, slots=True, eq=False)
class StrokeResult:
    """The whole experiment.

    Attributes:
        replications: how many trials each policy but TS-Lat ran.
        seed: the seed.
        coding: what counts as implemented for the patients.
        settings: one for each set of parameters, in the order paper, recomputed, as-treated, patients.
    """

    replications: int
    seed: int
    coding: SixArms
    settings: tuple[Setting, ...]

    def setting(self, parameters: Parameters) -> Setting:
        """The one of these parameters."""
        return self.settings[get_args(Parameters).index(parameters)]

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Every prediction of the model beside the patients."""
        patients = self.setting("patients")
        return tuple(
            _contrast(setting.parameters, row, patients.cell(row.outcome, row.policy))
            for setting in self.settings
            if setting is not patients
            for row in setting.excess
        )

    def as_json(self) -> list[dict[str, Any]]:
        """Plain data, an entry a set of parameters."""
        return [
            {
                "parameters": setting.parameters,
                **({"coding": self.coding} if setting.parameters == "patients" else {}),
                "excess": [
                    {name: getattr(row, name) for name in ("outcome", "policy", "mean", "mcse", "sd", "replications")}
                    for row in setting.excess
                ],
                "best": [asdict(row) for row in setting.best],
                "claims": [asdict(claim) for claim in setting.claims],
            }
            for setting in self.settings
        ]


def stroke(
    replications: int = REPLICATIONS,
    seed: int = 0,
    engine: EngineName = "auto",
    with_latent: bool = False,
    progress: Progress = silent,
    *,
    coding: SixArms = "paper",
    latent_replications: int = LATENT_REPLICATIONS,
    robust_replications: int = ROBUST_REPLICATIONS,
    scheduler: object = None,
) -> StrokeResult:
    """Simulate the trial for three outcomes under four sets of parameters, and check what the paper says about it.

    Args:
        replications: how many trials of 20,000 patients each policy runs for each outcome and set of parameters.
        seed: any whole number of at least 0.
        engine: see `takeup.simulate`.
        with_latent: run TS-Lat as well, which sees no compliance and which the paper left out.
        progress: called with the number of decisions made; `decisions` says how many there will be.
        coding: what counts as implemented for the patients; the paper's where left out.
        latent_replications: how many trials TS-Lat runs, and no more than the others.
        robust_replications: how many trials TS-Robust runs with the patients, and no more than the others.
        scheduler: for the engine "dask".
    """
    checks.whole("replications", replications, least=2)
    few = min(replications, checks.whole("latent_replications", latent_replications, least=2))
    truths = {each: environments(each, coding) for each in get_args(Parameters)}
    named = {_name(each, outcome): truth for each, row in truths.items() for outcome, truth in row.items()}
    run = partial(simulate, horizon=HORIZON, seed=seed, engine=engine, scheduler=scheduler, progress=progress)
    traces = [run(named, [Uniform(), *POLICIES], replications=replications)]
    if with_latent:
        traces.append(run(named, LATENT, replications=few, reporting=Reporting(compliance=0)))
    patients = {_name("patients", outcome): truth for outcome, truth in truths["patients"].items()}
    sure = min(replications, checks.whole("robust_replications", robust_replications, least=2))
    robust = run(patients, ROBUST, replications=sure)
    settings = tuple(
        _setting(each, row, [*traces, robust] if each == "patients" else traces) for each, row in truths.items()
    )
    return StrokeResult(replications, seed, coding, settings)


def decisions(
    replications: int,
    with_latent: bool = False,
    latent_replications: int = LATENT_REPLICATIONS,
    robust_replications: int = ROBUST_REPLICATIONS,
) -> int:
    """How many decisions `stroke` takes, for a progress bar."""
    robust = len(OUTCOMES) * HORIZON * min(replications, robust_replications)
    latent = min(replications, latent_replications) if with_latent else 0
    truths = len(get_args(Parameters)) * len(OUTCOMES)
    return truths * HORIZON * (replications * (1 + len(POLICIES)) + latent) + robust


def _name(parameters: Parameters, outcome: Outcome) -> str:
    return f"{parameters}, {outcome}"


def _setting(parameters: Parameters, truths: dict[Outcome, Environment], traces: list[Trace]) -> Setting:
    rows = tuple(
        _excess(parameters, outcome, policy, traces[0], trace)
        for outcome in OUTCOMES
        for trace in traces
        for policy in trace.setup.policies
        if policy != Uniform().name
    )
    compared = {policy.name for policy in POLICIES}
    gains = {
        outcome: {row.policy: row.sample for row in rows if row.outcome == outcome and row.policy in compared}
        for outcome in OUTCOMES
    }
    best = tuple(_best(outcome, truth) for outcome, truth in truths.items())
    return Setting(parameters, rows, best, claims(parameters, gains))


def _excess(parameters: Parameters, outcome: Outcome, policy: str, uniform: Trace, trace: Trace) -> Excess:
    """Both traces met the same patients, replication by replication."""
    regret = trace.final(policy, _name(parameters, outcome))
    sample = uniform.final(Uniform().name, _name(parameters, outcome))[: regret.size] - regret
    sd = float(sample.std(ddof=1))
    name = _NAMES.get(policy, policy)
    return Excess(outcome, name, float(sample.mean()), sd / float(np.sqrt(sample.size)), sd, sample)


def _best(outcome: Outcome, truth: Environment) -> Best:
    value = truth.value()[0]
    proposal = truth.space.proposals[int(value.argmax())]
    return Best(outcome, proposal, float(HORIZON * (value.max() - value.mean())))


def _contrast(parameters: Parameters, model: Excess, patients: Excess) -> Contrast:
    error = float(np.hypot(model.mcse, patients.mcse))
    return Contrast(parameters, model.outcome, model.policy, model.mean, patients.mean, error)
