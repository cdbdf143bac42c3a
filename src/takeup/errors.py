"""What can go wrong, as types.

TakeupError
├── InputError         a value that was passed in is not allowed (also a ValueError)
│   └── LabelError     a name or an index that the space does not have
├── LimitsError        floors and ceilings that no allocation can satisfy (also a ValueError)
├── MismatchError      two things that do not belong together
├── MissingExtraError  a part of takeup that has not been installed (also an ImportError)
├── EngineError        an engine that cannot run here, or not this
├── ConflictError      a request that contradicts what is on record
│   └── ReusedKeyError an idempotency key that was used for another request
├── StateError         a request that the trial's state does not allow
├── NotFoundError      a trial or a decision that does not exist (also a LookupError)
├── StoreError         a database that cannot be used
│   └── BusyError      a request that has to come again, as others need too much
├── AccessError        an API key that is not valid, or does not allow this
├── UnreachableError   a service that did not answer in time
├── LeaseError         a lease that is over, where no other could be had
└── UnsuitableError    a policy that cannot work in this space
"""

from typing import Any


class TakeupError(Exception):
    """Everything that takeup raises on purpose.

    Attributes:
        kind: what a service calls it that told of it, such as conflict; empty where none did.
    """

    kind: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """By what it says, as a constructor takes other arguments; an error may come from another process."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[TakeupError], args: tuple[Any, ...], attributes: dict[str, Any]) -> TakeupError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


NOTHING = "nothing"
"""The value of an argument that was left out. Other texts are quoted, so that none is mistaken for it."""


class InputError(TakeupError, ValueError):
    """A value is not allowed: names the argument, the value, what is allowed and how to fix it.

    Args:
        argument: what it is about.
        value: what was given; `NOTHING` where it was left out.
        allowed: what would be right.
        hint: how to fix it, where that is not plain.
        words: the whole message, where it is better said otherwise.
    """

    def __init__(self, argument: str, value: object, allowed: str, hint: str = "", words: str = "") -> None:
        self.argument = argument
        self.value = value
        self.allowed = allowed
        self.hint = hint
        self.words = words
        given = " is missing;" if isinstance(value, str) and value == NOTHING else f": got {value},"
        super().__init__(words or f"{argument}{given} expected {allowed}{'; ' if hint else ''}{hint}")


class LabelError(InputError):
    """A label or an index that the space does not have."""


class LimitsError(TakeupError, ValueError):
    """Floors and ceilings that no allocation can satisfy."""


class MismatchError(TakeupError, ValueError):
    """Two things that do not belong together, such as evidence from two different spaces."""


class MissingExtraError(TakeupError, ImportError):
    """A part of takeup that has not been installed: names the extra."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"this needs {module}, which is not installed; pip install 'takeup[{extra}]'")


class EngineError(TakeupError):
    """An engine that cannot run here, or cannot run this."""


class UnsuitableError(TakeupError, ValueError):
    """A policy that cannot work in this space, and what it would need."""


class ConflictError(TakeupError):
    """A request that contradicts what is on record: a used key, a decided unit, a report that is no correction."""


class ReusedKeyError(ConflictError):
    """An idempotency key that was used for another request."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the idempotency key {key!r} was used for another request")


class StateError(TakeupError):
    """A request that the trial's state does not allow."""


class NotFoundError(TakeupError, LookupError):
    """A trial or a decision that does not exist."""


class AccessError(TakeupError):
    """An API key that is not valid, or does not allow what was asked for."""


class UnreachableError(TakeupError):
    """A service that did not answer in time; what was asked of it may have happened all the same."""


class LeaseError(TakeupError):
    """A lease that is over, and no other could be had: nothing was decided; says why, and what to do."""


class StoreError(TakeupError):
    """A database that cannot be used; says whether the request may have been recorded."""


class BusyError(StoreError):
    """There is too much to do at the moment; nothing was recorded, and the same request may come again."""
