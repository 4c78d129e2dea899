"""Screens of questions: every task fits in every language, and a press changes only what it must change."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from batteries.errors import InputError
from batteries.items import Item
from batteries.stimulus.asset_files import AssetReader
from batteries.tasks import task_named
from experiment.lab.input.key_bindings import state_after
from experiment.lab.input.response_state import ResponseState
from experiment.lab.input.typed_text import TypedText
from experiment.lab.requirements import check_media, plays_sounds, sheet_for
from experiment.lab.screens.keypress import keypress
from experiment.lab.screens.layout.buttons import Action
from experiment.lab.screens.layout.sheet import Sheet, Viewing
from experiment.lab.screens.screen_before import screen_before
from experiment.lab.screens.text.fonts import DEJAVU
from experiment.lab.screens.trial import trial, with_even_letters
from experiment.lab.screens.trial_header import ShownFeedback, TrialMoment
from experiment.load_study import load_study
from experiment.texts import texts_in
from tests.experiment.lab.screens.test_trials import assert_is_in_order, words
from tests.paths import MEDIA, ROOT
from tests.picture_study import DRAWING, make_picture_study, picture

SMALL, USUAL = (1024, 768), (1920, 1080)
GO_ON = (Action("next", "Continue", "→"),)
ASKING = TrialMoment(progress="Question 24 of 24")
SCALE = {"prompt": "How?", "low": 0, "high": 100, "step": 1, "shown_as": "slider", "labels": ["dark", "bright"]}


@pytest.fixture(scope="module")
def items():
    """Every item of the studies with questions, key presses and lists."""
    studies = [load_study(ROOT / "tests" / name) for name in ("question_study", "memory_study")]
    return [item for study in studies for item in study.battery.items]


def sheet_of(size_px=SMALL, language="en", **more):
    return Sheet(size_px, DEJAVU, texts_in(language, {}), texts_in(language, {}).say("leave"), **more)


def item_of(task, content, folder=None, item_id="i"):
    content = task_named(task).content_model.model_validate(content).model_dump(mode="json")
    content = AssetReader(folder).filled_in(content) if folder else content
    return Item(item_id=item_id, task=task, content=content, key=None)


def draw(sheet, item, moment=ASKING, before=None):
    return trial(sheet, item.item_id, item.task, item.content, moment, before)


def without_slider(shown):
    """Return an image whose regions may be narrower than a finger: the points of a slider."""
    return replace(shown, regions=tuple(each for each in shown.regions if not each.follows_drag))


@pytest.mark.parametrize("size_px", [SMALL, USUAL, (800, 600)])
@pytest.mark.parametrize("language", ["en", "de", "es", "ar"])
def test_every_task_fits_with_and_without_feedback(items, size_px, language):
    sheet = with_even_letters(sheet_of(size_px, language), items, ASKING)
    say = sheet.words.say
    for item in items:
        assert_is_in_order(without_slider(draw(sheet, item)), sheet)
        if item.key is None:
            continue
        response = task_named(item.task).right_response(item.content, item.key)
        feedback = task_named(item.task).feedback(item.content, item.key, response)
        shown = ShownFeedback(feedback.correct, say(feedback.text, **feedback.values), feedback.solution)
        moment = TrialMoment("P", response_state=ResponseState(response, response), feedback=shown, actions=GO_ON)
        assert_is_in_order(draw(sheet, item, moment), sheet)


PRESSES = {
    "likert": ["right", "right"],
    "brightness": ["right", "left", "point-80"],
    "mountain": [*"88x", "return", "backspace"],
    "reason": [*"to", "return", *"tell her", "left", "home"],
    "planets": ["3", "1", "3", "2"],
    "list-1": [*"sea", "return", *"sun", "return", "backspace"],
}


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("name", PRESSES)
def test_a_redrawn_part_gives_the_same_image_as_a_new_drawing(items, name, language):
    item = next(each for each in items if each.item_id == name)
    sheet, state, shown = sheet_of(language=language), ResponseState(), None
    shown = draw(sheet, item)
    for press in PRESSES[name]:
        before, state = state, state_after(item.task, item.content, state, press)
        moments = [replace(ASKING, response_state=each) for each in (before, state)]
        earlier, shown = shown, draw(sheet, item, moments[1], (moments[0], shown))
        whole = draw(sheet, item, moments[1])
        assert shown.image.tobytes() == whole.image.tobytes(), press
        assert (shown.regions, shown.written) == (whole.regions, whole.written)
        outside = earlier.image.copy()
        outside.paste(shown.image.crop(shown.changed_px), shown.changed_px[:2])
        assert outside.tobytes() == shown.image.tobytes(), "nothing changes outside of the box"
        _, top, _, bottom = shown.changed_px
        assert (bottom - top) < sheet.size_px[1] / 2


def test_a_chosen_answer_looks_different_from_the_others(items):
    sheet = sheet_of()
    for item in items:
        if item.task not in {"rating", "ranking"}:
            continue
        first = state_after(item.task, item.content, ResponseState(), "right" if item.task == "rating" else "1")
        assert draw(sheet, item, replace(ASKING, response_state=first)).image != draw(sheet, item).image


def test_a_slider_has_no_mark_before_the_first_action():
    item = item_of("rating", SCALE)
    unset, set_ = (draw(sheet_of(), item, replace(ASKING, response_state=ResponseState(each))) for each in (None, 50))
    colours = {colour for _, colour in unset.image.getcolors(1 << 20)}
    assert len({colour for _, colour in set_.image.getcolors(1 << 20)} - colours) > 0


@pytest.mark.parametrize("language", ["en", "ar"])
def test_every_point_of_a_line_can_be_clicked_where_it_is(language):
    item = item_of("rating", SCALE)
    points = [each for each in draw(sheet_of(language=language), item).regions if each.follows_drag]
    lefts = [each.box_px[0] for each in points]
    assert [each.name for each in points] == [f"point-{index}" for index in range(101)]
    assert lefts == sorted(lefts, reverse=language == "ar")
    assert all(each.box_px[2] > each.box_px[0] for each in points)


@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_keys_of_a_fast_response_have_the_order_of_the_keyboard(language):
    item = item_of("keypress", {"stimulus": [{"text": "X"}], "keys": {"f": "word", "j": "nonword"}})
    left, right = (region for region in draw(sheet_of(language=language), item).regions if "key" in region.name)
    assert left.name.endswith("f") and right.name.endswith("j")
    assert left.box_px[2] < right.box_px[0]


def test_in_arabic_a_negative_number_is_drawn_as_in_english():
    """The label is drawn from left to right, so the minus sign is at the left of the digit."""
    scale = item_of("rating", {"prompt": "?", "low": -3, "high": 3})
    labels = []
    for language in ("en", "ar"):
        drawn = draw(sheet_of(language=language), scale)
        box = next(region.box_px for region in drawn.regions if region.name == "point-0")
        labels.append(drawn.image.crop(box).tobytes())
    assert labels[0] == labels[1]


def test_the_end_of_a_long_text_stays_in_the_field():
    item = item_of("free_text", {"prompt": "Why?", "lines": 2})
    typed = " ".join(f"word{number}" for number in range(200))
    moment = replace(ASKING, response_state=ResponseState(typed=TypedText(typed, len(typed))))
    assert "word199" in words(draw(sheet_of(), item, moment))
    at_start = replace(ASKING, response_state=ResponseState(typed=TypedText(typed, 0)))
    assert "word0" in words(draw(sheet_of(), item, at_start))


def test_the_stimulus_and_the_mask_are_in_the_exact_middle(items):
    item = next(each for each in items if each.item_id == "lexical-1")
    sheet = sheet_of()
    boxes = [
        next(written.box_px for written in shown.written if written.text in {"garden", "XXXXXX"})
        for shown in (draw(sheet, item), keypress(sheet, item.content, ASKING, item.content["mask"]))
    ]
    for left, top, right, bottom in boxes:
        assert abs(left + right - 1024) <= 2 and abs(top + bottom - 768) <= 12
    screen = screen_before(sheet, {"parts": [{"text": "river"}], "duration_ms": 200})
    ((left, top, right, bottom),) = [written.box_px for written in screen.written]
    assert abs(left + right - 1024) <= 2 and abs(top + bottom - 768) <= 12
    assert screen.regions == ()


def test_a_screen_without_a_duration_has_a_button():
    screen = screen_before(sheet_of(), {"parts": [{"text": "Learn."}], "duration_ms": None})
    assert [region.name for region in screen.regions] == ["next", "escape"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with pictures, a drawing and recordings."""
    made = tmp_path_factory.mktemp("battery")
    (made / "assets").mkdir()
    for colour in ("red", "blue"):
        (made / "assets" / f"{colour}.png").write_bytes(picture(size=(300, 200), colour=colour))
    (made / "assets" / "wide.webp").write_bytes(picture("WEBP", (3000, 400), "green", lossless=True))
    turned = Image.Exif()
    turned[0x0112] = 6
    (made / "assets" / "turned.jpg").write_bytes(picture("JPEG", (300, 100), "black", exif=turned))
    (made / "assets" / "circle.svg").write_text(DRAWING)
    for name in ("clip.mp4", "tone.wav"):
        shutil.copy(MEDIA / name, made / "assets")
    return made


