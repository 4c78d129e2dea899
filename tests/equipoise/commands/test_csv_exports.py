"""Commands that write CSV guard hostile texts, and only the owner can read files with responses."""

import csv
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from analysis.data.data_file_reader import read_data_file
from batteries.files.csv_files import is_formula, unguarded
from batteries.items import load_battery
from equipoise.cli.main import main
from equipoise.commands.models.storing import add_runs
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.models.baselines import run_baseline
from server.app import create_app
from server.security.secret_files import read_secrets
from server.settings import Settings
from server.store.open import opened_store
from tests.equipoise.commands.store.commands import make_small_study

HOSTILE = (
    "=1+cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "＝1+1", ' =HYPERLINK("http://a.test")', '"=1',
    "'=1",
)  # fmt: skip
WRITE_CSV = {
    "analyze", "assignment log", "audit", "battery build", "battery export", "export", "identities export", "import",
    "lab run", "links",
    "models list", "models prompts", "power", "recruit approve", "recruit bonus", "recruit reconcile", "recruit reject",
    "store sessions",
}  # fmt: skip
"""The commands that write CSV. This file has a test of each, except `export` and `import` (`test_export.py`) and the
commands of `recruit` (`recruit/`).
"""
WRITE_OTHER_FILES = {
    "battery import", "battery preview", "battery variants", "jspsych-plugins", "recruit prolific", "store backup",
    "store inspect-log",
}  # fmt: skip


