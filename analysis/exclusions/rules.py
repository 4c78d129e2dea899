"""The exclusion rules. Each rule has a function, which returns the excluded trials and notes.

A rule uses the trials that remain after the earlier steps. No rule applies to models. A trial may lack the value that a
rule needs, such as the response time. The rule does not exclude such a trial, and a note states the number of such
trials.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.sentences import count
from experiment.study.exclusion_rules import (
    AttentionCheckRule,
    DroppedFramesRule,
    DuplicatesRule,
    ExclusionRule,
    FixationOffByMsRule,
    FocusLostRule,
    ImplausiblyFastRule,
    MedianRtRule,
    MissingRule,
    SameResponseRunRule,
    TrialFocusLostRule,
    TrialRtRule,
)


class RuleResult(NamedTuple):
    """Result of a rule."""

    trials: pd.Series
    """True for each row that the rule excludes.

    The caller ignores this value in rows that are not test trials or that an earlier step excluded.
    """
    notes: list[str]
    """Sentences on trials that lack the value that the rule needs."""


def apply_rule(rule: ExclusionRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    """Return the trials that a rule excludes, and notes.

    Parameters
    ----------
    rule : ExclusionRule
        The rule.
    table : DataFrame
        One row per trial: `kind`, `unit` (a number for each participant), `session`, `status`, `phase`, `trial_index`,
        `completed_at`, `by_researcher` (true if the researcher excluded the session), `answered`, `correct`,
        `is_graded`, `rt_ms`, `focus_lost`, `implausibly_fast`, `same_response_run`, `frames_dropped`,
        `fixation_error_ms`.
    left : Series of bool
        True for each test trial that no earlier step has excluded.
    """
    people = table["kind"] != "model"
    return _RULES[type(rule)](rule, table, left & people)


def checks_that_count(table: pd.DataFrame) -> pd.DataFrame:
    """Return the attention checks of completed sessions.

    In a session that was not completed, a missing response does not mean that the participant failed the check. An
    ungraded item cannot be failed.
    """
    return table[(table["phase"] == "attention_check") & (table["status"] == "completed") & table["is_graded"]]


def _attention_check(rule: AttentionCheckRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    checks = checks_that_count(table)
    checks = checks[checks["kind"] != "model"]
    checks = checks[checks["session"].isin(table.loc[left, "session"].unique())]
    n_failed = (~checks["correct"]).groupby(checks["unit"]).sum()
    n_without = int((~pd.Series(table.loc[left, "unit"].unique()).isin(n_failed.index)).sum())
    participants = count(n_without, "participant")
    note = f"The rule `attention_check` did not exclude {participants} who had no attention check."
    return _exclude_participants(table, n_failed.index[n_failed > rule.max_failed], [note] * (n_without > 0))


def _median_rt(rule: MedianRtRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    timed = table.loc[left & table["answered"] & table["rt_ms"].notna(), ["unit", "rt_ms"]]
    medians = timed.groupby("unit")["rt_ms"].median()
    return _exclude_participants(
        table, medians.index[_out_of_bounds(medians, rule)], _untimed("median_rt", table, left)
    )


def _trial_rt(rule: TrialRtRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    return RuleResult(
        left & table["answered"] & _out_of_bounds(table["rt_ms"], rule), _untimed("trial_rt", table, left)
    )


def _missing(rule: MissingRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    share = (~table.loc[left, "answered"]).groupby(table.loc[left, "unit"]).mean()
    return _exclude_participants(table, share.index[share > rule.max_share])


def _duplicates(_rule: DuplicatesRule, table: pd.DataFrame, _left: pd.Series) -> RuleResult:
    tested = (table["kind"] != "model") & (table["phase"] == "test")
    sessions = table[tested & (table["status"] == "completed") & ~table["by_researcher"]].drop_duplicates("session")
    in_order = sessions.sort_values(["completed_at", "session"])
    again = in_order["session"][in_order["unit"].duplicated()]
    return RuleResult(table["session"].isin(again), [])


def _focus_lost(rule: FocusLostRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    recorded = table.loc[left & table["focus_lost"].notna(), ["unit", "focus_lost"]]
    times = recorded.groupby("unit")["focus_lost"].sum()
    return _exclude_participants(table, times.index[times > rule.max_times], _not_recorded("focus_lost", table, left))


def _trial_focus_lost(_: TrialFocusLostRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    return RuleResult(left & (table["focus_lost"].fillna(0) > 0), _not_recorded("trial_focus_lost", table, left))


def _implausibly_fast(rule: ImplausiblyFastRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    judged = table.loc[left & table["implausibly_fast"].notna(), ["unit", "implausibly_fast"]]
    share = judged["implausibly_fast"].astype(bool).groupby(judged["unit"]).mean()
    return _exclude_participants(table, share.index[share > rule.max_share], _untimed("implausibly_fast", table, left))


def _same_response_run(rule: SameResponseRunRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    longest = table.loc[left, "same_response_run"].fillna(0).groupby(table.loc[left, "unit"]).max()
    return _exclude_participants(table, longest.index[longest > rule.max_length])


def _dropped_frames(rule: DroppedFramesRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    return RuleResult(
        left & (table["frames_dropped"].fillna(0) > rule.max_frames), _not_measured(rule, "frames_dropped", table, left)
    )


def _fixation_off_by_ms(rule: FixationOffByMsRule, table: pd.DataFrame, left: pd.Series) -> RuleResult:
    return RuleResult(
        left & (table["fixation_error_ms"] > rule.max_ms), _not_measured(rule, "fixation_error_ms", table, left)
    )


_RULES: dict[type, Callable[[Any, pd.DataFrame, pd.Series], RuleResult]] = {
    AttentionCheckRule: _attention_check,
    MedianRtRule: _median_rt,
    TrialRtRule: _trial_rt,
    MissingRule: _missing,
    DuplicatesRule: _duplicates,
    FocusLostRule: _focus_lost,
    TrialFocusLostRule: _trial_focus_lost,
    ImplausiblyFastRule: _implausibly_fast,
    SameResponseRunRule: _same_response_run,
    DroppedFramesRule: _dropped_frames,
    FixationOffByMsRule: _fixation_off_by_ms,
}


def _exclude_participants(table: pd.DataFrame, participants: pd.Index, notes: list[str] | None = None) -> RuleResult:
    """Return the result of a rule that excludes all trials of `participants`."""
    return RuleResult(table["unit"].isin(participants) & (table["kind"] != "model"), notes or [])


def _out_of_bounds(rt_ms: pd.Series, rule: MedianRtRule | TrialRtRule) -> pd.Series:
    low = -np.inf if rule.min_ms is None else rule.min_ms
    high = np.inf if rule.max_ms is None else rule.max_ms
    return (rt_ms < low) | (rt_ms > high)


def _untimed(rule: str, table: pd.DataFrame, left: pd.Series) -> list[str]:
    n_untimed = int((left & table["answered"] & table["rt_ms"].isna()).sum())
    if n_untimed == 0:
        return []
    return [f"The rule `{rule}` ignored {count(n_untimed, 'answered test trial')} without a response time."]


def _not_recorded(rule: str, table: pd.DataFrame, left: pd.Series) -> list[str]:
    n_not_recorded = int((left & table["answered"] & table["focus_lost"].isna()).sum())
    if n_not_recorded == 0:
        return []
    trials = count(n_not_recorded, "answered test trial")
    return [f"The rule `{rule}` ignored {trials} without a record of whether the participant left the page."]


def _not_measured(
    rule: DroppedFramesRule | FixationOffByMsRule, column: str, table: pd.DataFrame, left: pd.Series
) -> list[str]:
    n_not_measured = int((left & table["answered"] & table[column].isna()).sum())
    if n_not_measured == 0:
        return []
    trials = count(n_not_measured, "answered test trial")
    return [f"The rule `{rule.rule}` ignored {trials} without a measured timing of the fixation."]


def rule_words(rule: ExclusionRule) -> str:
    """Return a text that describes the trials or participants that a rule excludes, with units.

    Examples
    --------
    >>> rule_words(TrialRtRule(rule="trial_rt", min_ms=500, max_ms=120_000))
    "trial's response time under 500 ms or over 120,000 ms"
    """
    if isinstance(rule, AttentionCheckRule):
        none = rule.max_failed == 0
        return f"failed {'at least one attention check' if none else f'more than {rule.max_failed} attention checks'}"
    if isinstance(rule, (MedianRtRule, TrialRtRule)):
        bounds = [f"under {_ms(rule.min_ms)}"] if rule.min_ms is not None else []
        bounds += [f"over {_ms(rule.max_ms)}"] if rule.max_ms is not None else []
        subject = "median response time" if isinstance(rule, MedianRtRule) else "trial's response time"
        return f"{subject} {' or '.join(bounds)}"
    if isinstance(rule, MissingRule):
        return f"left more than {_share(rule.max_share)} of the test trials unanswered"
    if isinstance(rule, DuplicatesRule):
        return "sessions after the participant's first completed session"
    if isinstance(rule, FocusLostRule):
        return f"left the page more than {rule.max_times} times during test trials"
    if isinstance(rule, TrialFocusLostRule):
        return "page left during the trial"
    if isinstance(rule, ImplausiblyFastRule):
        return f"gave more than {_share(rule.max_share)} of the responses faster than the text can be read"
    if isinstance(rule, DroppedFramesRule):
        n = rule.max_frames
        dropped = f"more than {n} dropped frame{'' if n == 1 else 's'}" if n else "dropped frames"
        return f"{dropped} during the trial's fixation"
    if isinstance(rule, FixationOffByMsRule):
        return f"trial's fixation off its intended duration by more than {_ms(rule.max_ms)}"
    return f"gave the same response more than {rule.max_length} times in a row"


def _ms(bound: float) -> str:
    return f"{int(bound) if bound.is_integer() else bound:,} ms"


def _share(share: float) -> str:
    return f"{100 * share:g} %"
