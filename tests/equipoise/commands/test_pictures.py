"""Commands on a study with pictures: check, preview, variants, exports, simulated participants, the laboratory."""

import hashlib
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import equipoise as eq
from batteries.errors import InputError
from batteries.items import load_battery
from equipoise.cli.main import main
from equipoise.commands.battery import battery_export, battery_preview, battery_variants
from equipoise.commands.check.assets import assets_points
from equipoise.commands.check.battery import answer_keys_point
from equipoise.commands.check.checklist import Verdict
from experiment.lab.requirements import check_tasks
from experiment.load_study import load_study
from experiment.study.definition import Study
from server.app import create_app
from server.settings import Settings
from server.store import SqliteStore
from tests.picture_study import make_picture_study, picture
from tests.server.conftest import SECRETS, Participant


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_picture_study(tmp_path / "pictures")


@pytest.fixture
def study(folder: Path) -> Study:
    return load_study(folder)


def test_the_check_counts_the_files_and_the_time_to_load_them(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    (point,) = assets_points(study)
    assert point.verdict is Verdict.PASSED
    assert "5 files with 0.0 MB. A session loads up to 5 of them" in point.found
    assert "in about 1 s at 10 Mbit/s." in point.found
    monkeypatch.setattr("equipoise.commands.check.assets.LINE_MBIT_PER_S", 0.000_1)
    (point,) = assets_points(study)
    assert point.verdict is Verdict.ATTENTION
    assert point.fix


def test_a_study_without_files_has_no_point_on_files(sample_study: Study) -> None:
    assert assets_points(sample_study) == []


def test_the_check_of_answer_keys_leaves_out_items_with_several_answers(study: Study) -> None:
    assert "of 2 graded test items with options" in answer_keys_point(study).found


class Sources(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if tag == "img" and name == "src"]


def test_the_preview_shows_small_pictures_in_its_one_file(folder: Path, tmp_path: Path) -> None:
    (folder / "assets" / "red-is-right.png").write_bytes(picture(size=(900, 600)))
    battery_preview(folder, tmp_path / "preview.html")
    html = (tmp_path / "preview.html").read_text(encoding="utf-8")
    page = Sources()
    page.feed(html)
    assert len(page.found) == 4
    assert all(source.startswith(("data:image/png;base64,", "data:image/svg+xml;base64,")) for source in page.found)
    assert "A tone" in html
    assert "Look at the *picture*." in html


def test_the_files_of_variants_are_copied(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    battery_variants(folder / "battery.jsonl", tmp_path / "other" / "variants.jsonl")
    variants = load_battery(tmp_path / "other" / "variants.jsonl")
    several: Any = [item for item in variants.items if item.factors["original_item"] == "q2"]
    for item in several:
        assert {item.content["options"][number - 1] for number in item.key} == {"a tone", "a clip"}
    (tmp_path / "other" / "assets" / "red-is-right.png").write_bytes(picture(size=(9, 9)))
    with pytest.raises(InputError, match="another file has this name"):
        battery_variants(folder / "battery.jsonl", tmp_path / "other" / "again.jsonl")


@pytest.mark.parametrize(("form", "name"), [("gorilla", "a"), ("jspsych", "b"), ("csv", "c.csv")])
def test_exports_for_other_programs_refuse_pictures(folder: Path, tmp_path: Path, form: str, name: str) -> None:
    with pytest.raises(InputError, match=r"the item `p1` .* Fix: "):
        battery_export(folder, form, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_the_laboratory_accepts_pictures_and_several_answers(study: Study) -> None:
    check_tasks(study)


def answer_all(study: Study) -> None:
    study.store_path.parent.mkdir(exist_ok=True)
    store = SqliteStore(study.store_path)
    participant = Participant(create_app(study, store, SECRETS, Settings()))
    participant.start()
    for trial in participant.session["trials"]:
        response = [1, 2] if "several" in trial["content"] else 1
        assert participant.answer(trial["trial_index"], response=response).status_code == 201
    assert participant.complete().status_code == 200
    store.close()


@pytest.mark.parametrize(
    ("form", "place"), [("csv", "assets"), ("psych-ds", "materials/assets"), ("bids", "stimuli/assets")]
)
def test_an_export_contains_the_files_with_checksums(study: Study, tmp_path: Path, form: str, place: str) -> None:
    answer_all(study)
    # The copy of the server is exported, not the file that the researcher has changed since.
    (study.folder / "assets" / "red-is-right.png").write_bytes(picture(size=(9, 9)))
    changed = load_study(study.folder)
    eq.export(replace(changed, battery=study.battery), tmp_path / "export", form)
    files = {path.stem: path.read_bytes() for path in (tmp_path / "export" / place).iterdir()}
    assert len(files) == 5
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in files.items())
    assert hashlib.sha256(picture()).hexdigest() in files
    sums = (tmp_path / "export" / "SHA256SUMS").read_text(encoding="utf-8")
    assert all(name in sums for name in files)
    assert f"{place}/" in (tmp_path / "export" / "README.md").read_text(encoding="utf-8")


def test_an_export_names_the_files_that_are_missing(study: Study, tmp_path: Path) -> None:
    answer_all(study)
    name = hashlib.sha256(picture()).hexdigest()
    (study.folder / "data" / "assets" / f"{name}.png").unlink()
    (study.folder / "assets" / "red-is-right.png").unlink()
    eq.export(study, tmp_path / "export", "csv")
    header = json.loads((tmp_path / "export" / "items.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert header["files_not_found"] == [f"assets/red-is-right.png ({name}.png)"]


def test_several_answers_are_scored_with_partial_credit(study: Study, tmp_path: Path) -> None:
    answer_all(study)
    trials = eq.read_trials(study.store_path)
    scores = trials.set_index("item_id")["score"].to_dict()
    assert scores["q2"] == 1
    assert trials.set_index("item_id")["response"].to_dict()["q2"] in ([1, 2], "[1, 2]")


def test_simulated_participants_take_the_study_and_it_is_analyzed(folder: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> str:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output
        return result.output

    run("simulate", folder, "-n", 4)
    run("analyze", folder, "-o", tmp_path / "results")
    trials = eq.read_trials(folder / "data" / "equipoise.db")
    assert trials["item_id"].value_counts().to_dict() == {"p1": 4, "q1": 4, "q2": 4, "q3": 4}
    assert (tmp_path / "results" / "report.html").is_file()
