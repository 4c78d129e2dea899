"""The pages on exports and imports: their commands run, and print or write what the pages say."""

import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import equipoise as eq
from analysis.exports.codebook import TABLES
from analysis.exports.formats import FORMATS
from analysis.imports.table_map import ready_made_maps
from equipoise.cli.main import main
from tests.docs.test_docs import DOCS, documented_in, fences, name_of, typed_commands
from tests.equipoise.commands.store.commands import answer, make_small_study, on_a_file

EXPORT, IMPORT = DOCS / "how-to" / "export-data.md", DOCS / "how-to" / "import-data.md"


def run(line: str) -> None:
    """Run a command as a shell does, which replaces a pattern by the names of files."""
    words = [[str(path) for path in sorted(Path().glob(word))] if "*" in word else [word] for word in shlex.split(line)]
    result = CliRunner().invoke(main, [word for several in words[1:] for word in several])
    assert result.exit_code == 0, (line, result.output)


def test_the_commands_on_the_page_about_exports_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_small_study(Path("my-study"), "panel")
    answer(on_a_file(Path("my-study")), "anna", 100, "complete")
    answer(on_a_file(Path("my-study")), "bert", 100, "complete")
    for page, line in typed_commands():
        if page == name_of(EXPORT):
            run(line)
    assert Path("results/report.html").is_file()
    assert Path("my-study-psych-ds/dataset_description.json").is_file()
    listed = documented_in(EXPORT, "What is in the folder")
    names = {path.name for path in Path("my-study-data").iterdir()}
    assert names <= listed | {f"{table}.csv" for table in TABLES}
    assert listed >= TABLES.keys()


def test_the_example_of_a_map_gives_the_table_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    of_kind = {words: text for words, text in fences(IMPORT) if " " in words}
    Path("table.csv").write_text(of_kind["csv table"], encoding="utf-8")
    Path("map.yaml").write_text(of_kind["yaml map"], encoding="utf-8")
    (command,) = [line for page, line in typed_commands() if page == name_of(IMPORT) and "map.yaml" in line]
    run(command)
    assert Path("trials.csv").read_text(encoding="utf-8") == of_kind["csv result"]


def test_the_pages_name_every_format_and_every_map() -> None:
    assert documented_in(EXPORT, "Choose a format") >= FORMATS.keys()
    assert documented_in(IMPORT, "With a ready-made map") >= set(ready_made_maps())


def test_gorilla_data_of_an_exported_battery_are_scored_with_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spreadsheets for Gorilla have the columns `item_id` and `phase`, which Gorilla repeats in its data."""
    monkeypatch.chdir(tmp_path)
    eq.new("my-study", "intuition-single")
    study = eq.load_study(Path("my-study"))
    eq.battery_export("my-study", "gorilla", "gorilla")
    header = "Participant Private ID,Trial Number,Spreadsheet: item_id,Spreadsheet: phase,Response,Reaction Time\n"
    rows = []
    for participant, right in ((901, True), (902, False)):
        for number, line in enumerate(Path("gorilla/keys.csv").read_text(encoding="utf-8").splitlines()[1:20]):
            item_id, phase, _, key = line.split(",")[:4]
            response = int(key) if right else int(key) % 4 + 1
            rows.append(f"{participant},{number},{item_id},{phase},{response},{4000 + number}\n")
    Path("gorilla-data.csv").write_text(header + "".join(rows), encoding="utf-8")
    (command,) = [line for page, line in typed_commands() if page == name_of(IMPORT) and "--map gorilla" in line]
    run(command)
    trials = eq.read_trials(Path("trials.csv"))
    assert trials.groupby("participant", observed=True)["correct"].mean().to_dict() == {"P1": 1.0, "P2": 0.0}
    assert set(trials["source"]) == {"import"}
    assert set(trials["battery"]) == {study.battery.digest}
    shutil.rmtree("gorilla")


def test_several_files_of_psychopy_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name in ("P01", "P02"):
        lines = ["participant,trials.thisN,item_id,key_resp.keys,key_resp.rt", f"{name},0,q1,2,0.5"]
        Path("data", f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    (command,) = [line for page, line in typed_commands() if page == name_of(IMPORT) and "--map psychopy" in line]
    run(command)
    expected = "participant,session,trial_index,phase,item_id,response,rt_ms\n"
    expected += "P1,P1-1,0,test,q1,2,500.0\nP2,P2-1,0,test,q1,2,500.0\n"
    assert Path("trials.csv").read_text(encoding="utf-8") == expected
