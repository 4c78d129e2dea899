"""Unwritable files and missing or damaged stores cause one sentence, and no new file remains."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import psycopg.sql
import pytest

from tests.equipoise.commands.store.commands import StoredStudy, answer, done, on_a_file, refused, run

# Files to write, stores to read


def writers(stored: StoredStudy) -> Iterator[list[object]]:
    """Yield the commands that write a file, without the name of the file."""
    yield ["assignment", "log", stored.folder, *stored.option, "-o"]
    yield ["identities", "export", stored.folder, *stored.option, "-o"]
    yield ["store", "backup", stored.folder, *stored.option, "-o"]


def test_an_unusable_path_is_named_and_no_file_remains(stored: StoredStudy, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for command in writers(stored):
        paths = [tmp_path / "folder", tmp_path / "file" / "out.csv", "/proc/out.csv", ""]
        if command[1] != "backup":  # this command makes the folder
            paths.append(tmp_path / "nowhere" / "out.csv")
        for unusable in paths:
            refused(*command, unusable)
    assert sorted(path for path in tmp_path.rglob("*") if "equipoise.db" not in path.name) == [
        path for path in before if "equipoise.db" not in path.name
    ]
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the size of files, as on a full disk")
def test_no_part_of_a_file_remains_if_the_disk_is_full(by_link: Path, tmp_path: Path) -> None:
    import resource

    path = tmp_path / "links.csv"
    for content in (None, "the links of yesterday"):
        if content:
            path.write_text(content, encoding="utf-8")
        command = ["links", str(by_link), "-n", "2000", "--address", "https://study.example.org", "-o", str(path)]
        full = subprocess.run(
            [sys.executable, "-P", "-m", "equipoise", *command],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, 8_192)),
        )
        assert full.returncode == 2
        assert len(full.stderr.splitlines()) == 1
        assert str(path) in full.stderr
        if content:
            assert path.read_text(encoding="utf-8") == content
        assert [one.name for one in tmp_path.iterdir() if one.suffix == ".csv" or "links" in one.name] == (
            ["links.csv"] if content else []
        )


READERS: Sequence[Sequence[str]] = [
    ["store", "verify", "STUDY"],
    ["store", "backup", "STUDY", "-o", "out"],
    ["assignment", "release", "STUDY", "--session", "x", "--reason", "return"],
    ["assignment", "show", "STUDY"],
    ["revise", "STUDY", "--reason", "typo"],
    ["exclude", "STUDY", "--session", "x", "--reason", "fire alarm"],
    ["assignment", "log", "STUDY", "-o", "out"],
    ["identities", "export", "STUDY", "-o", "out"],
    ["identities", "delete", "STUDY", "--everybody"],
    ["withdraw", "STUDY", "--code", "3F0A91BC"],
    ["assignment", "show", "STUDY"],
]


ALL = [
    *READERS,
    ["assignment", "close", "STUDY", "--group", "1"],
    ["assignment", "open", "STUDY", "--group", "1"],
    ["simulate", "STUDY", "-n", "1"],
    ["models", "run", "STUDY", "--model", "baseline/tracer"],
    ["analyze", "STUDY", "-o", "out"],
    ["analyze", "STUDY", "--lock"],
]


def of(study: Path, command: Sequence[str], *more: object) -> list[object]:
    return [study if word == "STUDY" else word for word in command] + list(more)


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_command_that_reads_a_missing_store_does_not_make_it(by_panel: Path, in_tmp: Path) -> None:
    for command in READERS:
        assert "equipoise.db" in refused(*of(by_panel, command))
        assert "elsewhere.db" in refused(*of(by_panel, command, "--store", "elsewhere.db"))
        assert not (by_panel / "data").exists()
        assert list(in_tmp.iterdir()) == []


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_a_write_ahead_log_without_its_store_is_refused_by_every_command_and_unchanged(
    by_panel: Path, in_tmp: Path, command: list[str]
) -> None:
    """A part of the files may have been moved; the responses in the log are not lost yet."""
    log = by_panel / "data" / "equipoise.db-wal"
    log.parent.mkdir()
    log.write_bytes(b"answers" * 1_000)
    result = run(*of(by_panel, command))
    assert result.exit_code == 2
    if command[0] != "simulate":  # its server prints the sentence in another process
        assert "its log equipoise.db-wal contains responses. Fix: put the database file back" in result.stderr
    assert log.read_bytes() == b"answers" * 1_000
    assert not (log.parent / "equipoise.db").exists()


def test_a_command_that_reads_an_empty_database_makes_no_store(by_panel: Path, in_tmp: Path, postgres: Any) -> None:
    url = postgres.new_database()
    for command in READERS:
        assert "there is no store in this database" in refused(*of(by_panel, command, "--store", url))
    with psycopg.connect(url) as db:
        assert db.execute("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_verify_reports_a_store_without_any_study(by_panel: Path) -> None:
    on_a_file(by_panel).opened().__enter__().close()  # makes an empty store, as an earlier version of the command did
    result = run("store", "verify", by_panel)
    assert result.exit_code == 1
    assert "this store contains no study" in result.stderr
    assert "all there" not in result.output


def test_a_deletion_names_the_file_that_may_still_contain_the_responses(by_panel: Path) -> None:
    stored = on_a_file(by_panel)
    answer(stored, "anna", n_answers=1)
    answer(stored, "bert", n_answers=1)
    assert done("identities", "delete", by_panel, "--panel-id", "anna") == "Deleted ids and codes: 1.\n"
    with stored.opened() as store, store.snapshot() as db:
        db.execute("SELECT COUNT(*) FROM responses").fetchone()
        for command in (["identities", "delete", by_panel, "--everybody"],
                        ["withdraw", by_panel, "--session", stored.sessions["bert"]]):  # fmt: skip
            result = run(*command)
            assert result.exit_code == 0
            assert "equipoise.db-wal: this log still contains deleted data" in result.stderr


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_a_path_without_a_study_or_store_is_named(by_panel: Path, in_tmp: Path, command: list[str]) -> None:
    assert "study.yaml" in refused(*of(in_tmp, command))
    notes = in_tmp / "notes.txt"
    notes.write_text("my notes\n" * 200, encoding="utf-8")
    if command[0] != "simulate":  # its server prints the first sentence, and the command a second one
        assert "notes.txt" in refused(*of(by_panel, command, "--store", notes))
        for wrong in ("mysql://db/x", "sqlite:///x.db"):
            assert "--store" in refused(*of(by_panel, command, "--store", wrong))
        assert "database" in refused(*of(by_panel, command, "--store", "postgresql://127.0.0.1:1/x"))
    assert notes.read_text(encoding="utf-8") == "my notes\n" * 200
    assert [path.name for path in in_tmp.iterdir()] == ["notes.txt"]


def test_every_command_reports_a_damaged_file_in_one_sentence(by_panel: Path, in_tmp: Path) -> None:
    stored = on_a_file(by_panel)
    answer(stored, "anna", n_answers=100, then="complete")
    path = Path(stored.location)
    with closing(sqlite3.connect(path)) as db:
        pages = [
            page
            for (page,) in db.execute(
                "SELECT rootpage FROM sqlite_master "
                "WHERE type = 'table' AND name IN ('responses', 'planned_trials', 'items', 'identities')"
            )
        ]
    whole = path.read_bytes()
    assert len(pages) == 4
    wrong = []
    for page in pages:
        for command in [*READERS, ["store", "copy", str(path), "target.db"]]:
            for leftover in [*path.parent.glob("equipoise.db*"), *in_tmp.iterdir()]:
                leftover.unlink()
            path.write_bytes(whole[: 4096 * (page - 1)] + b"\xff" * 4096 + whole[4096 * page :])
            result = run(*of(by_panel, command))
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                wrong.append((page, " ".join(command[:2]), repr(result.exception)))
            elif result.exit_code != 0:
                assert not Path("out").exists()
    assert wrong == []


def test_letters_of_another_encoding_cause_one_sentence_without_traceback(stored: StoredStudy, tmp_path: Path) -> None:
    """A command line in Latin-1 passes such letters; Python then makes a surrogate of each byte."""
    odd = b"m\xfcller".decode("utf-8", "surrogateescape")
    wrong = []
    for command in (
        ["withdraw", "STUDY", "--code", odd],
        ["assignment", "release", "STUDY", "--reason", "return", "--panel-id", odd],
        ["assignment", "release", "STUDY", "--reason", "return", "--session", odd],
        ["identities", "delete", "STUDY", "--panel-id", odd],
        ["identities", "export", "STUDY", "-o", str(tmp_path / odd / "nowhere")],
        ["store", "verify", odd],
    ):
        more = [] if command[2] == odd else stored.option
        result = run(*of(stored.folder, command, *more))
        if result.exit_code != 2 or not isinstance(result.exception, SystemExit):
            wrong.append((" ".join(command[:2]), command[-2], repr(result.exception)))
    assert wrong == []
