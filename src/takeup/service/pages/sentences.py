"""What a trial's findings mean, in sentences."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from takeup.live import Progress
from takeup.live.findings import Disagreement, Findings, leader_of, probability_of
from takeup.live.model_checks import ModelCheck, SeenCheck, Withheld
from takeup.live.standing import BELIEVED, NAIVE, standing
from takeup.live.time_series import SampleRatio
from takeup.outcomes import Levels
from takeup.service.pages.templates import count, percent, plural
from takeup.trial.spec import WordsTable
from takeup.trial.stopping import FEW, chance

State = Literal["fine", "sounds", "unknown"]


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold if the trial is to be trusted.

    Attributes:
        name: what it is called.
        state: whether it holds as far as the data tell.
        short: the verdict, for a list.
        words: what that means.
        detail: the figures behind it.
    """

    name: str
    state: State
    short: str
    words: str
    detail: str = ""


def headline(found: Findings) -> str:
    """How far the trial is, in a sentence; what the planned reading says leads once there is enough for it."""
    progress = found.summary.progress
    if not progress.decisions:
        return "No decision has been made yet."
    if not progress.outcomes_counted:
        return f"{plural(progress.decisions, 'decision')}; no outcome is known yet; {pending(progress)}."
    if progress.outcomes_counted < FEW:
        return f"{standing(found.summary)}; {pending(progress)}."
    return blinded_headline(progress)


def brief(found: Findings, planned: str = "") -> str:
    """How the trial stands, for a list: what the planned reading says, or what is believed where nobody has read it."""
    said = standing(found.summary)
    return planned or (said if found.summary.progress.outcomes_counted < FEW else f"{BELIEVED}: {said}")


def believed(found: Findings, words: WordsTable = WordsTable()) -> str | None:
    """What models make of the data, called what it is, and what is still to come; None where it is too early."""
    progress = found.summary.progress
    if progress.outcomes_counted < FEW:
        return None
    said = "; ".join([standing(found.summary), *_more(found, words)])
    counts = f"{plural(progress.decisions, 'decision')}; {pending(progress)}"
    return f"{BELIEVED}, {NAIVE}: {said}. {counts}."


def blinded_headline(progress: Progress) -> str:
    """The same without a word about any arm."""
    if not progress.decisions:
        return "No decision has been made yet."
    known = f"the outcome of {count(progress.outcomes_counted)} is known"
    return f"{plural(progress.decisions, 'decision')}; {known}; {pending(progress)}."


def pending(progress: Progress) -> str:
    """What is still to come."""
    said = _pending(progress)
    if progress.outcomes_waiting:
        some = plural(progress.outcomes_waiting, "outcome")
        one = progress.outcomes_waiting == 1
        verbs = "is reported and counts once its" if one else "are reported and count once their"
        return f"{some} {verbs} window has closed; {said}"
    return said


def _pending(progress: Progress) -> str:
    if not progress.outcomes_pending:
        return "no outcome pending"
    some = "all" if progress.outcomes_late == progress.outcomes_pending else count(progress.outcomes_late)
    late = f", {some} of them late" if progress.outcomes_late else ""
    return f"{plural(progress.outcomes_pending, 'outcome')} pending{late}"


def _more(found: Findings, words: WordsTable) -> Iterator[str]:
    """What the policy's model says where that is something else, and how many complied."""
    leader, split = leader_of(found.summary.overall), found.split
    if found.personal:
        of_each = f"what it believes of each {words.unit} by itself"
        yield f"that is if all {words.several} had the same, while {found.summary.policy} decides by {of_each}"
    if split is not None:
        yield f"the policy's own model says {split.other} ({chance(split.other_probability)})"
    elif found.modelled and found.summary.model_doubt is None:
        yield f"by {found.summary.policy}'s own model the probability is {chance(probability_of(leader))}"
    intended, z = found.space.intended, found.space.proposals.index(leader.label)
    row = found.taken()[z]
    known = sum(row)
    if intended is not None and known:
        yield f"{percent(row[intended[z]] / known)} of those {words.offered} {leader.label} {words.took} it"


