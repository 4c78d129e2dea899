"""The file with questions about the participant: valid content, and the error for each invalid content."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.study.definition import Study
from experiment.study.demographics import LONGEST_TEXT, DemographicQuestion, Questionnaire

AGE = "{name: age, ask: How old are you?, answer: number, low: 18, high: 120}"
GENDER = "{name: gender, ask: What is your gender?, answer: choice, options: [woman, man, another]}"
WORK = "{name: work, ask: What do you do?, answer: text}"


@pytest.fixture
def asking(study_folder: Path, edit: Callable[[Path, str, str], None]) -> Callable[[str], Study]:
    """Load the sample study with a question file."""

    def load(text: str) -> Study:
        edit(study_folder / "study.yaml", "timeline:\n", "timeline:\n  demographics: about-you.yaml\n")
        (study_folder / "about-you.yaml").write_text(text, encoding="utf-8")
        return load_study(study_folder)

    return load


def questions(*lines: str) -> str:
    return "questions:\n" + "".join(f"  - {line}\n" for line in lines)


def test_a_study_has_the_questions_of_its_file_in_order(asking: Callable[[str], Study]) -> None:
    study = asking(questions(AGE, GENDER, WORK))
    assert [question.name for question in study.demographics] == ["age", "gender", "work"]
    age, gender, work = study.demographics
    assert (age.ask, age.answer, age.low, age.high, age.options) == ("How old are you?", "number", 18, 120, ())
    assert (gender.answer, gender.options) == ("choice", ("woman", "man", "another"))
    assert (work.answer, work.options) == ("text", ())


def test_a_study_without_a_question_file_has_no_questions(sample_study: Study) -> None:
    assert sample_study.demographics == ()


def test_yes_no_and_off_are_read_as_texts(asking: Callable[[str], Study]) -> None:
    study = asking(questions("{name: drives, ask: Do you drive?, answer: choice, options: [yes, no, off]}"))
    assert study.demographics[0].options == ("yes", "no", "off")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 1: the file must contain `name: value` lines"),
        ("- age\n", r"line 1: the file must contain `name: value` lines"),
        ("questions: []\n", r"line 1: `questions` has too few entries"),
        ("questions: age\n", r"line 1: `questions` must be a list"),
        ("questions: [age\n", r"line \d: this is not valid YAML"),
        (questions(*[WORK.replace("work", f"q{n}") for n in range(31)]), r"`questions`.* at most 30"),
        (questions(AGE, AGE), r"duplicate question name `age`. Fix: give each question its own name"),
        (questions(AGE) + "title: About you\n", r"line 3: `title` is an unknown field"),
        (questions(GENDER, "age"), r"line 3: `questions.1` must have `name: value` fields"),
        (questions("{name: Age, ask: How old?, answer: number}"), r"line 2: `questions.0.name`.*`Age`"),
        (questions("{name: a b, ask: How old?, answer: number}"), r"line 2: `questions.0.name`.*`a b`"),
        (questions("{name: 1st, ask: How old?, answer: number}"), r"line 2: `questions.0.name`.*`1st`"),
        (questions("{name: , ask: How old?, answer: number}"), r"line 2: `questions.0.name` must be a text"),
        (questions(f"{{name: {'a' * 41}, ask: How old?, answer: number}}"), r"line 2: `questions.0.name`"),
        (questions("{ask: How old?, answer: number}"), r"line 2: `questions.0.name` is missing. Fix: add it"),
        (questions("{name: age, answer: number}"), r"line 2: `questions.0.ask` is missing. Fix: add it"),
        (questions('{name: age, ask: "", answer: number}'), r"line 2: `questions.0.ask` is empty. Fix: write a text"),
        (questions("{name: age, ask: How old?}"), r"line 2: `questions.0.answer` is missing. Fix: add it"),
        (questions("{name: age, ask: How old?, answer: integer}"), r"`number`, `choice` or `text` \(it is 'integer'\)"),
        (questions("{name: age, ask: How old?, answer: number, min: 18}"), r"`questions.0.min` is an unknown field"),
        (questions("{name: age, ask: How old?, answer: number, low: 18.5}"), r"`questions.0.low` must be a whole"),
        (questions("{name: age, ask: How old?, answer: number, low: 9, high: 8}"), r"`low` is greater than `high`"),
        (
            questions("{name: age, ask: How old?, answer: number, options: [a, b]}"),
            r"two or more `options` for a choice",
        ),
        (questions("{name: g, ask: Gender?, answer: text, options: [a, b]}"), r"two or more `options` for a choice"),
        (questions("{name: g, ask: Gender?, answer: choice}"), r"two or more `options` for a choice"),
        (questions("{name: g, ask: Gender?, answer: choice, options: [a]}"), r"two or more `options` for a choice"),
        (questions("{name: g, ask: Gender?, answer: choice, options: [a, a]}"), r"two options are the same"),
        (
            questions("{name: g, ask: Gender?, answer: choice, options: [a, 1]}"),
            r"must be a text. Fix: put it in quotes",
        ),
        (questions('{name: g, ask: Gender?, answer: choice, options: [a, ""]}'), r"`questions.0.options.1` is empty"),
        (questions("{name: g, ask: Gender?, answer: choice, options: a}"), r"`questions.0.options` must be a list"),
    ],
)
def test_an_error_in_the_questions_is_one_sentence_with_file_and_line(
    asking: Callable[[str], Study], text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as error:
        asking(text)
    sentence = str(error.value)
    assert "about-you.yaml" in sentence and "\n" not in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize("name", ["Age", "a b", "1st", "é"])
def test_an_invalid_name_is_explained_in_words_and_not_as_a_pattern(asking: Callable[[str], Study], name: str) -> None:
    with pytest.raises(InputError) as error:
        asking(questions(f"{{name: {name}, ask: What?, answer: text}}"))
    assert "^[a-z]" not in str(error.value)
    assert "letters" in str(error.value)


def test_a_duplicate_question_name_is_refused_with_file_and_line(asking: Callable[[str], Study]) -> None:
    with pytest.raises(InputError, match=r"about-you.yaml, line \d+: duplicate question name `age`"):
        asking(questions(GENDER, AGE, AGE))


def test_a_missing_question_file_is_named(study_folder: Path, edit: Callable[[Path, str, str], None]) -> None:
    edit(study_folder / "study.yaml", "timeline:\n", "timeline:\n  demographics: about-you.yaml\n")
    with pytest.raises(InputError, match=r"about-you.yaml: this file does not exist"):
        load_study(study_folder)


def test_a_question_file_that_is_not_utf_8_is_named(study_folder: Path, edit: Callable[[Path, str, str], None]) -> None:
    edit(study_folder / "study.yaml", "timeline:\n", "timeline:\n  demographics: about-you.yaml\n")
    (study_folder / "about-you.yaml").write_bytes("questions: é".encode("latin-1"))
    with pytest.raises(InputError, match=r"about-you.yaml: byte 11 is not UTF-8 text"):
        load_study(study_folder)


# Answers

number = DemographicQuestion(name="age", ask="How old?", answer="number", low=18, high=120)
choice = DemographicQuestion(name="gender", ask="Gender?", answer="choice", options=("woman", "man"))
text = DemographicQuestion(name="work", ask="Work?", answer="text")


@pytest.mark.parametrize("question", [number, choice, text])
def test_every_question_can_be_skipped(question: DemographicQuestion) -> None:
    question.check(None)


@pytest.mark.parametrize(
    ("question", "answer"),
    [(number, 18), (number, 120), (choice, "woman"), (choice, "man"), (text, ""), (text, "é" * LONGEST_TEXT)],
)
def test_a_valid_answer_is_accepted(question: DemographicQuestion, answer: Any) -> None:
    question.check(answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (number, 17), (number, 121), (number, 30.0), (number, "30"), (number, True), (number, [30]), (number, ""),
        (choice, "Woman"), (choice, ""), (choice, 0), (choice, ["woman"]), (choice, {"woman": 1}), (choice, False),
        (text, 1), (text, ["a"]), (text, False), (text, "x" * (LONGEST_TEXT + 1)),
    ],
)  # fmt: skip
def test_an_invalid_answer_is_refused_in_a_sentence_that_names_the_question(
    question: DemographicQuestion, answer: Any
) -> None:
    with pytest.raises(InputError, match=rf"^`{question.name}` (needs .*|is longer than .* Fix: .*)\.$"):
        question.check(answer)


@pytest.mark.parametrize("answer", [True, False, 1.0])
def test_a_boolean_is_not_accepted_as_a_number(answer: Any) -> None:
    with pytest.raises(InputError):
        DemographicQuestion(name="q", ask="?", answer="number", low=0, high=1).check(answer)


@given(low=st.integers(-100, 100), high=st.integers(-100, 100), answer=st.integers(-300, 300))
def test_a_number_is_accepted_only_within_its_bounds(low: int, high: int, answer: int) -> None:
    low, high = min(low, high), max(low, high)
    question = DemographicQuestion(name="q", ask="?", answer="number", low=low, high=high)
    if low <= answer <= high:
        question.check(answer)
    else:
        with pytest.raises(InputError):
            question.check(answer)


def test_a_questionnaire_and_its_questions_are_immutable() -> None:
    one = Questionnaire(questions=(number,))
    with pytest.raises(ValueError, match="frozen"):
        one.questions[0].low = 0  # type: ignore[misc]
