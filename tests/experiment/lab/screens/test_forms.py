"""Questions about the participant: typed and chosen answers, and their screens."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.lab.input.form_input import FormState, after_press, answer_of
from experiment.lab.screens.form import form
from experiment.lab.screens.layout.buttons import Action
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.text import paragraphs, shaping
from experiment.lab.screens.text.fonts import DEJAVU
from experiment.study.demographics import LONGEST_TEXT, DemographicQuestion
from experiment.texts import texts_in

AGE = DemographicQuestion(name="age", ask="How old are you?", answer="number", low=18, high=99)
NOTE = DemographicQuestion(name="note", ask="What else?", answer="text")
HAND = DemographicQuestion(
    name="hand", ask="Which hand do you write with?", answer="choice", options=("left", "right", "both")
)
LAND = DemographicQuestion(
    name="land", ask="Where do you live?", answer="choice", options=tuple(f"Country number {n}" for n in range(23))
)
GO_ON = (Action("next", "Continue", "Enter"),)


def sheet_of(size_px=(1024, 768), language="en"):
    return Sheet(size_px, DEJAVU, texts_in(language, {}))


def pressed(question, *presses):
    form_state = FormState()
    for press in presses:
        form_state = after_press(question, form_state, press)
    return form_state


def overlap(one, other):
    return max(one[0], other[0]) < min(one[2], other[2]) and max(one[1], other[1]) < min(one[3], other[3])


@pytest.mark.parametrize("size_px", [(1024, 768), (1920, 1080), (3840, 2160)])
@pytest.mark.parametrize("language", ["en", "de", "es", "ar"])
@pytest.mark.parametrize(
    ("question", "form_state"),
    [
        (AGE, FormState()),
        (AGE, FormState(typed="170", is_refused=True)),
        (NOTE, FormState(typed="some words " * 45)),
        (HAND, FormState(chosen="right")),
        (LAND, FormState(page=1)),
        (LAND, FormState(page=2, chosen="")),
    ],
)
def test_a_question_fits_every_screen(question, form_state, language, size_px):
    sheet = sheet_of(size_px, language)
    picture = form(sheet, question, form_state, "1 / 3", GO_ON)
    assert picture.image.size == size_px
    (width, height), (side_px, above_px) = size_px, sheet.margins_px
    for box in [part.box_px for part in (*picture.written, *picture.regions)]:
        assert side_px <= box[0] < box[2] <= width - side_px and above_px <= box[1] < box[3] <= height - above_px
    for parts in (picture.written, picture.regions):
        assert not any(overlap(one.box_px, other.box_px) for one, other in combinations(parts, 2))
    for region in picture.regions:
        assert region.box_px[3] - region.box_px[1] >= 32 * height / 768
    texts = " ".join(written.text for written in picture.written)
    assert question.ask in texts
    assert "".join(sheet.words.say("questions_optional").split()) in "".join(texts.split())


def test_more_than_nine_options_go_over_several_pages():
    first = form(sheet_of(), LAND, FormState(), "", GO_ON)
    assert [region.name for region in first.regions] == [*"1234567890", "right", "next"]
    last = form(sheet_of(), LAND, FormState(page=2), "", GO_ON)
    assert [region.name for region in last.regions] == [*"123450", "left", "next"]
    assert "Country number 22" in {written.text for written in last.written}


def test_every_option_can_be_reached():
    for number, option in enumerate(LAND.options):
        turning, digit = ["right"] * (number // 9), number % 9 + 1
        for name in (str(digit), f"num_{digit}"):
            form_state = pressed(LAND, *turning, name, "return")
            assert form_state.is_done and answer_of(LAND, form_state) == option


def test_turning_pages_of_options_stops_at_the_first_and_the_last_page():
    assert pressed(LAND, "left").page == 0
    assert pressed(LAND, *["right"] * 9).page == 2
    assert answer_of(LAND, pressed(LAND, "right", "right", "9")) is None  # The last page has five options.


def test_a_choice_can_be_cleared():
    form_state = pressed(HAND, "2", "0", "return")
    assert form_state.is_done and answer_of(HAND, form_state) is None


@pytest.mark.parametrize("question", [AGE, NOTE, HAND, LAND])
@pytest.mark.parametrize("press", ["return", "num_enter", "next"])
def test_every_question_can_be_skipped(question, press):
    form_state = pressed(question, press)
    assert form_state.is_done and answer_of(question, form_state) is None


def test_a_number_can_be_typed_with_both_number_blocks_and_in_other_digits():
    assert answer_of(AGE, pressed(AGE, "2", "num_4", "return")) == 24
    assert answer_of(AGE, pressed(AGE, "٢", "٤", "return")) == 24
    assert answer_of(AGE, pressed(AGE, "2", "5", "backspace", "4", "return")) == 24
    below = DemographicQuestion(name="n", ask="?", answer="number", low=-9, high=9)
    assert answer_of(below, pressed(below, "minus", "5", "return")) == -5


@pytest.mark.parametrize("typed", ["17", "100", "abc", "2.5", "-20"])
def test_an_invalid_answer_is_refused_and_can_be_corrected(typed):
    form_state = pressed(AGE, *typed, "return")
    assert form_state.is_refused and not form_state.is_done
    texts = " ".join(written.text for written in form(sheet_of(), AGE, form_state, "", GO_ON).written)
    assert "Please enter a whole number from 18 to 99" in texts
    corrected = pressed(AGE, *typed, "return", *["backspace"] * len(typed), "3", "0")
    assert not corrected.is_refused
    assert answer_of(AGE, after_press(AGE, corrected, "return")) == 30


def test_text_is_typed_letter_by_letter():
    form_state = pressed(NOTE, *"Ünlü", "space", "o", "period", "lshift", "f5", "return")
    assert answer_of(NOTE, form_state) == "Ünlü o."


def test_a_text_has_at_most_the_length_that_can_be_stored():
    form_state = pressed(NOTE, *["a"] * (LONGEST_TEXT + 5), "return")
    assert len(answer_of(NOTE, form_state)) == LONGEST_TEXT
    NOTE.check(answer_of(NOTE, form_state))


def test_the_end_of_a_long_text_is_visible():
    form_state = FormState(typed="begin " + "words " * 75 + "end")
    texts = " ".join(written.text for written in form(sheet_of(), NOTE, form_state, "", GO_ON).written)
    assert "end" in texts and "begin" not in texts


def test_letters_that_this_machine_cannot_draw_raise_no_error(monkeypatch):
    for module in (shaping, paragraphs):
        monkeypatch.setattr(module, "raqm_is_usable", lambda: False)
    shaping.shaped.cache_clear()
    form_state = pressed(NOTE, *"हिन्दी")
    texts = {written.text for written in form(sheet_of(), NOTE, form_state, "", GO_ON).written}
    shaping.shaped.cache_clear()
    assert "•" * 6 in texts
    assert answer_of(NOTE, after_press(NOTE, form_state, "return")) == "हिन्दी"


def test_a_final_answer_never_changes():
    done = pressed(HAND, "2", "return")
    assert after_press(HAND, done, "3") == done


PRESSES = st.lists(st.sampled_from([*"0123456789a", "space", "minus", "backspace", "left", "right", "return", "num_7"]))


@given(st.sampled_from([AGE, NOTE, HAND, LAND]), PRESSES)
def test_every_final_answer_can_be_stored(question, presses):
    form_state = pressed(question, *presses)
    if form_state.is_done:
        question.check(answer_of(question, form_state))


def test_a_question_that_does_not_fit_is_refused_by_name():
    long = DemographicQuestion(name="long", ask="words " * 2000, answer="text")
    with pytest.raises(InputError, match="the question `long` does not fit"):
        form(sheet_of(), long, FormState())
