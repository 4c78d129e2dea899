"""A backup that is killed while it writes leaves a visible file, and the next backup says what to do."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from experiment.study.definition import Study
from server.store import SqliteStore, Store
from server.store.copying import back_up, copy_store
from server.store.verify import Verified
from tests.server.stores import Person, problems

KILLED_WHILE_IT_WRITES = """
import os, signal, sys
from pathlib import Path
from server.store import SqliteStore, copying
copying.verify = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
copying.back_up(SqliteStore(Path(sys.argv[1])), Path(sys.argv[2]))
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
def test_a_killed_backup_leaves_only_visible_files_and_the_next_backup_names_them(
    store: SqliteStore, small_study: Study, tmp_path: Path
) -> None:
    store.register_study(small_study)
    Person(store, small_study).complete()
    folder = tmp_path / "backups"
    folder.mkdir()
    backup = folder / "monday.db"
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_IT_WRITES, store.path, backup], check=False)
    assert done.returncode == -signal.SIGKILL
    left = sorted(folder.iterdir())
    assert left
    assert all(file.name.startswith("monday.db.part") for file in left), left
    assert all(file.stat().st_mode & 0o077 == 0 for file in left)
    with pytest.raises(
        InputError, match=r"monday\.db\.part: another backup is writing this file, or was killed.*Fix: "
    ):
        back_up(store, backup)
    assert sorted(folder.iterdir()) == left, "what another backup may still write was touched"
    for file in left:
        file.unlink()
    back_up(store, backup)
    assert sorted(folder.iterdir()) == [backup]
    copy = SqliteStore(backup)
    assert problems(copy) == []
    copy.close()


def test_a_backup_whose_log_cannot_be_emptied_is_refused_and_leaves_no_file(
    store: SqliteStore, small_study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a nearly full disk the copy is complete in its log, but does not fit into the file."""
    store.register_study(small_study)
    Person(store, small_study).complete()
    bystander = tmp_path / "monday.db.partial-notes.txt"
    bystander.write_text("mine", encoding="utf-8")
    readers: list[sqlite3.Connection] = []

    def copy_during_a_read(source: Store, target: SqliteStore, on_rows: Any) -> Verified:
        readers.append(sqlite3.connect(target.path))
        readers[0].execute("BEGIN")
        readers[0].execute("SELECT COUNT(*) FROM studies").fetchone()
        return copy_store(source, target, on_rows)

    with monkeypatch.context() as patch:
        patch.setattr("server.store.copying.copy_store", copy_during_a_read)
        with pytest.raises(InputError, match="not enough space"):
            back_up(store, tmp_path / "monday.db")
    for reader in readers:
        reader.close()
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("monday")] == [bystander.name]
