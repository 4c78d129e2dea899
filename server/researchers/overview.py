"""The numbers of the dashboard, computed from the state of the store: counts, drop-out, times, signals, projection."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from experiment.plan import Phase
from experiment.records import Kind
from experiment.study.recruitment import Recruitment
from server.store.models import ENDED_FOR, GroupProgress, Release, SlotState
from server.store.monitor_models import Monitored, RecentResponse

STAGES = {
    -1: "before the first response",
    0: "in the first quarter",
    1: "in the second quarter",
    2: "in the third quarter",
    3: "in the last quarter",
    4: "after the last response",
}
"""The stages of a session, by the number of completed quarters of its trials; see `Monitored.stages`."""
MOST_BINS = 12
SHARE_IN_BINS = 0.98
"""Share of the values that the bins of equal width contain. The last bin contains the rest."""
LEAST_COMPLETIONS = 3
"""Fewest completions in a period for a projection from this period."""
PERIODS_H = (1, 24, 24 * 7)
"""Periods from which the number of completions per hour is estimated, in hours; the first with enough completions."""
LONGEST_PROJECTION_H = 24 * 365 * 10
"""A later end than in ten years is not projected."""
SIGNAL_WORDS = {
    "focus_lost": "the window lost the focus",
    "hidden": "the page was hidden",
    "fullscreen_left": "the participant left the full screen",
    "pasted": "the participant pasted",
    "copied": "the participant copied",
    "resized": "the window was resized",
    "too_early": "a response came too early",
    "too_fast": "a response came faster than a reaction",
    "untrusted": "an input came from a program",
    "translated": "the page was translated",
    "rules_opened": "the participant opened the rules",
    "frames_dropped": "the screen dropped frames",
}


@dataclass(frozen=True)
class GroupRow:
    """A group with its quota."""

    progress: GroupProgress
    quota: int | None
    """Largest number of people in the group, with the slots that researchers added; None if there is no limit."""

    @property
    def scale(self) -> int:
        """Number of sessions that a bar of this group must have room for."""
        return max(1, self.quota or 0, self.progress.n_completed + self.progress.n_under_way)


@dataclass(frozen=True)
class Bin:
    """A bin of a histogram."""

    low: float
    high: float | None
    """Upper end, which is not part of the bin; None for the last bin, which has no upper end."""
    n: int


@dataclass(frozen=True)
class Distribution:
    """A distribution of times."""

    n: int
    median: float
    quartiles: tuple[float, float]
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Projection:
    """The end of the data collection, if participants continue to arrive as before."""

    n_missing: int
    """Number of completed sessions that are missing."""
    per_hour: float
    """Completed sessions per hour, in the last `period_h` hours."""
    period_h: float
    finish: datetime


@dataclass(frozen=True)
class Overview:
    """The content of the dashboard for one kind of participants."""

    at: datetime
    kind: Kind
    rows: tuple[GroupRow, ...]
    other_rows: tuple[GroupRow, ...]
    """The groups of simulated participants, if `rows` has those of people and there are simulated participants."""
    quota: int | None
    """Number of people wanted in all; None if there is no quota."""
    n_excluded: int
    stages: tuple[tuple[str, int, int], ...]
    """For each stage: its words, the number of sessions that stopped there, and the number under way."""
    n_failed_checks: int
    n_ended_by_rules: int
    signals: tuple[tuple[str, int], ...]
    """Words for each signal, and the number of recent responses with the signal."""
    n_recent: int
    """Number of recent responses."""
    durations_min: Distribution | None
    rts_s: Distribution | None
    projection: Projection | None
    n_responses: int

    def total(self, name: str) -> int:
        """Return the sum of a number over all groups."""
        return sum(getattr(row.progress, name) for row in self.rows)


def overview(found: Monitored, recruitment: Recruitment) -> Overview:
    """Return the content of the dashboard.

    Parameters
    ----------
    found
        The state of the study.
    recruitment
        The quotas of the study.
    """
    of_people, of_simulated = (
        tuple(GroupRow(group, _quota_of(group, recruitment)) for group in found.groups if group.kind is kind)
        for kind in (Kind.HUMAN, Kind.SIMULATED)
    )
    has_people = any(row.progress.n_begun for row in of_people)
    has_simulated = any(row.progress.n_begun for row in of_simulated)
    kind = Kind.SIMULATED if has_simulated and not has_people else Kind.HUMAN
    at = datetime.fromisoformat(found.at)
    recent = [one for one in found.responses if one.kind == kind]
    completions = [(start, end) for of, start, end in found.completions if of == kind]
    quota = quota_of_study(of_people, recruitment)
    return Overview(
        at=at,
        kind=kind,
        rows=of_people if kind is Kind.HUMAN else of_simulated,
        other_rows=of_simulated if kind is Kind.HUMAN and has_simulated else (),
        quota=quota,
        n_excluded=found.n_excluded,
        stages=tuple(
            (
                words,
                found.stages.get((kind, SlotState.RELEASED, stage), 0),
                found.stages.get((kind, SlotState.RESERVED, stage), 0),
            )
            for stage, words in STAGES.items()
        ),
        n_failed_checks=found.releases.get((kind, Release.ATTENTION_CHECK), 0),
        n_ended_by_rules=sum(found.releases.get((kind, reason), 0) for reason in ENDED_FOR),
        signals=_signals(recent),
        n_recent=len(recent),
        durations_min=distribution([_minutes(start, end) for start, end in completions]),
        rts_s=distribution([one.rt_ms / 1000 for one in recent if one.rt_ms is not None and one.phase == Phase.TEST]),
        projection=_projection(at, found, of_people, quota) if kind is Kind.HUMAN else None,
        n_responses=found.n_responses,
    )


def quota_of_study(rows: Sequence[GroupRow], recruitment: Recruitment) -> int | None:
    """Return the number of people wanted in all, with the slots that researchers added; None if there is no quota."""
    n_added = sum(row.progress.n_added for row in rows)
    limits = [recruitment.quota + n_added] if recruitment.quota is not None else []
    limits += [sum(row.quota for row in rows if row.quota is not None)] if recruitment.quota_per_group else []
    return min(limits, default=None)


def distribution(values: Sequence[float]) -> Distribution | None:
    """Return the median, the quartiles and a histogram; None without values.

    The bins have the same width, which is 1, 2 or 5 times a power of ten. The last bin has no upper end, so that a few
    very long times do not make the other bins too wide.
    """
    if not values:
        return None
    ordered = sorted(values)
    first, middle, third = statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else ordered * 3
    low = ordered[0]
    high = ordered[min(len(ordered) - 1, math.ceil(SHARE_IN_BINS * len(ordered)) - 1)]
    width = _nice_width((high - low) / MOST_BINS)
    start = math.floor(low / width)
    n_bins = min(MOST_BINS + 1, math.floor(high / width) - start + 1)
    counts = Counter(min(math.floor(value / width) - start, n_bins) for value in ordered)
    bins = [Bin((start + index) * width, (start + index + 1) * width, counts[index]) for index in range(n_bins)]
    if counts[n_bins]:
        bins.append(Bin((start + n_bins) * width, None, counts[n_bins]))
    return Distribution(len(ordered), middle, (first, third), tuple(bins))


def _quota_of(group: GroupProgress, recruitment: Recruitment) -> int | None:
    if group.kind is not Kind.HUMAN or recruitment.quota_per_group is None:
        return None
    return recruitment.quota_per_group + group.n_added


def _nice_width(least: float) -> float:
    """Return the smallest number of at least `least` that is 1, 2 or 5 times a power of ten."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def _signals(recent: Sequence[RecentResponse]) -> tuple[tuple[str, int], ...]:
    seen: Counter[str] = Counter()
    for one in recent:
        seen["focus_lost"] += bool(one.focus_lost)
        seen["frames_dropped"] += bool(one.frames_dropped)
        if one.signals:
            seen.update(name for name, value in json.loads(one.signals).items() if value)
    return tuple((words, seen[name]) for name, words in SIGNAL_WORDS.items())


def _minutes(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() / 60


def _projection(at: datetime, found: Monitored, rows: Sequence[GroupRow], quota: int | None) -> Projection | None:
    """Return the projected end; None without a quota, if the quota is reached, or after few completions."""
    n_missing = 0 if quota is None else quota - sum(row.progress.n_completed for row in rows)
    if n_missing <= 0 or found.first_start is None:
        return None
    ends = [datetime.fromisoformat(end) for kind, _, end in found.completions if kind == Kind.HUMAN]
    since_first_h = (at - datetime.fromisoformat(found.first_start)).total_seconds() / 3600
    for period_h in PERIODS_H:
        n = sum(end > at - timedelta(hours=period_h) for end in ends)
        if n >= LEAST_COMPLETIONS:
            length_h = max(min(period_h, since_first_h), 1 / 60)
            per_hour = n / length_h
            if n_missing / per_hour > LONGEST_PROJECTION_H:
                return None
            return Projection(n_missing, per_hour, length_h, at + timedelta(hours=n_missing / per_hour))
    return None
