"""The tests' PostgreSQL server: its behaviour after a kill, on which other tests depend."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.paths import ROOT
from tests.postgres import PostgresCluster, find_binaries


def run(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(statement)


def numbers(url: str) -> list[int]:
    with psycopg.connect(url) as db:
        return [n for (n,) in db.execute("SELECT n FROM numbers ORDER BY n")]


@pytest.fixture
def url(postgres: PostgresCluster) -> str:
    """A database with an empty table `numbers`."""
    url = postgres.new_database()
    run(url, "CREATE TABLE numbers (n integer)")
    return url


def test_a_kill_keeps_committed_rows_and_loses_uncommitted_rows(postgres: PostgresCluster, url: str) -> None:
    run(url, "INSERT INTO numbers VALUES (1)")
    with closing(psycopg.connect(url)) as uncommitted:
        uncommitted.execute("INSERT INTO numbers VALUES (2)")
        postgres.kill()
        with pytest.raises(psycopg.OperationalError):
            uncommitted.commit()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)

    postgres.start()
    assert numbers(url) == [1]


def test_a_kill_ends_a_query_that_would_not_notice(postgres: PostgresCluster, url: str) -> None:
    with closing(psycopg.connect(url)) as busy:
        busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 1e12::bigint)")
        time.sleep(0.1)
        began = time.monotonic()
        postgres.kill()
        assert time.monotonic() - began < 30
    postgres.start()


def test_the_server_can_be_killed_repeatedly(postgres: PostgresCluster, url: str) -> None:
    for n in range(3):
        run(url, f"INSERT INTO numbers VALUES ({n})")
        postgres.kill()
        postgres.start()
    assert numbers(url) == [0, 1, 2]


def test_a_stop_does_not_wait_for_open_connections(postgres: PostgresCluster, url: str) -> None:
    run(url, "INSERT INTO numbers VALUES (1)")
    with closing(psycopg.connect(url)) as lingering:
        lingering.execute("SELECT 1")
        postgres.stop()
        postgres.stop()
        with pytest.raises(psycopg.OperationalError):
            lingering.execute("SELECT 1")
    postgres.start()
    assert numbers(url) == [1]


def test_every_new_database_is_empty_and_separate(postgres: PostgresCluster, url: str) -> None:
    run(url, "INSERT INTO numbers VALUES (1)")
    other = postgres.new_database()
    assert other != url
    with pytest.raises(psycopg.errors.UndefinedTable):
        numbers(other)


def test_a_server_that_one_test_killed_runs_for_the_next_test(postgres: PostgresCluster) -> None:
    postgres.kill()
    run(postgres.new_database(), "SELECT 1")


def test_a_commit_is_on_disk_before_it_is_acknowledged(url: str) -> None:
    with psycopg.connect(url) as db:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            assert db.execute(f"SHOW {setting}").fetchone() == ("on",)
        assert db.execute("SHOW server_encoding").fetchone() == ("UTF8",)


def test_nothing_remains_of_a_cluster_that_was_killed_last(postgres: PostgresCluster) -> None:
    with PostgresCluster() as cluster:
        folder, url = cluster.folder, cluster.url("postgres")
        assert url != postgres.url("postgres")
        cluster.kill()
        segment = (folder / "data" / "postmaster.pid").read_text().splitlines()[6].split()[1]
        assert segment in shared_memory(), "the kill left no shared memory"
    assert not folder.exists()
    assert segment not in shared_memory()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def shared_memory() -> list[str]:
    """List the ids of the system's segments of shared memory."""
    listed = subprocess.run(["ipcs", "-m"], capture_output=True, text=True, check=True).stdout
    return [line.split()[1] for line in listed.splitlines() if len(line.split()) > 4]


@pytest.mark.parametrize("ending", ["SIGTERM", "SIGKILL"])
@pytest.mark.usefixtures("postgres")  # for its reason to skip
def test_nothing_remains_of_a_test_run_that_was_ended(ending: str) -> None:
    program = (
        "import time; from tests.postgres import PostgresCluster\n"
        "with PostgresCluster() as cluster:\n"
        "    print(cluster.folder, cluster.url('postgres'), flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True) as interrupted:
        assert interrupted.stdout is not None
        folder, url = interrupted.stdout.readline().split()
        run(url, "SELECT 1")
        interrupted.send_signal(signal.Signals[ending])
    deadline = time.monotonic() + 15
    while Path(folder).exists():
        assert time.monotonic() < deadline, "the folder is still there"
        time.sleep(0.05)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


@pytest.mark.usefixtures("postgres")
def test_a_server_that_cannot_start_reports_the_reason() -> None:
    with PostgresCluster() as cluster:
        cluster.stop()
        (cluster.folder / "data" / "PG_VERSION").unlink()
        with pytest.raises(RuntimeError, match="is not a valid data directory"):
            cluster.start()


def test_programs_are_found_in_the_folder_of_the_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_POSTGRES_BIN", str(tmp_path))
    assert find_binaries() is None
    with pytest.raises(RuntimeError, match="not found"), PostgresCluster():
        pass
    if os.name == "posix":
        for name in ("initdb", "postgres"):
            (tmp_path / name).touch(0o755)
        assert find_binaries() == tmp_path
