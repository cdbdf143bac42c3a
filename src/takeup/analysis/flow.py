"""Who went where in a trial: assessed, allocated, took what, followed up, analysed. As CONSORT asks for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup.errors import InputError
from takeup.log import SOURCES, Log
from takeup.space import UNSEEN


@dataclass(frozen=True, slots=True)
class ArmFlow:
    """The decisions of one proposal.

    Attributes:
        proposal: what was proposed.
        allocated: to how many.
        took: how many took each action.
        not_reported: of how many nobody said what they took.
        complied: how many took what was proposed; None where nobody says what complying means.
        followed_up: of how many the outcome is known.
        awaited: of how many it is not, and may still come.
        lost: of how many it is not, and will not come any more.
        analysed: how many an analysis by intention to treat rests on; those who were followed up.
        analysed_by_action: how many an analysis that needs the action too rests on.
    """

    proposal: str
    allocated: int
    took: dict[str, int]
    not_reported: int
    complied: int | None
    followed_up: int
    awaited: int
    lost: int
    analysed: int
    analysed_by_action: int

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow of a trial.

    Attributes:
        assessed: how many decisions there were. Who was never decided for is not in a log.
        contexts: how many in each context.
        sources: how many the policy, the burn-in and clients drew.
        arms: what became of each proposal's, in their order.
    """

    assessed: int
    contexts: dict[str, int]
    sources: dict[str, int]
    arms: tuple[ArmFlow, ...]

    @property
    def analysed(self) -> int:
        """How many have an outcome."""
        return sum(arm.analysed for arm in self.arms)

    @property
    def missing(self) -> int:
        """How many have none, awaited or lost."""
        return self.assessed - self.analysed

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "assessed": self.assessed,
            "contexts": self.contexts,
            "sources": self.sources,
            "arms": [arm.plain() for arm in self.arms],
            "analysed": self.analysed,
            "missing": self.missing,
        }


def flow(log: Log, *, finished: bool | None = None) -> Flow:
    """The flow of a single trial.

    Args:
        log: the trial.
        finished: whether nothing is pending any more; as the log says where left out. Of a trial that is not finished
            outcomes that are pending are awaited: where the log does not say which, all that are not known.
    """
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    space = log.space
    awaited = np.zeros(len(log), dtype=np.bool_)
    if not (log.finished if finished is None else finished):
        awaited = log.outcome == UNSEEN if log.pending is None else log.pending
    return Flow(
        len(log),
        _named(space.contexts, log.context),
        {name: many for name, many in _named(SOURCES, log.source).items() if many},
        tuple(_arm(log, z, awaited) for z in range(len(space.proposals))),
    )


def _arm(log: Log, z: int, awaited: NDArray[np.bool_]) -> ArmFlow:
    space, here = log.space, log.proposal == z
    a, seen = log.implemented[here], log.outcome[here] != UNSEEN
    allocated, known, waits = int(here.sum()), int(seen.sum()), int(awaited[here].sum())
    return ArmFlow(
        space.proposals[z],
        allocated,
        _named(space.implemented, a[a != UNSEEN]),
        int((a == UNSEEN).sum()),
        None if space.intended is None else int((a == space.intended[z]).sum()),
        known,
        waits,
        allocated - known - waits,
        known,
        int((seen & (a != UNSEEN)).sum()),
    )


def _named(names: tuple[str, ...], codes: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> dict[str, int]:
    return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))
