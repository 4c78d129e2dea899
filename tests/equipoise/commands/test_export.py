"""`equipoise export` and `equipoise import` of exports: nothing is lost, and nobody is identified."""

import csv
import importlib.util
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import equipoise as eq
from analysis.data.tidy_table import read_trials
from analysis.exports.documents import LICENSES
from analysis.exports.formats import FORMATS
from analysis.provenance.record import data_digest
from batteries.errors import InputError
from batteries.files.file_reading import read_yaml
from benchmarks.answered_store import make_store
from equipoise.cli.exports import FORMATS as OFFERED
from equipoise.studies import copy_sample_study, sample_studies
from experiment.load_study import load_study
from experiment.study.analysis_plan import AnalysisPlan
from tests.analysis.exports.psych_ds_rules import psych_ds_problems
from tests.equipoise.commands.store.commands import (
    StoredStudy,
    answer,
    done,
    make_small_study,
    mode,
    on_a_file,
    refused,
)
from tests.equipoise.commands.test_csv_exports import read
from tests.experiment.models.runs.inspect_needed import need_inspect
from tests.missing import skip_but_never_in_ci

TABULAR = [name for name, form in FORMATS.items() if form.is_data_frame_of_trials]
QUESTIONS = """
questions:
  - {name: age, ask: How old are you?, answer: number, low: 18, high: 120}
  - {name: job, ask: Your work?, answer: text}
"""
PLUGIN = """
plugins:
  survey: {file: survey.js, variable: survey}
"""
SURVEY = {"plugin": "survey", "parameters": {}, "answers": [{"response": "Rome"}, {"response": "Oslo"}]}
KEYS = ["kind", "participant", "session", "trial_index"]


@pytest.fixture(autouse=True)
def _packages() -> None:
    for package in ("pyarrow", "pyreadstat"):
        if importlib.util.find_spec(package) is None:
            skip_but_never_in_ci(f"{package} is not installed: pip install -e '.[export]'")


