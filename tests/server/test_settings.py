"""Settings of a server: each has a variable, some have an option; an invalid value causes one sentence."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from batteries.errors import InputError
from equipoise.cli.main import main
from server.settings import PREFIX, Settings, read_settings
from server.store.open import open_store

PASSWORD = "correct-horse-battery"

# Name, a value as text, the value of the setting, invalid values.
FIELDS: list[tuple[str, str, Any, list[str]]] = [
    ("store", "postgresql://me@db/study", "postgresql://me@db/study", []),
    ("host", "0.0.0.0", "0.0.0.0", []),
    ("port", "8123", 8123, ["0", "65536", "-1", "http", "8000.5", "1e3", "８０８０x"]),
    ("processes", "4", 4, ["0", "257", "-2", "two", "1.5"]),
    ("threads", "16", 16, ["0", "1025", "many"]),
    ("connections", "4096", 4096, ["0", "1000001", "all"]),
    ("proxies", "2", 2, ["-1", "11", "one", "nan"]),
    (
        "hosts",
        "Study.example.org, lab.example.org",
        ("study.example.org", "lab.example.org"),
        ["https://a.org", "a.org:80", "*"],
    ),
    ("secrets", "/srv/secrets", Path("/srv/secrets"), []),
    ("assets", "/srv/assets", Path("/srv/assets"), []),
    ("session_days", "30", 30, ["0", "366", "a week"]),
    ("max_body_kb", "128", 128, ["0", "10241", "1 MB"]),
    ("max_responses_kb", "1024", 1024, ["0", "10241", "1 MB"]),
    ("starts_per_minute", "60", 60, ["0", "-5", "often", "inf"]),
    ("slots_per_address", "5", 5, ["0", "-1", "few"]),
    ("prolific_keys", "/srv/prolific-keys.json", "/srv/prolific-keys.json", []),
    ("requests_per_second", "10", 10, ["0", "-5", "1.5"]),
    ("log_level", "WARNING", "WARNING", ["warning", "LOUD", "0", "INFO "]),
]
# Values that click refuses have click's sentence.
OPTIONS = {"store": "--store", "host": "--host", "port": "--port", "processes": "--processes", "proxies": "--proxies"}


@pytest.fixture(autouse=True)
def _no_settings_of_the_testers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)


def sentence_of(result: Result) -> str:
    """Return the one sentence with which a command refused its input."""
    if result.exit_code != 2:
        raise AssertionError(f"exit code {result.exit_code}: {result.output}") from result.exception
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    assert lines[0].endswith(".")
    return lines[0]


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return all that was logged, with the fields of each record besides its message."""
    return caplog.text + repr([vars(record) for record in caplog.records])


@pytest.fixture(autouse=True)
def _nothing_is_served_by_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a command that should have been refused fail, instead of serving without end."""

    def fail(*_args: object, **_options: object) -> None:
        raise AssertionError("it was served")

    monkeypatch.setattr("server.serve._Supervisor", fail)


def serve(study: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["serve", str(study), *options])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Settings with which `equipoise serve` would serve; the server does not start."""
    found: list[Settings] = []
    monkeypatch.setattr(
        "equipoise.commands.server_process.serve_until_stopped",
        lambda _folder, settings, on_ready: found.append(settings),
    )
    return found


def test_every_setting_is_in_the_table() -> None:
    assert [name for name, *_ in FIELDS] == list(Settings.model_fields)


def test_every_setting_has_a_default_and_a_description_and_no_default_is_a_secret() -> None:
    settings = read_settings()
    for name, field in Settings.model_fields.items():
        assert field.description
        assert getattr(settings, name) == field.default
    assert settings.secrets is None
    assert settings.store is None


@pytest.mark.parametrize(("name", "text", "value", "_wrong"), FIELDS, ids=[name for name, *_ in FIELDS])
def test_every_setting_can_be_given_by_its_variable(
    name: str,
    text: str,
    value: Any,
    _wrong: list[str],
    monkeypatch: pytest.MonkeyPatch,
    served: list[Settings],
    study_folder: Path,
) -> None:
    monkeypatch.setenv(f"{PREFIX}{name.upper()}", text)
    assert getattr(read_settings(), name) == value
    assert serve(study_folder).exit_code == 0
    assert getattr(served[0], name) == value


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_wins_over_its_variable(
    name: str, monkeypatch: pytest.MonkeyPatch, served: list[Settings], study_folder: Path
) -> None:
    text, value = next((text, value) for field, text, value, _ in FIELDS if field == name)
    other = {"store": "elsewhere.db", "host": "::1"}.get(name, "3")
    monkeypatch.setenv(f"{PREFIX}{name.upper()}", other)
    assert serve(study_folder, OPTIONS[name], text).exit_code == 0
    assert getattr(served[0], name) == value


