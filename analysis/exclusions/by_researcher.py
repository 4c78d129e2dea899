"""The sessions that the researcher excluded with `equipoise exclude`, and notes on these exclusions."""

import pandas as pd

from analysis.sentences import count

BY_RESEARCHER = "excluded_by_researcher"
"""Name of the step for the researcher's exclusions. The flow table has this step only if the researcher excluded a
session.
"""
BY_RESEARCHER_WORDS = "excluded by the researcher, not by a rule; see the reasons in the notes"


def excluded_sessions(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each session that the researcher excluded, sorted by the time of the exclusion.

    Parameters
    ----------
    trials : DataFrame
        The tidy table.
    """
    columns = ["session", "status", "completed_at", "excluded_at", "excluded_reason"]
    excluded = trials.loc[trials["excluded_reason"].notna(), columns].drop_duplicates("session")
    return excluded.sort_values(["excluded_at", "session"], ignore_index=True)


def exclusion_notes(trials: pd.DataFrame) -> list[str]:
    """Return a note on all exclusions by the researcher: the reason, the day, and the status of each session."""
    excluded = excluded_sessions(trials)
    if excluded.empty:
        return []
    parts = []
    for reason, sessions in excluded.groupby("excluded_reason", sort=False):
        each = [
            f"session {session}, on {str(at)[:10]}, {_when(status, completed_at, at)}"
            for session, status, completed_at, at, _ in sessions.itertuples(index=False)
        ]
        parts.append(f"“{reason}” ({'; '.join(each)})")
    return [f"The researcher excluded {count(len(excluded), 'session')} by name. Reasons: {'; '.join(parts)}."]


def exclusion_deviations(trials: pd.DataFrame) -> list[str]:
    """Return sentences on the researcher's exclusions, which are deviations from a locked plan."""
    excluded = excluded_sessions(trials)
    if excluded.empty:
        return []
    n_after = sum(
        _when(status, completed_at, at) == _AFTER for _, status, completed_at, at, _ in excluded.itertuples(index=False)
    )
    return [
        f"The researcher excluded {count(len(excluded), 'session')} without a rule of the plan. Number of "
        f"sessions that were complete before the researcher excluded them: {n_after:,}."
    ]


_AFTER = "after the last response"


def _when(status: str, completed_at: str, excluded_at: str) -> str:
    if status != "completed":
        return "not completed" if status == "active" else status
    return _AFTER if pd.isna(excluded_at) or completed_at <= excluded_at else "before the last response"
