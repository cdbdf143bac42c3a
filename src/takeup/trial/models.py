"""The models that a policy has fitted, as a log has them: to the bit."""

import base64
from functools import lru_cache
from typing import Any

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.epochs import Epochs
from takeup.errors import InputError
from takeup.evidence import Evidence
from takeup.inference.logit import Logit
from takeup.policies.fitted import Fitted
from takeup.policies.refitting import Refitting
from takeup.rows import Rows
from takeup.trial.design import Design

CLOSE = 1e-6
"""How far two fits to the same decisions may be apart: machines add in different orders."""

_REAL = np.dtype("<f8")


def fits(design: Design) -> bool:
    """Whether its policy fits models."""
    return isinstance(design.start, Fitted)


def fitted(design: Design, rows: Rows) -> str:
    """The models of these rows, as the log has them: reals of eight bytes, the lowest first, in base 64.

    Of each model the modes, what is on and below the diagonals of the factors, row by row, and the log posteriors.
    """
    assert isinstance(design.policy, Refitting)  # `fits` has looked
    parts = [part for model in design.policy.fit(rows) for part in _parts(model)]
    return base64.b64encode(np.concatenate(parts).astype(_REAL).tobytes()).decode()


@lru_cache(maxsize=64)
def models_of(design: Design, text: str) -> tuple[Logit, ...]:
    """The models that are written so.

    Raises:
        InputError: no fit of this design can be.
    """
    assert isinstance(design.start, Fitted)  # `fits` has looked
    try:
        numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype=_REAL).astype(np.float64)
    except (ValueError, TypeError):
        numbers = np.empty(0)
    widths = [part.size for model in design.start.models for part in _parts(model)]
    if numbers.size != sum(widths) or not np.isfinite(numbers).all():
        raise InputError("models", str(text)[:40], f"{sum(widths)} finite numbers, as a fit has them")
    parts = iter(np.split(numbers, np.cumsum(widths)[:-1]))
    return tuple(_model(model, next(parts), next(parts), next(parts)) for model in design.start.models)


def state_with(design: Design, counts: IntArray, models: str | None) -> Evidence | Epochs | Fitted[Any]:
    """What the policy believes from, with the models that were fitted last, where it fits some and they have been."""
    return design.state(counts, None if models is None else models_of(design, models))


def close(design: Design, one: str, other: str) -> bool:
    """Whether two texts have the same models, but for how machines round."""
    if one == other:
        return True
    both = ([part for model in models_of(design, text) for part in _parts(model)] for text in (one, other))
    return all(np.allclose(a, b, rtol=CLOSE, atol=CLOSE) for a, b in zip(*both, strict=True))


def _parts(model: Logit) -> tuple[FloatArray, FloatArray, FloatArray]:
    below = np.tril_indices(model.factor.shape[-1])
    return model.mode.ravel(), model.factor[..., below[0], below[1]].ravel(), np.ravel(model.log_posterior)


def _model(like: Logit, mode: FloatArray, below: FloatArray, level: FloatArray) -> Logit:
    factor = np.zeros_like(like.factor)
    place = np.tril_indices(factor.shape[-1])
    factor[..., place[0], place[1]] = below.reshape(*factor.shape[:-2], -1)
    return Logit(mode.reshape(like.mode.shape), factor, level.reshape(np.shape(like.log_posterior)))
