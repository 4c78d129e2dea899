"""The preregistered exclusions, in their order, with a flow table in which the books balance.

Every recruited participant and every planned test trial is in exactly one row of the flow, which runs: `withdrawn`,
`not_completed`, the plan's rules in the plan's order, `unanswered`, `included`. Decisions, stated once:

- Only test trials are counted. Practice trials and attention checks are marked `not_a_test_trial`, so that in the
  marked table a missing `excluded_by` always means: in the analysis.
- A participant is in the row of the step that took the last of their test trials. Whoever loses every trial to
  `trial_rt` is therefore in the row `trial_rt`, and whoever has nothing left but unanswered trials in `unanswered`.
- A rule sees what the steps before it left: a median after `trial_rt` is a median of the remaining trials.
- Bounds are inclusive: a response time equal to `min_ms` or `max_ms` stays. An answer without a response time cannot
  be judged; it stays, and a note says so.
- Attention checks are those of completed sessions; one of them left unanswered is failed.
- Models: no rule applies to them, and their unanswered or invalid trials stay and count as not correct. A run that
  was not completed is left out as a participant would be.
- A person with several sessions is one participant. Trials of a session that was withdrawn or not completed leave at
  that step; the person does too unless another session was completed. Two completed sessions are an error.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.columns import KINDS, units
from batteries.errors import InputError
from experiment.preregistration import AnalysisPlan, AttentionCheckRule, ExclusionRule, MedianRtRule, TrialRtRule

NOT_A_TEST_TRIAL = "not_a_test_trial"
INCLUDED = "included"
FLOW_COLUMNS = ["kind", "step", "criterion", "n_participants", "n_trials", "participants_left", "trials_left"]


@dataclass(frozen=True)
class Exclusions:
    """What was left out, by which step, and what stayed."""

    trials: pd.DataFrame
    """The tidy table with `excluded_by`: the step that took the trial, missing where it is in the analysis."""
    participants: pd.DataFrame
    """A row a participant (for models, a run), with `disposition`: the step that took them, or `included`."""
    flow: pd.DataFrame
    """A row a kind and step: how many participants and test trials it took, and how many it left."""
    notes: list[str]
    """What a reader should know of the rules' working, in sentences."""


def apply_exclusions(trials: pd.DataFrame, plan: AnalysisPlan) -> Exclusions:
    """Apply the plan's exclusion rules to a tidy table.

    Parameters
    ----------
    trials : DataFrame
        The tidy table (`analysis.data.read_trials`).
    plan : AnalysisPlan
        The rules, in their order.

    Raises
    ------
    InputError
        If a person completed the study twice.
    RuntimeError
        If the books do not balance, which would be a bug of ours.
    """
    _refuse_two_completed_sessions(trials)
    work = pd.DataFrame(
        {"kind": trials["kind"], "unit": units(trials), "status": trials["status"], "phase": trials["phase"],
         "answered": trials["response"].notna(), "correct": trials["correct"].fillna(False).astype(bool),
         "rt_ms": trials["rt_ms"]}
    )  # fmt: skip
    books = _Books(work)
    books.leave("withdrawn", work["status"] == "withdrawn")
    books.leave("not_completed", work["status"] == "active")
    notes = []
    for rule in plan.exclusions:
        notes += _apply(rule, books)
    books.leave("unanswered", ~work["answered"] & (work["kind"] != "model"))
    books.close()
    flow = _flow(books, plan)
    check_flow(flow, books.excluded_by, books.disposition)
    marked = trials.assign(excluded_by=books.excluded_by.astype("str"))
    return Exclusions(marked, _participants(marked, books), flow, notes)


