"""The style `human-equivalent` has the instructions and the practice of people, in the order of people."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from batteries.errors import InputError
from batteries.items import Battery, Item
from experiment.load_study import load_study
from experiment.models.prompts.practice import feedback_on_reply
from experiment.models.prompts.requests import requests_for
from experiment.records import Source
from experiment.study.blackbox_diagrams import with_diagrams_in_words
from experiment.study.definition import Study
from experiment.study.timeline import Timing
from server.app import create_app
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore
from tests.experiment.models.prompts.small_studies import BOARD, PLUM, SAMPLES, item, study_with

STYLE = "human-equivalent"
PLUM_PROMPT = """How to do it.

Practice

You put a plum on a table that leans to the window.

Nobody touches it.

Where does the plum go?

1. It stays.
2. It rolls to the window.
3. It rolls to the door.

Press the number of your answer, or click it.

Your answer: 2

That is right: “It rolls to the window”.
The practice ends here. From now on you will not see whether your answers were right.

What happens?

1. Nothing.
2. Something.

Press the number of your answer, or click it.

Your answer:"""


def user_message(study: Study) -> str:
    (first, *_) = requests_for(study, style=STYLE)
    assert first.prompt.system is None
    return first.prompt.user


def with_practice(practice: list[Item], test: Item, task: str) -> Study:
    study = study_with([test], task)
    definition = study.definition.model_copy(
        update={"practice": tuple(each.item_id for each in practice), "attention_checks": ()}
    )
    header = study.battery.model_dump(exclude={"items"})
    texts = dict.fromkeys(study.texts, "How to do it.\n")
    return replace(study, definition=definition, battery=Battery(**header, items=(*practice, test)), texts=texts)


def test_a_prompt_is_the_instructions_the_practice_with_feedback_and_the_item() -> None:
    test = item({"text": "", "prompt": "What happens?", "options": ["Nothing.", "Something."]}, 1, "test")
    assert user_message(with_practice([item(PLUM, 2)], test, "multiple_choice")) == PLUM_PROMPT


def test_practice_items_are_numbered_and_the_last_one_ends_the_practice() -> None:
    practice = [item(BOARD, "east-3", "p1"), item(BOARD | {"atoms": [[4, 1]]}, "absorbed", "p2")]
    shown = user_message(with_practice(practice, item(BOARD, None, "test"), "blackbox_predict"))
    parts = [
        "How to do it.", "Practice 1 of 2", "Your answer: EAST 3", "That is right: the ray leaves at EAST 3.",
        "The ray's path: row 4 column 1; ", "Practice 2 of 2", "Your answer: Absorbed",
        "That is right: the ray is absorbed by an atom.", "The ray's path: row 4 column 1.", "The practice ends here.",
        "What happens to the ray?", "The ray enters at WEST 4: left edge, row 4, going right.",
        "Atoms at row 2 column 3; row 5 column 5.", "WEST 4 > ", "Absorbed (it hits an atom)",
    ]  # fmt: skip
    position = 0
    for part in parts:
        position = shown.index(part, position) + len(part)
    assert shown.count("The practice ends here.") == 1
    assert shown.endswith("Your answer:")


@pytest.mark.parametrize("task", SAMPLES)
def test_the_prompt_has_the_texts_of_the_sample_study_in_the_order_of_people(task: str) -> None:
    study = SAMPLES[task]
    shown = user_message(study)
    texts = [study.page(name, Source.WEB).strip() for name in study.definition.timeline.instructions]
    pages = [with_diagrams_in_words(text, study.words) for text in texts]
    assert shown.startswith("\n\n".join(pages) + "\n\nPractice")


def test_the_feedback_is_the_feedback_that_the_server_sends(tmp_path: Path, study_folder: Path) -> None:
    study = load_study(study_folder)
    http = create_app(study, SqliteStore(tmp_path / "store.db"), Secrets("key", "token"), Settings()).test_client()
    start = {
        "start_id": str(uuid.UUID(int=0)), "kind": "simulated",
        "consent_digest": http.get("/api/study").json["consent_digest"],
    }  # fmt: skip
    session = http.post("/api/session", json=start, headers={"Authorization": "Bearer token"}).json
    answer = {"response_id": str(uuid.UUID(int=1)), "trial_index": 0, "response": "east-5", "rt_ms": 3_000}
    (stored,) = http.post("/api/responses", json={"session": session["session"], "responses": [answer]}).json[
        "responses"
    ]
    assert f"\n\nYour answer: EAST 5\n\n{stored['feedback']['message']}\n" in user_message(study)
    practice = study.battery.by_id[study.definition.practice[0]]
    assert feedback_on_reply(study, practice, "EAST 5").startswith(f"{stored['feedback']['message']}\n")


def test_the_feedback_on_a_reply_is_that_on_its_response_and_an_invalid_reply_gets_the_words_of_the_page() -> None:
    practice = [item(BOARD, "east-3", "p1"), item(BOARD | {"atoms": [[4, 1]]}, "absorbed", "p2")]
    study = with_practice(practice, item(BOARD, None, "test"), "blackbox_predict")
    first, last = practice
    right = feedback_on_reply(study, first, "EAST 3")
    assert right.startswith(
        "That is right: the ray leaves at EAST 3.\nThe atom at row 5, column 5 turns the ray.\n"
        "The atom at row 2, column 3 turns the ray.\nThe ray's path: row 4 column 1; "
    )
    wrong = right.replace("That is right", "Not quite")
    assert feedback_on_reply(study, first, "absorbed") == wrong
    for reply in ("", "I cannot say.", "NORTH 12"):
        assert feedback_on_reply(study, first, reply) == f"Choose a place on the edge, or a button.\n{wrong}"
    assert "The practice ends here." not in right
    assert "\nThe practice ends here." in feedback_on_reply(study, last, "absorbed")


def test_the_time_limit_is_at_the_end_of_the_instructions() -> None:
    study = with_practice([], item(PLUM), "multiple_choice")
    limited = replace(study, definition=study.definition.model_copy(update={"timing": Timing(deadline_ms=30_500)}))
    assert user_message(limited).startswith("How to do it.\n\nYou have 30.5 seconds for each question.\n\nYou put")


def test_the_texts_are_in_the_language_of_the_study() -> None:
    study = with_practice([item(PLUM, 2)], item(BOARD, None, "test"), "blackbox_predict")
    definition = study.definition.model_copy(
        update={"language": "de", "timing": Timing(deadline_ms=30_500), "texts": {"blackbox_question": "Was jetzt?"}}
    )
    shown = user_message(replace(study, definition=definition))
    for part in ("30,5", "Was jetzt?", "Das ist richtig"):
        assert part in shown
    assert "Your answer" not in shown


def test_practice_with_a_plugin_is_refused_with_a_fix() -> None:
    slider = Item(item_id="s", task="jspsych", content={"plugin": "slider"}, key={"response": 1})
    study = with_practice([slider], item(PLUM), "multiple_choice")
    with pytest.raises(InputError, match=r"practice item `s` cannot be sent.*Fix: use a style without practice"):
        requests_for(study, style=STYLE)
    assert len(requests_for(study)) == 1