def image_part(name, **more):
    return {"image": f"assets/{name}", "alt": name, **more}


def box_of(image, colour):
    """Return the box of the pixels that have nearly a colour."""
    distances = np.abs(np.asarray(image).astype(int) - colour).max(axis=2)
    rows, columns = np.nonzero(distances < 12)
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def test_pictures_of_one_size_have_one_size_on_the_screen(folder):
    parts = {"short": "Look.", "long": "words " * 150}
    items = [
        item_of("multiple_choice", {"stimulus": [image_part("red.png")], "text": text, "prompt": "Which?",
                                    "options": ["a", "b"]}, folder, name)
        for name, text in parts.items()
    ]  # fmt: skip
    sheet = with_even_letters(sheet_of(media_folder=folder), items, ASKING)
    boxes = [box_of(draw(sheet, item).image, (255, 0, 0)) for item in items]
    sizes = [(right - left, bottom - top) for left, top, right, bottom in boxes]
    assert sizes[0] == sizes[1] and sizes[0][0] / sizes[0][1] == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize(
    ("name", "colour", "ratio"),
    [("wide.webp", (0, 128, 0), 7.5), ("turned.jpg", (0, 0, 0), 1 / 3)],
)
def test_photographs_are_drawn_upright_and_not_distorted(folder, name, colour, ratio):
    item = item_of("number", {"stimulus": [image_part(name)], "prompt": " ", "low": 0, "high": 1}, folder)
    left, top, right, bottom = box_of(draw(sheet_of(media_folder=folder), item).image, colour)
    assert (right - left) / (bottom - top) == pytest.approx(ratio, rel=0.06)
    assert right - left <= sheet_of().column_px