class _Books:
    """Which step took each trial and each participant."""

    def __init__(self, work: pd.DataFrame) -> None:
        self.work = work
        self.excluded_by = pd.Series(None, index=work.index, dtype=object)
        self.excluded_by[work["phase"] != "test"] = NOT_A_TEST_TRIAL
        recruited = work[["kind", "unit"]].drop_duplicates()
        recruited["place"] = recruited["kind"].map(KINDS.index)
        recruited = recruited.sort_values(["place", "unit"])[["kind", "unit"]]
        self.disposition = pd.Series(None, index=pd.MultiIndex.from_frame(recruited), dtype=object)

    def left(self) -> pd.DataFrame:
        """Return the test trials that are still in."""
        return self.work[self.excluded_by.isna()]

    def leave(self, step: str, trials: pd.Series) -> None:
        """Take trials out, and with them the participants whose last trial goes."""
        before = self._present()
        self.excluded_by[trials & self.excluded_by.isna()] = step
        self.disposition[before.difference(self._present())] = step

    def leave_with_all_trials(self, step: str, participants: pd.Index) -> None:
        """Take participants out, given as (kind, unit)."""
        self.leave(step, pd.Series(self._unit_of_trial().isin(participants), index=self.work.index))

    def close(self) -> None:
        """Include who is left; whoever never had a test trial is in the row of the unanswered."""
        self.disposition[self._present()] = INCLUDED
        self.disposition = self.disposition.where(self.disposition.notna(), "unanswered")

    def _unit_of_trial(self) -> pd.MultiIndex:
        return pd.MultiIndex.from_frame(self.work[["kind", "unit"]])

    def _present(self) -> pd.MultiIndex:
        return pd.MultiIndex.from_frame(self.left()[["kind", "unit"]].drop_duplicates())


def _apply(rule: ExclusionRule, books: _Books) -> list[str]:
    people = books.work["kind"] != "model"
    left = books.left()
    timed = left[(left["kind"] != "model") & left["answered"] & left["rt_ms"].notna()]
    n_untimed = int((left["answered"] & (left["kind"] != "model") & left["rt_ms"].isna()).sum())
    untimed = [f"{n_untimed:,} answered test trials have no response time; `{rule.rule}` could not judge them."]
    if isinstance(rule, AttentionCheckRule):
        checks = _checks(books.work[people])
        failed = (~checks["correct"]).groupby([checks["kind"], checks["unit"]]).sum()
        books.leave_with_all_trials(rule.rule, failed.index[failed > rule.max_failed])
        without = left[left["kind"] != "model"][["kind", "unit"]].drop_duplicates()
        n_without = int((~pd.MultiIndex.from_frame(without).isin(failed.index)).sum())
        return [f"{n_without} participants had no attention check, so `{rule.rule}` could not judge them."] * (
            n_without > 0
        )
    if isinstance(rule, MedianRtRule):
        medians = timed.groupby(["kind", "unit"])["rt_ms"].median()
        books.leave_with_all_trials(rule.rule, medians.index[_out_of_bounds(medians, rule)])
        return untimed * (n_untimed > 0)
    books.leave(rule.rule, people & books.work["answered"] & _out_of_bounds(books.work["rt_ms"], rule))
    return untimed * (n_untimed > 0)


def _checks(work: pd.DataFrame) -> pd.DataFrame:
    """Return the attention checks that count: those of completed sessions, as nobody answers on after withdrawing."""
    return work[(work["phase"] == "attention_check") & (work["status"] == "completed")]


def _out_of_bounds(rt_ms: pd.Series, rule: MedianRtRule | TrialRtRule) -> pd.Series:
    low = -np.inf if rule.min_ms is None else rule.min_ms
    high = np.inf if rule.max_ms is None else rule.max_ms
    return (rt_ms < low) | (rt_ms > high)


def criterion(step: str, plan: AnalysisPlan, kind: str) -> str:
    """Return in words, with units, what a step of the flow leaves out."""
    if kind == "model" and step in {"unanswered", *(rule.rule for rule in plan.exclusions)}:
        return "kept: counts as not correct" if step == "unanswered" else "does not apply to models"
    for rule in plan.exclusions:
        if rule.rule != step:
            continue
        if isinstance(rule, AttentionCheckRule):
            many = (
                "at least one attention check"
                if rule.max_failed == 0
                else f"more than {rule.max_failed} attention checks"
            )
            return f"failed {many}"
        bounds = [f"under {rule.min_ms:,g} ms"] if rule.min_ms is not None else []
        bounds += [f"over {rule.max_ms:,g} ms"] if rule.max_ms is not None else []
        subject = "median response time" if isinstance(rule, MedianRtRule) else "trial's response time"
        return f"{subject} {' or '.join(bounds)}"
    who = "run" if kind == "model" else "session"
    return {
        "withdrawn": f"{who} withdrawn",
        "not_completed": f"{who} not completed",
        "unanswered": "test trial without an answer",
        INCLUDED: "in the analysis",
    }[step]


