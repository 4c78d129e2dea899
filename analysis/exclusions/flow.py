"""Apply the preregistered exclusions in the order of the plan, and count the excluded participants and trials.

Every recruited participant and every planned test trial is in exactly one row of the flow. The rows are `withdrawn`,
`not_completed`, `excluded_by_researcher` (only if the researcher excluded sessions), the rules in the order of the
plan, `unanswered`, and `included`. Trials and participants are counted as follows:

- Only test trials are counted. In the column `excluded_by`, practice trials and attention checks have the value
  `not_a_test_trial`. So a missing value of `excluded_by` always means that the trial is in the analysis.
- The row of an excluded participant is the step that excludes the participant's last remaining test trial. For
  instance, if `trial_rt` excludes all remaining trials of a participant, the participant is in the row `trial_rt`. A
  participant whose remaining trials are all unanswered is in the row `unanswered`.
- A rule uses only the trials that remain after the earlier steps. For instance, if the rule `median_rt` follows the
  rule `trial_rt`, the median is computed over the remaining trials.
- Bounds are inclusive: a response time equal to `min_ms` or `max_ms` is not excluded. If a trial lacks the value that
  a rule needs, the rule does not exclude the trial. A note states the number of such trials.
- Only the attention checks of completed sessions count. An unanswered attention check counts as failed.
- If the researcher excluded a completed session, the rules ignore this session. So the rule `duplicates` can keep
  another completed session of the participant.
- No rule applies to models. The setting `invalid` of the plan applies to unanswered and invalid trials of a model.
  These trials count as not correct, count as chance, or are excluded at the step `unanswered`. A run that was not
  completed is excluded.
- A person with several sessions is one participant. The trials of a withdrawn session are excluded at the step
  `withdrawn`, and the trials of an incomplete session are excluded at the step `not_completed`. The participant remains
  if the participant completed another session.
- If a person completed two sessions, the two sessions must have different session numbers. Otherwise `apply_exclusions`
  raises an error. The rule `duplicates` prevents this error, because the rule keeps only the first session. Completed
  sessions with different session numbers are planned sessions in the laboratory. All planned sessions remain, and a
  note states the number of participants with several planned sessions.
- A rule that excludes participants, for example by failed checks or the median response time, uses all sessions of the
  participant together.

The rules are in `analysis.exclusions.rules`.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.data.columns import KINDS, is_graded, numbered_units
from analysis.data.fixation_timing import fixation_error_ms
from analysis.exclusions.by_researcher import BY_RESEARCHER, BY_RESEARCHER_WORDS, exclusion_notes
from analysis.exclusions.rules import apply_rule, checks_that_count, rule_words
from analysis.sentences import count
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

NOT_A_TEST_TRIAL = "not_a_test_trial"
INCLUDED = "included"
FLOW_COLUMNS = ["kind", "step", "criterion", "n_participants", "n_trials", "participants_left", "trials_left"]


@dataclass(frozen=True)
class Exclusions:
    """The step that excluded each trial and each participant, and the flow table."""

    trials: pd.DataFrame
    """The tidy table with the columns `excluded_by` and `counted_as`.

    `excluded_by` is the step that excluded the trial; for a trial in the analysis, it is missing. `counted_as` is the
    trial's value in the mean accuracy: 1 if correct, otherwise 0. It is missing for an ungraded item. If the plan has
    `invalid: chance`, the value of an invalid or missing response of a model is the item's chance level.
    """
    participants: pd.DataFrame
    """One row per participant or run. `disposition` is the step that excluded the participant, or `included`.

    If a participant has several sessions, `source` and `group` list the values of all sessions, and the counts include
    all sessions. `status`, `started_at` and `completed_at` have the values of the first completed session. If no
    session was completed, these three columns have the values of the first session.
    """
    flow: pd.DataFrame
    """One row for each step, separately for people, simulated participants and models.

    A row has the numbers of participants and test trials that the step excluded, and the numbers of those that remain.
    """
    notes: list[str]
    """Notes on the exclusions, in sentences."""


def apply_exclusions(trials: pd.DataFrame, plan: AnalysisPlan) -> Exclusions:
    """Apply the plan's exclusion rules to a tidy table.

    Parameters
    ----------
    trials : DataFrame
        The tidy table (`analysis.data.tidy_table.read_trials`).
    plan : AnalysisPlan
        The plan. Its exclusion rules are applied in the order of the plan.

    Raises
    ------
    InputError
        If two completed sessions of one person have the same session number, or if one of the two sessions has no
        session number.
    RuntimeError
        If the flow does not add up. This would be a bug in Equipoise.
    """
    tally, notes = _applied(trials, plan)
    flow = _flow(tally, plan)
    check_flow(flow, tally.excluded_by, tally.disposition)
    marked = _marked(trials, tally, plan)
    return Exclusions(marked, _participants(marked, tally), flow, notes)


def is_invalid_of_model(trials: pd.DataFrame) -> pd.Series:
    """Return True for each trial of a model without a valid response."""
    return (trials["kind"] == "model") & (trials["response"].isna() | ~trials["valid"].fillna(True))


def _counted_as(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.Series:
    is_correct = trials["correct"].fillna(False).astype("float64").where(is_graded(trials))
    return is_correct.mask(is_invalid_of_model(trials), trials["chance"]) if plan.invalid == "chance" else is_correct


def marked_trials(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    """Apply the exclusion rules, and return only the trials (`Exclusions.trials`).

    This is faster than `apply_exclusions`.
    """
    return _marked(trials, _applied(trials, plan)[0], plan)


def _marked(trials: pd.DataFrame, tally: "_Tally", plan: AnalysisPlan) -> pd.DataFrame:
    return trials.assign(excluded_by=tally.excluded_by.astype("str"), counted_as=_counted_as(trials, plan))


def _applied(trials: pd.DataFrame, plan: AnalysisPlan) -> tuple["_Tally", list[str]]:
    tally = _Tally(trials, steps_of(plan, is_by_researcher=bool(trials["excluded_reason"].notna().any())))
    notes = exclusion_notes(trials)
    if not any(rule.rule == "duplicates" for rule in plan.exclusions):
        notes += _several_sessions_notes(trials, tally.table)
    table = tally.table
    tally.exclude("withdrawn", table["status"] == "withdrawn")
    tally.exclude("not_completed", table["status"] == "active")
    if BY_RESEARCHER in tally.steps:
        tally.exclude(BY_RESEARCHER, table["by_researcher"])
    for rule in plan.exclusions:
        result = apply_rule(rule, table, tally.left())
        tally.exclude(rule.rule, result.trials)
        notes += result.notes
    tally.exclude("unanswered", ~table["answered"] & (table["kind"] != "model"))
    if plan.invalid == "left_out":
        tally.exclude("unanswered", is_invalid_of_model(trials))
    tally.close()
    return tally, notes


def steps_of(plan: AnalysisPlan, is_by_researcher: bool) -> list[str]:
    """Return the steps of the flow in order. `is_by_researcher` is true if the researcher excluded a session."""
    by_researcher = [BY_RESEARCHER] if is_by_researcher else []
    return ["withdrawn", "not_completed", *by_researcher, *(rule.rule for rule in plan.exclusions), "unanswered"]


class _Tally:
    """The step that excluded each trial and each participant."""

    def __init__(self, trials: pd.DataFrame, steps: list[str]) -> None:
        self.steps = steps
        kind, session = trials["kind"].astype("category"), trials["session"].astype("category")
        status, phase = trials["status"].astype("category"), trials["phase"].astype("category")
        unit, names = numbered_units(trials)
        pair, pairs = pd.factorize(unit * len(kind.cat.categories) + kind.cat.codes.to_numpy())
        recruited = pd.DataFrame(
            {"kind": kind.cat.categories[pairs % len(kind.cat.categories)],
             "unit": [names[pair] for pair in pairs // len(kind.cat.categories)]}
        )  # fmt: skip
        in_order = recruited.assign(place=recruited["kind"].map(KINDS.index)).sort_values(["place", "unit"]).index
        self.recruited = pd.MultiIndex.from_frame(recruited.loc[in_order])
        """Kind and name of each participant or run. The column `unit` of `table` is a position in this index."""
        self.table = pd.DataFrame(
            {"kind": kind, "unit": np.argsort(in_order)[pair], "session": session, "status": status, "phase": phase,
             "session_number": trials["session_number"], "completed_at": trials["completed_at"],
             "answered": trials["response"].notna(), "by_researcher": trials["excluded_reason"].notna(),
             "correct": trials["correct"].fillna(False).astype(bool), "is_graded": is_graded(trials),
             "rt_ms": trials["rt_ms"],
             "focus_lost": trials["focus_lost"], "implausibly_fast": trials["implausibly_fast"],
             "same_response_run": trials["same_response_run"], "frames_dropped": trials["frames_dropped"],
             "fixation_error_ms": fixation_error_ms(trials)}
        )  # fmt: skip
        not_a_test = pd.Categorical.from_codes(np.where(phase == "test", -1, 0), pd.Index([NOT_A_TEST_TRIAL, *steps]))
        self.excluded_by: pd.Series = pd.Series(not_a_test, index=trials.index)
        self._disposition = np.full(len(self.recruited), None, dtype=object)

    def left(self) -> pd.Series:
        """Return True for each test trial that no step has excluded."""
        return self.excluded_by.isna()

    def exclude(self, step: str, trials: pd.Series) -> None:
        """Exclude the trials for which `trials` is true.

        If no trial of a participant remains, exclude the participant at this step.
        """
        before = self._present()
        self.excluded_by[trials & self.left()] = step
        self._disposition[before & ~self._present()] = step

    def close(self) -> None:
        """Mark participants with remaining trials as included, and participants without test trials as `unanswered`."""
        self._disposition[self._present()] = INCLUDED
        self._disposition[pd.isna(self._disposition)] = "unanswered"

    @property
    def disposition(self) -> pd.Series:
        """The step that excluded each participant, or `included`.

        The index has the kind and the name of the participant or run.
        """
        return pd.Series(self._disposition, index=self.recruited, dtype=object)

    def _present(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Return True for each participant with a remaining test trial."""
        present = np.zeros(len(self.recruited), dtype=bool)
        present[self.table["unit"].to_numpy()[self.left()]] = True
        return present


