"""Logged bandit feedback as the Open Bandit Pipeline has it: a dictionary of arrays, from a log and to one."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.frames.columns import column
from takeup.frames.measured import outcome_from
from takeup.log import Log
from takeup.log.frames import log_of
from takeup.outcomes import Levels
from takeup.space import UNSEEN, Space

MOST_CONTEXTS = 100
"""Up to so many different rows of a context matrix are groups by themselves."""

KEYS = ("n_rounds", "n_actions", "context", "action", "reward", "pscore")
"""What a dictionary must have."""


def feedback_of(log: Log, *, pending: Literal["refuse", "leave out"] = "refuse") -> dict[str, Any]:
    """A log as obp's dictionary.

    obp has one action a round. Here it is the *proposal*, whose probability is known, so that what obp estimates is the
    value of proposing; nobody knows the probability of what was implemented. That is in `implemented` (-1 where it was
    not seen), beside `outcome` and `space`, which obp does not look at and `log_of_feedback` does. Contexts are told
    apart by one column each. Covariates, when something was reported, and by whom it was
    drawn, are lost.

    Args:
        log: a single trial.
        pending: what to do with decisions whose outcome is unseen, which obp has no word for. Leaving them out is fair
            where they are pending by chance alone.
    """
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    log = log.without_covariates()
    unseen = log.outcome == UNSEEN
    if unseen.any():
        if pending == "refuse":
            hint = 'pending="leave out", if they are pending by chance alone'
            raise InputError("log", f"{int(unseen.sum())} decisions without an outcome", "an outcome of each", hint)
        log = log.only(~unseen)
    contexts, proposals, _, _ = log.space.shape
    return {
        "n_rounds": len(log),
        "n_actions": proposals,
        "context": np.eye(contexts)[log.context],
        "action_context": np.eye(proposals),
        "action": log.proposal.copy(),
        "position": None,
        "reward": log.space.reward[log.outcome],
        "pscore": log.probability_of_proposal,
        "pi_b": log.probability[..., np.newaxis].copy(),
        "implemented": log.implemented.copy(),
        "outcome": log.outcome.copy(),
        "space": log.space.described(),
    }


def log_of_feedback(
    feedback: Mapping[str, Any],
    *,
    implemented: ArrayLike | None = None,
    context: ArrayLike | None = None,
    space: Space | None = None,
) -> Log:
    """A dictionary of obp as a log; its actions are proposals.

    The probabilities of all actions are in `pi_b`, where there is one; else `pscore` has to tell them, which it does of
    two actions, and of more where it is the same throughout a context.

    Args:
        feedback: the dictionary, with one position a round.
        implemented: what was done in each round, as indices, -1 where it was not seen; the dictionary's own
            `implemented` where left out, or nothing at all.
        context: the index of each round's group, where the context is numbers rather than groups.
        space: what the indices stand for; the dictionary's own `space`, or inferred, where left out.
    """
    missing = [key for key in KEYS if key not in feedback]
    if missing:
        raise InputError("feedback", f"no {', '.join(missing)}", f"the keys {', '.join(KEYS)}")
    n, k = checks.whole("n_rounds", feedback["n_rounds"], least=1), checks.whole("n_actions", feedback["n_actions"], 2)
    position = feedback.get("position")
    if position is not None and np.unique(position).size > 1:
        raise InputError("position", f"{np.unique(position).size} positions", "one: a proposal to each unit")
    if space is None and "space" in feedback:
        space = Space(**feedback["space"])
    action, reward = _column(feedback, "action", n), np.asarray(feedback["reward"], dtype=np.float64)
    x, contexts = _contexts(feedback["context"] if context is None else None, context, n, space)
    frame: dict[str, Any] = {"action": action.tolist(), "context": x.tolist(), "reward": reward.tolist()}
    frame |= {f"p{z}": each.tolist() for z, each in enumerate(_known(feedback, n, k))}
    columns = [f"p{z}" for z in range(k)] if "p0" in frame else None
    frame["pscore"] = np.asarray(feedback["pscore"], dtype=np.float64).tolist()
    did = feedback.get("implemented") if implemented is None else implemented
    if space is None:
        actions = None if did is None else max(k, int(np.max(did)) + 1)
        outcome, _ = outcome_from(column(frame, "outcome", "reward"), None)
        space = Space(k, actions, contexts=contexts, outcomes=outcome)
    codes = feedback.get("outcome")
    log = log_of(
        frame | {"action": [space.proposals[z] for z in action], "context": [space.contexts[i] for i in x]},
        assigned="action",
        outcome="reward",
        context="context",
        probability=columns or "pscore",
        space=_by_worth(space),
    )
    return Log.of(
        space,
        log.proposal,
        log.probability,
        context=log.context,
        outcome=log.outcome if codes is None else codes,
        implemented=did,
        inferred=log.inferred,
    )


def _column(feedback: Mapping[str, Any], key: str, n: int) -> IntArray:
    found = np.asarray(feedback[key])
    if found.shape != (n,) or found.dtype.kind not in "iu":
        raise InputError(key, f"{found.dtype} of shape {found.shape}", f"{n} indices")
    return found


def _known(feedback: Mapping[str, Any], n: int, k: int) -> FloatArray:
    """The probability of every action in each round, (k, n), where the dictionary has it; else (0, n)."""
    given = feedback.get("pi_b")
    if given is None:
        return np.empty((0, n))
    table = np.asarray(given, dtype=np.float64)
    if table.shape != (n, k, 1):
        raise InputError("pi_b", f"shape {table.shape}", f"shape {(n, k, 1)}: round, action, one position")
    return table[..., 0].T


def _contexts(rows: Any, told: ArrayLike | None, n: int, space: Space | None) -> tuple[IntArray, int]:
    """The index of each round's context, and how many there are."""
    if told is not None:
        codes = _column({"context": told}, "context", n)
        return codes, int(codes.max()) + 1
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2 or len(table) != n:
        raise InputError("context", f"shape {table.shape}", f"a row of numbers for each of {n} rounds")
    single = bool(((table == 0) | (table == 1)).all() and (table.sum(axis=1) == 1).all())
    if single and (space is None or table.shape[1] == len(space.contexts)):
        return table.argmax(axis=1), table.shape[1]
    found, codes = np.unique(table, axis=0, return_inverse=True)
    if len(found) > MOST_CONTEXTS:
        hint = "say which group each is in: context=[..]"
        raise InputError("context", f"{len(found)} different rows", f"at most {MOST_CONTEXTS} groups", hint)
    return codes.reshape(-1), len(found)


def _by_worth(space: Space) -> Space:
    """The space with its outcome levels named by their worth, as rewards are."""
    if not isinstance(space.outcome, Levels):
        return space
    worths = sorted(set(space.utility))
    return Space(
        space.proposals,
        space.implemented,
        contexts=space.contexts,
        outcomes=[f"{worth!r}" for worth in worths],
        utility=worths,
        intended=space.intended,
    )
