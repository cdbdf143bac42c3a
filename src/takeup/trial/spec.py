"""What a trial is, as its owner writes it down."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from takeup import specfile
from takeup.policies.limits import Rule
from takeup.specfile import GrownTable, SpaceTable, Table
from takeup.trial.looks import LooksTable
from takeup.trial.rules import Label, Reading, Share, StoppingTable

SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
LONGEST = 100 * 366 * SECONDS["day"]
LONGEST_LEASE = SECONDS["week"]
MOST_LEASED = 1_000_000_000
"""How many decisions a lease may allow."""
SEED_BITS = 256
MOST_NESTED = 20
"""How deep tables and lists may be within each other, where nobody reads them."""
SEEDED = "no seed, which would foretell every proposal; say rehearsal = true where it is no real trial"


def seconds(value: object) -> object:
    """A duration such as "90 days" in seconds; numbers are seconds already."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*(\d{1,12})\s*(second|minute|hour|day|week)s?\s*", value)
    if found is None:
        raise ValueError('a number of seconds, or a text such as "90 days" in seconds, minutes, hours, days or weeks')
    return int(found[1]) * SECONDS[found[2]]


def duration(length: int) -> str:
    """Seconds as a text such as "90 days", in the largest unit that says it exactly."""
    unit, size = next((u, s) for u, s in sorted(SECONDS.items(), key=lambda pair: -pair[1]) if length % s == 0)
    return f"{length // size} {unit}{'' if length == size else 's'}"


