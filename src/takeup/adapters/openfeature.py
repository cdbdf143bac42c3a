"""An OpenFeature provider: a flag is a trial, a variant a proposal, exposure what was implemented, `track` the outcome.

Asking for a flag is asking for a decision: whoever asks enters the trial. The targeting key is the unit.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from takeup.errors import (
    ConflictError,
    InputError,
    MissingExtraError,
    NotFoundError,
    StateError,
    TakeupError,
)

try:
    from openfeature import exception
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.flag_evaluation import (
        FlagEvaluationDetails,
        FlagResolutionDetails,
        FlagValueType,
        Reason,
    )
    from openfeature.hook import Hook, HookContext, HookHints
    from openfeature.provider import AbstractProvider, Metadata
    from openfeature.track import TrackingEventDetails
except ImportError:
    raise MissingExtraError("openfeature-sdk", "adapters") from None

if TYPE_CHECKING:
    from takeup.client import RemoteTrial
    from takeup.live import Trial

LOG = logging.getLogger("takeup.openfeature")

Value = TypeVar("Value")
AnyTrial: TypeAlias = "Trial | RemoteTrial"
"""Here, or at a service."""
REPORTED = ("implemented", "outcome", "missing", "reason")
"""What a tracked event may say of a decision."""


class TakeupProvider(AbstractProvider):
    """Flags that trials decide.

    Reasons are SPLIT where a trial decided, and DISABLED, with the default, where it does not run. Errors come as
    OpenFeature's codes: FLAG_NOT_FOUND, TARGETING_KEY_MISSING, INVALID_CONTEXT where the trial does not know the
    context or has decided for the unit in another one, TYPE_MISMATCH, and GENERAL for all else, such as a service that
    does not answer.

    Args:
        trials: by the key of their flag; or one or several, whose identifiers are the keys.
        values: what each proposal of a flag stands for, where it is no text: {"dark": {"new": True, "old": False}}.
        context: the attribute of the evaluation context that says which of the trial's contexts a unit is in.
        occasion: the attribute that says which of the unit's decisions it is, where a unit has many.
        events: what tracked events mean: {"purchase": {"flag": "checkout", "outcome": "bought"}}.
        exposed: whether whoever evaluates a flag is exposed to it by that: the action of the proposal's name is then
            reported as implemented. Else the application says so, by `track` or by the hook `Exposure`.
    """

    def __init__(
        self,
        trials: "Mapping[str, AnyTrial] | Sequence[AnyTrial] | AnyTrial",
        *,
        values: Mapping[str, Mapping[str, FlagValueType]] | None = None,
        context: str = "context",
        occasion: str = "occasion",
        events: Mapping[str, Mapping[str, Any]] | None = None,
        exposed: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(trials, Mapping):
            several = trials if isinstance(trials, Sequence) else [trials]
            trials = {trial.id: trial for trial in several}
        self._trials = dict(trials)
        self._values = values or {}
        self._context, self._occasion = context, occasion
        self._events = events or {}
        self._exposed = exposed
        for event, said in self._events.items():
            unknown = set(said) - {"flag", *REPORTED}
            if unknown or said.get("flag") not in self._trials:
                allowed = f"a flag of {', '.join(self._trials)}, and of {', '.join(REPORTED)} what it means"
                raise InputError("events", f"{event!r}: {dict(said)}", allowed)

    def get_metadata(self) -> Metadata:
        """Who provides the flags."""
        return Metadata("takeup")

    def get_provider_hooks(self) -> list[Hook]:
        """The exposure of those who evaluate, if that is what it is."""
        return [Exposure(self)] if self._exposed else []

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """The proposal's name, or the text that it stands for."""
        return self._resolve(flag_key, default_value, evaluation_context, str)

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """What the proposal stands for, by `values`."""
        return self._resolve(flag_key, default_value, evaluation_context, bool)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """What the proposal stands for, by `values`."""
        return self._resolve(flag_key, default_value, evaluation_context, int)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """What the proposal stands for, by `values`."""
        return self._resolve(flag_key, default_value, evaluation_context, float, int)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        """What the proposal stands for, by `values`."""
        return self._resolve(flag_key, default_value, evaluation_context, list, tuple, dict)

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report what became of the unit's decision.

        The event's name is a flag's key, or one of `events`. Its attributes `implemented`, `outcome`, `missing` and
        `reason` are as in `Trial.report`; its value is the outcome where no attribute is. Events of other names, and of
        units that the trial has no decision for, are not about it.
        """
        said = dict(self._events.get(tracking_event_name, {"flag": tracking_event_name}))
        trial = self._trials.get(said.pop("flag"))
        if trial is None:
            return
        details = tracking_event_details or TrackingEventDetails()
        if details.value is not None:
            said.setdefault("outcome", details.value)
        said |= {name: details.attributes[name] for name in REPORTED if name in details.attributes}
        unit, occasion = self._unit(evaluation_context)
        try:
            trial.report(unit=unit, occasion=occasion, **said)
        except NotFoundError:
            LOG.info("event %r of unit %r: trial %s has no decision for it", tracking_event_name, unit, trial.id)
        except TakeupError as error:
            raise _told(error) from error

    def expose(self, flag_key: str, implemented: str, evaluation_context: EvaluationContext | None) -> None:
        """Report what was implemented of the unit's decision."""
        unit, occasion = self._unit(evaluation_context)
        self._trials[flag_key].report(unit=unit, occasion=occasion, implemented=implemented)

    def _resolve(
        self, flag_key: str, default: Value, given: EvaluationContext | None, *kinds: type
    ) -> FlagResolutionDetails[Value]:
        trial = self._trials.get(flag_key)
        if trial is None:
            raise exception.FlagNotFoundError(f"no trial decides {flag_key!r}; there are {', '.join(self._trials)}")
        values = self._values.get(flag_key)
        wrong = [value for value in (values or {}).values() if type(value) not in kinds]
        if wrong or (values is None and str not in kinds):  # before anybody enters the trial
            what = f"{wrong[0]!r}" if wrong else "a text"
            raise exception.TypeMismatchError(f"{flag_key} is {what}, not {kinds[0].__name__}; values= says what it is")
        unit, occasion = self._unit(given)
        context: Any = (given or EvaluationContext()).attributes.get(self._context)
        try:
            decision = trial.decide(unit, context, occasion=occasion)
        except StateError as error:
            return FlagResolutionDetails(default, reason=Reason.DISABLED, error_message=str(error))
        except TakeupError as error:
            raise _told(error) from error
        proposal: Any = decision.proposal
        if values is not None and proposal not in values:
            raise exception.ParseError(f"values of {flag_key} do not say what {proposal!r} stands for")
        value: Any = proposal if values is None else values[proposal]
        number = getattr(decision, "number", None)  # one that was drawn away from the service has none yet
        told: dict[str, bool | int | float | str] = {"trial": trial.id, "context": decision.context}
        return FlagResolutionDetails(
            value,
            reason=Reason.SPLIT,
            variant=proposal,
            flag_metadata=told | ({"fallback": True} if number is None else {"decision": number}),
        )

    def _unit(self, given: EvaluationContext | None) -> tuple[str, str | None]:
        if given is None or not given.targeting_key:
            raise exception.TargetingKeyMissingError("the targeting key says which unit it is for, and there is none")
        occasion = given.attributes.get(self._occasion)
        return given.targeting_key, None if occasion is None else str(occasion)


class Exposure(Hook):
    """Reports the proposal as implemented after a flag was evaluated, for clients that act on what they get at once.

    A report that fails is logged and keeps nobody from the proposal; what was reported before stands.
    """

    def __init__(self, provider: TakeupProvider) -> None:
        self._provider = provider

    def finally_after(
        self, hook_context: HookContext, details: FlagEvaluationDetails[FlagValueType], hints: HookHints
    ) -> None:
        """Report it, if a trial decided."""
        if details.reason != Reason.SPLIT or details.variant is None:
            return
        try:
            self._provider.expose(details.flag_key, details.variant, hook_context.evaluation_context)
        except TakeupError as error:
            LOG.warning("exposure to %s was not recorded: %s", details.flag_key, error)


def _told(error: TakeupError) -> exception.OpenFeatureError:
    """An error of takeup as OpenFeature has it."""
    if isinstance(error, InputError | ConflictError):
        return exception.InvalidContextError(str(error))
    return exception.GeneralError(str(error))
