"""What the bodies and parameters of several routes have in common. Times are microseconds since 1970, UTC."""

from typing import Annotated

from fastapi import Header, Path
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from takeup.trial.commands import MOST_NAME

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
Label = Annotated[str, Field(min_length=1, max_length=MOST_NAME)] | StrictInt
Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]


class Strict(BaseModel):
    """A body: what it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
