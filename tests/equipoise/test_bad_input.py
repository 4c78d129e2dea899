"""Invalid files and paths cause a sentence and exit code 2, never a traceback."""

import json
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from equipoise.cli.main import main

Edit = Callable[[Path, str, str], None]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def assert_refused(result: Result, message: str) -> None:
    if result.exit_code != 2:
        raise AssertionError(f"exit code {result.exit_code}: {result.output}") from result.exception
    assert message in result.stderr
    assert result.stdout == ""


def tracer(study: Path) -> Result:
    """Run a command that reads the whole study and writes to its store."""
    return run("models", "run", study, "--model", "baseline/tracer")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("study.yaml", "min_ms: 2000", "min_ms: .inf", "finite"),
        ("study.yaml", "by: [outcome]", "by: [outcome]\n  seed: 99999999999999999999", "seed"),
        ("study.yaml", "consent: consent.md", 'consent: "a\\0b"', "cannot be read"),
        ("study.yaml", "consent: consent.md", "consent: .", "cannot be read"),
        ("study.yaml", "groups: 10", "groups: 1000", "1000 groups but only 235 test items"),
        ("study.yaml", "balance: [outcome,", "balance: [outcome, outcome,", "the factor outcome appears 2 times"),
        ("battery.jsonl", '"configuration":0', '"configuration":NaN', "line 2"),
        ("battery.jsonl", '"configuration":0', f'"configuration":{2**60}', "2^53"),
        ("battery.jsonl", '"configuration":0', f'"configuration":{"9" * 5000}', "a number has too many digits"),
        ("battery.jsonl", '"pattern":"Spread"', '"pattern":"\\ud800"', "line 2"),
        ("battery.jsonl", '"atoms":[[2,3]', '"atoms":[["2","3"]', "atoms"),
        ("battery.jsonl", '"atoms":[[2,3]', '"atoms":[[2.0,3]', "atoms"),
        ("battery.jsonl", '"content":{', '"content":' + '{"a":' * 5000 + "1" + "}" * 5000 + ',"x":{', "line 2"),
    ],
)
def test_an_invalid_study_is_refused(
    study_folder: Path, edit: Edit, file: str, old: str, new: str, message: str
) -> None:
    edit(study_folder / file, old, new)
    assert_refused(tracer(study_folder), message)
    assert not (study_folder / "data").exists()


def test_a_board_without_a_size_has_the_default_size(study_folder: Path, edit: Edit) -> None:
    edit(study_folder / "battery.jsonl", ',"size":8}', "}")
    assert tracer(study_folder).exit_code == 0


def test_a_file_instead_of_the_folder_data_is_refused(study_folder: Path) -> None:
    (study_folder / "data").write_text("", encoding="utf-8")
    assert_refused(tracer(study_folder), "cannot be made")


def test_a_file_that_is_not_a_store_is_refused_and_unchanged(study_folder: Path) -> None:
    (study_folder / "data").mkdir()
    path = study_folder / "data" / "equipoise.db"
    path.write_bytes(b"my notes\n" * 300)
    assert_refused(tracer(study_folder), "is not a store, or is damaged")
    assert path.read_bytes() == b"my notes\n" * 300


def test_a_store_that_another_program_locks_is_refused(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracer(study_folder)
    monkeypatch.setattr("server.store.sqlite.file.BUSY_TIMEOUT_S", 0.2)
    holder = sqlite3.connect(study_folder / "data" / "equipoise.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    result = run("models", "run", study_folder, "--model", "baseline/nearest-atom")
    holder.execute("ROLLBACK")
    holder.close()
    assert_refused(result, "The responses in the file are not changed")


@pytest.mark.parametrize("command", ["new", "demo"])
def test_a_path_where_no_folder_can_be_made_is_refused(tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    path = tmp_path / "file" / "study"
    assert_refused(run(command, path) if command == "new" else run("demo", "--dir", path), "cannot be made")


def test_the_demo_refuses_a_folder_with_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert_refused(run("demo", "--no-serve", "--dir", tmp_path), "not an empty folder")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_results_in_the_folder_of_the_responses_are_refused(study_folder: Path) -> None:
    tracer(study_folder)
    assert_refused(run("analyze", study_folder, "-o", study_folder / "data"), "contains the store")


@pytest.mark.parametrize("name", ["tables", "figures", "report.html"])
def test_results_that_would_replace_another_file_are_refused(study_folder: Path, tmp_path: Path, name: str) -> None:
    tracer(study_folder)
    out = tmp_path / "out"
    blocker = out / name
    if name == "report.html":
        blocker.mkdir(parents=True)
    else:
        out.mkdir()
        blocker.write_text("mine", encoding="utf-8")
    assert_refused(run("analyze", study_folder, "-o", out), name)
    assert [path.name for path in out.iterdir()] == [name]  # no unfinished file


@pytest.mark.parametrize(
    ("host", "message"),
    [("no.such.host.invalid", "no network address belongs to this name"), ("203.0.113.7", "cannot listen")],
)
def test_a_host_of_another_machine_is_refused(study_folder: Path, host: str, message: str) -> None:
    assert_refused(run("serve", study_folder, "--host", host), message)
    assert not (study_folder / "data").exists()


def test_a_port_that_another_program_uses_is_refused(study_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        found = run("serve", study_folder, "--port", str(port))
    assert_refused(found, f"another program uses port {port} of 127.0.0.1")


def test_an_empty_researcher_token_is_refused(study_folder: Path) -> None:
    (study_folder / "data").mkdir()
    (study_folder / "data" / "researcher-token").write_text("", encoding="utf-8")
    assert_refused(run("serve", study_folder, "--port", "65123"), "this file must contain a secret")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: r.update(predictions=[]), "results.0.predictions"),
        (lambda r: r["predictions"][0].update(responseTimeMs=-5), "results.0.predictions.0.responseTimeMs"),
        (lambda r: r["predictions"][0].update(responseTimeMs=float("nan")), "responseTimeMs"),
        (lambda r: r["predictions"][0].update(reasoning="\ud800"), "the run Haiku 4.5, augmented+viz"),
    ],
)
def test_invalid_stored_runs_are_refused(
    study_folder: Path, tmp_path: Path, stored_runs: Path, spoil: Any, message: str
) -> None:
    whole = json.loads(stored_runs.read_text(encoding="utf-8"))
    spoil(whole["results"][0])
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert_refused(run("models", "import", study_folder, path), message)


def test_an_unknown_withdrawal_code_deletes_nothing(study_folder: Path) -> None:
    tracer(study_folder)
    assert_refused(run("withdraw", study_folder, "--code", "00000000"), "nothing was deleted")


def test_a_study_in_a_folder_with_spaces_and_other_scripts_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "my study – é 日本"
    assert run("new", folder).exit_code == 0
    assert tracer(folder).exit_code == 0
    assert run("analyze", folder, "-o", folder / "my results").exit_code == 0
