"""The question about confidence for models: asked at the end of each prompt, and read from the reply."""

from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.data.trials_reader import read_raw_rows
from equipoise.commands.models.imports import models_import
from experiment.load_study import load_study
from experiment.models.confidence import split_confidence
from experiment.models.mock_replies import COLUMN_MAP, MOCK_MODELS, write_mock_replies
from experiment.models.prompts.requests import requests_for
from experiment.study.definition import Study
from experiment.study.timeline import Confidence
from experiment.texts import ENGLISH, texts_in
from tests.paths import ROOT

QUESTION = Confidence(
    prompt="How sure are you?", low=0, high=100, step=5, labels=("guessed", "certain"), shown_as="slider"
)


def memory_study(question: Confidence | None = QUESTION) -> Study:
    study = load_study(ROOT / "tests" / "memory_study")
    return replace(study, definition=study.definition.model_copy(update={"confidence": question}))


@pytest.mark.parametrize(
    ("reply", "answer", "confidence"),
    [
        ("word\nConfidence: 80", "word", 80),
        ("word\n**Confidence:** 80%", "word", 80),
        ("Confidence = 5\nword", "word", 5),
        ('{"answer": "word", "confidence": 35}', '{"answer": "word", "confidence": 35}', 35),
        ("word", "word", None),
        ("word\nConfidence: 200", "word", None),
        ("word\nConfidence: 81", "word", None),
        ("word\nConfidence: 80\nConfidence: 20", "word", None),
        ("My confidence is high.", "My confidence is high.", None),
    ],
)
def test_the_line_about_confidence_is_not_a_part_of_the_answer(
    reply: str, answer: str, confidence: float | None
) -> None:
    assert split_confidence(reply, QUESTION, ENGLISH) == (answer, confidence)


def test_the_line_can_have_the_words_of_the_study() -> None:
    assert split_confidence("Wort\nSicherheit: 40", QUESTION, texts_in("de", {})) == ("Wort", 40)


def test_a_study_without_the_question_keeps_the_whole_reply() -> None:
    assert split_confidence("word\nConfidence: 80", None, ENGLISH) == ("word\nConfidence: 80", None)


def test_each_prompt_ends_with_the_question_only_if_the_study_asks_it() -> None:
    with_question, without = (list(requests_for(memory_study(question))) for question in (QUESTION, None))
    for one, other in zip(with_question, without, strict=True):
        assert one.prompt.user.startswith(other.prompt.user)
        added = one.prompt.user.removeprefix(other.prompt.user)
        assert "How sure are you?" in added
        assert "from 0 (guessed) to 100 (certain)" in added
        assert one.request_id != other.request_id  # Another prompt is another condition.


def test_an_imported_reply_has_its_response_and_its_confidence(tmp_path: Path) -> None:
    requests = requests_for(memory_study(QUESTION.model_copy(update={"labels": ()})))
    write_mock_replies(requests, MOCK_MODELS[0], tmp_path / "replies.csv", seed=1)
    study_folder = copytree(ROOT / "tests" / "memory_study", tmp_path / "study")
    definition = (study_folder / "study.yaml").read_text(encoding="utf-8")
    question = "confidence: {prompt: How sure are you?, low: 0, high: 100, step: 5, shown_as: slider}\n"
    (study_folder / "study.yaml").write_text(definition + question, encoding="utf-8")
    models_import(study_folder, tmp_path / "replies.csv", map=COLUMN_MAP)
    trials = tidy_trials(read_raw_rows(study_folder / "data" / "equipoise.db"))
    assert len(trials) == len(requests) == 5
    assert trials["valid"].all()
    assert (trials["confidence"] == 100).all()
    of_item = trials.set_index("item_id")["response"]
    assert of_item["lexical-1"] in {"word", "nonword"}
    assert isinstance(of_item["breakfast"], list)