def criterion(step: str, plan: AnalysisPlan, kind: str) -> str:
    """Return a text that describes what a step excludes, such as “response time under 500 ms”."""
    if kind == "model" and step == "unanswered":
        return {"wrong": "kept: counts as not correct", "chance": "kept: counts as chance",
                "left_out": "test trial without a valid response"}[plan.invalid]  # fmt: skip
    if kind == "model" and step in {BY_RESEARCHER, *(rule.rule for rule in plan.exclusions)}:
        return "does not apply to models"
    for rule in plan.exclusions:
        if rule.rule == step:
            return rule_words(rule)
    who = "run" if kind == "model" else "session"
    return {
        "withdrawn": f"{who} withdrawn",
        "not_completed": f"{who} not completed",
        BY_RESEARCHER: BY_RESEARCHER_WORDS,
        "unanswered": "test trial without a response",
        INCLUDED: "in the analysis",
    }[step]


def _flow(tally: _Tally, plan: AnalysisPlan) -> pd.DataFrame:
    kinds = tally.disposition.index.get_level_values("kind")
    is_test = tally.table["phase"] == "test"
    n_participants = Counter(zip(kinds, tally.disposition, strict=True))
    n_trials: Counter[tuple[str, str]] = Counter()
    for kind in kinds.unique():
        of_trials = tally.excluded_by[is_test & (tally.table["kind"] == kind)]
        n_trials |= {(kind, step): int((of_trials == step).sum()) for step in tally.steps}
        n_trials[kind, INCLUDED] = int(of_trials.isna().sum())
    return flow_table(n_participants, n_trials, tally.steps, plan)


