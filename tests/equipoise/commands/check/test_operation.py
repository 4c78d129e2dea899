"""Points on backups and on secure cookies."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.operation import backup_point, https_point
from equipoise.commands.store.store import store_backup
from experiment.load_study import load_study
from experiment.study.definition import Study
from server.settings import Settings
from server.store import SqliteStore
from tests.equipoise.commands.check.studies import with_recruitment

NAME = "study.example.org"


@pytest.fixture
def stored(study_folder: Path) -> Iterator[Study]:
    """Return a study with a store that a server has open."""
    study = load_study(study_folder)
    store = SqliteStore(study.store_path)
    store.register_study(study)
    yield study
    store.close()


def files_of(folder: Path) -> dict[str, str]:
    """Return the digests of all files."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_study_without_a_store_needs_a_backup_later(study_folder: Path) -> None:
    point = backup_point(load_study(study_folder), Settings(), datetime.now(UTC))
    assert (point.verdict, "no store yet" in point.found) == (Verdict.ATTENTION, True)
    assert not (study_folder / "data").exists()


def test_a_store_without_a_backup_needs_attention(stored: Study) -> None:
    point = backup_point(stored, Settings(), datetime.now(UTC))
    assert (point.verdict, "no backup" in point.found) == (Verdict.ATTENTION, True)


def test_a_backup_of_today_passes_and_an_older_one_needs_attention(stored: Study, tmp_path: Path) -> None:
    store_backup(stored, tmp_path / "backup.db")
    now = datetime.now(UTC)
    today = backup_point(stored, Settings(), now)
    assert (today.verdict, "less than an hour ago" in today.found) == (Verdict.PASSED, True)
    tomorrow = backup_point(stored, Settings(), now + timedelta(hours=30))
    assert (tomorrow.verdict, "30 hours ago" in tomorrow.found) == (Verdict.ATTENTION, True)
    later = backup_point(stored, Settings(), now + timedelta(days=3))
    assert "3 days ago" in later.found


def test_the_check_for_backups_changes_no_file_of_a_store_in_use(stored: Study, tmp_path: Path) -> None:
    store_backup(stored, tmp_path / "backup.db")
    before = files_of(stored.folder)
    assert "data/equipoise.db-wal" in before
    backup_point(stored, Settings(), datetime.now(UTC))
    assert files_of(stored.folder) == before


def test_a_store_that_cannot_be_read_is_not_checked(study_folder: Path) -> None:
    study = load_study(study_folder)
    study.store_path.parent.mkdir()
    study.store_path.write_bytes(b"not a database" * 100)
    assert backup_point(study, Settings(), datetime.now(UTC)).verdict is Verdict.NOT_CHECKED


def test_backups_of_a_database_are_not_checked(sample_study: Study) -> None:
    settings = Settings(store="postgresql://equipoise@db.example.org/my-study")
    assert backup_point(sample_study, settings, datetime.now(UTC)).verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize("proxies", [1, 2])
def test_secure_cookies_behind_a_proxy_pass(sample_study: Study, proxies: int) -> None:
    point = https_point(sample_study, Settings(hosts=(NAME,), proxies=proxies))
    assert (point.verdict, NAME in point.found) == (Verdict.PASSED, True)


def test_cookies_are_checked_for_a_study_with_a_panel_too(sample_study: Study) -> None:
    panel = with_recruitment(sample_study, entry="panel", quota=1)
    assert https_point(panel, Settings(hosts=(NAME,), proxies=1)).verdict is Verdict.PASSED


def test_a_study_that_requires_prolifics_signature_fails_without_prolifics_keys(sample_study: Study) -> None:
    panel = with_recruitment(sample_study, entry="panel", prolific_secured_url=f"https://{NAME}/")
    point = https_point(panel, Settings(hosts=(NAME,), proxies=1))
    assert (point.verdict, "EQUIPOISE_PROLIFIC_KEYS" in point.found) == (Verdict.FAILED, True)


def test_a_cookie_that_is_not_secure_fails(sample_study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.cookies.is_https", lambda _environ: False)
    assert https_point(sample_study, Settings(hosts=(NAME,), proxies=1)).verdict is Verdict.FAILED


def test_without_a_public_name_https_is_not_checked(sample_study: Study) -> None:
    point = https_point(sample_study, Settings())
    assert (point.verdict, "EQUIPOISE_HOSTS" in point.fix) == (Verdict.NOT_CHECKED, True)


def test_the_address_of_the_draft_at_prolific_must_be_a_name_of_the_server(sample_study: Study) -> None:
    prolific = {"description": "Rays.", "address": "https://elsewhere.example.org/", "minutes": 7, "wage_per_hour": 9}
    panel = with_recruitment(sample_study, entry="panel", prolific=prolific)
    point = https_point(panel, Settings(hosts=(NAME,), proxies=1))
    assert (point.verdict, "elsewhere.example.org" in point.found) == (Verdict.FAILED, True)
    assert https_point(panel, Settings(hosts=("elsewhere.example.org",), proxies=1)).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (Settings(hosts=(NAME,)), "EQUIPOISE_PROXIES is 0"),
        (Settings(proxies=1), "EQUIPOISE_HOSTS is not set"),
        (Settings(hosts=("other.example.org",), proxies=1), "the address for Prolific"),
    ],
)
def test_settings_that_do_not_fit_https_fail(sample_study: Study, settings: Settings, found: str) -> None:
    panel = with_recruitment(sample_study, entry="panel", prolific_secured_url=f"https://{NAME}/")
    point = https_point(panel, settings)
    assert (point.verdict, found in point.found) == (Verdict.FAILED, True), point
