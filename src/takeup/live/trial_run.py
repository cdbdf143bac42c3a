"""A trial run: whether a policy comes to probabilities from evidence of every kind, before people depend on it."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from itertools import cycle, product
from typing import Any

import numpy as np

from takeup.checks import IntArray
from takeup.errors import TakeupError
from takeup.evidence import Event
from takeup.live.estimates import summary_draws, values_by_model
from takeup.policies.base import Carded
from takeup.policies.card import Several, Whole
from takeup.randomness import stream
from takeup.rows import Rows
from takeup.space import UNSEEN, Space
from takeup.specfile import SpecError, at
from takeup.trial import proposal
from takeup.trial.allotment import Allotment
from takeup.trial.bounds import check_scenarios
from takeup.trial.computing import ProcessorTimer, TimeIsUp
from takeup.trial.design import Design
from takeup.trial.events import body_of
from takeup.trial.looking import check_live, conclude, told
from takeup.trial.models import fits, fitted, models_of
from takeup.trial.secret import Secret
from takeup.trial.spec import TrialSpec, parse

DECISION_SECONDS = 0.5
"""How long the processor may compute for a decision at most: whoever sends a spec waits for all of its trial run."""

SUMMARY_SECONDS = 2.0
"""And for a summary of the trial, which is computed while others wait for theirs."""

TOGETHER_SECONDS = 1.0
"""After this much computing the rest of the evidence is left out: slow policies are tried on less of it."""

MANY = (10**9, 1)
"""How many decisions are in a cell."""

SOME = 100
"""How many there are in each cell that is summed up."""

FITTED = 1_000
"""How many decisions models are fitted to."""

LARGEST = 2**62
"""What no sum of whole numbers may pass."""
MOST_CONTEXTS = 20
"""How many contexts it is tried in."""

_SECRET = Secret(seed="0" * 64, salt="0" * 32)
_timer: ProcessorTimer | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TriedSpec:
    """A spec that was checked and has passed its trial run.

    Attributes:
        design: what it means.
        seed: for rehearsals that shall be repeatable; it is no part of the design.
    """

    design: Design
    seed: str | None


def tried(
    spec: TrialSpec | Mapping[str, Any], source: str = "spec", decision_seconds: float = DECISION_SECONDS
) -> TriedSpec:
    """Check a spec and make its trial run; every error names `source`, the key and the value.

    Args:
        spec: the spec.
        source: where it comes from.
        decision_seconds: how long a decision may take, where `limit` was called.

    Raises:
        SpecError: it is not allowed; or its policy comes to no probabilities, or takes too long or too much memory.
    """
    parsed = spec if isinstance(spec, TrialSpec) else parse(spec, source)
    check_scenarios(parsed, source)
    design = Design.of(parsed, source)
    with at(source, "stopping"):
        check_live(design)
    began = time.process_time()
    for words, context, known in evidence(design.shown):
        _try(source, design, f"a decision with {words}", decision_seconds, partial(_decide, design, context, known))
        if design.looks is not None:
            _try(source, design, f"a look with {words}", decision_seconds, partial(_look, design, known))
        if time.process_time() - began > TOGETHER_SECONDS:
            break
    if fits(design):
        what = f"a fit to {FITTED:,} decisions"
        _try(source, design, what, decision_seconds, partial(_fit, design))
    if _timer is not None:
        _try(source, design, "a summary", SUMMARY_SECONDS, partial(_sum_up, design))
    return TriedSpec(design, parsed.seed)


def limit() -> None:
    """From now on give up on decisions that take too long; in the main thread of a process that does nothing else."""
    global _timer  # a signal is one for the whole process, too
    _timer = ProcessorTimer()


def evidence(space: Space) -> Iterator[tuple[str, int, IntArray]]:
    """What to try a policy on: in words, the context, and what is known there, n[z, a, y].

    Nothing; then tables in which proposals differ, and such as are as large and as one-sided as they come, each in one
    of the contexts, those first that take most to explain; then nothing in the other contexts, which may have priors of
    their own.
    """
    contexts, proposals, actions, _ = space.shape
    levels = space.outcome.cells
    empty = np.zeros(space.table[1:], dtype=np.int64)
    first, *others = np.unique(np.linspace(0, contexts - 1, MOST_CONTEXTS).astype(int)).tolist()
    yield "no evidence", first, empty
    every, each = slice(None), np.arange(proposals)
    much = (10.0 ** (8 * each / proposals)).astype(np.int64)[:, np.newaxis]
    cells: list[tuple[str, Any, Any]] = [
        ("much of some proposals and little of others", (each, each % actions, slice(levels)), much),
        ("a little of everything", every, np.indices(empty.shape).sum(axis=0) * 5 % 7),
    ]
    one_sided: dict[str, Any] = {
        "compliance unseen": (every, UNSEEN, slice(levels)),
        "everything": (every, every, every),
        "the first outcome alone, compliance unseen": (every, UNSEEN, 0),
        "the best outcome alone": (every, slice(actions), int(np.argmax(space.reward[space.outcome.examples]))),
        "one action and one outcome for each proposal": (each, each % actions, each % levels),
        "outcomes unseen": (every, slice(actions), UNSEEN),
        "one cell alone": (0, 0, 0),
        "another cell alone": (-1, actions - 1, levels - 1),
    }
    cells += [(f"{words}, {many:,} in a cell", cell, many) for many, (words, cell) in product(MANY, one_sided.items())]
    for (words, cell, counts), context in zip(cells, cycle([*others, first]), strict=False):
        known = empty.copy()
        known[cell] = counts
        yield words, context, _with_sums(space, known)
    for context in others:
        yield "no evidence", context, empty


def _with_sums(space: Space, known: IntArray) -> IntArray:
    """The table with the sums that an outcome for each cell adds up to, of units that are all alike."""
    outcome, cells, features = space.outcome, space.outcome.cells, _features(space, 0.5)
    sums, pending = (space.amounts(codes, features)[..., cells:-1] for codes in (outcome.examples, UNSEEN))
    if sums.size:
        largest = int(sums.max()) * cells * (1 if features is None else 2)
        most = LARGEST // max(largest, 1)
        known[..., :cells] = np.minimum(known[..., :cells], most)
        known[..., cells:-1] = known[..., :cells] @ sums + np.minimum(known[..., UNSEEN:], most) * pending
    return known


def _features(space: Space, place: float) -> tuple[int, ...] | None:
    """The features of a unit that is so far along every covariate, from 0 to 1; None where there are none."""
    if space.covariates is None:
        return None
    tables = (kind.table() for kind in space.covariates.kinds)
    found = space.covariates.combined([table[round(place * (len(table) - 1))] for table in tables])
    return tuple(int(each) for each in found)


def _decide(design: Design, context: int, known: IntArray) -> None:
    """A policy that borrows finds every other context as this one is, and one that forgets every epoch as this one."""
    table = np.broadcast_to(known, design.start.counts.shape)
    known = proposal.known_to(design, table, context)
    features = _features(design.shown, 1.0)
    proposal.spread(design, proposal.allocated(design, _SECRET, context, known, features=features))


def _fit(design: Design) -> None:
    """Of units that differ, of whom everything is known."""
    space, rng = design.shown, stream(0, "fit")
    assert space.covariates is not None
    blocks = [
        table[rng.integers(len(table), size=FITTED)] for table in (kind.table() for kind in space.covariates.kinds)
    ]
    contexts, proposals, actions, _ = space.shape
    x, z, a = (rng.integers(many, size=FITTED) for many in (contexts, proposals, actions))
    y = space.outcome.examples[rng.integers(space.outcome.cells, size=FITTED)]
    decisions = Event(x, z, a, y, features=space.covariates.combined(blocks))
    models_of(design, fitted(design, Rows.gathered(space, decisions)))


def _look(design: Design, known: IntArray) -> None:
    """The first look, which has the most to compare, as far as to what the log would say."""
    counts = proposal.informative(known, design.shown)[np.newaxis]
    state = np.broadcast_to(counts, design.start.counts.shape)
    found = conclude(design, _SECRET, counts, 0, None, Allotment(design.even, design.even), state)
    body_of(told(design, 0, *found, at=0, outcomes=0, version=0))


def _sum_up(design: Design) -> None:
    """What a summary takes most of its time for, where compliance is unseen in every context."""
    counts = np.zeros_like(design.start.counts)
    counts[..., UNSEEN, :UNSEEN] = SOME
    values_by_model(design.policy, design.state(counts), stream(0), summary_draws(design))


def _try(source: str, design: Design, what: str, seconds: float, work: Callable[[], None]) -> None:
    """Do some work, for so long at most where there are limits; a SpecError says what is wrong with it."""
    try:
        with np.errstate(all="ignore"):
            if _timer is None:
                work()
            else:
                _timer.run(seconds, work)
    except TimeIsUp:
        less = " or ".join([*_costly(design.policy), "draws"])
        allowed = f"at most {seconds:g} s of computing for {what}"
        hint = f"lower {less}, or merge contexts, proposals, actions or outcomes"
        raise _failed(source, design, f"takes longer, expected {allowed}; {hint}") from None
    except Exception as error:  # whatever it is, nothing would come of it
        told = str(error) if isinstance(error, TakeupError) else f"{type(error).__name__}: {error}"
        raise _failed(source, design, f"fails at {what}: {told}") from error


def _costly(policy: object) -> list[str]:
    """The parameters that ask for more work than usual."""
    if not isinstance(policy, Carded) or not is_dataclass(policy):
        return []
    usual = {each.name: each.default for each in fields(policy)}
    costly = [name for name, bound in policy.card.parameters.items() if isinstance(bound, Whole | Several)]
    return [name for name in costly if getattr(policy, name) != usual[name]]


def _failed(source: str, design: Design, why: str) -> SpecError:
    return SpecError(f"{source}: policy", None, why, words=f"{source}: policy: {design.policy.name} {why}")
