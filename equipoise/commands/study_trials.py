"""The trials of a study, read from its store for the analysis."""

from pathlib import Path

import pandas as pd

from analysis.data.tidy_table import read_trials, tidy_trials
from batteries.errors import InputError
from experiment.records import Kind
from experiment.study.definition import Study
from server.locations import without_password
from server.store import StoreUnavailable
from server.store.open import is_address, opened_store
from server.store.sqlite.file import refuse_missing


def may_have_responses(store: str) -> bool:
    """Return True if a store may have responses: it is a database, or a file that exists.

    Raises
    ------
    InputError
        If the file is missing or empty, but its write-ahead log contains responses.
    """
    if is_address(store):
        return True
    refuse_missing(Path(store), must_exist=False)
    return Path(store).exists()


def no_responses(where: str, study: Study) -> InputError:
    """Return the error for a study without responses. `where` is the store, without a password."""
    return InputError(
        f"{where}: there are no responses yet. Fix: collect responses with `equipoise serve {study.folder}`, or try "
        f"`equipoise simulate {study.folder} -n 40`."
    )


def study_trials(study: Study, store: str) -> pd.DataFrame:
    """Return the tidy table of a study's sessions.

    Raises
    ------
    InputError
        If the store cannot be read, or has no session of the study.
    """
    if is_address(store):
        return tidy_trials(stored_rows(study, store), without_password(store))
    trials = read_trials(Path(store))
    is_of_study = trials["study"] == study.name
    if not is_of_study.any():
        raise InputError(
            f"{store}: the store has no session of the study `{study.name}`. It has sessions of "
            f"{', '.join(set(trials['study']))}. Fix: name the store of this study with --store."
        )
    return trials if is_of_study.all() else trials[is_of_study].reset_index(drop=True)


def stored_rows(study: Study, store: str) -> pd.DataFrame:
    """Return the rows of a study's trials, with the columns that the store has."""
    try:
        with opened_store(store, must_exist=True) as opened:
            return pd.DataFrame.from_records(opened.trials(study))
    except StoreUnavailable as error:
        raise InputError(
            f"{without_password(store)}: the store cannot be read now ({error}). Fix: try again."
        ) from None


def without_simulated_participants(trials: pd.DataFrame, store: str) -> tuple[pd.DataFrame, str]:
    """Return the trials of people and models, and a note with the number of excluded sessions.

    Raises
    ------
    InputError
        If there are only simulated participants.
    """
    is_simulated = trials["kind"] == Kind.SIMULATED
    if is_simulated.all():
        raise InputError(
            f"{without_password(store)}: there are only simulated participants. Fix: collect responses of people first."
        )
    n_sessions = trials.loc[is_simulated, "session"].nunique()
    note = f"{n_sessions:,} sessions of simulated participants were excluded (--without-simulated)."
    return trials[~is_simulated].reset_index(drop=True), note


def trials_of_version(trials: pd.DataFrame, study_version: str) -> pd.DataFrame:
    """Return the trials of the sessions of one version of the study.

    Raises
    ------
    InputError
        If there is no session of this version.
    """
    versions = sorted(trials["study_version"].unique())
    if study_version not in versions:
        raise InputError(
            f"there is no session of version {study_version}. Fix: use one of the versions {', '.join(versions)}."
        )
    return trials[trials["study_version"] == study_version].reset_index(drop=True)


def first_session_start(trials: pd.DataFrame) -> str | None:
    """Return the time at which the first session of people began. If there are no people, use simulated sessions."""
    for kind in (Kind.HUMAN, Kind.SIMULATED):
        times = pd.to_datetime(
            trials.loc[trials["kind"] == kind, "started_at"].dropna(), utc=True, format="ISO8601", errors="coerce"
        )
        if times.notna().any():
            return str(times.min().isoformat(timespec="seconds"))
    return None