def done(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


def read(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file, after checking that a spreadsheet would run none of them."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, strict=True))
    assert rows, path
    for row in rows:
        assert len(row) == len(rows[0]), path
        for cell in row:
            assert not is_formula(cell.lstrip("'")) or cell.startswith("'") or is_number(cell), (path, cell)
    return rows


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def texts_of(*paths: Path) -> set[str]:
    """Return all texts of CSV files without the guard."""
    return {unguarded(cell) for path in paths for row in read(path) for cell in row}


def modes(folder: Path) -> set[tuple[str, int]]:
    """Return the kinds and modes of a folder and of all files and folders in it."""
    return {
        ("folder" if path.is_dir() else "file", path.stat().st_mode & 0o777) for path in [folder, *folder.rglob("*")]
    }


PRIVATE = {("folder", 0o700), ("file", 0o600)}


@pytest.fixture(scope="module", autouse=True)
def careless_umask() -> Iterator[None]:
    """Set a umask with which everyone can read new files."""
    before = os.umask(0o000)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study with hostile factors, panel ids, demographic responses, version and model."""
    folder = tmp_path_factory.mktemp("template") / "study"
    make_small_study(folder, "panel")
    battery = folder / "battery.jsonl"
    header, *items = battery.read_text(encoding="utf-8").splitlines()
    named = []
    for number, line in enumerate(items):
        item = json.loads(line)
        item["factors"]["note"] = HOSTILE[number % len(HOSTILE)]
        named.append(json.dumps(item))
    battery.write_text("\n".join([header, *named]) + "\n", encoding="utf-8")
    study_yaml = folder / "study.yaml"
    text = study_yaml.read_text(encoding="utf-8").replace('version: "1.0"', 'version: "=1.0"')
    text = text.replace("timeline:\n", "timeline:\n  demographics: about-you.yaml\n").replace("[outcome]", "[note]")
    study_yaml.write_text(text, encoding="utf-8")
    (folder / "about-you.yaml").write_text("questions: [{name: job, ask: Your work?, answer: text}]\n")
    study = load_study(folder)
    with opened_store(str(study.store_path)) as store:
        app = create_app(study, store, read_secrets(folder / "data"), Settings())
        for number, hostile_text in enumerate(HOSTILE):
            panel_id = hostile_text if re.fullmatch(r"[\x21-\x7e]+", hostile_text) else f"id-{number}"
            take_part(app.test_client(), panel_id, number, hostile_text)
    run = run_baseline(study, "baseline/tracer")
    add_runs(study, [run.model_copy(update={"model": "=Model", "run": "@run"})])
    return folder


@pytest.fixture
def hostile(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the hostile study."""
    return Path(shutil.copytree(template, tmp_path / "study"))


@pytest.fixture(scope="module")
def results(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an analysis of the hostile study, in a new folder in a new folder."""
    out = tmp_path_factory.mktemp("analysis") / "results" / "first"
    done("analyze", template, "-o", out)
    return out


def take_part(http: Any, panel_id: str, number: int, hostile_text: str) -> None:
    http.get("/", query_string={"pid": panel_id})
    start = {
        "start_id": f"00000000-0000-4000-8000-{number:012}", "kind": "human",
        "consent_digest": http.get("/api/study").get_json()["consent_digest"],
    }  # fmt: skip
    started = http.post("/api/session", json=start)
    assert started.status_code == 201, started.text
    session = started.get_json()
    about = {"session": session["session"], "answers": {"job": hostile_text}}
    assert http.post("/api/demographics", json=about).status_code == 200
    for trial in session["trials"]:
        body = {
            "response_id": f"00000000-0000-4000-8{number:03}-{trial['trial_index']:012}",
            "trial_index": trial["trial_index"], "rt_ms": 3000.5,
            "response": "absorbed" if trial["task"] == "blackbox_predict" else 2,
        }  # fmt: skip
        sent = http.post("/api/responses", json={"session": session["session"], "responses": [body]})
        assert sent.status_code == 201, sent.text
    assert http.post("/api/complete", json={}).status_code == 200


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def test_this_file_names_every_command_that_writes_a_file() -> None:
    writing = {name for name, command in commands(main) if any("--output" in one.opts for one in command.params)}
    assert writing | {"lab run"} == WRITE_CSV | WRITE_OTHER_FILES


def test_the_exports_of_a_store_are_guarded_and_private(hostile: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o700)
    done("identities", "export", hostile, "-o", out / "identities.csv")
    assert texts_of(out / "identities.csv") >= {"+1+1", "-2+3"}
    done("store", "sessions", hostile, "-o", out / "sessions.csv")
    assert texts_of(out / "sessions.csv") >= {*HOSTILE, "=1.0"}
    done("assignment", "log", hostile, "-o", out / "places.csv")
    assert len(read(out / "places.csv")) > len(HOSTILE)
    assert modes(out) == PRIVATE


def test_personal_links_are_guarded_and_private(hostile: Path, tmp_path: Path) -> None:
    study_yaml = hostile / "study.yaml"
    study_yaml.write_text(study_yaml.read_text(encoding="utf-8").replace("entry: panel", "entry: link"))
    done("links", hostile, "-n", 3, "--address", "https://a.test", "-o", tmp_path / "links.csv")
    assert len(read(tmp_path / "links.csv")) == 4
    assert (tmp_path / "links.csv").stat().st_mode & 0o777 == 0o600


def test_the_results_of_a_study_are_guarded_and_private(results: Path) -> None:
    tables = sorted(results.rglob("*.csv"))
    assert len(tables) > 10
    assert texts_of(*tables) >= {*HOSTILE, "=1.0", "@run"}
    assert modes(results.parent) == PRIVATE
    again = read_data_file(results / "tables" / "trials.csv")
    assert set(again["note"].dropna()) >= set(HOSTILE)


def test_new_results_in_an_open_folder_are_private_files_with_a_warning(hostile: Path, results: Path) -> None:
    """Every folder above must be open too. The folders of pytest are private, so this test makes another."""
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        shutil.copytree(results, folder / "results")
        (folder / "results").chmod(0o755)
        printed = done("analyze", hostile, "-o", folder / "results")
        warning = f"Warning: {folder / 'results'}: other users of this machine can read this folder. Fix: chmod -R go= "
        assert warning in printed
        assert modes(folder / "results") == {("folder", 0o755), *PRIVATE}
    finally:
        shutil.rmtree(folder)


def test_the_results_of_a_table_are_guarded_and_its_texts_are_read_unchanged(tmp_path: Path) -> None:
    rows = [f"p{p},{json.dumps(text).replace(chr(92), '')},{(p * 7 + n) % 2}" for p in range(12) for n, text in
            enumerate(["'=north", "'+south"])]  # fmt: skip
    (tmp_path / "data.csv").write_text("\n".join(['participant,"\'@side",correct', *rows]).replace("'@side", "side"))
    plan = "tests: {sides: {test: t, of: correct, per: participant, within: side, levels: ['=north', '+south']}}\n"
    (tmp_path / "plan.yaml").write_text(plan + "models: {all: {formula: 'correct ~ side'}}\n")
    for _ in range(2):  # The second results replace the first, and are private too.
        done("analyze", "--data", tmp_path / "data.csv", "--plan", tmp_path / "plan.yaml", "-o", tmp_path / "out")
        assert modes(tmp_path / "out") == PRIVATE
    tables = sorted((tmp_path / "out").rglob("*.csv"))
    assert tables
    assert any("=north" in text for text in texts_of(*tables))


def test_findings_of_an_audit_are_guarded(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("group,n\n=a,20\n+b,22\nTotal,42\n")
    done("audit", tmp_path / "table.csv", "-o", tmp_path / "findings.csv")
    read(tmp_path / "findings.csv")


def test_the_list_of_model_runs_is_guarded(hostile: Path, tmp_path: Path) -> None:
    done("models", "list", hostile, "-o", tmp_path / "runs.csv")
    assert {"=Model", "@run"} <= texts_of(tmp_path / "runs.csv")


def test_the_table_of_power_is_guarded(hostile: Path, tmp_path: Path) -> None:
    done("power", hostile, "--effect", "note=+1+1:-0.1", "-n", 8, "--simulations", 20, "-o", tmp_path / "power")
    read(tmp_path / "power" / "power.csv")


@pytest.fixture
def vignettes(tmp_path: Path) -> Path:
    """Return a battery of vignettes with texts that a spreadsheet would run."""
    folder = tmp_path / "vignettes"
    copy_sample_study("intuition-single", folder)
    battery = folder / "battery.jsonl"
    header, *lines = battery.read_text(encoding="utf-8").splitlines()
    items = []
    for number, line in enumerate(lines):
        item = json.loads(line)
        item["content"]["text"] = HOSTILE[number % len(HOSTILE)] + item["content"]["text"]
        item["content"]["options"][0] = "=" + item["content"]["options"][0]
        items.append(json.dumps(item))
    battery.write_text("\n".join([header, *items]) + "\n", encoding="utf-8")
    return battery


def test_a_battery_as_csv_is_guarded_and_read_back_unchanged(vignettes: Path, tmp_path: Path) -> None:
    done("battery", "export", vignettes, "--format", "csv", "-o", tmp_path / "battery.csv")
    read(tmp_path / "battery.csv")
    done("battery", "import", tmp_path / "battery.csv", "-o", tmp_path / "again.jsonl")
    before, after = load_battery(vignettes), load_battery(tmp_path / "again.jsonl")
    assert [(item.content, item.key) for item in after.items] == [(item.content, item.key) for item in before.items]


def test_a_battery_that_is_built_as_csv_is_guarded_too(vignettes: Path, tmp_path: Path) -> None:
    """`battery build` and `battery export` use the same function, so their columns are the same."""
    from batteries.vignettes.battery_writer import write_battery

    battery = load_battery(vignettes)
    write_battery(battery, battery.items, (), tmp_path / "built.csv")
    read(tmp_path / "built.csv")


def test_prompts_as_csv_are_guarded_and_read_back_unchanged(vignettes: Path, tmp_path: Path) -> None:
    study, template = vignettes.parent, tmp_path / "text.txt"
    template.write_text("{{ text }}")
    done("models", "prompts", study, "--format", "csv", "--style", template, "-o", tmp_path / "prompts.csv")
    texts = {str(item.content["text"]).strip() for item in load_study(study).test_items}
    assert texts_of(tmp_path / "prompts.csv") >= texts


@pytest.mark.parametrize("form", ["gorilla", "jspsych"])
def test_a_text_that_the_guard_would_change_for_participants_is_refused(
    vignettes: Path, tmp_path: Path, form: str
) -> None:
    printed = done(
        "battery", "export", vignettes, "--format", form, "-o", tmp_path / "out", code=2 if form == "gorilla" else 0
    )
    if form == "gorilla":
        assert "spreadsheet programs read as a formula" in printed
        assert not (tmp_path / "out").exists()
    else:
        read(tmp_path / "out" / "keys.csv")


def test_the_files_of_the_laboratory_are_guarded_and_private(hostile: Path, lab: Any) -> None:
    study = load_study(hostile)
    visit = lab(study, participant="@P01")
    assert texts_of(visit.table) >= {"@P01", "=1.0", "+1+1"}
    frames = list(visit.table.parent.rglob("*_frames.csv"))
    for path in frames:
        read(path)
    assert modes(visit.table.parent) == PRIVATE
