"""Exclusions of a table that is read in portions, so that the memory does not depend on the number of trials.

Each rule uses only the trials of one participant, so a portion of whole participants has the same result alone.
"""

from collections import Counter

import pandas as pd

from analysis.data.columns import KINDS
from analysis.data.compact_columns import RepeatedColumn
from analysis.exclusions.by_researcher import BY_RESEARCHER
from analysis.exclusions.flow import apply_exclusions, check_flow, flow_table, steps_of
from experiment.study.analysis_plan import AnalysisPlan


class RunningExclusions:
    """The exclusions of all rows that were added; see `analysis.exclusions.flow.apply_exclusions`.

    Parameters
    ----------
    plan
        The plan. Its exclusion rules are applied in the order of the plan.
    """

    def __init__(self, plan: AnalysisPlan) -> None:
        self._plan = plan
        self._n_participants: Counter[tuple[str, str]] = Counter()
        self._n_trials: Counter[tuple[str, str]] = Counter()
        self._participants: list[pd.DataFrame] = []
        self._excluded_by = RepeatedColumn()

    def add(self, portion: pd.DataFrame) -> None:
        """Add rows of the tidy table: all trials of some participants or runs."""
        exclusions = apply_exclusions(portion, self._plan)
        for kind, step, n_participants, n_trials in exclusions.flow[
            ["kind", "step", "n_participants", "n_trials"]
        ].itertuples(index=False):
            self._n_participants[kind, step] += n_participants
            self._n_trials[kind, step] += n_trials
        self._participants.append(exclusions.participants)
        excluded_by = exclusions.trials["excluded_by"]
        self._excluded_by.take(excluded_by.astype(object).where(excluded_by.notna(), None).tolist())

    def participants(self) -> pd.DataFrame:
        """Return one row for each participant or run. See `Exclusions.participants`."""
        table = pd.concat(self._participants, ignore_index=True)
        units = table["run"].astype("str").where(table["kind"] == "model", table["participant"].astype("str"))
        order = pd.DataFrame({"place": table["kind"].map(KINDS.index), "unit": units}).sort_values(["place", "unit"])
        return table.loc[order.index].reset_index(drop=True)

    def excluded_by(self) -> pd.Series:
        """Return the step that excluded each trial, in the order of the rows. A trial in the analysis has no value."""
        return self._excluded_by.column()

    def flow(self) -> pd.DataFrame:
        """Return the flow table. See `Exclusions.flow`.

        Raises
        ------
        RuntimeError
            If the flow does not add up. This would be a bug in Equipoise.
        """
        is_by_researcher = any(step == BY_RESEARCHER for _, step in self._n_participants)
        flow = flow_table(self._n_participants, self._n_trials, steps_of(self._plan, is_by_researcher), self._plan)
        check_flow(flow, self.excluded_by(), pd.concat([part["disposition"] for part in self._participants]))
        return flow
