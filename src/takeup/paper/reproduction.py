"""The parts of the paper that can be measured again, and how to run them."""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from time import perf_counter
from typing import Any

from takeup.paper import beyond, chapters, contextual, regret, related, stroke, theory
from takeup.paper.document import Chapter
from takeup.paper.runner import Runner
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName
from takeup.version import __version__

LATENT_REPLICATIONS = 1000
"""The most runs of table 2's TS-Lat rows unless more are asked for: each costs as much as 400 of the others."""

ENOUGH = 20_000
"""The fewest runs of table 2's other rows, unless numpy runs them. The paper's sds depend on outliers that come once in
some hundred runs, and a bootstrap knows only those that it has seen."""


@dataclass(frozen=True, slots=True)
class PaperSettings:
    """How everything is run.

    Attributes:
        replications: runs of each cell.
        latent_replications: the most runs of table 2's TS-Lat rows; 0 leaves them out.
        seed: the seed.
        engine: what runs them.
        scheduler: for the engine "dask".
        with_latent: whether the stroke trial has TS-Lat too.
        brief: whether the slow parts are cut short, so that everything together takes minutes.
    """

    replications: int = 500
    latent_replications: int = LATENT_REPLICATIONS
    seed: int = 0
    engine: EngineName = "auto"
    scheduler: str | None = None
    with_latent: bool = False
    brief: bool = False

    @property
    def latent(self) -> int:
        """Runs of table 2's TS-Lat rows."""
        return min(self.replications, self.latent_replications)

    @property
    def observing(self) -> int:
        """Runs of table 2's other rows."""
        return self.replications if self.engine == "reference" else max(self.replications, ENOUGH)

    @property
    def slow(self) -> int:
        """Runs of the slow parts: a fifth where they are brief."""
        return max(self.replications // 5, 2) if self.brief else self.replications

    @property
    def slowest(self) -> int:
        """Runs of what lies beyond the paper: a fifth of `slow`."""
        return max(self.slow // 5, 2)

    @property
    def robust(self) -> int:
        """Runs of TS-Robust in the stroke trial."""
        return min(max(self.slow // 5, 2), stroke.ROBUST_REPLICATIONS)


@dataclass(frozen=True, slots=True)
class PaperPart:
    """One result of the paper.

    Attributes:
        run: measures it again, given a runner of settings.replications; the result has a method `as_json`.
        work: how much its progress adds up to.
        cost: how long a unit of its progress takes, in decisions of TS, for one progress bar over several parts.
        chapter: the result as text, tables and charts.
    """

    run: Callable[[PaperSettings, Runner], Any]
    work: Callable[[PaperSettings], int]
    cost: int
    chapter: Callable[[Any], Chapter]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What was measured, how, and how long it took.

    Attributes:
        settings: how it was run.
        results: by part.
        seconds: wall time by part.
    """

    settings: PaperSettings
    results: Mapping[str, Any]
    seconds: Mapping[str, float]

    def chapters(self) -> dict[str, Chapter]:
        """The chapters of a report, part by part."""
        return {name: PARTS[name].chapter(result) for name, result in self.results.items()}

    def as_json(self) -> dict[str, Any]:
        """Plain data, part by part; `about` says how it was run."""
        return {name: result.as_json() for name, result in self.results.items()} | {"about": self.about()}

    def about(self) -> dict[str, Any]:
        """Parameters, versions and wall time."""
        settings = self.settings
        return {
            "replications": settings.replications,
            "latent_replications": settings.latent,
            "seed": settings.seed,
            "engine": settings.engine,
            "versions": versions(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
            "seconds": {name: round(seconds, 2) for name, seconds in self.seconds.items()},
        }


def work(parts: Sequence[str], settings: PaperSettings) -> int:
    """How long these parts take together, in decisions of TS, for a progress bar."""
    return sum(PARTS[name].work(settings) * PARTS[name].cost for name in parts)


def reproduce(
    parts: Sequence[str],
    settings: PaperSettings = PaperSettings(),
    progress: Progress = silent,
    stage: Callable[[str], object] = lambda _: None,
) -> Reproduction:
    """Run these parts, one after the other.

    Args:
        parts: some of PARTS.
        settings: how.
        progress: called with the work done; `work` says how much there is.
        stage: called with the name of each part before it runs.
    """
    results, seconds = {}, {}
    run = Runner(settings.replications, settings.seed, settings.engine, progress, settings.scheduler)
    for name in parts:
        part = PARTS[name]
        stage(name)
        began = perf_counter()
        results[name] = part.run(settings, run.weighted(part.cost))
        seconds[name] = perf_counter() - began
    return Reproduction(settings, results, seconds)


def versions() -> dict[str, str]:
    """Of takeup, Python and the libraries that the figures come from."""
    found = {"takeup": __version__, "python": platform.python_version()}
    for library in ("numpy", "scipy", "numba", "numba-cuda", "altair", "vl-convert-python"):
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found


PARTS: dict[str, PaperPart] = {
    "table2": PaperPart(
        lambda s, run: contextual.table(run.times(s.observing), s.latent),
        lambda s: contextual.work(s.observing, s.latent),
        1,
        chapters.table2.chapter,
    ),
    "regret": PaperPart(
        lambda _, run: regret.sweep(run), lambda s: regret.decisions(s.replications), 1, chapters.regret.chapter
    ),
    "theory": PaperPart(
        lambda _, run: theory.theory(run, theory.HORIZONS, theory.DRAWS),
        lambda s: theory.decisions(s.replications, theory.HORIZONS),
        1,
        chapters.theory.chapter,
    ),
    "stroke": PaperPart(
        lambda s, run: stroke.stroke(run, s.with_latent, robust_replications=s.robust),
        lambda s: stroke.decisions(s.replications, s.with_latent, robust_replications=s.robust),
        4,
        chapters.stroke.chapter,
    ),
    "related": PaperPart(
        lambda s, run: related.related(run.times(s.slow), long=not s.brief),
        lambda s: related.decisions(s.slow, s.engine, not s.brief),
        80,
        chapters.related.chapter,
    ),
    "beyond": PaperPart(
        lambda s, run: beyond.beyond(run.times(s.slowest), curves=not s.brief),
        lambda s: beyond.work(s.slowest, not s.brief),
        60,
        chapters.beyond.chapter,
    ),
}
"""The parts by name, in the order of a report."""