def seed(value: object) -> object:
    """A seed as 64 hexadecimal digits."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**SEED_BITS:
        return f"{value:064x}"
    if isinstance(value, str) and re.fullmatch("[0-9a-fA-F]{64}", value):
        return value.lower()
    if value is None:
        return None
    raise ValueError(f"a whole number from 0 to 2^{SEED_BITS} - 1, or 64 hexadecimal digits")


def nested_deeper(value: object, most: int) -> bool:
    """Whether tables and lists are more than so many within each other."""
    if not isinstance(value, Mapping | list | tuple):
        return False
    inner = value.values() if isinstance(value, Mapping) else value
    return most == 0 or any(nested_deeper(each, most - 1) for each in inner)


Duration = Annotated[int, BeforeValidator(seconds), Field(ge=1, le=LONGEST)]
LeaseLength = Annotated[int, BeforeValidator(seconds), Field(ge=1, le=LONGEST_LEASE)]
Seed = Annotated[str, BeforeValidator(seed)]


class LimitsTable(GrownTable):
    """`[limits]`: the least and the greatest probability of a proposal, one number for all or one for each label.

    Attributes:
        floor: the least.
        ceiling: the greatest.
        rule: how probabilities are brought within them: shifted by one amount, or by one factor.
        soften: the power of the probabilities, one for all looks or one for each; "i/2n" rises to a half at the last.
    """

    newer = ("rule", "soften")

    floor: Share | dict[Label, Share] = 0.0
    ceiling: Share | dict[Label, Share] = 1.0
    rule: Rule = "shift"
    soften: Share | list[Share] | Literal["i/2n"] = 1.0


Contrast: TypeAlias = Literal["difference", "ratio", "odds ratio", "rate ratio", "hazard ratio"]
"""How proposals are compared."""


class AnalysisTable(GrownTable):
    """`[analysis]`: what will be reported in the end, and leads what `takeup analyse` says.

    Attributes:
        reading: of the data: by what was proposed, by the policy's own model, among compliers, among those who did what
            was proposed, or within a bound.
        contrast: how proposals are compared; all but the difference are of intention to treat.
        confidence: of intervals.
        sided: whether an effect is looked for on one side or on both.
        test: of no effect, see docs/analysis.md; none where left out.
        any_time: whether intervals hold at any number of looks, or at one.
        weights: how decisions count in intention to treat: the same, or by how likely proposals were.
        missing: whether those whose outcome is missing are left out, or others like them count for them, too.
        until: up to when times are compared, in their unit; as long as people of every proposal were watched where
            left out, and of hazards the longest watch.

    Which of them go together depends on the trial: see `takeup.trial.planned_analysis`.
    """

    newer = ("test", "any_time", "weights", "missing", "until")

    reading: Reading | Literal["per protocol"] = "intention to treat"
    contrast: Contrast = "difference"
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    sided: Literal[1, 2] = 2
    test: Literal["re-randomisation", "conditional exact", "betting", "martingale score"] | None = None
    any_time: Annotated[bool, Field(strict=True)] = False
    weights: Literal["uniform", "stabilised", "batch"] = "uniform"
    missing: Literal["complete", "weighted"] = "complete"
    until: Annotated[float, Field(gt=0)] | None = None

    @field_validator("contrast")
    @classmethod
    def _ratios_are_of_proposals(cls, value: str, known: ValidationInfo) -> str:
        if value != "difference" and known.data.get("reading", "intention to treat") != "intention to treat":
            raise ValueError("'difference' with this reading; ratios are of intention to treat")
        return value


WITHIN = 7 * SECONDS["day"]
"""How long what clients drew by themselves is taken, where a new spec does not say."""


class EdgeTable(GrownTable):
    """`[edge]`: whether clients may decide by themselves from leases, for how long and how often.

    Attributes:
        allowed: whether there are leases; whoever holds one can foresee its proposals.
        seconds: how long a lease lasts, in seconds or as a text such as "10 minutes".
        most: how many decisions may be drawn under one.
        within: how long after one has expired what was drawn under it is still taken, in seconds, also from a trial
            that is paused or stopped. None in trials from before there was such a key: at any time.
    """

    newer = ("within",)

    allowed: Annotated[bool, Field(strict=True)] = False
    seconds: LeaseLength = 30
    most: Annotated[int, Field(ge=1, le=MOST_LEASED)] = 100_000
    within: Duration | None = None


class FallbackLimitsTable(Table):
    """`[fallback_limits]`: what clients may have drawn by themselves, as nothing proves what they say.

    Attributes:
        a_day: how many decisions a key may record as fallbacks within a day.
        within: how long after it was drawn one is still taken, in seconds; a trial that is paused or stopped takes
            those that were drawn before.
    """

    a_day: Annotated[int, Field(ge=0)] = 100
    within: Duration = WITHIN


Word = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^\S(.*\S)?$")]


class WordsTable(Table):
    """`[words]`: what people of this trial call things; pages, advice and analyses say it so.

    Attributes:
        unit: whom a decision is for.
        units: several of them; with an s where left out.
        offered: what is done with a proposal, as in "of those offered the drug".
        took: what those do who comply, as in "81 % of those offered the drug took it".
        well: what those are whose outcome is the good one of two, as in "patients who would have been well"; the
            outcome's own name where left out.
    """

    unit: Word = "patient"
    units: Word | None = None
    offered: Word = "offered"
    took: Word = "took"
    well: Word | None = None

    @property
    def several(self) -> str:
        """Several units."""
        return self.units or f"{self.unit}s"

    def number(self, many: int) -> str:
        """1 patient, 2,000 patients."""
        return f"{many:,} {self.unit if many == 1 else self.several}"

    def spared(self, good: str) -> str:
        """Who would have fared well: the good one of two outcomes is called so."""
        return f"{self.several} who would have been {self.well}" if self.well else f"{self.several} more with “{good}”"


class TrialSpec(GrownTable):
    """A whole spec.

    Attributes:
        name: what people call the trial.
        space: what can be met, proposed, implemented and come out.
        policy: the kind of a registered live policy, with its parameters and priors.
        draws: how many posterior draws a probability rests on where no quadrature exists.
        limits: floors and ceilings of the probabilities.
        burn_in: how many decisions are allocated evenly (within the limits) before the policy is asked.
        window: how long after its decision an outcome enters the evidence, in seconds; at once where left out.
        stopping: when to advise an end.
        looks: when the trial is looked at; as long as it runs where left out.
        scenarios: the truths in which `takeup design` tries it, as that reads them.
        analysis: what will be reported.
        compliance: whether the implemented action will be reported.
        decisions: whether a unit gets one decision, or many that are told apart by their occasion.
        fallback: the probabilities a client draws from when the service cannot be reached; even where left out.
        anchored: that nothing is acknowledged before its anchor is on the disk; a store without anchors then refuses.
        fallback_limits: how late and how many of what clients drew are taken.
        edge: whether clients may decide by themselves from leases.
        rehearsal: that it is no real trial.
        words: what people of this trial call things.
        seed: for rehearsals that shall be repeatable. A real trial leaves it out and gets 256 random bits.
    """

    newer = ("anchored", "fallback_limits", "rehearsal", "looks", "scenarios", "analysis", "words", "edge")

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=10_000)] = ""
    space: SpaceTable
    policy: dict[str, Any]
    draws: Annotated[int, Field(ge=100, le=1_000_000)] = 1_000
    limits: LimitsTable = LimitsTable()
    burn_in: Annotated[int, Field(ge=0)] = 0
    window: Duration | None = None
    stopping: StoppingTable = StoppingTable()
    looks: LooksTable | None = None
    scenarios: dict[Label, dict[str, Any]] | None = None
    analysis: AnalysisTable | None = None
    compliance: Literal["always", "sometimes", "never"] = "always"
    decisions: Literal["one", "many"] = "one"
    fallback: dict[Label, Share] | None = None
    anchored: Annotated[bool, Field(strict=True)] = False
    fallback_limits: FallbackLimitsTable = FallbackLimitsTable()
    edge: EdgeTable = EdgeTable()
    rehearsal: Annotated[bool, Field(strict=True)] = False
    words: WordsTable = WordsTable()
    seed: Annotated[Seed | None, Field(repr=False)] = None

    @field_validator("scenarios", mode="before")
    @classmethod
    def _can_be_read(cls, value: object) -> object:
        if nested_deeper(value, MOST_NESTED):
            raise ValueError(f"tables and lists at most {MOST_NESTED} deep")
        return value

    @field_validator("scenarios")
    @classmethod
    def _can_be_stored(cls, value: dict[str, dict[str, Any]] | None) -> dict[str, dict[str, Any]] | None:
        """Nobody here reads what is in them."""
        try:
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, TypeError):
            raise ValueError("tables of texts, numbers that are finite, lists and tables") from None
        return value

    @field_validator("seed")
    @classmethod
    def _real_trials_have_random_seeds(cls, value: str | None, known: ValidationInfo) -> str | None:
        """Whoever knows the seed can foresee every proposal."""
        if value is not None and not known.data.get("rehearsal"):
            raise ValueError(SEEDED)
        return value


def load(path: str | Path) -> TrialSpec:
    """Read a TOML or JSON file; every error names the file, the key and the value."""
    return parse(specfile.read(path), Path(path).name)


def parse(content: Mapping[str, Any], source: str = "spec") -> TrialSpec:
    """A spec from what a file, a request or a caller says; `source` is what errors call it."""
    return specfile.validated(TrialSpec, content, source)
