"""The stroke trial of Stirn & Jebara (2019), section 5: what adaptive proposals would have gained.

An excess success is the expected number of additional successes over uniform exploration, "the difference in final
cumulative regret". In replication i it is

    R_i(Uniform) - R_i(policy) = Σ_t v[z_t] - Σ_t v[z'_t],        R of eq. 4,

where z and z' are what the policy and Uniform proposed to the same 20,000 patients, and v[z] = E[r given z].
"""

from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.datasets import Outcome
from takeup.environment import Environment
from takeup.errors import LabelError
from takeup.paper.agreement import STANDARD_ERRORS, Mean
from takeup.paper.runner import Runner
from takeup.paper.stroke_claims import StrokeClaim, claims
from takeup.paper.stroke_parameters import OUTCOMES, Parameters, SixArms, environments
from takeup.policies import TS, Policy, TSCheck, TSObs, TSRobust, Uniform, WarmTSLat
from takeup.simulation import Reporting, Trace

HORIZON = 20_000
"""How many patients a simulated trial has."""

LATENT_REPLICATIONS = 20
"""Trials of TS-Lat where nothing else is asked for: it fits the model anew after every patient."""

ROBUST_REPLICATIONS = 100
"""The most trials of TS-Robust where nothing else is asked for: one takes as long as fifty of TS."""

POLICIES: tuple[Policy[Any], ...] = (TS(), TSCheck(), TSObs())
LATENT = WarmTSLat()
ROBUST = TSRobust()
"""Not of the paper. It runs only with the patients as they are, whose compliance is not ignorable."""

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
class StrokeSetting:
    """The experiment under one set of parameters.

    Attributes:
        parameters: where the truth comes from.
        excess: one row for each outcome and policy.
        best: one row for each outcome.
        claims: what the paper says about it, with verdicts.
    """

    parameters: Parameters
    excess: tuple[Excess, ...]
    best: tuple[Best, ...]
    claims: tuple[StrokeClaim, ...]

    def cell(self, outcome: Outcome, policy: str) -> Excess:
        """The row of an outcome and a policy."""
        for row in self.excess:
            if (row.outcome, row.policy) == (outcome, policy):
                return row
        known = ", ".join(f"{row.outcome} {row.policy}" for row in self.excess)
        raise LabelError("cell", f"{outcome} {policy}", f"one of {known}")


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the paper's model predicts beside what the patients as they are give.

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
    settings: tuple[StrokeSetting, ...]

    def setting(self, parameters: Parameters) -> StrokeSetting:
        """The setting with these parameters."""
        return self.settings[get_args(Parameters).index(parameters)]

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """Every prediction of the model beside the patients."""
        *models, patients = self.settings
        return tuple(
            _prediction(setting.parameters, row, patients.cell(row.outcome, row.policy))
            for setting in models
            for row in setting.excess
        )

    def as_json(self) -> list[dict[str, Any]]:
        """Plain data, one entry for each set of parameters."""
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
    run: Runner,
    with_latent: bool = False,
    *,
    coding: SixArms = "paper",
    latent_replications: int = LATENT_REPLICATIONS,
    robust_replications: int = ROBUST_REPLICATIONS,
) -> StrokeResult:
    """Simulate the trial for three outcomes under four sets of parameters, and check what the paper says about it.

    Args:
        run: how; a replication is a trial of 20,000 patients.
        with_latent: run TS-Lat as well, which sees no compliance and which the paper left out.
        coding: what counts as implemented for the patients; the paper's where left out.
        latent_replications: how many trials TS-Lat runs, and no more than the others.
        robust_replications: how many trials TS-Robust runs with the patients, and no more than the others.
    """
    few = min(run.replications, checks.whole("latent_replications", latent_replications, least=2))
    fewer = min(run.replications, checks.whole("robust_replications", robust_replications, least=2))
    truths = {each: environments(each, coding) for each in get_args(Parameters)}
    named = {_name(each, outcome): truth for each, row in truths.items() for outcome, truth in row.items()}
    traces = [run.simulate(named, [Uniform(), *POLICIES], HORIZON)]
    if with_latent:
        traces.append(run.simulate(named, LATENT, HORIZON, few, reporting=Reporting(compliance=0)))
    patients = {_name("patients", outcome): truth for outcome, truth in truths["patients"].items()}
    robust = run.simulate(patients, ROBUST, HORIZON, fewer)
    settings = tuple(
        _setting(each, row, [*traces, robust] if each == "patients" else traces) for each, row in truths.items()
    )
    return StrokeResult(run.replications, run.seed, coding, settings)


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


def _setting(parameters: Parameters, truths: dict[Outcome, Environment], traces: list[Trace]) -> StrokeSetting:
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
    return StrokeSetting(parameters, rows, best, claims(parameters, gains))


def _excess(parameters: Parameters, outcome: Outcome, policy: str, uniform: Trace, trace: Trace) -> Excess:
    """Both traces met the same patients, replication by replication."""
    regret = trace.final(policy, _name(parameters, outcome))
    sample = uniform.final(Uniform().name, _name(parameters, outcome))[: regret.size] - regret
    return Excess(outcome, _NAMES.get(policy, policy), *Mean.of(sample), float(sample.std(ddof=1)), sample)


def _best(outcome: Outcome, truth: Environment) -> Best:
    value = truth.value()[0]
    proposal = truth.space.proposals[int(value.argmax())]
    return Best(outcome, proposal, float(HORIZON * (value.max() - value.mean())))


def _prediction(parameters: Parameters, model: Excess, patients: Excess) -> Prediction:
    error = float(np.hypot(model.mcse, patients.mcse))
    return Prediction(parameters, model.outcome, model.policy, model.mean, patients.mean, error)
