"""Compare a plan with the locked plan. An analysis that differs from the locked plan is exploratory."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from analysis.preregistration.lock import Lock, plan_content
from batteries.canonical_json import same_json
from experiment.study.planned_analyses import PlannedAnalyses

Plan = TypeVar("Plan", bound=PlannedAnalyses)

NAMED = ("tables", "models", "tests", "comparisons", "signals")
"""Parts of a plan whose entries have names. The researcher may add exploratory entries to these parts."""


def deviations(lock: Lock, plan: PlannedAnalyses, of: dict[str, str]) -> list[str]:
    """Return one sentence for each difference between the locked plan and the plan of this analysis.

    `of` identifies the data of this analysis, for instance by the digest of the battery. There is also a sentence for
    each entry of `of` that differs from the lock.
    """
    locked, run = lock.content, plan_content(plan)
    sentences = [
        f"The {what.replace('_', ' ')} differs from the {what.replace('_', ' ')} at the time of the lock."
        for what in sorted({*lock.of, *of})
        if lock.of.get(what) != of.get(what)
    ]
    for part in sorted({*locked, *run}):
        if part in NAMED:
            sentences += _named_deviations(part.removesuffix("s"), locked.get(part, {}), run.get(part, {}))
        elif not same_json(locked.get(part), run.get(part)):
            sentences.append(
                f"`{part}` was {_shown(locked.get(part))} in the locked plan, and is {_shown(run.get(part))} in this "
                "analysis."
            )
    return sentences


def _named_deviations(part: str, locked: dict[str, Any], run: dict[str, Any]) -> list[str]:
    missing = [
        f"The {part} `{name}` is in the locked plan, but not in the plan of this analysis."
        for name in locked
        if name not in run
    ]
    new = [f"The {part} `{name}` was not locked, so it is exploratory." for name in run if name not in locked]
    changed = [
        f"The {part} `{name}` was locked as {_shown(locked[name])}, and is now {_shown(run[name])}. So it is "
        "exploratory."
        for name in run
        if name in locked and not same_json(locked[name], run[name])
    ]
    return [*missing, *changed, *new]


def _shown(value: object) -> str:
    return "the default" if value is None else json.dumps(value, ensure_ascii=False)


def with_exploratory_marked(plan: Plan, locks: Sequence[Lock]) -> Plan:
    """Return the plan, in which each entry that differs from the lock is marked as exploratory.

    Entries are tables, models, tests, comparisons and signals. An entry is also marked if it uses a flag whose
    definition changed.
    """
    if not locks:
        return plan
    locked, run = lock_that_counts(locks).content, plan_content(plan)
    flags, locked_flags = run.get("flags", {}), locked.get("flags", {})
    changed = {name for name in {*flags, *locked_flags} if not same_json(flags.get(name), locked_flags.get(name))}
    changes: dict[str, Any] = {}
    for part in NAMED:
        if not hasattr(plan, part):
            continue
        changes[part] = {
            name: planned
            if same_json(run[part][name], locked.get(part, {}).get(name)) and not _uses(run[part][name], changed)
            else planned.model_copy(update={"exploratory": True})
            for name, planned in getattr(plan, part).items()
        }
    return plan.model_copy(update=changes)


def lock_that_counts(locks: Sequence[Lock]) -> Lock:
    """Return the newest lock that was made before the first session.

    A lock that was made after the first session cannot make an analysis confirmatory. If all locks were made after the
    first session, return the first lock.
    """
    return next((lock for lock in reversed(locks) if not lock.n_sessions), locks[0])


def _uses(planned: Any, flags: set[str]) -> bool:
    """Return True if an entry of a plan uses one of the flags, as a column or in a formula."""
    words = set(re.findall(r"[A-Za-z0-9_-]+", json.dumps(planned)))
    return bool(words & flags)


@dataclass(frozen=True)
class Registration:
    """The statement on the preregistration of a plan, for the report."""

    words: str
    deviations: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return the statement as plain JSON values."""
        return {"words": self.words, "deviations": self.deviations}


NOT_LOCKED = Registration(
    "No plan was locked before the data were seen. So the researcher may have chosen these analyses after seeing the "
    "results. For the next study, lock the plan first: `equipoise analyze ... --lock`.",
    [],
)


def registration_of(
    locks: Sequence[Lock],
    plan: PlannedAnalyses,
    of: dict[str, str],
    first_at: str | None,
    by_researcher: Sequence[str] = (),
) -> Registration:
    """Return the statement on the lock of a plan, with the deviations of this analysis from the locked plan.

    Parameters
    ----------
    locks
        The locks of the plan (`read_locks`).
    plan, of
        The plan of this analysis, and the data of this analysis (see `Lock.of`).
    first_at
        Start of the first session of a person in the data (UTC, ISO 8601); None if unknown.
    by_researcher
        Sentences on sessions that the researcher excluded. Such an exclusion is a deviation, even if the plan is
        identical to the locked plan.
    """
    if not locks:
        return NOT_LOCKED
    lock = lock_that_counts(locks)
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
    words += "."
    found = [*deviations(lock, plan, of), *by_researcher]
    if not found:
        words += " The plan of this analysis is identical to the locked plan."
    return Registration(words, found)


def _day(time: str) -> str:
    return time[:16].replace("T", " ") + " UTC"
