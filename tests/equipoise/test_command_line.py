"""The commands as a user types them, each in a new process."""

import contextlib
import csv
import html
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click import Command, Group

import equipoise as eq
from equipoise.cli.main import main
from equipoise.studies import copy_sample_study
from tests.equipoise.commands_in_processes import equipoise

Edit = Callable[[Path, str, str], None]
EDITED_BOARD = '"atoms":[[2,3],[3,6],[6,2],[7,8]],"entry":"north-1"'  # the outcome is the same


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


N_SIMULATED = 10
"""One participant in each counterbalance group, so that every item has responses."""


@pytest.fixture(scope="module")
def simulated_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sample study with simulated participants; tests only read and copy this folder."""
    folder = tmp_path_factory.mktemp("simulated") / "study"
    copy_sample_study("blackbox-predict", folder)
    done = equipoise("simulate", folder, "-n", str(N_SIMULATED), "--seed", "5")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def simulated(simulated_once: Path, tmp_path: Path) -> Path:
    """Return a copy of the sample study with simulated participants."""
    return shutil.copytree(simulated_once, tmp_path / "simulated")


def responses(folder: Path) -> dict[int, list[tuple[str, str, float]]]:
    """Return each participant's responses and response times, in the order of the sessions' start."""
    found: dict[str, list[tuple[str, str, float]]] = {}
    with contextlib.closing(sqlite3.connect(folder / "data" / "equipoise.db")) as db:
        sql = "SELECT session, item_id, response, rt_ms FROM trials ORDER BY started_at, session, trial_index"
        for session, *response in db.execute(sql):
            found.setdefault(session, []).append(tuple(response))
    return dict(enumerate(found.values()))


def commands(group: Group, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Command]]:
    found: list[tuple[tuple[str, ...], Command]] = []
    for name, command in group.commands.items():
        found += commands(command, (*path, name)) if isinstance(command, Group) else [((*path, name), command)]
    return found


@pytest.mark.parametrize(("path", "command"), commands(main))
def test_every_command_has_help_with_an_example(path: tuple[str, ...], command: Command) -> None:
    assert command.help
    assert command.epilog is not None
    assert command.epilog.startswith("Example: equipoise " + " ".join(path))


def test_each_command_is_a_function_of_the_same_name() -> None:
    named = {"_".join(path).replace("-", "_") for path, command in commands(main) if not command.hidden}
    # `import` is a word of Python.
    assert (named - {"import"}) | {"import_data"} == set(eq._COMMANDS)
    for name in eq._COMMANDS:
        assert getattr(eq, name).__name__ == name
        assert getattr(eq, name).__doc__, name


def test_new_and_models_run_do_the_same_as_command_and_as_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_command, by_function = tmp_path / "command", tmp_path / "function"
    assert equipoise("new", by_command).returncode == 0
    eq.new(by_function)
    assert {path.name for path in by_command.iterdir()} == {path.name for path in by_function.iterdir()}
    assert equipoise("models", "run", by_command, "--model", "baseline/tracer").stdout.splitlines() == eq.models_run(
        str(by_function), "baseline/tracer"
    )
    printed = equipoise("store", "verify", by_command).stdout
    verified = eq.store_verify(by_function)
    assert f"{verified.n_responses:,} responses in {verified.n_sessions:,} sessions" in printed


def test_import_shows_the_public_names() -> None:
    assert eq.InputError.__name__ == "InputError"
    for name in eq.__all__:
        assert getattr(eq, name) is not None
    with pytest.raises(AttributeError):
        eq.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_new_makes_a_study_that_loads_and_replaces_no_study(tmp_path: Path) -> None:
    made = equipoise("new", tmp_path / "mine", "--from", "blackbox-predict")
    assert made.returncode == 0
    schema = json.loads((tmp_path / "mine" / "study.schema.json").read_text(encoding="utf-8"))
    assert schema["properties"]["timing"]
    assert all("description" in field or "$ref" in field for field in schema["properties"].values())
    again = equipoise("new", tmp_path / "mine")
    assert again.returncode == 2
    assert "this path exists" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "x", "--from", "dance"], "unknown sample study `dance`. Fix: use one of blackbox-predict"),
        (["serve", "nowhere"], "nowhere: there is no such folder"),
        (["simulate", "nowhere", "-n", "3"], "nowhere: there is no such folder"),
        (["analyze", "nowhere", "-o", "out"], "nowhere: there is no such folder"),
        (["models", "run", "nowhere", "--model", "baseline/tracer"], "there is no such folder"),
        (["models", "import", "nowhere", "runs.json"], "there is no such folder"),
        (["dance"], "No such command"),
        (["simulate", "nowhere"], "Missing option"),
    ],
)
def test_bad_input_is_one_sentence_on_stderr_and_exit_code_2(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = equipoise(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_an_analysis_without_responses_names_the_fix(study_folder: Path, tmp_path: Path) -> None:
    done = equipoise("analyze", study_folder, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "there are no responses yet" in done.stderr
    assert not (tmp_path / "out").exists()


def test_simulated_participants_miss_a_deadline_as_people_do(tmp_path: Path, edit: Edit) -> None:
    folder = tmp_path / "study"
    copy_sample_study("intuition-single", folder)
    edit(folder / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  deadline_ms: 20000")
    done = equipoise("simulate", folder, "-n", "2", "--seed", "5")
    assert done.returncode == 0, done.stderr
    assert "WARNING: the deadline is 20 s, but an average reader needs more time to read " in done.stderr
    with contextlib.closing(sqlite3.connect(folder / "data" / "equipoise.db")) as db:
        rows = db.execute("SELECT phase, missing, response, rt_ms FROM trials").fetchall()
    late = [row for row in rows if row[1] == "deadline"]
    assert late
    assert {(response, rt_ms) for _, _, response, rt_ms in late} == {("null", None)}
    assert all(rt_ms <= 20_000 for phase, missing, _, rt_ms in rows if phase != "practice" and not missing)


def test_a_second_server_on_a_port_is_refused(study_folder: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = equipoise("serve", study_folder, "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "choose another port, such as --port" in done.stderr
    assert done.stdout == ""  # no link that leads to another program
    assert not (study_folder / "data").exists()


def test_an_invalid_study_is_refused_before_the_server_starts(study_folder: Path, edit: Edit) -> None:
    edit(study_folder / "study.yaml", "fixation_ms: 200", "fixation_ms: -1")
    done = equipoise("serve", study_folder)
    assert done.returncode == 2
    assert "study.yaml, line" in done.stderr
    assert not (study_folder / "data").exists()


def test_imported_runs_have_the_published_accuracies_and_differences_in_scoring_are_named(
    study_folder: Path, stored_runs: Path, tmp_path: Path
) -> None:
    canary = eq.load_study(study_folder).battery.canary
    with_canary = stored_runs.read_text("utf-8").replace('"reasoning": "', f'"reasoning": "{canary}: ', 1)
    stored_runs = tmp_path / "runs.json"
    stored_runs.write_text(with_canary, "utf-8")
    imported = equipoise("models", "import", study_folder, stored_runs)
    assert imported.returncode == 0, imported.stderr
    assert "Haiku 4.5, augmented+viz: 235 responses, 179 correct" in imported.stdout
    assert "the stored scoring has 176 correct and differs on 3" in imported.stdout
    again = equipoise("models", "import", study_folder, stored_runs)
    assert again.stdout.count("already in the store") == 3

    analyzed = equipoise("analyze", study_folder, "-o", tmp_path / "out")
    assert analyzed.returncode == 0, analyzed.stderr
    stored = {row["run"]: row for row in table(tmp_path / "out", "stored_scoring")}
    assert {run: (row["n"], f"{float(row['accuracy_stored']):.3f}") for run, row in stored.items()} == {
        "Haiku 4.5, augmented+viz": ("235", "0.749"),
        "Sonnet 4.5, augmented+viz": ("235", "0.779"),
        "Opus 4.5, augmented+viz": ("235", "0.817"),
    }
    regraded = table(tmp_path / "out", "regraded")
    assert len(regraded) == 8
    report = " ".join(html.unescape((tmp_path / "out" / "report.html").read_text("utf-8")).split())
    assert "canary is in replies of 1 run, so the model may have seen the battery: Haiku 4.5, augmented+viz" in report
    for row in regraded:  # a reflected ray, predicted as leaving by the port where it entered
        assert row["response"].strip('"') == row["item_id"].split(".")[1]
        assert row["key"].strip('"') == "reflected"


def test_a_plan_that_was_changed_after_the_data_is_named_in_the_report(simulated: Path, edit: Edit) -> None:
    assert equipoise("analyze", simulated, "-o", simulated / "as-planned").returncode == 0
    edit(simulated / "study.yaml", "min_ms: 2000", "min_ms: 9000")
    changed = equipoise("analyze", simulated, "-o", simulated / "changed")
    assert changed.returncode == 0, changed.stderr
    reports = {
        name: " ".join((simulated / name / "report.html").read_text(encoding="utf-8").split())
        for name in ("as-planned", "changed")
    }
    assert "The analysis deviates from the registered plan</strong> in 1 point:" in reports["changed"]
    assert "Deviations from the registered plan:" in reports["changed"]
    assert "<code>exclusions</code> was [" in reports["changed"]
    assert "The plan of this analysis is identical to the registered plan." in reports["as-planned"]
    assert "deviates" not in reports["as-planned"]
    with (simulated / "changed/tables/sensitivity_accuracy.csv").open(encoding="utf-8-sig", newline="") as file:
        n_trials = {row["rules"]: int(row["n_trials"]) for row in csv.DictReader(file)}
    assert n_trials["as registered"] > n_trials["with all rules"], "the new rule excludes more"


def test_a_second_simulation_adds_participants(simulated: Path) -> None:
    done = equipoise("simulate", simulated, "-n", "3", "--seed", "5")
    assert done.returncode == 0, done.stderr
    people = responses(simulated).values()
    assert len(people) == N_SIMULATED + 3
    # All sessions start with the same practice trial, so the same participant would have the same response time.
    first_trials = [trials[0] for trials in people]
    assert len({item for item, _, _ in first_trials}) == 1
    assert len({rt_ms for _, _, rt_ms in first_trials}) == len(people)


def test_one_version_of_a_study_can_be_analyzed_by_itself(simulated: Path, edit: Edit) -> None:
    edit(simulated / "battery.jsonl", '"atoms":[[2,3],[3,6],[6,2],[7,7]],"entry":"north-1"', EDITED_BOARD)
    edit(simulated / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    equipoise("simulate", simulated, "-n", str(N_SIMULATED))
    mixed = equipoise("analyze", simulated, "-o", simulated / "out")
    assert mixed.returncode == 2
    assert "--study-version" in mixed.stderr
    one = equipoise("analyze", simulated, "-o", simulated / "out", "--study-version", "1.0")
    assert one.returncode == 0, one.stderr
    assert len(table(simulated / "out", "participants")) == N_SIMULATED
    report = " ".join((simulated / "out" / "report.html").read_text(encoding="utf-8").split())
    assert "differs from the battery of the sessions" in report
    none = equipoise("analyze", simulated, "-o", simulated / "out", "--study-version", "7")
    assert "use one of the versions 1.0, 1.1" in none.stderr


def test_the_report_says_in_which_entries_the_versions_of_a_study_differ(simulated: Path, edit: Edit) -> None:
    edit(simulated / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    edit(simulated / "study.yaml", "fixation_ms: 200", "fixation_ms: 500")
    equipoise("simulate", simulated, "-n", "2")
    mixed = equipoise("analyze", simulated, "-o", simulated / "out")
    assert mixed.returncode == 0, mixed.stderr
    report = " ".join((simulated / "out" / "report.html").read_text(encoding="utf-8").split())
    assert "versions 1.0 and 1.1 differ from each other in <code>timing.fixation_ms</code>." in report


def test_a_pilot_on_another_battery_can_be_excluded_from_the_analysis(simulated: Path, edit: Edit) -> None:
    # One item changed, but the version did not.
    edit(simulated / "battery.jsonl", '"atoms":[[2,3],[3,6],[6,2],[7,7]],"entry":"north-1"', EDITED_BOARD)
    equipoise("models", "run", simulated, "--model", "baseline/tracer")
    results = simulated / "results"
    mixed = equipoise("analyze", simulated, "-o", results)
    assert mixed.returncode == 2
    assert "--without-simulated" in mixed.stderr
    equipoise("analyze", simulated, "-o", results, "--without-simulated")
    assert {row["kind"] for row in table(results, "accuracy_overall")} == {"model"}
    assert f"{N_SIMULATED} sessions of simulated participants were excluded" in (results / "report.html").read_text(
        "utf-8"
    )


def test_a_withdrawal_after_the_end_deletes_the_responses(simulated: Path) -> None:
    with sqlite3.connect(simulated / "data" / "equipoise.db") as db:
        session, code = db.execute("SELECT session, withdrawal_code FROM sessions").fetchone()
    db.close()
    done = equipoise("withdraw", simulated, "--code", code.lower())
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(simulated / "data" / "equipoise.db") as db:
        assert db.execute("SELECT COUNT(*) FROM responses WHERE session = ?", (session,)).fetchone() == (0,)
        assert db.execute("SELECT COUNT(*) FROM responses").fetchone()[0] > 20
    db.close()


def test_a_folder_of_the_user_with_the_name_of_a_package_is_not_imported(study_folder: Path, tmp_path: Path) -> None:
    for room in ("analysis", "server", "experiment"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("raise RuntimeError('not ours')", encoding="utf-8")
    command = [Path(sys.executable).with_name("equipoise"), "simulate", study_folder, "-n", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def test_a_simulation_can_be_repeated_exactly(tmp_path: Path, simulated_once: Path) -> None:
    folder = tmp_path / "study"
    copy_sample_study("blackbox-predict", folder)
    done = equipoise("simulate", folder, "-n", str(N_SIMULATED), "--seed", "5")
    assert done.returncode == 0, done.stderr
    assert responses(folder) == responses(simulated_once)


MOCK_SUBJECTS = [
    f"mock-{strength}, temperature {temperature}" for strength in ("strong", "weak") for temperature in ("0.2", "1")
]


def test_the_demo_compares_participants_with_models_in_two_studies(tmp_path: Path) -> None:
    done = equipoise("demo", "--no-serve", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folders = [tmp_path / "equipoise-demo" / name / "results" for name in ("blackbox-predict", "intuition-single")]
    blackbox, stories = folders
    assert [line.partition(": ")[2] for line in done.stdout.splitlines()[-2:]] == [
        str(folder / "report.html") for folder in folders
    ]
    baselines = ["baseline/nearest-atom", "baseline/straight-line", "baseline/tracer"]
    for results, models in ((blackbox, [*baselines, *MOCK_SUBJECTS]), (stories, MOCK_SUBJECTS)):
        subjects = dict.fromkeys((row["kind"], row["subject"]) for row in table(results, "accuracy"))
        assert list(subjects) == [("simulated", "simulated participants"), *(("model", model) for model in models)]
        flow = [row for row in table(results, "exclusions") if row["kind"] == "simulated"]
        assert sum(int(row["n_participants"]) for row in flow) == 40
        assert int(next(row["n_participants"] for row in flow if row["step"] == "attention_check")) > 0
        repeated = [row for row in table(results, "models") if row["subject"] in MOCK_SUBJECTS]
        assert all(int(row["n_runs"]) == 2 and 0 < float(row["consistency"]) < 1 for row in repeated)
        accuracy = {row["subject"]: float(row["accuracy"]) for row in repeated}
        assert accuracy["mock-strong, temperature 0.2"] > accuracy["mock-weak, temperature 0.2"] + 0.2
        invalid = {row["subject"]: int(row["n_invalid"]) for row in table(results, "invalid")}
        assert invalid["mock-weak, temperature 0.2"] > 0 == invalid["mock-strong, temperature 0.2"]
        assert (results / "figures" / "temperature.svg").exists()
        assert (results / "report.html").stat().st_size > 10_000
    assert list(table(stories, "accuracy")[0]) == [
        "kind", "subject", "condition", "inference_level", "n_participants", "n_trials", "n_correct", "accuracy",
        "ci_low", "ci_high", "chance", "chance_corrected", "chance_corrected_ci_low", "chance_corrected_ci_high",
    ]  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="Windows has no file modes")
def test_the_secrets_are_readable_by_their_owner_only(study_folder: Path) -> None:
    from server.security.secret_files import read_secrets

    secrets = read_secrets(study_folder / "data")
    assert secrets == read_secrets(study_folder / "data")
    for name, secret in (("researcher-token", secrets.researcher_token), ("signing-key", secrets.signing_key)):
        assert len(secret) >= 32
        assert (study_folder / "data" / name).stat().st_mode & 0o777 == 0o600