def regret(found: Findings, words: WordsTable = WordsTable()) -> str:
    """What better proposals would have brought, in people where one of two outcomes is the good one."""
    how, space = found.space.outcome.shown, found.space
    estimate = found.summary.overall.regret
    mean, low, high = (f"{each:,.{how.summed_digits}f}" for each in (estimate.mean, estimate.low, estimate.high))
    some = f"{mean} ({low} to {high})"
    if isinstance(space.outcome, Levels) and space.outcome.good is not None:
        return f"{some} {words.spared(space.outcome.good)}, had the best always been proposed"
    if isinstance(space.outcome, Levels):
        return f"{some} reward that better proposals would have brought"
    worth = (f" {how.unit}" if how.unit else "") + (" worth" if how.what == "expected worth" else "")
    verb = "spared" if how.sign < 0 else "gained"
    return f"{some}{worth} that better proposals would have {verb}, all decisions added up"


def checks(found: Findings) -> list[Check]:
    """Whether to trust it."""
    summary = found.summary
    drawn = [] if summary.fallback_ratio is None else [_fallbacks(summary.fallback_ratio, summary.progress)]
    checked = [_ratio(found), _ignorable(summary.ignorable), _exclusion(summary.exclusion), _late(summary.progress)]
    seen = [] if summary.seen_by_outcome is None else [_seen(summary.seen_by_outcome)]
    return checked + seen + drawn


def warnings(found: Findings) -> list[str]:
    """Warnings for the list of trials; empty where all is well."""
    said = [check.short for check in checks(found) if check.state == "sounds"]
    if any(each.kind != "open" for each in found.disagreements):
        said.append("Readings of the data disagree")
    advice = found.summary.advice
    if advice.stop:
        reached = advice.contexts if all(each.reached for each in advice.contexts) else ()
        best = [each.arm if each.context is None else f"{each.arm} in {each.context}" for each in reached]
        said.append("The stopping rule advises an end" + (f": best is {', '.join(best)}" if best else ""))
    return said


def disagreement(found: Disagreement) -> str:
    """In plain language."""
    if found.kind == "selection":
        return (
            f"Those who were offered {found.proposal} and took it fared otherwise than all who took {found.other}:"
            " their intervals do not overlap. Who complies is not like who does not, and comparing by what was taken"
            " misleads."
        )
    both = (
        f"By intention to treat {found.proposal} is best (probability {chance(found.probability)});"
        f" {'by ' if found.reading != 'as treated' else ''}{found.reading} it is {found.other}"
        f" ({chance(found.other_probability)})."
    )
    if found.kind == "open":
        return f"{both} Neither is sure yet."
    return (
        f"{both} They cannot both be right. Intention to treat rests on the proposals alone, which were drawn at"
        " random; the other assumes that those who comply are like those who do not."
    )


def _scores(ratio: SampleRatio) -> str:
    scores = ", ".join(f"{label}: {z:.1f}" for label, z in ratio.z.items() if z is not None)
    return f"Scores {scores or 'none'}; p = {ratio.p_value:.2g}. It sounds below 0.001."


def _fallbacks(ratio: SampleRatio, progress: Progress) -> Check:
    """Nobody sees a client draw: what it says it drew must at least look like it."""
    name, detail = "Fallbacks", _scores(ratio)
    if ratio.alarm:
        words = (
            "What clients say they drew while they could not reach the service did not come as often as was agreed."
            " Somebody may have chosen: look at who recorded them before you use the results."
        )
        return Check(name, "sounds", "Fallbacks did not come as often as agreed", words, detail)
    if progress.fallbacks < FEW:
        return _early(name, "Fallbacks", progress.fallbacks, "fallback", detail)
    return Check(name, "fine", "Fallbacks came as often as agreed", "Nothing says that somebody chose them.", detail)


