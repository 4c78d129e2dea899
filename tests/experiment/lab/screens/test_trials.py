"""Every screen of every item of the sample studies, checked without a window."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from PIL import ImageColor

from batteries.errors import InputError
from batteries.tasks import task_named
from experiment.lab.input.key_bindings import state_after
from experiment.lab.input.response_state import ResponseState
from experiment.lab.screens.layout.buttons import Action
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.text.fonts import DEJAVU, font_for
from experiment.lab.screens.trial import fixation, trial, with_even_letters
from experiment.lab.screens.trial_header import ShownFeedback, TrialMoment
from experiment.load_study import load_study
from experiment.study.palette import PALETTES, contrast
from experiment.texts import ENGLISH, texts_in
from tests.paths import ROOT

SMALL, USUAL, LARGE = (1024, 768), (1920, 1080), (3840, 2160)
LIGHT = PALETTES["light"]
ASKING = TrialMoment(progress="Question 24 of 24")
GO_ON = (Action("next", "Continue", "Enter"),)


@pytest.fixture(scope="module", params=["blackbox-predict", "intuition-single", "intuition-double"])
def study(request):
    return load_study(ROOT / "equipoise" / "studies" / request.param)


def overlap(one, other):
    return max(one[0], other[0]) < min(one[2], other[2]) and max(one[1], other[1]) < min(one[3], other[3])


def assert_is_in_order(picture, sheet):
    """Check that nothing overlaps or is cut off, that regions are large, and that the hints are at the bottom."""
    assert picture.image.size == sheet.size_px
    assert picture.image.mode == "RGB"
    side_px, above_px = sheet.margins_px
    foot = sheet.size_px[1] - above_px
    others, targets = picture.written, picture.regions
    for hint, key, name in ((sheet.escape_hint, "Esc", "escape"), (sheet.rules_hint, "F1", "f1")):
        if not hint:
            continue
        *others, shown = others
        *targets, area = targets
        assert (shown.text, area.name) == (f"{hint}  [{key}]", name)
        assert foot <= shown.box_px[1] < shown.box_px[3] <= sheet.size_px[1]
        assert side_px <= shown.box_px[0] < shown.box_px[2] <= sheet.size_px[0] - side_px
        assert overlap(area.box_px, shown.box_px)
    for written in others:
        left, top, right, bottom = written.box_px
        assert side_px <= left < right <= sheet.size_px[0] - side_px, written
        assert above_px <= top < bottom <= sheet.size_px[1] - above_px, written
    for one, other in combinations(picture.written, 2):
        assert not overlap(one.box_px, other.box_px), (one, other)
    for one, other in combinations(picture.regions, 2):
        assert not overlap(one.box_px, other.box_px), (one, other)
    least_px = 32 * min(sheet.size_px[1], 0.75 * sheet.size_px[0]) / 768
    for region in targets:
        left, top, right, bottom = region.box_px
        assert right - left >= least_px and bottom - top >= least_px, region
        assert left >= side_px and top >= above_px
        assert right <= sheet.size_px[0] - side_px and bottom <= sheet.size_px[1] - above_px


def words(picture):
    return " ".join(written.text for written in picture.written).split()


def draw(sheet, item, moment=ASKING):
    return trial(sheet, item.item_id, item.task, item.content, moment)


def judged(item, response, words_of_study):
    feedback = task_named(item.task).feedback(item.content, item.key, response)
    message = words_of_study.say(feedback.text, **feedback.values)
    return TrialMoment(
        progress="Practice",
        response_state=ResponseState(response, response),
        feedback=ShownFeedback(
            feedback.correct,
            message,
            feedback.solution,
            words_of_study.say("last_practice"),
            tuple(words_of_study.say(text, **values) for text, values in feedback.explanation),
        ),
        actions=GO_ON,
    )


def test_every_item_fits_the_smallest_screen_in_letters_of_one_size(study):
    sheet = with_even_letters(Sheet.of(study, SMALL), study.battery.items, ASKING)
    assert 16 <= sheet.item_px <= sheet.body_px
    for item in study.battery.items:
        picture = draw(sheet, item)
        assert_is_in_order(picture, sheet)
        if item.task == "multiple_choice":
            content = item.content
            options = [f"{number} {option}" for number, option in enumerate(content["options"], start=1)]
            shown = "".join([content["text"], content["prompt"], *options])
            assert "".join(shown.split()) in "".join(words(picture))  # Lines can also end at hyphens.
            hints = ["f1", "escape"] if sheet.rules_hint else ["escape"]
            assert [region.name for region in picture.regions] == [*(str(n + 1) for n in range(len(options))), *hints]


@pytest.mark.parametrize("size_px", [USUAL, LARGE, (800, 600), (1280, 1024), (1366, 768), (3440, 1440), (1080, 1920)])
def test_items_fit_larger_and_other_screens(study, size_px):
    sheet = Sheet.of(study, size_px)
    longest = max(study.battery.items, key=lambda item: len(str(item.content)))
    for item in (longest, study.battery.items[0]):
        assert_is_in_order(draw(sheet, item), sheet)


@pytest.mark.parametrize("size_px", [SMALL, USUAL])
@pytest.mark.parametrize("language", ["en", "de", "es", "ar"])
def test_feedback_fits_in_every_language_whether_right_or_wrong(study, size_px, language):
    texts = texts_in(language, {})
    sheet = Sheet(size_px, DEJAVU, texts)
    for item in (study.battery.by_id[name] for name in study.definition.practice):
        for response in task_named(item.task).responses(item.content)[:4]:
            moment = judged(item, response, texts)
            picture = draw(sheet, item, moment)
            assert_is_in_order(picture, sheet)
            assert [region.name for region in picture.regions] == ["next"]
            for sentence in (texts.say("last_practice"), *moment.feedback.explanation):
                assert set(sentence.split()) <= set(words(picture))


def test_feedback_names_the_right_and_the_wrong_answer_in_words():
    content = {"text": "", "prompt": "Which?", "options": ["this", "that", "neither"]}
    feedback = ShownFeedback(False, "The right answer is “that”.", 2)
    moment = TrialMoment(response_state=ResponseState(3, 3), feedback=feedback)
    texts = [written.text for written in trial(sheet_of(SMALL), "i", "multiple_choice", content, moment).written]
    assert texts[texts.index("that") + 1] == "right answer"
    assert texts[texts.index("neither") + 1] == "your answer"
    assert texts[texts.index("this") + 1] == "2"


def sheet_of(size_px, language="en", texts=()):
    words_of_study = texts_in(language, {})
    return Sheet(size_px, font_for([*words_of_study.by_name.values(), *texts]), words_of_study)


def test_nothing_moves_when_the_time_for_reading_ends(study):
    sheet, item = Sheet.of(study, SMALL), study.battery.items[0]
    bounds = TrialMoment(progress="Question 1 of 2", reading_ms=2500, deadline_ms=60_000)
    reading, response_state = draw(sheet, item, replace(bounds, is_reading=True)), draw(sheet, item, bounds)
    assert_is_in_order(reading, sheet)
    assert reading.regions == response_state.regions
    hint = "Read first; you can answer after 2.5 seconds."
    assert hint in " ".join(words(reading)) and hint not in " ".join(words(response_state))
    assert "You have 60 seconds for each question." in " ".join(words(response_state))


def test_seconds_have_the_decimal_sign_of_the_language():
    content = {"text": "", "prompt": "Welche?", "options": ["diese", "jene"]}
    moment = TrialMoment(reading_ms=2500, is_reading=True)
    shown = trial(sheet_of(SMALL, "de"), "i", "multiple_choice", content, moment)
    assert "2,5" in words(shown)


def test_letters_get_smaller_for_a_longer_text_but_not_too_small():
    sheet = sheet_of(SMALL)
    heights = []
    for n_words in (20, 150, 250):
        content = {"text": "words " * n_words, "prompt": "Which?", "options": ["a " * 40, "b " * 40, "c", "d"]}
        picture = trial(sheet, "i", "multiple_choice", content, ASKING)
        assert_is_in_order(picture, sheet)
        box = next(written.box_px for written in picture.written if written.text.startswith("words"))
        heights.append(box[3] - box[1])
    assert heights == sorted(heights, reverse=True)
    assert heights[0] > heights[-1]


def test_an_item_that_does_not_fit_is_refused_by_name():
    content = {"text": "words " * 2000, "prompt": "Which?", "options": ["this", "that"]}
    with pytest.raises(InputError, match=r"item `long-one`: .* 1024 x 768 .*. Fix: shorten `text`"):
        trial(sheet_of(SMALL), "long-one", "multiple_choice", content, ASKING)


def test_an_item_that_does_not_fit_is_refused_before_a_session(sample_study):
    long = sample_study.battery.by_id["attention-1"]
    long = long.model_copy(update={"content": {**long.content, "text": "words " * 2000}})
    with pytest.raises(InputError, match="item `attention-1`"):
        with_even_letters(sheet_of(SMALL), [*sample_study.battery.items[:3], long], ASKING)


def test_a_jspsych_item_is_refused_by_name():
    with pytest.raises(InputError, match="the item `slider` has the task jspsych, which only a browser can show"):
        trial(sheet_of(SMALL), "slider", "jspsych", {}, ASKING)


SAMPLES = {
    "ar": ("وضع أحمد 3 تفاحات على الطاولة، ثم خرج مع John Smith.", "أين التفاح؟", ["على الطاولة.", "أولًا."]),
    "he": ("דנה שמה 3 תפוחים על השולחן ויצאה עם John.", "איפה התפוחים?", ["על השולחן.", "בשוק."]),
    "el": ("Η Μαρία έβαλε τρία μήλα στο τραπέζι και έφυγε.", "Πού είναι τα μήλα;", ["Στο τραπέζι.", "Στην αγορά."]),
    "ru": ("Мария положила три яблока на стол и ушла.", "Где яблоки?", ["На столе.", "На рынке."]),
}


@pytest.mark.parametrize("language", SAMPLES)
def test_other_scripts_are_drawn_from_the_side_where_they_start(language):
    text, prompt, options = SAMPLES[language]
    sheet = sheet_of(SMALL, language, [text, prompt, *options])
    picture = trial(sheet, "i", "multiple_choice", {"text": text, "prompt": prompt, "options": options}, ASKING)
    assert_is_in_order(picture, sheet)
    assert " ".join([text, prompt, "1", options[0], "2", options[1]]) in " ".join(words(picture))
    middle = sheet.size_px[0] / 2
    numbers = [written.box_px for written in picture.written if written.text in {"1", "2"}]
    if language in {"ar", "he"}:
        assert all(left > middle for left, *_ in numbers)
    else:
        assert all(right < middle for _, _, right, _ in numbers)


def test_doubled_spaces_and_line_feeds_of_an_item_are_kept():
    content = {"text": "one  two\nthree\n\nfour", "prompt": "Which?", "options": ["a  b", "c"]}
    texts = [written.text for written in trial(sheet_of(SMALL), "i", "multiple_choice", content, TrialMoment()).written]
    assert texts[:3] == ["one  two", "three", "four"]
    assert "a  b" in texts


@pytest.fixture(scope="module")
def board(sample_study):
    return next(item for item in sample_study.battery.items if item.key == "absorbed")


def rgb(name):
    """Return the colour of this name on a page, in the light scheme."""
    return ImageColor.getrgb(getattr(LIGHT, name))


def colour_of(picture, region):
    left, top, _, _ = next(area.box_px for area in picture.regions if area.name == region)
    return picture.image.getpixel((left + 6, top + 14))


def test_every_response_to_a_board_can_be_clicked(board):
    picture = draw(sheet_of(SMALL), board)
    names = {region.name for region in picture.regions}
    assert names == {*task_named(board.task).responses(board.content), board.content["entry"], "submit"}
    for region in picture.regions:
        left, top, right, bottom = region.box_px
        assert picture.region_at((left + right) / 2, (top + bottom) / 2) == region.name
        assert picture.region_at(left, top) == region.name and picture.region_at(right, bottom) != region.name


def test_a_clicked_choice_is_shown_on_the_board_and_in_words(board):
    sheet, state = sheet_of(SMALL), ResponseState()
    before = draw(sheet, board, replace(ASKING, response_state=state))
    assert "Choose a place on the edge" in " ".join(words(before))
    state = state_after(board.task, board.content, state, "west-5")
    chosen = draw(sheet, board, replace(ASKING, response_state=state))
    assert colour_of(before, "west-5") == rgb("panel")
    assert colour_of(chosen, "west-5") == rgb("choice")
    assert "Your answer: WEST 5" in " ".join(words(chosen)) and "OUT" in words(chosen)
    assert colour_of(chosen, board.content["entry"]) == rgb("accent")
    assert colour_of(before, "submit") == rgb("panel") and colour_of(chosen, "submit") == rgb("accent")
    assert chosen.regions == before.regions


@pytest.mark.parametrize("language", ["en", "de", "es", "ar"])
@pytest.mark.parametrize("size_px", [SMALL, USUAL])
def test_no_choice_moves_anything_on_the_board(board, language, size_px):
    sheet = sheet_of(size_px, language)
    states = ["absorbed", "reflected", board.content["entry"], "south-8"]
    typed = state_after(board.task, board.content, ResponseState(), "s")
    pictures = [
        draw(sheet, board, replace(ASKING, response_state=state)) for state in (*map(ResponseState, states), typed)
    ]
    for one, other in pairwise(pictures):
        assert_is_in_order(one, sheet)
        assert one.regions == other.regions


def test_feedback_on_a_board_marks_the_exit_of_the_ray(sample_study):
    item = next(item for item in sample_study.battery.items if str(item.key).startswith("east"))
    sheet = sheet_of(SMALL)
    wrong = draw(sheet, item, judged(item, "absorbed", ENGLISH))
    assert {"RAY", "IN"} <= set(words(wrong)) and "YOU" not in words(wrong)
    other = draw(sheet, item, judged(item, "south-2", ENGLISH))
    assert {"RAY", "IN", "YOU"} <= set(words(other))
    right = draw(sheet, item, judged(item, item.key, ENGLISH))
    assert "RAY" not in words(right) and "YOU" not in words(right)
    assert rgb("right") in {colour for _, colour in right.image.getcolors(1 << 20)}


def test_the_fixation_is_a_sharp_cross_in_the_exact_middle():
    for size_px in (SMALL, USUAL, LARGE, (1366, 768), (1365, 767)):
        image = fixation(sheet_of(size_px)).image
        assert image.size == size_px
        assert {colour for _, colour in image.getcolors()} == {rgb("paper"), rgb("ink")}
        left, top, right, bottom = image.convert("L").point(lambda value: 255 - value).getbbox()
        assert (left, top) == (size_px[0] - right, size_px[1] - bottom)
    image = fixation(sheet_of(SMALL)).image
    column = [image.getpixel((512 - 10, y)) for y in range(768)]
    assert column.count(rgb("ink")) == 2


@pytest.mark.parametrize(
    ("ink", "behind"),
    [
        ("ink", "paper"),
        ("ink", "panel"),
        ("ink", "right_soft"),
        ("ink", "wrong_soft"),
        ("ink", "choice_soft"),
        ("ink_soft", "paper"),
        ("ink_soft", "panel"),
        ("ink_soft", "choice_soft"),
        ("ink_soft", "right_soft"),
        ("on_accent", "accent"),
        ("on_choice", "choice"),
        ("on_right", "right"),
        ("right", "right_soft"),
        ("wrong", "wrong_soft"),
        ("wrong", "paper"),
    ],
)
def test_every_text_contrasts_with_its_background(ink, behind):
    assert contrast(getattr(LIGHT, ink), getattr(LIGHT, behind)) >= 4.5