def test_drawings_are_drawn_in_the_size_on_the_screen(lab_extra, folder):
    item = item_of("number", {"stimulus": [image_part("circle.svg")], "prompt": " ", "low": 0, "high": 1}, folder)
    left, top, right, bottom = box_of(draw(sheet_of((2048, 1536), media_folder=folder), item).image, (255, 0, 0))
    assert right - left == bottom - top == pytest.approx(2 * 9, abs=1), "a quarter of a disc, enlarged by 2"


def test_pictures_as_options_can_be_clicked(folder):
    options = [image_part("red.png"), image_part("blue.png"), "neither"]
    item = item_of("multiple_choice", {"prompt": "Which?", "options": options}, folder)
    shown = draw(sheet_of(media_folder=folder), item)
    assert_is_in_order(shown, sheet_of())
    for number, colour in (("1", (255, 0, 0)), ("2", (0, 0, 255))):
        left, top, right, bottom = box_of(shown.image, colour)
        assert shown.region_at((left + right) / 2, (top + bottom) / 2) == number


def test_a_size_and_position_in_degrees_is_exact(folder):
    part = image_part("red.png", width_deg=4, x_deg=3, y_deg=2)
    item = item_of("keypress", {"stimulus": [part], "keys": {"f": "a"}}, folder)
    sheet = sheet_of(USUAL, media_folder=folder, viewing=Viewing(px_per_cm=40, distance_cm=57))
    left, top, right, bottom = box_of(draw(sheet, item).image, (255, 0, 0))
    assert right - left == pytest.approx(2 * 57 * 0.03492 * 40, abs=1)
    assert (left + right) / 2 - 960 == pytest.approx(57 * 0.05241 * 40, abs=2)
    assert 540 - (top + bottom) / 2 == pytest.approx(57 * 0.03492 * 40, abs=2)
    with pytest.raises(InputError, match=r"red\.png: its size is in degrees.* Fix: define"):
        draw(sheet_of(media_folder=folder), item)
    with pytest.raises(InputError, match="does not fit the screen"):
        draw(sheet_of(media_folder=folder, viewing=Viewing(px_per_cm=400, distance_cm=57)), item)


def test_a_changed_file_is_refused_when_it_is_needed(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    item = item_of(
        "number", {"stimulus": [image_part("blue.png")], "prompt": "?", "low": 0, "high": 1}, tmp_path / "copy"
    )
    (tmp_path / "copy" / "assets" / "blue.png").write_bytes(picture(size=(300, 200), colour="white"))
    with pytest.raises(InputError, match=r"blue\.png: the file has changed since the study was read"):
        draw(sheet_of(media_folder=tmp_path / "copy"), item)


def test_a_study_with_files_can_be_shown(lab_extra, tmp_path):
    study = load_study(make_picture_study(tmp_path / "study"))
    check_media(study, None)
    assert plays_sounds(study)
    sheet = sheet_for(study, SMALL)
    for item in study.battery.items:
        assert_is_in_order(draw(sheet, item), sheet)
    assert not plays_sounds(load_study(ROOT / "tests" / "question_study"))