def _ratio(found: Findings) -> Check:
    ratio, name = found.summary.sample_ratio, "Sample ratio"
    detail = _scores(ratio)
    if not found.summary.progress.decisions:
        return Check(name, "unknown", "No proposal yet", "There is no proposal to count yet.")
    if ratio.alarm:
        words = (
            "Proposals did not come as often as the probabilities in the log say. Some decisions are missing, were made"
            " twice or were not drawn from these probabilities: find out which before you use the results."
        )
        return Check(name, "sounds", "Proposals did not come as often as the log says", words, detail)
    if found.summary.progress.decisions < FEW:
        return _early(name, "Proposals", found.summary.progress.decisions, "decision", detail)
    words = "Proposals came as often as the probabilities in the log say, adapting as they do."
    return Check(name, "fine", "Proposals came as often as logged", words, detail)


def _ignorable(found: ModelCheck | Withheld) -> Check:
    name = "Ignorable compliance"
    if isinstance(found, Withheld):
        return Check(name, "unknown", "Compliance not checked", f"Not checked: {found.reason}.")
    if not found.used:
        return Check(name, "unknown", "Compliance not checked", "No decision has both action and outcome known.")
    if found.alarm:
        words = (
            "Who complies differs from who does not: outcomes depend on the proposal even among those who took the same"
            " action. TS-Obs and TS-Lat, and everything read by action taken, can be wrong here. Intention to treat is"
            " not."
        )
        return Check(name, "sounds", "Those who comply differ from those who do not", words, found.detail)
    if found.used < FEW:
        return _early(name, "Compliance", found.used, "known outcome", found.detail)
    words = (
        "Nothing says that those who comply differ from those who do not. That is no proof: small differences need many"
        " decisions to show. You may look as often as you like."
    )
    return Check(name, "fine", "Compliers look like the others", words, found.detail)


def _early(name: str, what: str, number: int, noun: str, detail: str) -> Check:
    """A check that does not sound, with too few decisions to mean anything."""
    return Check(name, "unknown", f"{what} not judged yet", f"Too early to say, with {plural(number, noun)}.", detail)


def _exclusion(found: ModelCheck | Withheld) -> Check:
    name = "Exclusion"
    if isinstance(found, Withheld):
        return Check(name, "unknown", "Direct effects not checked", f"Not checked: {found.reason}.")
    if found.alarm:
        words = (
            "A proposal acts on outcomes in another way than through the action, or actions or outcomes are recorded"
            " differently after one proposal than after another."
        )
        return Check(name, "sounds", "A proposal acts past the action taken", words, found.detail)
    if found.used < FEW:
        return _early(name, "Direct effects", found.used, "known outcome", found.detail)
    words = "Nothing says that a proposal acts on outcomes past the action that was taken. That is no proof."
    return Check(name, "fine", "No direct effect of proposals seen", words, found.detail)


def _seen(found: SeenCheck | Withheld) -> Check:
    name = "Seen by outcome"
    if isinstance(found, Withheld):
        return Check(name, "unknown", "Unknown actions not compared", f"Not compared: {found.reason}.")
    if found.alarm:
        words = (
            f"{found.sentence} Whether it is known goes with the outcome. That may be as outcomes, or what people took,"
            " decide about what is written down; which of them, nobody can tell from this. What is read by action taken"
            " leaves the others out and is off; intention to treat is not. Find out of whom it is not known, and why."
        )
        return Check(name, "sounds", "Whether an action is known goes with the outcome", words, found.detail)
    if found.used < FEW:
        return _early(name, "Unknown actions", found.used, "known outcome", found.detail)
    words = (
        f"{found.sentence} Nothing says that whether it is known goes with the outcome. That is no proof: if it goes"
        " with what people took, it shows only as far as that changes outcomes."
    )
    return Check(name, "fine", "Those with unknown actions fare alike", words, found.detail)


def _late(progress: Progress) -> Check:
    late, name = progress.outcomes_late, "Late outcomes"
    if not late:
        return Check(name, "fine", "No outcome is late", "No outcome window has closed without an outcome.")
    words = (
        "Their window has closed and nobody has reported them. If some outcomes are slower to be reported than others,"
        " the values are off: ask for them, or declare them missing."
    )
    return Check(name, "sounds", f"{plural(late, 'outcome')} late", words)
