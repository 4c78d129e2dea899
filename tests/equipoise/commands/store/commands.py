"""Functions that run commands on a study's store, and studies with responses to run them on."""

import csv
import os
import re
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import psycopg.sql
import pytest
from click.testing import CliRunner, Result

from equipoise.cli.main import main
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from server.app import create_app
from server.security.secret_files import read_secrets
from server.settings import Settings
from server.store.open import opened_store
from server.store.postgres.store import BYTES_OF_DELETED_ROWS
from tests.server.stores import rows

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no file modes")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def done(*arguments: object) -> str:
    """Run a command that must succeed and return what it printed."""
    result = run(*arguments)
    if result.exit_code != 0:
        raise AssertionError(f"exit code {result.exit_code}: {result.output}") from result.exception
    assert result.stderr in ("", notice_of_kept_bytes(arguments))
    return result.stdout


def notice_of_kept_bytes(arguments: Sequence[object]) -> str:
    """Return the sentence of a deleting command on the bytes that a database keeps for some time."""
    deletes = "withdraw" in arguments or "delete" in arguments
    on_database = any(str(argument).startswith("postgresql:") for argument in arguments)
    return f"{BYTES_OF_DELETED_ROWS}\n" if deletes and on_database else ""


def refused(*arguments: object, code: int = 2) -> str:
    """Run a command that must refuse its input, and return the one sentence that it prints."""
    result = run(*arguments)
    if result.exit_code != code or "Traceback" in result.output:
        raise AssertionError(f"exit code {result.exit_code}: {result.output}") from result.exception
    assert result.stdout == ""
    printed = result.stderr.replace("\n\t", " ")  # click prints the choices so
    lines = [line for line in printed.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    return lines[0]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@dataclass
class StoredStudy:
    """A study with responses, and the store of the responses."""

    folder: Path
    location: str
    """The study's store, a file or the address of a database."""
    option: list[str]
    """Option that names the store for a command; empty for the default file."""
    sessions: dict[str, str] = field(default_factory=dict)
    """Session by panel id."""
    codes: dict[str, str] = field(default_factory=dict)

    def opened(self) -> Any:
        return opened_store(self.location)

    @property
    def is_file(self) -> bool:
        return not self.option


N_GROUPS = 2
FORMULA = "=1+cmd|calc!A0"
"""A panel id that a spreadsheet would run."""


def make_small_study(folder: Path, entry: str) -> None:
    """Make the sample study with two groups of ten test items, because this study is quick to load and to complete."""
    copy_sample_study("blackbox-predict", folder)
    battery = folder / "battery.jsonl"
    header, *items = battery.read_text(encoding="utf-8").splitlines()
    apart = [line for line in items if '"item_id":"config-' not in line]
    tests = [line for line in items if line not in apart]
    battery.write_text("\n".join([header, *apart, *tests[:20]]) + "\n", encoding="utf-8")
    study_yaml = folder / "study.yaml"
    text = study_yaml.read_text(encoding="utf-8").replace("groups: 10", f"groups: {N_GROUPS}")
    study_yaml.write_text(f"{text}\nrecruitment: {{entry: {entry}, panel_parameter: pid}}\n", encoding="utf-8")


def on_a_file(folder: Path) -> StoredStudy:
    return StoredStudy(folder, str(folder / "data" / "equipoise.db"), [])


def copied(template: StoredStudy, folder: Path) -> StoredStudy:
    """Return a copy of a study on a file, with its responses."""
    shutil.copytree(template.folder, folder)
    copy = on_a_file(folder)
    copy.sessions, copy.codes = dict(template.sessions), dict(template.codes)
    return copy


def in_a_database(folder: Path, url: str) -> StoredStudy:
    return StoredStudy(folder, url, ["--store", url])


def cloned(postgres: Any, url: str) -> str:
    """Return the address of a new database with a copy of another database."""
    new: str = postgres.new_database()
    source, target = (psycopg.sql.Identifier(one.rpartition("/")[2]) for one in (url, new))
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as db:
        db.execute(psycopg.sql.SQL("DROP DATABASE {}").format(target))
        db.execute(psycopg.sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(target, source))
    return new


def answer(stored: StoredStudy, panel_id: str, n_answers: int, then: str = "", **parameters: str) -> None:
    """Let a participant begin the study, give some responses, and then complete or withdraw."""
    study = load_study(stored.folder)
    with opened_store(stored.location) as store:
        http = create_app(study, store, read_secrets(stored.folder / "data"), Settings()).test_client()
        http.get("/", query_string={"pid": panel_id, "SESSION_ID": f"of-{panel_id}", "token": panel_id, **parameters})
        digest = http.get("/api/study").get_json()["consent_digest"]
        start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
        session = http.post("/api/session", json=start).get_json()
        stored.sessions[panel_id] = session["session"]
        for trial in session["trials"][:n_answers]:
            response = "absorbed" if trial["task"] == "blackbox_predict" else 2
            body = {"response_id": str(uuid.uuid4()), "trial_index": trial["trial_index"], "response": response}
            sent = http.post("/api/responses", json={"session": session["session"], "responses": [body]})
            assert sent.status_code == 201
        if then:
            ended = http.post(f"/api/{then}", json={})
            assert ended.status_code == 200
            stored.codes[panel_id] = ended.get_json().get("completion_code", "")


def digest_of(printed: str) -> str:
    found = re.search(r"Digest: ([0-9a-f]{64})$", printed.strip())
    assert found, printed
    return found[1]


def another_study(stored: StoredStudy, tmp_path: Path) -> StoredStudy:
    """Make another study with the same store."""
    folder = tmp_path / "another"
    make_small_study(folder, "panel")
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    text = text.replace("study: blackbox-predict", "study: another-study")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return in_a_database(folder, stored.location)


def sessions(stored: StoredStudy) -> list[Any]:
    with stored.opened() as store:
        return rows(store, "SELECT session FROM sessions")
