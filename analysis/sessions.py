"""A row a session: for what belongs to a sitting and not to a person, who may come again in another group."""

import pandas as pd

from analysis.columns import units

OF_SESSION = ["session", "kind", "study", "study_version", "battery", "source", "group", "status", "started_at"]


def sessions_of(trials: pd.DataFrame) -> pd.DataFrame:
    """Return `OF_SESSION` and `unit` (the participant, or for models the run), a row a session, by its name.

    Parameters
    ----------
    trials : DataFrame
        The tidy table.
    """
    sessions = trials.drop_duplicates("session").sort_values("session", ignore_index=True)
    return sessions[OF_SESSION].assign(unit=units(sessions))
