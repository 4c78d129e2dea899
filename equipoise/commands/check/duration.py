"""Point on the duration of a session, estimated from words and from the study's own timing."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from batteries.items import Item
from batteries.stimulus.parts import screen_words
from batteries.tasks import READING_WORDS_PER_MINUTE, task_named
from batteries.tasks.keypress import Keypress
from equipoise.commands.check.checklist import Point, failed, needs_attention, not_checked, passed
from experiment.records import Source
from experiment.study.definition import Study
from experiment.study.timeline import IntertrialRange, deadline_ms_of

DECISION_S = 10
"""Assumed time to decide on a response after reading. A pilot replaces this assumption."""
KEYPRESS_S = 1.0
"""Assumed time to respond with a fast key."""
LARGEST_RATIO = 1.5
"""Largest ratio of the stated to the estimated duration, or of the estimated to the stated duration."""
WITHOUT_SPACES = frozenset({"ja", "km", "lo", "my", "th", "zh"})
"""Languages that write words without spaces, so that words cannot be counted."""
_STATED = re.compile(r"(\d+)\s*(?:(?:-|–|to|bis|a|إلى)\s*(\d+)\s*)?(?:min|دقيقة|دقائق)", re.IGNORECASE)


@dataclass(frozen=True)
class Duration:
    """Estimated duration of a session, averaged over the groups."""

    minutes: float
    n_words: int
    """Words that a participant reads."""
    n_questions: int
    """Questions that a participant answers, with one round of practice."""

    @property
    def whole_minutes(self) -> int:
        """The duration in minutes, rounded up."""
        return math.ceil(self.minutes)


def estimated_duration(study: Study) -> Duration | None:
    """Estimate the duration of a session on the web; None if words of the study's language cannot be counted."""
    if study.definition.language.partition("-")[0] in WITHOUT_SPACES:
        return None
    definition, groups = study.definition, study.test_items_by_group.values()
    timeline = definition.timeline
    pause = timeline.breaks.page if timeline.breaks else None
    # Participants read these pages only if they want to.
    optional = {pause, timeline.contact, *timeline.rules} - set(timeline.instructions)
    pages = [study.page(name, Source.WEB) for name in definition.pages if name not in optional]
    about = [" ".join([question.ask, *question.options]) for question in study.demographics]
    n_words = sum(len(text.split()) for text in [*pages, *about])
    apart = [study.battery.by_id[item_id] for item_id in (*definition.practice, *definition.attention_checks)]
    per_group = [[*apart, *items] for items in groups]
    seconds = sum(_seconds(item, study) for items in per_group for item in items) / len(per_group)
    n_item_words = sum(_n_words(item) for items in per_group for item in items) / len(per_group)
    return Duration(
        (n_words / READING_WORDS_PER_MINUTE) + seconds / 60 + len(about) * DECISION_S / 60,
        round(n_words + n_item_words),
        round(sum(map(len, per_group)) / len(per_group)),
    )


def deadline_problem(study: Study) -> str | None:
    """Return a sentence if an average reader cannot finish reading some questions before the deadline; else None."""
    deadline_ms = study.definition.timing.deadline_ms
    if deadline_ms is None or study.definition.language.partition("-")[0] in WITHOUT_SPACES:
        return None
    checks = [study.battery.by_id[item_id] for item_id in study.definition.attention_checks]
    questions = [*study.test_items, *checks]  # Practice has no deadline.
    slow = [item for item in questions if item.task != Keypress.name and 1000 * _reading_s(item) > deadline_ms]
    if not slow:
        return None
    longest = max(slow, key=_reading_s)
    return (
        f"the deadline is {deadline_ms / 1000:g} s, but an average reader needs more time to read {len(slow):,} of the "
        f"{len(questions):,} questions, at {READING_WORDS_PER_MINUTE} words per minute. The longest is "
        f"`{longest.item_id}`, with {_reading_s(longest):.0f} s."
    )


def _reading_s(item: Item) -> float:
    """Return the time that an average reader needs for an item, in s."""
    return 60 * _n_words(item) / READING_WORDS_PER_MINUTE


