"""Compare the plan of an analysis with the earlier plan: the locked plan or the registered plan.

The researcher locks a plan. If no plan was locked, the earlier plan is the plan that the store saved (registered) with
the version of the study. Results that differ from the earlier plan are marked as exploratory.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from pydantic import ValidationError

from analysis.preregistration.lock import Lock, plan_content
from batteries.canonical_json import same_json
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.exclusion_rules import ExclusionRule
from experiment.study.planned_analyses import PlannedAnalyses, PlannedTest

Plan = TypeVar("Plan", bound=PlannedAnalyses)

NAMED = ("tables", "models", "tests", "confidence_ratings", "comparisons", "signals")
"""Parts of a plan whose entries have names. Only entries of these parts can be exploratory."""


CONSEQUENCES = {
    "exclusions": "So every result that uses trials of participants deviates from the {recorded} plan.",
    "correction": "So every conclusion from a corrected p value deviates from the {recorded} plan.",
    "confidence": "So every confidence interval and every level of significance deviates from the {recorded} plan.",
    "invalid": "So every result that uses invalid or missing responses of models deviates from the {recorded} plan.",
    "items": "So the confidence intervals of participants' accuracy and of differences from models deviate from the "
    "{recorded} plan.",
    "item_cluster": "So every confidence interval that uses the clusters of items deviates from the {recorded} plan.",
    "by": "So the tables and figures by the factors in `by` deviate from the {recorded} plan.",
    "difficulty": "So the results by level of difficulty are exploratory.",
    "coding": "So every result that uses codes of answers deviates from the {recorded} plan.",
    "flags": "So each result that uses a changed flag is exploratory.",
}
"""The consequence of a change of a setting, which applies to many results."""


@dataclass(frozen=True)
class RegisteredPlan:
    """The plan that the store saved with a version of the study, before the first session of this version."""

    recorded: ClassVar[str] = "registered"

    content: dict[str, Any]
    """The plan without default values (`plan_content`)."""
    of: dict[str, str]
    """The data for which the plan was made, such as the digest of the battery; see `Lock.of`."""
    version: str
    """The version of the study."""
    registered_at: str
    """Time of the registration (UTC, ISO 8601)."""
    n_sessions: int
    """Number of sessions of this version that began after the registration."""


EarlierPlan = Lock | RegisteredPlan


def deviations(earlier: EarlierPlan, plan: PlannedAnalyses, of: dict[str, str]) -> list[str]:
    """Return one sentence for each difference between an earlier plan and the plan of this analysis.

    `of` identifies the data of this analysis, for instance by the digest of the battery. If the earlier plan was made
    for other data, there is a sentence on this difference too.
    """
    before, run, recorded = earlier.content, plan_content(plan), earlier.recorded
    event = "lock" if isinstance(earlier, Lock) else "registration"
    sentences = [
        f"The {what.replace('_', ' ')} differs from the {what.replace('_', ' ')} at the time of the {event}."
        for what in sorted({*earlier.of, *of})
        if earlier.of.get(what) != of.get(what)
    ]
    for part in sorted({*before, *run}):
        if part in NAMED:
            what = part.removesuffix("s").replace("_", " ")
            sentences += _named_deviations(what, recorded, before.get(part, {}), run.get(part, {}))
        elif not same_json(before.get(part), run.get(part)):
            consequence = CONSEQUENCES.get(part, "").format(recorded=recorded)
            sentences.append(
                f"`{part}` was {_shown(before.get(part))} in the {recorded} plan, and is {_shown(run.get(part))} in "
                f"this analysis. {consequence}".strip()
            )
    return sentences


def _named_deviations(part: str, recorded: str, before: dict[str, Any], run: dict[str, Any]) -> list[str]:
    missing = [
        f"The {part} `{name}` is in the {recorded} plan, but not in the plan of this analysis."
        for name in before
        if name not in run
    ]
    new = [f"The {part} `{name}` was not {recorded}, so it is exploratory." for name in run if name not in before]
    changed = [
        f"The {part} `{name}` was {recorded} as {_shown(before[name])}, and is now {_shown(run[name])}. So it is "
        "exploratory."
        for name in run
        if name in before and not same_json(before[name], run[name])
    ]
    return [*missing, *changed, *new]


def _shown(value: object) -> str:
    return "the default" if value is None else json.dumps(value, ensure_ascii=False)


def with_exploratory_marked(plan: Plan, earlier: EarlierPlan | None) -> Plan:
    """Return the plan. Each entry that differs from the earlier plan is marked as exploratory.

    The marked entries may be tables, models, tests, confidence ratings, comparisons and signals. An entry is also
    marked if it uses a flag whose definition changed.
    """
    if earlier is None:
        return plan
    before, run = earlier.content, plan_content(plan)
    changed = _changed_flags(before, run)
    changes: dict[str, Any] = {}
    for part in NAMED:
        if not hasattr(plan, part):
            continue
        changes[part] = {
            name: planned
            if same_json(run[part][name], before.get(part, {}).get(name)) and not _uses(run[part][name], changed)
            else planned.model_copy(update={"exploratory": True})
            for name, planned in getattr(plan, part).items()
        }
    return plan.model_copy(update=changes)


def lock_that_counts(locks: Sequence[Lock]) -> Lock | None:
    """Return the newest lock that was made before the first session; None if there are no locks.

    If all locks were made after the first session, return the first lock.
    """
    first = locks[0] if locks else None
    return next((lock for lock in reversed(locks) if not lock.n_sessions), first)


def _changed_flags(before: dict[str, Any], run: dict[str, Any]) -> set[str]:
    flags, flags_before = run.get("flags", {}), before.get("flags", {})
    return {name for name in {*flags, *flags_before} if not same_json(flags.get(name), flags_before.get(name))}


def _changed_tests(earlier: EarlierPlan, plan: PlannedAnalyses) -> dict[str, PlannedTest]:
    """Return the confirmatory tests of the earlier plan that this plan changed or left out."""
    before, run = earlier.content, plan_content(plan)
    flags, tests = _changed_flags(before, run), run.get("tests", {})
    changed = {
        name: planned
        for name, planned in before.get("tests", {}).items()
        if not same_json(planned, tests.get(name)) or _uses(planned, flags)
    }
    try:
        of_plan = PlannedAnalyses.model_validate({"tests": changed}).tests
    except ValidationError:  # A kind of test that an earlier version of Equipoise had.
        return {}
    return {name: planned for name, planned in of_plan.items() if not planned.exploratory}


def _uses(planned: Any, flags: set[str]) -> bool:
    """Return True if the entry `planned` of a plan uses one of the flags."""
    words = set(re.findall(r"[A-Za-z0-9_-]+", json.dumps(planned)))
    return bool(words & flags)


@dataclass(frozen=True)
class Registration:
    """The statement on the preregistration of a plan, for the report."""

    words: str
    deviations: list[str]
    recorded: str = "locked"
    """The word for the way in which the earlier plan was saved: `locked` or `registered`."""
    earlier_rules: Mapping[str, tuple[ExclusionRule, ...]] = field(default_factory=dict)
    """The exclusion rules of the earlier plan, if they changed. The key is `as locked` or `as registered`."""
    changed_settings: tuple[str, ...] = ()
    """The changed settings that apply to many results (`CONSEQUENCES`). Exclusions by the researcher count as a change
    of `exclusions`.
    """
    changed_tests: Mapping[str, PlannedTest] = field(default_factory=dict)
    """The confirmatory tests of the earlier plan that this plan changed or left out. They still count in the correction
    for the number of tests in their families.
    """
    is_recorded: bool = True
    """False if there is no earlier plan. Then no result of the analysis is preregistered."""

    def as_json(self) -> dict[str, Any]:
        """Return the statement as plain JSON values."""
        return {"words": self.words, "deviations": self.deviations}


_HOW_TO_LOCK = "For the next study, lock the plan first and publish its digest: `equipoise analyze ... --lock`."
NOT_LOCKED = Registration(
    "No plan was locked before the data were seen. So the researcher may have chosen these analyses after seeing the "
    f"results. {_HOW_TO_LOCK}",
    [],
    is_recorded=False,
)


def registration_of(
    locks: Sequence[Lock],
    registered: RegisteredPlan | None,
    plan: PlannedAnalyses,
    of: dict[str, str],
    first_at: str | None,
    by_researcher: Sequence[str] = (),
) -> Registration:
    """Return the statement on the earlier plan, with the deviations of this analysis from it.

    Parameters
    ----------
    locks
        The locks of the plan (`read_locks`).
    registered
        The plan that the store saved with the study's version, or None. It is used only if there are no locks.
    plan, of
        The plan of this analysis, and a description of its data (see `Lock.of`).
    first_at
        Start of the first session of a person in the data (UTC, ISO 8601); None if unknown.
    by_researcher
        Sentences on sessions that the researcher excluded. Such exclusions are deviations, even if the two plans are
        identical.
    """
    lock = lock_that_counts(locks)
    earlier: EarlierPlan
    if lock is not None:
        earlier, words, advice = lock, _lock_words(lock, locks, first_at), ""
    elif registered is not None:
        earlier, words = registered, _registration_words(registered)
        advice = f" The store is not public, so readers cannot check this. {_HOW_TO_LOCK}"
    else:
        return NOT_LOCKED
    consequence = CONSEQUENCES["exclusions"].format(recorded=earlier.recorded)
    found = [*deviations(earlier, plan, of), *(f"{sentence} {consequence}" for sentence in by_researcher)]
    run = plan_content(plan)
    changed = tuple(
        part
        for part in CONSEQUENCES
        if (part == "exclusions" and by_researcher) or not same_json(earlier.content.get(part), run.get(part))
    )
    same = "" if found else f" The plan of this analysis is identical to the {earlier.recorded} plan."
    return Registration(
        f"{words}{same}{advice}",
        found,
        earlier.recorded,
        _changed_rules(earlier, plan),
        changed,
        _changed_tests(earlier, plan),
    )


def _lock_words(lock: Lock, locks: Sequence[Lock], first_at: str | None) -> str:
    words = f"The plan was locked on {_day(lock.locked_at)} (digest {lock.digest})"
    if lock.n_sessions:
        sessions = "session" if lock.n_sessions == 1 else "sessions"
        words += f", when {lock.n_sessions:,} {sessions} had already started"
    elif first_at is not None:
        words += (
            ", after the start of the first session"
            if first_at < lock.locked_at
            else ", before the start of the first session"
        )
    if len(locks) > 1:
        words += f"; this is lock {locks.index(lock) + 1} of {len(locks)} (first lock: {_day(locks[0].locked_at)})"
    return f"{words}."


def _registration_words(registered: RegisteredPlan) -> str:
    n = registered.n_sessions
    sessions = "the only session of a participant" if n == 1 else f"the {n:,} sessions of participants"
    return (
        f"No plan was locked. The store registered a plan with version {registered.version} of the study on "
        f"{_day(registered.registered_at)}, before {sessions} with this version began."
    )


def _changed_rules(earlier: EarlierPlan, plan: PlannedAnalyses) -> dict[str, tuple[ExclusionRule, ...]]:
    before = earlier.content.get("exclusions")
    if not isinstance(plan, AnalysisPlan) or same_json(before, plan_content(plan).get("exclusions")):
        return {}
    try:
        rules = AnalysisPlan.model_validate({"exclusions": before or []}).exclusions
    except ValidationError:  # A rule that an earlier version of Equipoise had.
        return {}
    return {f"as {earlier.recorded}": rules}


def _day(time: str) -> str:
    return time[:16].replace("T", " ") + " UTC"
