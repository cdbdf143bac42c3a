"""The experiments of the systems that Stirn & Jebara (2019) compare themselves with, run again.

Each figure that their authors printed, drew or left to their code is compared with ours, by a rule that was fixed
before any run: see `takeup.paper.related.figures`.
"""

from dataclasses import asdict, dataclass
from typing import Any

from takeup.paper.related import compliance_aware, instruments, intents
from takeup.paper.related.figures import FigureComparison, Statement
from takeup.paper.runner import Runner
from takeup.simulation.run import EngineName
from takeup.version import __version__


@dataclass(frozen=True, slots=True)
class RelatedResult:
    """Every figure and statement, measured.

    Attributes:
        figures: published figures beside ours.
        statements: what the papers say in words, and whether our runs confirm it.
        binned: those of Kallus (2018) that need runs again, with the noise on 20 bins.
        replications: runs of each cell.
        seed: the seed.
        long: whether there were runs of a million decisions.
    """

    figures: tuple[FigureComparison, ...]
    statements: tuple[Statement, ...]
    binned: tuple[FigureComparison, ...]
    replications: int
    seed: int
    long: bool

    def as_json(self) -> dict[str, Any]:
        """All of it for machines."""
        return {
            "version": __version__,
            "replications": self.replications,
            "seed": self.seed,
            "long": self.long,
            "agreeing": sum(figure.agrees for figure in self.figures),
            "figures": [figure.as_json() for figure in self.figures],
            "statements": [asdict(statement) for statement in self.statements],
            "binned": [figure.as_json() for figure in self.binned],
        }


def related(run: Runner, *, long: bool = True) -> RelatedResult:
    """Run all of it.

    Args:
        run: how; a fiftieth of its replications, and six at the least, where one run is a million decisions.
        long: whether there are runs of a million decisions; the numpy reference leaves them out in any case.
    """
    long = _long(run.engine, long)
    parts = (compliance_aware.measure(run), instruments.measure(run, long), intents.measure(run))
    figures = tuple(figure for part, _ in parts for figure in part)
    statements = tuple(statement for _, part in parts for statement in part)
    binned = tuple(instruments.measure_bins(run, long))
    return RelatedResult(figures, statements, binned, run.replications, run.seed, long)


def decisions(replications: int, engine: EngineName = "auto", long: bool = True) -> int:
    """How many decisions all of it takes, for a progress bar."""
    others = compliance_aware.decisions(replications) + intents.decisions(replications)
    return others + 2 * instruments.decisions(replications, _long(engine, long))


def _long(engine: EngineName, long: bool) -> bool:
    return long and engine != "reference"