def flow_table(
    n_participants: Counter[tuple[str, str]], n_trials: Counter[tuple[str, str]], steps: list[str], plan: AnalysisPlan
) -> pd.DataFrame:
    """Return the flow table.

    Parameters
    ----------
    n_participants, n_trials
        Numbers of participants and of test trials for each kind and step. The step of the analysis is `included`.
    steps
        The steps in order, without `included`.
    plan
        The plan.
    """
    rows = []
    for kind in [kind for kind in KINDS if any(kind == counted for counted, _ in n_participants)]:
        participants = sum(n for (counted, _), n in n_participants.items() if counted == kind)
        trials = sum(n for (counted, _), n in n_trials.items() if counted == kind)
        for step in steps:
            participants, trials = participants - n_participants[kind, step], trials - n_trials[kind, step]
            rows.append((kind, step, criterion(step, plan, kind), n_participants[kind, step], n_trials[kind, step],
                         participants, trials))  # fmt: skip
        included = (n_participants[kind, INCLUDED], n_trials[kind, INCLUDED])
        rows.append((kind, INCLUDED, criterion(INCLUDED, plan, kind), *included, *included))
    return pd.DataFrame(rows, columns=FLOW_COLUMNS)


def check_flow(flow: pd.DataFrame, excluded_by: pd.Series, disposition: pd.Series) -> None:
    """Check that the numbers of the flow add up to all participants and all test trials.

    Raises
    ------
    RuntimeError
        If the numbers do not add up. This would be a bug in Equipoise.
    """
    n_test = int((excluded_by.isna() | (excluded_by != NOT_A_TEST_TRIAL)).sum())
    if flow["n_participants"].sum() != len(disposition) or flow["n_trials"].sum() != n_test:
        raise RuntimeError(
            f"The exclusion flow does not add up. Its rows have {flow['n_participants'].sum()} participants and "
            f"{flow['n_trials'].sum()} trials, but the data have {len(disposition)} participants and {n_test} test "
            "trials. Please report this as a bug of Equipoise."
        )
    for kind, rows in flow.groupby("kind"):
        before, included = rows.iloc[-2], rows.iloc[-1]
        for left, number in (("participants_left", "n_participants"), ("trials_left", "n_trials")):
            if before[left] != included[number]:
                raise RuntimeError(
                    f"The exclusion flow of the kind `{kind}` does not add up. After the last step, `{left}` is "
                    f"{before[left]}, but `{number}` of the row `{INCLUDED}` is {included[number]}. Please report "
                    "this as a bug of Equipoise."
                )


