"""Sessions that the researcher excluded by name (`equipoise exclude`): a step of the flow, told with every reason."""

import pandas as pd

from analysis.sentences import count

BY_HAND = "excluded_by_researcher"
"""The step's name in the flow; the step is there only where a session was excluded."""
BY_HAND_WORDS = "excluded by the researcher, not by a rule; the notes give each reason"


def excluded_sessions(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the sessions that were excluded by hand, a row each, in the order of the exclusions.

    Parameters
    ----------
    trials : DataFrame
        The tidy table.
    """
    columns = ["session", "status", "completed_at", "excluded_at", "excluded_reason"]
    excluded = trials.loc[trials["excluded_reason"].notna(), columns].drop_duplicates("session")
    return excluded.sort_values(["excluded_at", "session"], ignore_index=True)


def notes_by_hand(trials: pd.DataFrame) -> list[str]:
    """Return a sentence with every exclusion by hand: its reason, its day, and how far the session had come."""
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


def deviations_by_hand(trials: pd.DataFrame) -> list[str]:
    """Return in what exclusions by hand deviate from a locked plan, in sentences; none if there are none."""
    excluded = excluded_sessions(trials)
    if excluded.empty:
        return []
    n_after = sum(
        _when(status, completed_at, at) == _AFTER for _, status, completed_at, at, _ in excluded.itertuples(index=False)
    )
    return [
        f"{count(len(excluded), 'session was', 'sessions were')} excluded by the researcher and not by a rule of the "
        f"plan, {n_after:,} of them after all answers were in."
    ]


_AFTER = "after all answers were in"


def _when(status: str, completed_at: str, excluded_at: str) -> str:
    if status != "completed":
        return "not completed" if status == "active" else status
    return _AFTER if pd.isna(excluded_at) or completed_at <= excluded_at else "before all answers were in"