def _n_words(item: Item) -> int:
    return task_named(item.task).n_words(item.content)


def _seconds(item: Item, study: Study) -> float:
    """Return the time of one trial: interval, fixation, screens, reading (at least `reading_ms`) and decision.

    Reading and decision take at most the deadline. Practice also takes the time of feedback that closes by itself.
    """
    timing, content = study.definition.timing, item.content
    read_s = max(_reading_s(item), timing.reading_ms / 1000)
    shown_s = KEYPRESS_S if item.task == Keypress.name else read_s + DECISION_S
    is_practice = item.item_id in study.definition.practice
    feedback_ms = timing.feedback_ms or 0 if is_practice and item.is_graded else 0
    deadline_ms = deadline_ms_of(timing, is_practice, content)
    if deadline_ms is not None:
        shown_s = min(shown_s, deadline_ms / 1000)
    return (timing.mean_intertrial_ms + timing.fixation_ms + feedback_ms) / 1000 + _screens_s(content) + shown_s


def _screens_s(content: Mapping[str, Any]) -> float:
    """Return the time of the screens before a question. A screen without a duration takes the time to read it."""
    timed_s = sum(screen["duration_ms"] or 0 for screen in content.get("screens", ())) / 1000
    own_pace = [screen for screen in content.get("screens", ()) if screen["duration_ms"] is None]
    n_words = len(screen_words({"screens": own_pace}).split())
    return timed_s + 60 * n_words / READING_WORDS_PER_MINUTE + len(own_pace)


def interval_words(interval: int | IntertrialRange) -> str:
    """Return the interval between trials in words, such as `500 to 1500 ms`."""
    return f"{interval.min} to {interval.max} ms" if isinstance(interval, IntertrialRange) else f"{interval} ms"


def duration_point(study: Study) -> Point:
    """Estimate the duration, and compare it with the pages' statement and with the rules of resuming."""
    subject, estimate = "Duration", estimated_duration(study)
    if estimate is None:
        return not_checked(
            subject,
            f"the language `{study.definition.language}` has no spaces between words, so they were not counted.",
            "measure the duration in a pilot.",
        )
    timing = study.definition.timing
    if problem := deadline_problem(study):
        return failed(subject, problem, "raise `timing.deadline_ms`, or shorten the questions.")
    own = f"fixations of {timing.fixation_ms} ms"
    if timing.intertrial_ms:
        own += f", intervals of {interval_words(timing.intertrial_ms)} between trials"
    if timing.reading_ms:
        own += f", a reading time of {timing.reading_ms / 1000:g} s"
    if timing.deadline_ms is not None:
        own += f", a deadline of {timing.deadline_ms / 1000:g} s"
    found = (
        f"about {estimate.whole_minutes} minutes: {estimate.n_words:,} words at {READING_WORDS_PER_MINUTE} words per "
        f"minute (adults who read English silently; Brysbaert, 2019), {own}, and {DECISION_S} s to decide on each of "
        f"{estimate.n_questions} questions (an assumption)."
    )
    longest = study.definition.resume.max_age_min
    if longest is not None and longest < estimate.minutes:
        return failed(
            subject,
            f"{found} But a session can be resumed for {longest:g} minutes only.",
            "raise `resume.max_age_min`.",
        )
    stated = stated_minutes(study)
    if stated is None:
        return passed(subject, f"{found} Measure it in a pilot.")
    if not estimate.minutes / LARGEST_RATIO <= stated <= estimate.minutes * LARGEST_RATIO:
        return needs_attention(
            subject,
            f"{found} But the participants' pages say {stated:g} minutes.",
            "measure the duration in a pilot, and correct the page or shorten the study.",
        )
    return passed(subject, f"{found} The participants' pages say {stated:g} minutes.")


def stated_minutes(study: Study) -> float | None:
    """Return the duration that the information or the consent states in digits: the mean of a span, or None."""
    timeline = study.definition.timeline
    for name in (*timeline.information, *([timeline.consent] if timeline.consent else [])):
        found = _STATED.search(study.page(name, Source.WEB))
        if found:
            low, high = float(found[1]), float(found[2] or found[1])
            return (low + high) / 2
    return None
