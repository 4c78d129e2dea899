"""Studies with PsychoPy trials outside the laboratory: their digest, their checks, and simulated participants."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from equipoise.commands.check.browser import browser_points
from equipoise.commands.check.checklist import Verdict
from equipoise.commands.server_process import simulate
from experiment.lab.requirements import check_media, check_tasks, plays_sounds, sheet_for
from experiment.load_study import load_study
from experiment.models.prompts.requests import requests_for
from experiment.study.revision import Content, changes
from server.app import create_app
from server.settings import Settings
from server.store import SqliteStore
from tests.picture_study import picture
from tests.psychopy_study import codes_of_page, make_psychopy_study, psychopy_item, tilt
from tests.server.conftest import SECRETS, Participant

ITEMS = [
    tilt("practice-1", 5),
    tilt("tilt-1", -3),
    tilt("tilt-2", 3),
    psychopy_item("bright-1", "brightness", None, {"standard": 0.2, "start": -0.4}),
]
MARK = "from pathlib import Path\n\nPath(__file__).with_name('executed').touch()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_psychopy_study(tmp_path / "study", ITEMS)


def test_the_how_to_page_has_the_code_of_two_classes() -> None:
    assert set(codes_of_page()) == {"gabor.py", "brightness.py"}


def test_the_code_is_part_of_the_digest_and_a_change_needs_a_new_version(folder: Path) -> None:
    before = load_study(folder)
    assert before.texts["gabor.py"] == codes_of_page()["gabor.py"]
    with (folder / "gabor.py").open("a") as file:
        file.write("# another comment\n")
    after = load_study(folder)
    assert after.digest != before.digest
    assert changes(Content.of(before), Content.of(after)).substance == ("`gabor.py`",)


def test_only_the_laboratory_executes_the_code(folder: Path, tmp_path: Path) -> None:
    for name, code in codes_of_page().items():
        (folder / name).write_text(MARK + code, encoding="utf-8")
    study = load_study(folder)
    store = simulate(folder, 3, seed=1)
    assert not (folder / "executed").exists()
    check_tasks(study)
    check_media(study, None)
    sheet_for(study, (1024, 768))
    assert not (folder / "executed").exists()
    with closing(SqliteStore(Path(store))) as opened:
        given = {row["item_id"]: row["response"] for row in opened.trials()}
    assert given["tilt-1"] in {'"left"', '"right"'} and 0 <= float(given["bright-1"]) <= 100


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"gabor": {', '"patch": {', "the item `practice-1` is a trial of the class `gabor`, which is not under"),
        ("gabor.py", "missing.py", "missing.py: this file does not exist"),
        ("gabor.py", "gabor.txt", r"psychopy_trials.gabor.file"),
        ('"Gabor"', '"a class"', r"psychopy_trials.gabor.class_name"),
    ],
)
def test_a_class_that_is_not_there_is_refused_when_the_study_is_read(
    folder: Path, edit: Any, old: str, new: str, sentence: str
) -> None:
    edit(folder / "study.yaml", old, new)
    with pytest.raises(InputError, match=sentence):
        load_study(folder)


def test_a_browser_shows_that_the_study_takes_place_in_the_laboratory(folder: Path, tmp_path: Path) -> None:
    study = load_study(folder)
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        store.register_study(study)
        participant = Participant(create_app(study, store, SECRETS, Settings()))
        page = participant.http.get("/api/study").get_json()
        assert page["notice"] == study.words.say("lab_only")
        refused = participant.start()
        assert (refused.status_code, refused.get_json()["error"]) == (409, study.words.say("lab_only"))
        assert store.sessions(study) == []
    browser, _ = browser_points(study)
    assert browser.verdict is Verdict.NOT_CHECKED
    assert "the item `practice-1` is a PsychoPy trial, which only the laboratory can show." in browser.found
    assert browser.fix == f"take the study once with `equipoise lab {folder} --participant test --rehearsal`."


def test_models_are_refused_in_one_sentence(folder: Path) -> None:
    study = load_study(folder)
    with pytest.raises(InputError, match=r"`psychopy` cannot be sent to a model, because only PsychoPy can show them"):
        requests_for(study)


def test_a_file_of_the_parameters_belongs_to_the_battery(tmp_path: Path) -> None:
    item = psychopy_item("face-1", "gabor", None, {"image": "assets/face.png", "drawing": "assets/face.svg"})
    folder = tmp_path / "study"
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / "face.png").write_bytes(picture())
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9" height="9"/>'
    (folder / "assets" / "face.svg").write_text(drawing)
    make_psychopy_study(folder, [item])
    study = load_study(folder)
    assert all(len(digest) == 64 for digest in study.battery.by_id["face-1"].content["files"].values())
    check_media(study, None)
    assert not plays_sounds(study)
