"""Deviations of a plan from its lock, and the analyses that are exploratory for that reason."""

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
"""Parts of a plan that have names, and may be extended by exploratory analyses."""


def deviations(lock: Lock, plan: PlannedAnalyses, of: dict[str, str]) -> list[str]:
    """Return the differences of a plan, or of its subject, from the lock, in sentences; empty if there are none."""
    locked, run = lock.content, plan_content(plan)
    sentences = [
        f"The {what.replace('_', ' ')} differs from the one that the plan was locked for."
        for what in sorted({*lock.of, *of})
        if lock.of.get(what) != of.get(what)
    ]
    for part in sorted({*locked, *run}):
        if part in NAMED:
            sentences += _named_deviations(part.removesuffix("s"), locked.get(part, {}), run.get(part, {}))
        elif not same_json(locked.get(part), run.get(part)):
            sentences.append(
                f"`{part}` was {_shown(locked.get(part))} when the plan was locked, and is {_shown(run.get(part))}."
            )
    return sentences


def _named_deviations(part: str, locked: dict[str, Any], run: dict[str, Any]) -> list[str]:
    gone = [f"The {part} `{name}` was locked, and is no longer in the plan." for name in locked if name not in run]
    new = [f"The {part} `{name}` was not locked: it is exploratory." for name in run if name not in locked]
    changed = [
        f"The {part} `{name}` was locked as {_shown(locked[name])}, and is {_shown(run[name])}: it is exploratory."
        for name in run
        if name in locked and not same_json(locked[name], run[name])
    ]
    return [*gone, *changed, *new]


def _shown(value: object) -> str:
    return "left to its default" if value is None else json.dumps(value, ensure_ascii=False)


def with_exploratory_marked(plan: Plan, locks: Sequence[Lock]) -> Plan:
    """Return the plan with every table, model, test and comparison marked exploratory that differs from the lock."""
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
    """Return the newest lock that was made before data: a later one cannot make an analysis confirmatory."""
    return next((lock for lock in reversed(locks) if not lock.n_sessions), locks[0])


def _uses(planned: Any, flags: set[str]) -> bool:
    """Return True if a part of a plan names a flag, as a column or in a formula."""
    words = set(re.findall(r"[A-Za-z0-9_-]+", json.dumps(planned)))
    return bool(words & flags)


@dataclass(frozen=True)
class Registration:
    """The report's statement on a plan's preregistration."""

    words: str
    deviations: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return the statement as plain JSON values."""
        return {"words": self.words, "deviations": self.deviations}


NOT_LOCKED = Registration(
    "No plan was locked before the data were seen, so the analyses may have been chosen for their results. Lock "
    "the next plan first, with `equipoise analyze ... --lock`.",
    [],
)


def registration_of(
    locks: Sequence[Lock],
    plan: PlannedAnalyses,
    of: dict[str, str],
    first_at: str | None,
    by_researcher: Sequence[str] = (),
) -> Registration:
    """Return whether a plan was locked, when, and the deviations from it.

    Parameters
    ----------
    locks
        From `read_locks`.
    plan, of
        The plan of this analysis, and its subject.
    first_at
        Start of the first person's session in the data (UTC, ISO 8601); None if unknown.
    by_researcher
        Deviations other than changes of the plan: sentences on exclusions by the researcher.
    """
    if not locks:
        return NOT_LOCKED
    lock = lock_that_counts(locks)
    words = f"The plan was locked on {_day(lock.locked_at)} (digest {lock.digest})"
    if lock.n_sessions:
        sessions = "session" if lock.n_sessions == 1 else "sessions"
        words += f", when {lock.n_sessions:,} {sessions} had begun already"
    elif first_at is not None:
        words += ", after the first session began" if first_at < lock.locked_at else ", before the first session began"
    if len(locks) > 1:
        words += f"; it is lock {locks.index(lock) + 1} of {len(locks)}, the first made on {_day(locks[0].locked_at)}"
    words += "."
    found = [*deviations(lock, plan, of), *by_researcher]
    if not found:
        words += " The plan of this analysis is the locked one."
    return Registration(words, found)


def _day(time: str) -> str:
    return time[:16].replace("T", " ") + " UTC"