def _participants(marked: pd.DataFrame, tally: _Tally) -> pd.DataFrame:
    table = tally.table.assign(included=tally.excluded_by.isna())
    test = table.loc[table["phase"] == "test", ["unit", "answered", "included", "rt_ms"]]
    checks = checks_that_count(table)
    who = pd.RangeIndex(len(tally.recruited))
    counts = pd.DataFrame(
        {
            "n_test_trials": test.groupby("unit").size(),
            "n_answered": test.groupby("unit")["answered"].sum(),
            "n_included": test.groupby("unit")["included"].sum(),
            "n_attention_checks": checks.groupby("unit").size(),
            "n_attention_checks_failed": (~checks["correct"]).groupby(checks["unit"]).sum(),
        },
        index=who,
    )
    medians = test[test["answered"]].groupby("unit")["rt_ms"].median().reindex(who)
    columns = ["participant", "run", "subject", "model", "model_version", "source", "group", "status", "started_at",
               "completed_at"]  # fmt: skip
    first_of_session = table[["unit", "session"]].drop_duplicates().index
    sessions = marked.loc[first_of_session, [*columns, "session"]].assign(unit=table["unit"])
    in_order = sessions.sort_values(["completed_at", "started_at", "session"], na_position="last")
    first = in_order.drop_duplicates("unit").set_index("unit").reindex(who)[columns]
    first = first.assign(**{column: _of_all_sessions(in_order, column).reindex(who) for column in ("source", "group")})
    counts.insert(0, "n_sessions", sessions["unit"].value_counts())
    described = pd.concat([first, counts.fillna(0).astype("int64")], axis=1)
    described["median_rt_ms"] = medians
    described["disposition"] = tally.disposition.astype("str").to_numpy()
    described.insert(0, "kind", tally.recruited.get_level_values("kind"))
    return described.reset_index(drop=True)


def _of_all_sessions(sessions: pd.DataFrame, column: str) -> pd.Series:
    """Return the value of a column for each participant.

    If the participant's sessions have different values, join them into one text.
    """
    different = sessions[["unit", column]].dropna().drop_duplicates()
    if not different["unit"].duplicated().any():
        return different.set_index("unit")[column]
    return different[column].astype("str").groupby(different["unit"]).agg(", ".join)


def _several_sessions_notes(trials: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Return a note on participants with several planned sessions.

    Raise InputError if two completed sessions of one participant have the same session number, or if one of these
    sessions has no session number.
    """
    of_people = (table["kind"] != "model") & (table["status"] == "completed") & ~table["by_researcher"]
    sessions = table.loc[of_people, ["unit", "session", "session_number"]].drop_duplicates("session")
    several = sessions[sessions["unit"].duplicated(keep=False)]
    # Without a session number it is unknown whether the session was planned.
    unplanned = several[several.duplicated(["unit", "session_number"], keep=False) | several["session_number"].isna()]
    if not unplanned.empty:
        whose = several[several["unit"] == unplanned["unit"].iloc[0]]
        raise InputError(
            f"participant `{trials['participant'].loc[whose.index[0]]}` completed the study more than once "
            f"(sessions {' and '.join(sorted(whose['session']))}). Fix: exclude all but one of these sessions with "
            "`equipoise exclude`, or add the exclusion rule `duplicates`, which keeps the first session."
        )
    n = several["unit"].nunique()
    if n == 0:
        return []
    return [
        f"{count(n, 'participant')} completed several planned sessions. All these sessions are in the analysis; the "
        "column `session_number` has the session numbers. A rule about a participant uses all sessions of the "
        "participant together."
    ]
