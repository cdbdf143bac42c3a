"""Specs as people write them, in TOML or JSON: read, checked, and refused by file, key and value."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from takeup.errors import InputError, TakeupError
from takeup.space import Space


class SpecError(InputError):
    """Something in a spec: names the file, the key and the value."""


class Table(BaseModel):
    """A table of a spec: a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


MOST_NAMES = 10_000
Names = Annotated[int, Field(strict=True, le=MOST_NAMES)] | Annotated[list[str], Field(max_length=MOST_NAMES)]
"""How many there are, or what each is called. Specs come from afar: none may ask for what takes minutes to build."""


class SpaceTable(Table):
    """`[space]`: names and utilities; left out, everything is numbered and outcomes are failure and success."""

    proposals: Names
    implemented: Names | None = None
    contexts: Names = 1
    outcomes: Names = 2
    utility: list[float] | None = None
    intended: list[int | str] | dict[str, int | str] | None = None

    def build(self) -> Space:
        """The space."""
        return Space(**self.model_dump())


Model = TypeVar("Model", bound=BaseModel)


def read(path: str | Path) -> Mapping[str, Any]:
    """What a file says: JSON where its name ends so, else TOML."""
    file = Path(path)
    language = "JSON" if file.suffix.lower() == ".json" else "TOML"
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text) if language == "JSON" else tomllib.loads(text)
    except OSError as error:
        raise SpecError(str(path), error.strerror, f"a {language} file that can be read") from None
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(str(path), error, language) from None
    if not isinstance(content, dict):
        raise SpecError(str(path), type(content).__name__, "a table of keys and values")
    return content


def validated(model: type[Model], content: Mapping[str, Any], file: str) -> Model:
    """The model of this content; the first thing that is wrong with it is the error."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        absent = first["type"] == "missing"
        value, allowed = ("nothing", "a value") if absent else (repr(first["input"]), first["msg"])
        raise SpecError(f"{file}: {key}", value, allowed.removeprefix("Input should be ")) from None


@contextmanager
def at(file: str, key: str) -> Iterator[None]:
    """Errors that are raised inside name this file and this key."""
    try:
        yield
    except SpecError:
        raise
    except InputError as error:
        raise SpecError(f"{file}: {key}.{error.argument}", error.value, error.allowed, error.hint) from None
    except TakeupError as error:
        raise SpecError(f"{file}: {key}", "what is there", f"something else: {error}") from None
