"""Withdrawals; a file and a database with the same results."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.exclusions.flow import apply_exclusions
from equipoise.commands.study_trials import study_trials
from experiment.load_study import load_study
from server.store import Store
from server.store.open import open_store
from server.store.postgres.store import BYTES_OF_DELETED_ROWS
from tests.equipoise.commands.store.commands import (
    StoredStudy,
    another_study,
    answer,
    done,
    make_small_study,
    refused,
    run,
    sessions,
)
from tests.server.stores import rows

# Withdrawals


def test_a_withdrawal_by_code_deletes_the_responses_of_one_participant(stored: StoredStudy) -> None:
    answer(stored, "dora", n_answers=100, then="complete")
    printed = done("withdraw", stored.folder, "--code", f" {stored.codes['anna'].lower()} ", *stored.option)
    assert printed == "The responses of this participant are deleted; their sessions count as withdrawn.\n"
    with stored.opened() as store:
        left = {session for (session,) in rows(store, "SELECT DISTINCT session FROM responses")}
        status = dict(rows(store, "SELECT session, status FROM sessions"))
    assert left == {stored.sessions["bert"], stored.sessions["dora"]}
    assert status[stored.sessions["anna"]] == "withdrawn"


def test_a_code_of_another_study_in_the_same_store_deletes_nothing(stored: StoredStudy, tmp_path: Path) -> None:
    other = another_study(stored, tmp_path)
    answer(other, "anna", n_answers=100, then="complete")
    sentence = refused("withdraw", stored.folder, "--code", other.codes["anna"], *stored.option)
    assert "nothing was deleted" in sentence
    with stored.opened() as store:
        assert dict(rows(store, "SELECT session, status FROM sessions"))[other.sessions["anna"]] == "completed"


# The same results from a file and from a database


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: Any) -> list[StoredStudy]:
    """Return one study on a file and on a database, with the same simulated participants and model runs."""
    found = []
    for name in ("file", "database"):
        folder = tmp_path_factory.mktemp(name) / "study"
        make_small_study(folder, "open")
        url = postgres.new_database() if name == "database" else ""
        stored = StoredStudy(folder, url or str(folder / "data" / "equipoise.db"), ["--store", url] if url else [])
        printed = done("simulate", folder, "-n", 12, "--seed", 5, *stored.option)
        assert "12 simulated participants took the study" in printed
        assert "://" not in printed
        for model in ("tracer", "nearest-atom"):
            done("models", "run", folder, "--model", f"baseline/{model}", *stored.option)
        done("analyze", folder, "-o", folder / "results", *stored.option)
        found.append(stored)
    return found


CHANCE = ["session", "participant", "started_at", "completed_at", "shown_at", "received_at"]
"""Columns with random names or times."""


def test_a_file_and_a_database_give_the_same_tables_for_the_same_seed(both: list[StoredStudy]) -> None:
    names = [sorted(path.name for path in (stored.folder / "results" / "tables").iterdir()) for stored in both]
    assert names[0] == names[1]
    for name in ("accuracy.csv", "exclusions.csv", "participants.csv", "trials.csv"):
        assert len(stable(both[0].folder / "results" / "tables" / name)) > 0
    for name in names[0]:
        one, other = (stable(stored.folder / "results" / "tables" / name) for stored in both)
        pd.testing.assert_frame_equal(one, other, obj=name)


def stable(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)
    frame = frame.drop(columns=[column for column in CHANCE if column in frame])
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)


def test_a_file_and_a_database_give_the_same_report(both: list[StoredStudy]) -> None:
    def report(stored: StoredStudy) -> str:
        html = (stored.folder / "results" / "report.html").read_text(encoding="utf-8")
        text = re.sub(r"<(svg|style).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
        # The digest of the responses includes the names of the sessions, which are random.
        text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", " ".join(text.split()))
        return re.sub(r"\d\d:\d\d UTC", "TIME", text)

    one, other = map(report, both)
    assert len(one) > 1_000
    assert one == other


def exclusions(stored: StoredStudy) -> dict[str, Any]:
    """Return the table of exclusions of the study's analysis, without its figures."""
    study = load_study(stored.folder)
    flow = apply_exclusions(study_trials(study, stored.location), study.definition.analysis).flow
    return flow.to_dict()


def test_a_withdrawal_is_the_same_on_a_file_and_on_a_database(both: list[StoredStudy]) -> None:
    left = []
    before = exclusions(both[0])
    for stored in both:
        with stored.opened() as store:
            (code,) = [
                code
                for code, seed, group in rows(store, 'SELECT withdrawal_code, seed, "group" FROM sessions')
                if (seed, group) == (1, 2)
            ]
        withdrawn = run("withdraw", stored.folder, "--code", code, *stored.option)
        assert withdrawn.exit_code == 0, withdrawn.output
        # A database keeps the deleted bytes for some time, and the command reports this.
        assert (BYTES_OF_DELETED_ROWS in withdrawn.stderr) == bool(stored.option)
        left.append(exclusions(stored))
        assert "complete and unchanged" in done("store", "verify", stored.folder, *stored.option)
    assert left[0] == left[1]
    assert left[0] != before


def test_a_database_is_served_by_the_command_and_leaves_no_file_beside_its_secrets(
    study_folder: Path, postgres: Any
) -> None:
    from equipoise.commands.server_process import researcher_token, running_server
    from experiment.simulated_participants import simulate

    url = postgres.new_database()
    with running_server(study_folder, url) as address:
        study = load_study(study_folder)
        simulate(address, researcher_token(study), study, 2, seed=1)
    assert sorted(path.name for path in (study_folder / "data").iterdir()) == ["researcher-token", "signing-key"]
    store: Store = open_store(url)
    assert len(rows(store, "SELECT * FROM sessions WHERE status = 'completed'")) == 2
    store.close()


def test_a_second_simulation_adds_participants_in_a_database_too(both: list[StoredStudy]) -> None:
    database = both[1]
    before = len(sessions(database))
    done("simulate", database.folder, "-n", 2, "--seed", 5, *database.option)
    medians = pd.DataFrame(trials(database)).groupby("session")["rt_ms"].median().dropna()
    assert len(sessions(database)) == before + 2
    assert medians.nunique() == len(medians)  # no participant twice


def trials(stored: StoredStudy) -> list[dict[str, Any]]:
    with stored.opened() as store:
        found: list[dict[str, Any]] = store.trials()
    return found
