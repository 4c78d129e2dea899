"""The versions of the study in the data: numbers of sessions and trials, and differences between versions."""

import pandas as pd

from analysis.data.columns import KINDS, sessions_of
from analysis.exclusions.flow import NOT_A_TEST_TRIAL
from analysis.sentences import count
from analysis.statistics.factor_levels import level_order

_PER_SESSION = {"practice": "practice trials", "test": "test trials", "attention_check": "attention checks"}
_WHO = {"human": "people", "simulated": "simulated participants", "model": "models"}


def has_several_versions(trials: pd.DataFrame) -> bool:
    """Return True if the sessions used more than one version of the study."""
    return len(trials[["study", "study_version"]].drop_duplicates()) > 1


def study_versions(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of sessions and test trials of each version of the study.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`.

    Returns
    -------
    DataFrame
        The columns `study, study_version, kind, n_sessions, n_completed, n_test_trials, n_included, n_test_items,
        first_started_at, last_started_at, battery`, one row per version and kind. For models, a session is a run.
        `battery` has the digests of all batteries.
    """
    by = ["study", "study_version", "kind"]
    sessions = sessions_of(trials)
    moments = pd.to_datetime(sessions["started_at"], utc=True, format="ISO8601", errors="coerce")
    of_sessions = sessions.iloc[moments.argsort(kind="stable")].groupby(by)
    test = trials[[*by, "item_id", "excluded_by"]][trials["excluded_by"] != NOT_A_TEST_TRIAL]
    of_test = test.assign(included=test["excluded_by"].isna()).groupby(by)
    table = pd.DataFrame(
        {
            "n_sessions": of_sessions.size(),
            "n_completed": of_sessions["status"].agg(lambda status: (status == "completed").sum()),
            "n_test_trials": of_test.size(),
            "n_included": of_test["included"].sum(),
            "n_test_items": of_test["item_id"].nunique(),
            "first_started_at": of_sessions["started_at"].first(),
            "last_started_at": of_sessions["started_at"].last(),
            "battery": of_sessions["battery"].agg(lambda digests: ", ".join(sorted(set(digests)))),
        }
    )
    counts = [column for column in table.columns if column.startswith("n_")]
    table[counts] = table[counts].fillna(0).astype("int64")  # A version may have no test trials.
    table = table.reset_index()
    keys = [
        (level_order(study), level_order(version), KINDS.index(kind))
        for study, version, kind in table[by].itertuples(index=False)
    ]
    return table.iloc[sorted(range(len(keys)), key=keys.__getitem__)].reset_index(drop=True)


def notes_on_versions(trials: pd.DataFrame) -> list[str]:
    """Return notes on the versions of the study and their differences. For one version, return an empty list."""
    if not has_several_versions(trials):
        return []
    table = study_versions(trials)
    versions = table[["study", "study_version"]].drop_duplicates()
    one_study = versions["study"].nunique() == 1
    names = {
        (study, version): f"version {version}" if one_study else f"{study}, version {version}"
        for study, version in versions.itertuples(index=False)
    }
    parts = []
    for key, name in names.items():
        own = table[(table["study"] == key[0]) & (table["study_version"] == key[1])]
        kinds = [
            f"{_WHO[row['kind']]}: {count(row['n_sessions'], 'run' if row['kind'] == 'model' else 'session')} with "
            f"{count(row['n_test_trials'], 'test trial')}, of which {row['n_included']:,} are in the analysis"
            for row in own.to_dict("records")
        ]
        parts.append(f"{name} ({'; '.join(kinds)})")
    return [
        f"The sessions used {len(versions)} versions of the study: {'; '.join(parts)}.",
        f"{_difference_words(trials, names)} Other differences, such as texts and timing, are in the `study.yaml` of "
        "each version. The option `--study-version` analyzes one version alone.",
    ]


def notes_on_revisions(trials: pd.DataFrame) -> list[str]:
    """Return a note for each version of the study that was revised, with the number of sessions for each revision."""
    columns = ["session", "study", "study_version", "study_revision"]
    sessions = trials.loc[trials["kind"] != "model", columns].drop_duplicates("session")
    sessions = sessions.assign(study_revision=sessions["study_revision"].fillna(1))  # Older sessions have no revision.
    notes = []
    for (_, version), own in sessions.groupby(["study", "study_version"]):
        n_sessions = own["study_revision"].value_counts().sort_index()
        if len(n_sessions) > 1:
            each = ", ".join(f"{count(n, 'session')} with revision {revision}" for revision, n in n_sessions.items())
            notes.append(f"Version {version} of the study was reworded during data collection: {each}.")
    return notes


def _difference_words(trials: pd.DataFrame, names: dict[tuple[str, str], str]) -> str:
    """Return a sentence on differences between the versions in the battery and in the trials of each phase."""
    sessions = sessions_of(trials).set_index("session")
    different = []
    batteries = sessions.groupby(["study", "study_version"])["battery"].agg(lambda one: ", ".join(sorted(set(one))))
    if batteries.nunique() > 1:
        different.append("the battery")
    people = sessions[sessions["kind"] != "model"]
    of_people = trials[["session", "phase"]][trials["session"].isin(people.index)]
    for phase, words in _PER_SESSION.items():
        n_trials = of_people.loc[of_people["phase"] == phase, "session"].value_counts()
        n_trials = n_trials.reindex(people.index, fill_value=0)
        ranges = n_trials.groupby([people["study"], people["study_version"]]).agg(["min", "max"])
        if len(ranges.drop_duplicates()) > 1:
            each = [
                f"{low if low == high else f'{low} to {high}'} in {names[key]}"
                for key, low, high in ranges.itertuples(name=None)
            ]
            different.append(f"the number of {words} in a session ({', '.join(each)})")
    if not different:
        return "These versions have the same battery and the same numbers of trials in a session."
    return f"These versions differ in {' and in '.join(different)}."
