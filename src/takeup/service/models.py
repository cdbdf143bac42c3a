"""What the bodies and parameters of several routes have in common. Times are microseconds since 1970, UTC."""

from typing import Annotated

from fastapi import Header, Path
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from takeup.trial.commands import MOST_NAME
from takeup.trial.met import MOST_GIVEN

IDENTIFIER = r"^[a-z0-9][a-z0-9-]{0,63}$"
MOST_KEY = 180
"""The longest idempotency key; a batch of reports adds their places to it."""

TrialId = Annotated[str, Path(description="The trial's identifier.", pattern=IDENTIFIER)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        description="Any text that is never used for anything else: sent again, the request has no second effect.",
        min_length=1,
        max_length=MOST_KEY,
    ),
]
Value = (
    StrictInt | Annotated[float, Field(strict=True, allow_inf_nan=False)] | Annotated[str, Field(max_length=MOST_NAME)]
)
"""A number, one in a text, or a label."""
Covariates = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=MOST_NAME)], Value | None], Field(max_length=MOST_GIVEN)
]
"""What is known of a unit before it is decided about, by name; null where it is missing."""
Label = Annotated[str, Field(min_length=1, max_length=MOST_NAME)] | StrictInt
Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]


class Strict(BaseModel):
    """A body: what it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