def test_an_omitted_option_does_not_change_the_variable(
    monkeypatch: pytest.MonkeyPatch, served: list[Settings], study_folder: Path
) -> None:
    monkeypatch.setenv("EQUIPOISE_PORT", "8123")
    serve(study_folder, "--host", "127.0.0.1")
    assert (served[0].port, served[0].host) == (8123, "127.0.0.1")


def test_an_empty_variable_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.setenv(f"{PREFIX}{name.upper()}", "")
    assert read_settings() == Settings()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(name, value) for name, _, _, wrong in FIELDS for value in wrong],
)
def test_an_invalid_value_is_refused_with_one_sentence_that_names_the_variable(
    name: str, wrong: str, monkeypatch: pytest.MonkeyPatch, study_folder: Path
) -> None:
    variable = f"{PREFIX}{name.upper()}"
    monkeypatch.setenv(variable, wrong)
    with pytest.raises(InputError, match=variable) as refused:
        read_settings()
    assert "\n" not in str(refused.value)
    sentence = sentence_of(serve(study_folder))
    assert variable in sentence
    assert not (study_folder / "data").exists()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(name, value) for name, _, _, wrong in FIELDS if name in OPTIONS for value in wrong],
)
def test_an_invalid_value_is_refused_with_one_sentence_that_names_the_option(
    name: str, wrong: str, study_folder: Path
) -> None:
    sentence = sentence_of(serve(study_folder, OPTIONS[name], wrong))
    assert OPTIONS[name] in sentence
    assert not (study_folder / "data").exists()


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("EQUIPOISE_STORES", "EQUIPOISE_STORE"), ("EQUIPOISE_PROT", "EQUIPOISE_PORT"),
        ("EQUIPOISE_PROCESS", "EQUIPOISE_PROCESSES"), ("EQUIPOISE_PROXY", "EQUIPOISE_PROXIES"),
        ("EQUIPOISE_SECRET", "EQUIPOISE_SECRETS"), ("EQUIPOISE_MAX_BODY", "EQUIPOISE_MAX_BODY_KB"),
        ("EQUIPOISE_STARTS_PER_MINUT", "EQUIPOISE_STARTS_PER_MINUTE"), ("EQUIPOISE_LOGLEVEL", "EQUIPOISE_LOG_LEVEL"),
        ("EQUIPOISE_REQUEST_PER_SECOND", "EQUIPOISE_REQUESTS_PER_SECOND"), ("EQUIPOISE_HOTS", "EQUIPOISE_HOST"),
        ("EQUIPOISE_THREAD", "EQUIPOISE_THREADS"), ("EQUIPOISE_SESSION_DAY", "EQUIPOISE_SESSION_DAYS"),
    ],
)  # fmt: skip
def test_a_misspelt_variable_is_refused_with_a_suggestion(
    misspelt: str, meant: str, monkeypatch: pytest.MonkeyPatch, study_folder: Path
) -> None:
    """A typing mistake must not send responses to another store."""
    monkeypatch.setenv(misspelt, "x")
    sentence = sentence_of(serve(study_folder))
    assert misspelt in sentence
    assert meant in sentence
    assert not (study_folder / "data").exists()


def test_a_variable_of_the_tests_or_of_another_program_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "EQUIPOISE_CHROMIUM",
        "EQUIPOISE_TEST_DATA",
        "EQUIPOISE_POSTGRES_BIN",
        "EQUIPOISE_SCREENSHOTS",
        "PORT",
    ):
        monkeypatch.setenv(name, "x")
    assert read_settings() == Settings()


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(InputError, match="colour"):
        read_settings(colour="red")


def test_settings_are_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read_settings().port = 1