def _flow(books: _Books, plan: AnalysisPlan) -> pd.DataFrame:
    steps = ["withdrawn", "not_completed", *(rule.rule for rule in plan.exclusions), "unanswered"]
    test = books.work["phase"] == "test"
    rows = []
    for kind in [kind for kind in KINDS if (books.work["kind"] == kind).any()]:
        who = books.disposition[books.disposition.index.get_level_values("kind") == kind]
        what = books.excluded_by[test & (books.work["kind"] == kind)]
        participants, trials = len(who), len(what)
        for step in steps:
            n_participants, n_trials = int((who == step).sum()), int((what == step).sum())
            participants, trials = participants - n_participants, trials - n_trials
            rows.append((kind, step, criterion(step, plan, kind), n_participants, n_trials, participants, trials))
        n_participants, n_trials = int((who == INCLUDED).sum()), int(what.isna().sum())
        words = criterion(INCLUDED, plan, kind)
        rows.append((kind, INCLUDED, words, n_participants, n_trials, n_participants, n_trials))
    return pd.DataFrame(rows, columns=FLOW_COLUMNS)


def check_flow(flow: pd.DataFrame, excluded_by: pd.Series, disposition: pd.Series) -> None:
    """Check that the flow adds up: every participant and every test trial is in one row, and what is left is left.

    Raises
    ------
    RuntimeError
        If it does not; nothing must be published from such a table.
    """
    n_test = int((excluded_by.isna() | (excluded_by != NOT_A_TEST_TRIAL)).sum())
    if flow["n_participants"].sum() != len(disposition) or flow["n_trials"].sum() != n_test:
        raise RuntimeError(
            f"The exclusion flow does not add up: {flow['n_participants'].sum()} of {len(disposition)} participants "
            f"and {flow['n_trials'].sum()} of {n_test} trials. Please report this as a bug of Equipoise."
        )
    for kind, rows in flow.groupby("kind"):
        before, included = rows.iloc[-2], rows.iloc[-1]
        for left, count in (("participants_left", "n_participants"), ("trials_left", "n_trials")):
            if before[left] != included[count]:
                raise RuntimeError(
                    f"The exclusion flow does not add up: {before[left]} {left.replace('_', ' ')} of kind {kind}, but "
                    f"{included[count]} included. Please report this as a bug of Equipoise."
                )


def _participants(marked: pd.DataFrame, books: _Books) -> pd.DataFrame:
    work = books.work.assign(excluded_by=books.excluded_by)
    test = work[work["phase"] == "test"]
    checks = _checks(work)
    by = ["kind", "unit"]
    timed = test[test["answered"]].groupby(by)["rt_ms"].median()
    counts = pd.DataFrame(
        {
            "n_test_trials": test.groupby(by).size(),
            "n_answered": test.groupby(by)["answered"].sum(),
            "n_included": test["excluded_by"].isna().groupby([test["kind"], test["unit"]]).sum(),
            "n_attention_checks": checks.groupby(by).size(),
            "n_attention_checks_failed": (~checks["correct"]).groupby([checks["kind"], checks["unit"]]).sum(),
        },
        index=books.disposition.index,
    )
    described = marked.assign(unit=units(marked)).sort_values(["completed_at", "session"], na_position="last")
    first = described.drop_duplicates(by).set_index(by).loc[books.disposition.index]
    columns = [
        "participant",
        "run",
        "model",
        "model_version",
        "source",
        "group",
        "status",
        "started_at",
        "completed_at",
    ]
    table = pd.concat([first[columns], counts.fillna(0).astype("int64")], axis=1)
    table["median_rt_ms"] = timed.reindex(table.index)
    table["disposition"] = books.disposition.astype("str")
    return table.reset_index().drop(columns="unit")


def _refuse_two_completed_sessions(trials: pd.DataFrame) -> None:
    people = trials[(trials["kind"] != "model") & (trials["status"] == "completed")]
    sessions = people[["participant", "session"]].drop_duplicates()
    twice = sessions["participant"][sessions["participant"].duplicated()]
    if not twice.empty:
        names = " and ".join(sorted(sessions["session"][sessions["participant"] == twice.iloc[0]]))
        raise InputError(
            f"participant `{twice.iloc[0]}` completed the study more than once (sessions {names}); "
            "decide which session counts and leave the other out of the export."
        )
