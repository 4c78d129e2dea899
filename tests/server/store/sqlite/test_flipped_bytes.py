"""A changed byte in a store's file, as on a failing disk: it is detected, or nothing that is read changes."""

import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from equipoise.commands.store.store import store_verify
from experiment.models.baselines import run_baseline
from experiment.records import Kind
from experiment.study.definition import Study
from server.store import Identity, Release, SqliteStore, StoreUnavailable
from tests.server.stores import Person, response

N_FLIPS = 400


def live_in(path: Path, study: Study) -> None:
    with closing(SqliteStore(path)) as store:
        store.register_study(study)
        for number in range(6):
            Person(store, study, identity=Identity("panel", f"panel-id-{number}", {"SESSION_ID": "s"})).complete()
        people = [Person(store, study) for _ in range(3)]
        people[0].send(*(response(index, response="what I say " * 50) for index in range(2)))
        people[1].withdraw()
        store.release_slot(people[2].session, Release.RETURN)
        store.add_demographics(people[0].session, {"age": 33})
        Person(store, study, Kind.SIMULATED).complete()
        store.add_runs(study, [run_baseline(study, "baseline/tracer")])


def read(path: Path, study: Study) -> Any:
    """Return everything that an analysis, an export or a page reads of a store, or the error message."""
    try:
        with closing(SqliteStore(path)) as store:
            found = [
                store.trials(),
                store.sessions(study),
                store.identities(study),
                store.events(study),
                store.progress(study),
            ]
            return [sorted(map(repr, rows)) for rows in found]
    except (InputError, StoreUnavailable):
        return None


def verify(study: Study, path: Path) -> Any:
    """Return the digest and whether there is a problem, or None if the store cannot be opened; other errors fail."""
    try:
        found = store_verify(study, str(path))
    except InputError:
        return None
    return found.digest if not found.problems else None


@pytest.mark.parametrize("seed", [1])
def test_a_flipped_byte_is_noticed_or_changes_nothing_that_is_read(
    tmp_path: Path, small_study: Study, seed: int
) -> None:
    path = tmp_path / "whole.db"
    live_in(path, small_study)
    whole = path.read_bytes()
    before, digest = read(path, small_study), verify(small_study, path)
    assert digest
    draw = random.Random(seed)
    n_noticed, missed = 0, []
    folder = tmp_path / "flipped"
    for _ in range(N_FLIPS):
        folder.mkdir()
        n_pages = draw.choice([1, 4, len(whole) // 4096])  # The schema is in the first pages.
        at, bit = draw.randrange(n_pages * 4096), 1 << draw.randrange(8)
        flipped = bytearray(whole)
        flipped[at] ^= bit
        copy = folder / "equipoise.db"
        copy.write_bytes(flipped)
        if verify(small_study, copy) == digest:
            copy.write_bytes(flipped)
            if read(copy, small_study) != before:
                missed.append((at, bit))
        else:
            n_noticed += 1
        shutil.rmtree(folder)
    assert missed == []
    assert n_noticed > N_FLIPS / 10