# Passwords


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/study",
        f"postgres://me:{PASSWORD}@127.0.0.1:1/study",
        f"postgresql://127.0.0.1:1/study?user=me&password={PASSWORD}",
        f"postgresql://me:{PASSWORD}@no.such.host.invalid/study",
        f"postgresql://me:{PASSWORD}%zz@127.0.0.1:1/study",  # a sign that should have been written %25
        f"postgresql://me:x/{PASSWORD}@127.0.0.1:1/study",  # one that should have been written %2F
        f"postgresql://me:{PASSWORD}/x@127.0.0.1:1/study",
        f"postgresql://me:x@{PASSWORD}@127.0.0.1:1/study",  # one that should have been written %40
        f"postgresql://me:x#{PASSWORD}@127.0.0.1:1/study",
        f"postgresql://me:{PASSWORD}@[::1/study",
        f"postgresql://me:{PASSWORD}@127.0.0.1:port/study",
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/study?sslmod=require",
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/study?connect_timeout=soon",
        f"postgresql://me:{PASSWORD}",
        f"mysql://me:{PASSWORD}@127.0.0.1/study",
        f"postgresql+psycopg://me:{PASSWORD}@127.0.0.1/study",
    ],
)  # fmt: skip
def test_an_address_without_a_database_is_refused_with_one_sentence_without_the_password(
    address: str, monkeypatch: pytest.MonkeyPatch, study_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(
        "server.serve.open_store_when_there", open_store
    )  # it would otherwise wait, and log the sentence
    monkeypatch.setenv("EQUIPOISE_STORE", address)
    for command in (["serve", str(study_folder), "--port", "65123"], ["store", "verify", str(study_folder)]):
        result = CliRunner().invoke(main, command)
        assert PASSWORD not in result.output
        assert PASSWORD not in repr(result.exception)
        assert PASSWORD not in sentence_of(result)
    assert PASSWORD not in logged(caplog)


def test_the_shown_settings_contain_no_password() -> None:
    settings = Settings(store=f"postgresql://me:{PASSWORD}@db/study")
    for shown in (repr(settings), str(settings), f"{settings!r:>10}", repr([settings])):
        assert PASSWORD not in shown


def test_a_password_that_the_database_refuses_is_not_shown(postgres: Any) -> None:
    """An unknown user: the error contains the address and the database's message."""
    address = postgres.new_database().replace("postgres@", f"nobody:{PASSWORD}@")
    with pytest.raises(InputError) as refused:
        open_store(address)
    assert PASSWORD not in str(refused.value)
    assert "nobody" in str(refused.value)


def test_a_server_that_loses_its_database_logs_no_password(
    study_folder: Path, postgres: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from experiment.load_study import load_study
    from server.app import create_app
    from server.security.secret_files import Secrets

    caplog.set_level(logging.DEBUG)
    store = open_store(postgres.new_database().replace("postgres@", f"postgres:{PASSWORD}@"))
    http = create_app(load_study(study_folder), store, Secrets("a key", "a token"), Settings()).test_client()
    assert http.get("/readyz").status_code == 200
    postgres.stop()
    try:
        reply = http.get("/readyz")
    finally:
        postgres.start()
    store.close()
    assert reply.status_code == 503
    assert "the store cannot be used" in caplog.text
    for shown in (reply.text, logged(caplog), repr(store)):
        assert PASSWORD not in shown


# Start of the server


def test_a_mistake_at_the_start_of_a_real_server_is_one_sentence_and_leaves_no_files(study_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "equipoise", "serve", str(study_folder)],
        env=os.environ | {"EQUIPOISE_PORT": "eighty"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "EQUIPOISE_PORT" in done.stderr
    assert not (study_folder / "data").exists()


@pytest.mark.parametrize("keys", [None, "nowhere.json"])
def test_a_study_that_requires_prolifics_signature_is_not_served_without_keys(
    study_folder: Path, tmp_path: Path, keys: str | None
) -> None:
    with (study_folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("\nrecruitment: {entry: panel, prolific_secured_url: 'https://study.example.org/'}\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "equipoise", "serve", str(study_folder), "--port", "65123"],
        env=os.environ | ({"EQUIPOISE_PROLIFIC_KEYS": str(tmp_path / keys)} if keys else {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "this file does not exist" in done.stderr if keys else "Fix: save https://api.prolific.com" in done.stderr
    assert not (study_folder / "data").exists()


def test_a_damaged_store_is_refused_before_the_server_starts(study_folder: Path) -> None:
    store = open_store(str(study_folder / "data" / "equipoise.db"))
    from experiment.load_study import load_study

    store.register_study(load_study(study_folder))
    store.close()
    path = study_folder / "data" / "equipoise.db"
    whole = bytearray(path.read_bytes())
    n_pages = len(whole) // 4096
    assert n_pages > 20
    for page in range(2, n_pages, 7):
        spoilt = bytearray(whole)
        spoilt[page * 4096 : page * 4096 + 2048] = b"\xff" * 2048
        path.write_bytes(spoilt)
        sentence = sentence_of(serve(study_folder, "--port", "65123"))
        assert str(path) in sentence
        assert "backup" in sentence
        assert path.read_bytes() == spoilt


def test_secrets_are_stored_in_the_folder_of_the_setting(
    study_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from experiment.load_study import load_study
    from server.locations import secrets_folder

    study = load_study(study_folder)
    assert secrets_folder(study, read_settings()) == study_folder / "data"
    monkeypatch.setenv("EQUIPOISE_SECRETS", str(tmp_path / "secrets"))
    assert secrets_folder(study, read_settings()) == tmp_path / "secrets"
