"""Everything that the paper reports, measured again: which parts there are, and how to run them."""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from time import perf_counter
from typing import Any

from takeup.paper import beyond, contextual, regret, related, stroke, theory
from takeup.paper.chapters import beyond as beyond_chapter
from takeup.paper.chapters import regret as regret_chapter
from takeup.paper.chapters import related as related_chapter
from takeup.paper.chapters import stroke as stroke_chapter
from takeup.paper.chapters import table2 as table2_chapter
from takeup.paper.chapters import theory as theory_chapter
from takeup.paper.document import Chapter
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName
from takeup.version import __version__

LATENT_REPLICATIONS = 1000
"""The most runs that table 2's TS-Lat rows get unless one asks for more: each costs as much as 400 of the others."""

ENOUGH = 20_000
"""Runs that table 2's other rows get at the least, unless numpy runs them. The paper's sds hang on outliers that come
once in some hundred runs, and a bootstrap knows only those that it has seen."""


@dataclass(frozen=True, slots=True)
class Settings:
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
        """Runs of what lies beyond the paper, a fifth of those."""
        return max(self.slow // 5, 2)

    @property
    def robust(self) -> int:
        """Runs of TS-Robust in the stroke trial."""
        return min(max(self.slow // 5, 2), stroke.ROBUST_REPLICATIONS)


@dataclass(frozen=True, slots=True)
class Part:
    """One result of the paper.

    Attributes:
        run: measures it again.
        work: how much its progress adds up to.
        cost: how long a unit of its progress takes, in decisions of TS; for a bar over several parts.
        as_json: the result for machines.
        chapter: the result for people.
    """

    run: Callable[[Settings, Progress], Any]
    work: Callable[[Settings], int]
    cost: int
    as_json: Callable[[Any], Any]
    chapter: Callable[[Any], Chapter]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What was measured, how, and how long it took.

    Attributes:
        settings: how it was run.
        results: by part.
        seconds: wall time by part.
    """

    settings: Settings
    results: Mapping[str, Any]
    seconds: Mapping[str, float]

    def chapters(self) -> dict[str, Chapter]:
        """For people, part by part."""
        return {name: PARTS[name].chapter(result) for name, result in self.results.items()}

    def as_json(self) -> dict[str, Any]:
        """For machines, part by part; `about` says how it was run."""
        return {name: PARTS[name].as_json(result) for name, result in self.results.items()} | {"about": self.about()}

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


def work(parts: Sequence[str], settings: Settings) -> int:
    """How long these parts take together, in decisions of TS."""
    return sum(PARTS[name].work(settings) * PARTS[name].cost for name in parts)


def reproduce(
    parts: Sequence[str],
    settings: Settings = Settings(),
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
    for name in parts:
        part = PARTS[name]
        stage(name)
        began = perf_counter()
        results[name] = part.run(settings, _weighted(progress, part.cost))
        seconds[name] = perf_counter() - began
    return Reproduction(settings, results, seconds)


def _weighted(progress: Progress, cost: int) -> Progress:
    return lambda done: progress(done * cost)


def versions() -> dict[str, str]:
    """Of takeup, Python and the libraries that the figures come from."""
    found = {"takeup": __version__, "python": platform.python_version()}
    for library in ("numpy", "scipy", "numba", "numba-cuda", "altair", "vl-convert-python"):
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found


def _table2(settings: Settings, progress: Progress) -> list[contextual.Cell]:
    return contextual.table(
        settings.observing,
        settings.seed,
        settings.engine,
        progress,
        latent_replications=settings.latent,
        scheduler=settings.scheduler,
    )


def _regret(settings: Settings, progress: Progress) -> regret.RegretResult:
    return regret.sweep(settings.replications, settings.seed, settings.engine, progress, scheduler=settings.scheduler)


def _stroke(settings: Settings, progress: Progress) -> stroke.StrokeResult:
    return stroke.stroke(
        settings.replications,
        settings.seed,
        settings.engine,
        settings.with_latent,
        progress,
        robust_replications=settings.robust,
        scheduler=settings.scheduler,
    )


def _theory(settings: Settings, progress: Progress) -> theory.TheoryResult:
    return theory.theory(
        settings.replications,
        settings.seed,
        settings.engine,
        progress,
        horizons=theory.HORIZONS,
        draws=theory.DRAWS,
        scheduler=settings.scheduler,
    )


def _related(settings: Settings, progress: Progress) -> related.RelatedResult:
    return related.related(
        settings.slow,
        settings.seed,
        settings.engine,
        progress,
        scheduler=settings.scheduler,
        long=not settings.brief,
    )


def _beyond(settings: Settings, progress: Progress) -> beyond.BeyondResult:
    return beyond.beyond(
        settings.slowest,
        settings.seed,
        settings.engine,
        progress,
        curves=not settings.brief,
        scheduler=settings.scheduler,
    )


PARTS: dict[str, Part] = {
    "table2": Part(
        _table2,
        lambda s: contextual.work(s.observing, s.latent),
        1,
        table2_chapter.as_json,
        table2_chapter.chapter,
    ),
    "regret": Part(
        _regret, lambda s: regret.decisions(s.replications), 1, regret_chapter.as_json, regret_chapter.chapter
    ),
    "theory": Part(
        _theory,
        lambda s: theory.decisions(s.replications, theory.HORIZONS),
        1,
        theory_chapter.as_json,
        theory_chapter.chapter,
    ),
    "stroke": Part(
        _stroke,
        lambda s: stroke.decisions(s.replications, s.with_latent, robust_replications=s.robust),
        4,
        stroke_chapter.as_json,
        stroke_chapter.chapter,
    ),
    "related": Part(
        _related,
        lambda s: related.decisions(s.slow, s.engine, not s.brief),
        80,
        related_chapter.as_json,
        related_chapter.chapter,
    ),
    "beyond": Part(
        _beyond,
        lambda s: beyond.work(s.slowest, not s.brief),
        60,
        beyond_chapter.as_json,
        beyond_chapter.chapter,
    ),
}
"""The parts by name, in the order of a report."""