@pytest.fixture(scope="module", params=sample_studies())
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return each sample study with responses of six people and three models."""
    folder = tmp_path_factory.mktemp("sample") / str(request.param)
    make_answered_sample(folder, str(request.param), n_people=6)
    return folder


def make_answered_sample(folder: Path, name: str, n_people: int) -> None:
    """Make a sample study with responses of some people and three models."""
    copy_sample_study(name, folder)
    (folder / "data").mkdir()
    study = load_study(folder)
    make_store(study.store_path, study, n_people * len(study.test_items_by_group[1]))


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> StoredStudy:
    """Return a study of a panel with questions about participants: one completed, one is under way, one withdrew."""
    folder = tmp_path_factory.mktemp("panel") / "study"
    make_small_study(folder, "panel")
    study_yaml = folder / "study.yaml"
    text = study_yaml.read_text(encoding="utf-8")
    study_yaml.write_text(text.replace("timeline:\n", "timeline:\n  demographics: about-you.yaml\n"), encoding="utf-8")
    (folder / "about-you.yaml").write_text(QUESTIONS, encoding="utf-8")
    stored = on_a_file(folder)
    for name in ("anna-of-the-panel", "bert-of-the-panel", "carl-of-the-panel"):
        n_answers = 100 if name.startswith("anna") else 12  # more than the practice trials
        then = {"anna": "complete", "carl": "withdraw"}.get(name[:4], "")
        answer(stored, name, n_answers, then)
    eq.exclude(folder, "fire alarm", session=stored.sessions["bert-of-the-panel"])
    with closing(sqlite3.connect(stored.location)) as db, db:
        for name, age in (("anna", 34), ("bert", 27)):
            answers = {"answers": {"age": age, "job": "lives at 1 High Street"}, "received_at": "2026-01-01"}
            session = stored.sessions[f"{name}-of-the-panel"]
            db.execute("UPDATE sessions SET demographics = ? WHERE session = ?", (json.dumps(answers), session))
    return stored


def in_order(trials: pd.DataFrame) -> pd.DataFrame:
    return trials.sort_values(KEYS, ignore_index=True)


def provenance(folder: Path) -> dict[str, Any]:
    (path,) = folder.rglob("provenance.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_the_command_offers_every_format() -> None:
    assert set(OFFERED) == FORMATS.keys()


def test_every_sample_study_is_read_back_unchanged(sample: Path, tmp_path: Path) -> None:
    stored = in_order(read_trials(load_study(sample).store_path))
    for form in TABULAR if sample.name == "blackbox-predict" else ["csv"]:
        # Without `full`, an export replaces typed texts.
        made = eq.export(sample, tmp_path / form, form, full=sample.name == "showcase")
        assert made.n_trials == len(stored)
        assert eq.import_data(tmp_path / form, tmp_path / f"{form}.csv").n_trials == len(stored)
        again = in_order(read_trials(tmp_path / f"{form}.csv"))
        pd.testing.assert_frame_equal(again, stored, check_like=True)
        assert provenance(tmp_path / form)["data_digest"] == data_digest(stored) == data_digest(again)


def test_every_sample_study_follows_psych_ds(sample: Path, tmp_path: Path) -> None:
    eq.export(sample, tmp_path / "out", "psych-ds", license="CC0-1.0")
    assert psych_ds_problems(tmp_path / "out") == []


def test_every_sample_study_passes_the_official_validator_of_bids(sample: Path, tmp_path: Path) -> None:
    eq.export(sample, tmp_path / "out", "bids", license="CC0-1.0", authors=["Anna Adler", "Bo Berg"])
    assert validated(tmp_path / "out")["tasks"] == [sample.name]


def validated(folder: Path) -> dict[str, Any]:
    """Return the summary of the official validator of BIDS, which must find no error and no unexpected warning."""
    validator = Path(sys.executable).with_name("bids-validator-deno")
    if not validator.exists():
        skip_but_never_in_ci("bids-validator-deno is not installed: pip install -e '.[dev]'")
    run = subprocess.run([validator, folder, "--format", "json"], capture_output=True, check=False)
    found = json.loads(run.stdout)
    summary, issues = found["summary"], found["issues"]["issues"]
    assert summary["modalities"] == ["beh"]
    assert len(summary["subjects"]) == len(list(folder.glob("sub-*")))
    assert [issue for issue in issues if issue["severity"] == "error"] == []
    allowed = {"JSON_KEY_RECOMMENDED", "SIDECAR_KEY_RECOMMENDED", "SINGLE_SOURCE_CITATION_FIELDS",
               "TOO_FEW_AUTHORS"}  # fmt: skip
    assert {issue["code"] for issue in issues} <= allowed
    return dict(summary)


def test_several_sessions_of_a_participant_are_sessions_in_bids(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    make_answered_sample(folder, "blackbox-predict", n_people=2)
    with closing(sqlite3.connect(load_study(folder).store_path)) as db, db:
        one, two, *_ = db.execute("SELECT session, participant FROM sessions ORDER BY seed DESC").fetchall()
        db.execute("UPDATE sessions SET session_number = 1 WHERE session = ?", (one[0],))
        db.execute("UPDATE sessions SET session_number = 2, participant = ? WHERE session = ?", (one[1], two[0]))
    eq.export(folder, tmp_path / "out", "bids")
    assert validated(tmp_path / "out")["sessions"] == ["01", "02"]
    eq.import_data(tmp_path / "out", tmp_path / "trials.csv")
    assert data_digest(tmp_path / "trials.csv") == data_digest(load_study(folder).store_path)


def test_an_analysis_of_the_export_has_the_numbers_of_the_analysis_of_the_study(
    panel: StoredStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.commands.export.stored_trials.ROWS_AT_ONCE", 5)  # Several portions.
    eq.export(panel.folder, tmp_path / "export")
    eq.import_data(tmp_path / "export", tmp_path / "trials.csv")
    plan = tmp_path / "export" / "analysis-plan.yaml"
    assert read_yaml(plan, AnalysisPlan) == load_study(panel.folder).definition.analysis
    eq.analyze(panel.folder, tmp_path / "before")
    eq.analyze(data=tmp_path / "trials.csv", plan=plan, output=tmp_path / "after")
    tables = sorted((tmp_path / "before").rglob("*.csv"))
    assert len(tables) > 10
    for table in tables:
        assert (tmp_path / "after" / table.relative_to(tmp_path / "before")).read_bytes() == table.read_bytes(), table
    exported = pd.read_csv(tmp_path / "export" / "trials.csv").set_index(["session", "trial_index"])["excluded_by"]
    analyzed = pd.read_csv(tmp_path / "before" / "tables" / "trials.csv").set_index(["session", "trial_index"])
    assert exported.fillna("").to_dict() == analyzed["excluded_by"].fillna("").to_dict()


@pytest.mark.parametrize("form", TABULAR)
def test_no_panel_id_and_no_free_text_is_exported(panel: StoredStudy, tmp_path: Path, form: str) -> None:
    eq.export(panel.folder, tmp_path / "out", form)
    content = b"".join(path.read_bytes() for path in sorted((tmp_path / "out").rglob("*")) if path.is_file())
    for secret in (b"of-the-panel", b"High Street", *(code.encode() for code in panel.codes.values() if code)):
        assert secret not in content
    assert b"fewer than 5 participants" in content or form in {"parquet", "spss"}


def test_free_texts_in_responses_are_exported_only_on_request(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    make_small_study(folder, "panel")
    study_yaml = folder / "study.yaml"
    study_yaml.write_text(study_yaml.read_text(encoding="utf-8") + PLUGIN, encoding="utf-8")
    (folder / "survey.js").write_text("var survey = 1;", encoding="utf-8")
    battery = folder / "battery.jsonl"
    lines = [json.loads(line) for line in battery.read_text(encoding="utf-8").splitlines()]
    for item in lines[-20:]:
        item |= {"task": "jspsych", "key": {"response": "Rome"}, "content": SURVEY}
    battery.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    stored = on_a_file(folder)
    answer(stored, "anna", 1)
    with closing(sqlite3.connect(stored.location)) as db, db:
        (trial,) = db.execute("SELECT trial_index FROM trials WHERE task = 'jspsych' ORDER BY 1 LIMIT 1").fetchone()
        db.execute("UPDATE responses SET trial_index = ?, response = ?", (trial, '{"response": "I am Bob"}'))
    eq.export(folder, tmp_path / "coarse")
    eq.export(folder, tmp_path / "full", full=True)
    texts = [set(pd.read_csv(tmp_path / name / "trials.csv")["response"].dropna()) for name in ("coarse", "full")]
    assert texts == [{'{"response": "text 1"}'}, {'{"response": "I am Bob"}'}]


def test_a_full_export_has_the_exact_answers_and_still_no_panel_id(panel: StoredStudy, tmp_path: Path) -> None:
    done("export", panel.folder, "--full", "-o", tmp_path / "out")
    sessions = pd.read_csv(tmp_path / "out" / "sessions.csv")
    assert set(sessions["demographics_job"].dropna()) == {"lives at 1 High Street"}
    assert set(sessions["demographics_age"].dropna()) == {34, 27}
    content = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"of-the-panel" not in content
    assert provenance(tmp_path / "out")["full"] is True
    details = pd.read_csv(tmp_path / "out" / "events.csv")["details"]
    assert details.str.contains("fire alarm").any()


def test_the_log_in_an_export_has_no_accesses_of_researchers(panel: StoredStudy, tmp_path: Path) -> None:
    for number in (1, 2):
        eq.export(panel.folder, tmp_path / f"out-{number}")
    events = pd.read_csv(tmp_path / "out-2" / "events.csv")
    assert {"registered", "reserved", "confirmed", "withdrew", "excluded"} >= set(events["event"]) - {"released"}
    assert "details" not in events
    assert set(events["because"].dropna()) == {"withdrawal", "exclusion"}


def test_the_codebook_describes_every_column_of_every_table(sample: Path, tmp_path: Path) -> None:
    eq.export(sample, tmp_path / "out")
    with (tmp_path / "out" / "codebook.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for table in ("trials", "participants", "sessions", "runs", "events", "exclusions"):
        header = read(tmp_path / "out" / f"{table}.csv")[0]
        described = [row for row in rows if row["table"] == table]
        assert [row["column"] for row in described] == header
        assert all(row["type"] and row["label"] for row in described)
    by_name = {row["column"]: row for row in rows if row["table"] == "trials"}
    assert (by_name["rt_ms"]["type"], by_name["rt_ms"]["unit"]) == ("number", "ms")
    assert by_name["kind"]["levels"].startswith("human = person; ")


def test_the_files_are_complete_and_their_checksums_are_right(panel: StoredStudy, tmp_path: Path) -> None:
    out = tmp_path / "out"
    eq.export(panel.folder, out, license="CC-BY-4.0", authors=["Anna Adler"])
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, check=False).returncode == 0
    names = {path.name for path in out.iterdir()}
    listed = {line.split("  ")[1] for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines()}
    assert listed == names - {"SHA256SUMS"}
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert "\nParticipants: 3 people.\n" in readme
    assert all(f"`{name}`" in readme for name in names - {"README.md"})
    header, *items = map(json.loads, (out / "items.jsonl").read_text(encoding="utf-8").splitlines())
    battery = load_study(panel.folder).battery
    assert header["batteries"] == [battery.digest]
    assert header["canary"] == battery.canary
    for item in items:
        assert item["content"] == battery.by_id[item["item_id"]].content
        assert item["key"] == battery.by_id[item["item_id"]].key
    citation = (out / "CITATION.cff").read_text(encoding="utf-8")
    assert '"Anna Adler"' in citation
    assert "license: CC-BY-4.0" in citation
    assert LICENSES["CC-BY-4.0"][1] in (out / "LICENSE").read_text(encoding="utf-8")
    (definition,) = json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert "recruitment" not in definition["definition"]
    assert {mode(path) for path in [out, *out.iterdir()]} == {0o700, 0o600}


def test_no_cell_of_a_csv_export_runs_in_a_spreadsheet(tmp_path: Path, edit: Callable[[Path, str, str], None]) -> None:
    folder = tmp_path / "study"
    make_small_study(folder, "panel")
    edit(folder / "battery.jsonl", '"outcome":"absorbed"', '"outcome":"=1+1"')
    answer(on_a_file(folder), "anna", 100, "complete")
    eq.export(folder, tmp_path / "out")
    eq.import_data(tmp_path / "out", tmp_path / "trials.csv")
    for path in [*sorted((tmp_path / "out").glob("*.csv")), tmp_path / "trials.csv"]:
        read(path)
    assert "=1+1" in set(read_trials(tmp_path / "trials.csv")["outcome"])


def test_a_table_for_spss_has_labels(panel: StoredStudy, tmp_path: Path) -> None:
    import pyreadstat

    eq.export(panel.folder, tmp_path / "out", "spss")
    trials, about = pyreadstat.read_sav(str(tmp_path / "out" / "trials.sav"))
    assert about.column_names_to_labels["rt_ms"] == "Time from stimulus onset to the response (ms)"
    assert about.variable_value_labels["correct"] == {0.0: "false", 1.0: "true"}
    assert about.variable_value_labels["kind"]["human"] == "person"
    assert len(trials) == provenance(tmp_path / "out")["n_rows"]["trials"]


def test_a_format_that_needs_all_trials_in_memory_says_so_above_a_size(
    panel: StoredStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    eq.export(panel.folder, tmp_path / "few", "spss")
    assert "memory" not in capsys.readouterr().err
    monkeypatch.setattr("equipoise.commands.export.export.MANY_TRIALS", 3)
    eq.export(panel.folder, tmp_path / "csv", "csv")
    assert "memory" not in capsys.readouterr().err
    eq.export(panel.folder, tmp_path / "many", "spss")
    assert re.search(
        r"Note: --format spss needs all \d+ trials in memory. If this computer has too little memory, choose csv or",
        capsys.readouterr().err,
    )


def test_parquet_has_the_types_of_the_codebook(panel: StoredStudy, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    eq.export(panel.folder, tmp_path / "out", "parquet")
    schema = pq.read_schema(tmp_path / "out" / "trials.parquet")
    types = {name: str(schema.field(name).type) for name in ("rt_ms", "group", "correct", "response")}
    assert types == {"rt_ms": "double", "group": "int64", "correct": "bool", "response": "string"}
    assert schema.field("rt_ms").metadata == {b"label": b"Time from stimulus onset to the response", b"unit": b"ms"}


@pytest.mark.parametrize("form", ["csv", "parquet", "spss", "jsonl"])
def test_a_study_with_only_models_is_exported_and_read_back(tmp_path: Path, form: str) -> None:
    make_small_study(tmp_path / "study", "open")
    eq.models_run(tmp_path / "study", "baseline/tracer")
    eq.export(tmp_path / "study", tmp_path / "out", form)
    eq.import_data(tmp_path / "out", tmp_path / "trials.csv")
    trials = read_trials(load_study(tmp_path / "study").store_path)
    assert data_digest(tmp_path / "trials.csv") == data_digest(trials)
    assert provenance(tmp_path / "out")["n_rows"]["sessions"] == 0
    assert provenance(tmp_path / "out")["n_participants"] == {"model": 1}


def test_an_export_never_overwrites_files_and_a_failure_leaves_nothing(
    panel: StoredStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    assert "this is not a new or empty folder. Fix: choose a new folder" in refused(
        "export", panel.folder, "-o", tmp_path / "full"
    )
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]

    def fail(*_: object) -> None:
        raise InputError("no space. Fix: none.")

    monkeypatch.setattr("equipoise.commands.export.export.write_checksums", fail)
    with pytest.raises(InputError, match="no space"):
        eq.export(panel.folder, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]
    monkeypatch.undo()
    (tmp_path / "empty").mkdir()
    assert eq.export(panel.folder, tmp_path / "empty").folder == tmp_path / "empty"


def test_bad_input_is_refused_with_a_fix(panel: StoredStudy, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "unknown licence. Fix: write one of CC0-1.0" in refused(
        "export", panel.folder, "-o", out, "--license", "WTFPL"
    )
    with pytest.raises(InputError, match="unknown format `xml`"):
        eq.export(panel.folder, out, "xml")
    make_small_study(tmp_path / "new", "open")
    assert "there are no responses yet. Fix: collect responses" in refused("export", tmp_path / "new", "-o", out)
    assert "Fix: check the name of the file" in refused(
        "export", tmp_path / "new", "-o", out, "--store", tmp_path / "new.db"
    )
    (tmp_path / "new" / "data").mkdir()
    shutil.copy(panel.location, tmp_path / "new" / "data" / "equipoise.db")
    study_yaml = tmp_path / "new" / "study.yaml"
    study_yaml.write_text(study_yaml.read_text(encoding="utf-8").replace("study: blackbox-predict", "study: another"))
    assert "there are no responses yet. Fix: collect responses" in refused("export", tmp_path / "new", "-o", out)
    assert not out.exists()


@pytest.fixture
def exported(panel: StoredStudy, tmp_path: Path) -> Path:
    eq.export(panel.folder, tmp_path / "export")
    return tmp_path / "export"


def test_a_changed_or_incomplete_export_is_not_read(exported: Path, tmp_path: Path) -> None:
    out = tmp_path / "trials.csv"
    trials = exported / "trials.csv"
    before = trials.read_text(encoding="utf-8")
    trials.write_text(before.replace("absorbed", "reflected", 1), encoding="utf-8")
    assert f"{trials}: this file was changed after the export. Fix: export the data again." in refused(
        "import", exported, "-o", out
    )
    trials.unlink()
    assert "this file of the export is missing" in refused("import", exported, "-o", out)
    assert "there is no export of Equipoise in this folder" in refused("import", tmp_path, "-o", out)
    assert not out.exists()


def test_an_export_of_a_newer_version_is_not_read(exported: Path, tmp_path: Path) -> None:
    path = exported / "provenance.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"equipoise_export": 1', '"equipoise_export": 2'))
    assert "a newer version of Equipoise made this export. Fix: update Equipoise." in refused(
        "import", exported, "-o", tmp_path / "trials.csv"
    )


def test_an_import_writes_only_a_new_csv_file(exported: Path, tmp_path: Path) -> None:
    out = tmp_path / "trials.csv"
    assert done("import", exported, "-o", out).startswith(f"Made {out} with ")
    assert mode(out) == 0o600
    assert "this file exists already. Fix: choose a new name." in refused("import", exported, "-o", out)
    assert "does not end in .csv" in refused("import", exported, "-o", tmp_path / "trials.db")
    assert "need a map of the columns. Fix: add --map" in refused(
        "import", exported, "--keep-ids", "-o", tmp_path / "two.csv"
    )


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_an_export_for_inspect_has_a_log_of_people_that_names_nobody(panel: StoredStudy, tmp_path: Path) -> None:
    need_inspect()
    from inspect_ai.log import read_eval_log

    made = eq.export(panel.folder, tmp_path / "out", "inspect")
    log = read_eval_log(str(tmp_path / "out" / "trials-human.eval"))
    assert made.n_trials == len(log.samples)
    n_trials = (tmp_path / "out" / "README.md").read_text().partition("`trials-*.eval`")[2].partition("\n")[0]
    assert n_trials.endswith(f"| {len(log.samples)} |")
    assert {sample.metadata["session"] for sample in log.samples} == {
        panel.sessions[name] for name in ("anna-of-the-panel", "bert-of-the-panel")
    }
    assert not (tmp_path / "out" / "trials-simulated.eval").exists()
    assert not (tmp_path / "out" / "trials.csv").exists()
    assert "cannot be read back. Fix: export with --format csv." in refused(
        "import", tmp_path / "out", "-o", tmp_path / "trials.csv"
    )
