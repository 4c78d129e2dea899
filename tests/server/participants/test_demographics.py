"""Demographic answers: stored once, listed by session, deleted with the responses, and never among the trials."""

import csv
import dataclasses
import json
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from equipoise.cli.main import main
from experiment.load_study import load_study
from experiment.records import Kind
from experiment.study.definition import Study
from experiment.study.demographics import LONGEST_TEXT, DemographicQuestion
from server.app import create_app
from server.settings import Settings
from server.store import Identity, SqliteStore, Store
from tests.server.conftest import SECRETS, Participant
from tests.server.stores import (
    Person,
    another,
    at_once,
    execute_sql,
    problems,
    reopened,
    rows,
    saying,
    verified,
    version_of,
)

NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, slots_per_address=1_000_000)
QUESTIONS = (
    DemographicQuestion(name="age", ask="How old are you?", answer="number", low=18, high=120),
    DemographicQuestion(
        name="gender", ask="What is your gender?", answer="choice", options=("woman", "man", "another")
    ),
    DemographicQuestion(name="work", ask="What do you do?", answer="text"),
)
ANSWERS = {"age": 30, "gender": "another", "work": "Ich repariere Uhren – и часы 🙂"}


@pytest.fixture(scope="module")
def study_with_questions(small_study: Study) -> Study:
    """The small study with three demographic questions."""
    timeline = small_study.definition.timeline.model_copy(update={"demographics": "about-you.yaml"})
    texts = dict(small_study.texts) | {"about-you.yaml": "questions: ..."}
    study = saying(version_of(small_study, "asking"), timeline=timeline)
    return dataclasses.replace(study, texts=texts, demographics=QUESTIONS)


@pytest.fixture
def person(study_with_questions: Study, any_store: Store) -> Participant:
    """A participant who has begun."""
    person = Participant(create_app(study_with_questions, any_store, SECRETS, NO_LIMITS))
    assert person.start().status_code == 201
    return person


def send(person: Participant, answers: Any, **changes: Any) -> TestResponse:
    body = {"session": person.session["session"], "answers": answers} | changes
    return person.http.post("/api/demographics", json=body)


def stored(store: Store, person: Participant) -> Any:
    query = "SELECT demographics FROM sessions WHERE session = ?"
    ((text,),) = rows(store, query, (person.session["session"],))
    return None if text is None else json.loads(text)["answers"]


def open_questions(person: Participant) -> list[str]:
    session = person.http.get("/api/session").get_json()
    return [question["name"] for question in session["demographics"]]


# Once


def test_the_questions_are_sent_as_the_study_asks_them(person: Participant) -> None:
    assert person.session["demographics"] == [
        {"name": "age", "ask": "How old are you?", "answer": "number", "options": [], "low": 18, "high": 120},
        {"name": "gender", "ask": "What is your gender?", "answer": "choice",
         "options": ["woman", "man", "another"], "low": 0, "high": 1_000_000},
        {"name": "work", "ask": "What do you do?", "answer": "text", "options": [], "low": 0, "high": 1_000_000},
    ]  # fmt: skip


def test_a_study_without_demographic_questions_accepts_no_answers(small_study: Study, any_store: Store) -> None:
    person = Participant(create_app(small_study, any_store, SECRETS, NO_LIMITS))
    person.start()
    assert person.session["demographics"] == []
    refused = send(person, {"age": 30})
    assert refused.status_code == 422
    assert "`age`" in refused.get_json()["error"]


def test_demographic_answers_are_stored_unchanged_and_questions_are_not_repeated(
    person: Participant, any_store: Store
) -> None:
    reply = send(person, ANSWERS)
    assert (reply.status_code, reply.get_json()) == (200, {})
    assert stored(any_store, person) == ANSWERS
    assert open_questions(person) == []
    with closing(reopened(any_store)) as store:
        assert stored(store, person) == ANSWERS
        assert problems(store) == []


@pytest.mark.parametrize("second", [{}, {"age": 31}, ANSWERS, {"age": None}])
def test_only_the_first_demographic_answers_count(
    person: Participant, any_store: Store, second: dict[str, Any]
) -> None:
    send(person, ANSWERS)
    reply = send(person, second)
    assert (reply.status_code, reply.get_json()) == (200, {})
    assert stored(any_store, person) == ANSWERS


@pytest.mark.parametrize("answers", [{}, {"age": None, "gender": None, "work": None}, {"work": ""}])
def test_every_question_can_be_skipped_and_is_then_not_repeated(
    person: Participant, any_store: Store, answers: dict[str, Any]
) -> None:
    assert send(person, answers).status_code == 200
    assert open_questions(person) == []
    assert send(person, ANSWERS).status_code == 200
    assert stored(any_store, person) == answers


def test_simultaneous_copies_of_the_demographic_answers_are_stored_once(
    study_with_questions: Study, any_store: Store
) -> None:
    any_store.register_study(study_with_questions)
    person = Person(any_store, study_with_questions)
    with closing(another(any_store)) as other:
        jobs = [
            partial((any_store, other)[age % 2].add_demographics, person.session, {"age": age}) for age in range(20, 30)
        ]
        outcomes = at_once(*jobs)
    assert sorted(outcomes, key=str) == [False] * 9 + [True]
    (listed,) = any_store.sessions(study_with_questions)
    assert listed["demographics_age"] == 20 + outcomes.index(True)


def test_the_questions_can_be_answered_at_any_point_before_the_end(person: Participant, any_store: Store) -> None:
    person.answer(0)
    assert send(person, ANSWERS).status_code == 200
    person.answer(1)
    assert [stored(any_store, person), open_questions(person)] == [ANSWERS, []]
    assert problems(any_store) == []


def test_after_the_end_no_demographic_answers_are_stored(person: Participant, any_store: Store) -> None:
    person.answer_all()
    person.complete()
    assert send(person, ANSWERS).status_code in {200, 409}
    assert stored(any_store, person) is None


# Refusals


@pytest.mark.parametrize(
    "answers",
    [
        {"age": 17}, {"age": 121}, {"age": -1}, {"age": 30.0}, {"age": 30.5}, {"age": "30"}, {"age": True},
        {"age": 10**30}, {"age": [30]}, {"age": {}}, {"gender": "Woman"}, {"gender": ""}, {"gender": 1},
        {"gender": "woman "}, {"gender": ["woman"]}, {"work": 1}, {"work": "x" * (LONGEST_TEXT + 1)}, {"work": False},
        {"name": "Anna"}, {"": "x"}, {"AGE": 30}, {"age": 30, "shoe_size": 43}, None, [], "age", 30,
        {f"q{number}": None for number in range(31)},
    ],
)  # fmt: skip
def test_an_invalid_demographic_answer_is_refused_in_a_sentence_and_can_be_corrected(
    person: Participant, any_store: Store, answers: Any
) -> None:
    refused = send(person, answers)
    assert refused.status_code == 422
    sentence = refused.get_json()["error"]
    assert sentence.endswith(".") and "\n" not in sentence
    assert stored(any_store, person) is None
    assert open_questions(person) == ["age", "gender", "work"]
    assert send(person, ANSWERS).status_code == 200


@pytest.mark.parametrize("answers", [{"age": 18}, {"age": 120}, {"work": "x" * LONGEST_TEXT}, {"gender": "woman"}])
def test_values_at_the_bounds_are_accepted(person: Participant, any_store: Store, answers: dict[str, Any]) -> None:
    assert send(person, answers).status_code == 200
    assert stored(any_store, person) == answers


def test_an_option_of_any_length_can_be_chosen() -> None:
    long = DemographicQuestion(name="q", ask="Which?", answer="choice", options=("x" * (LONGEST_TEXT + 1), "short"))
    for option in long.options:
        long.check(option)


def test_without_a_session_no_demographic_answers_are_stored(person: Participant, any_store: Store) -> None:
    stranger = person.http.application.test_client()
    body = {"session": person.session["session"], "answers": ANSWERS}
    assert stranger.post("/api/demographics", json=body).status_code == 401
    assert stored(any_store, person) is None


def test_no_participant_can_answer_for_another_participant(person: Participant, any_store: Store) -> None:
    other = Participant(person.http.application)
    other.start()
    assert send(other, ANSWERS, session=person.session["session"]).status_code == 409
    assert send(other, ANSWERS, session="nobody").status_code == 409
    assert stored(any_store, person) is stored(any_store, other) is None


@pytest.mark.parametrize(
    "body",
    [{}, {"answers": {}}, {"session": 1, "answers": {}}, {"session": "x"}, {"session": "x", "answers": {}, "x": 1}],
)
def test_a_body_of_another_form_is_refused(person: Participant, any_store: Store, body: dict[str, Any]) -> None:
    assert person.http.post("/api/demographics", json=body).status_code == 422
    assert person.http.post("/api/demographics", data=body).status_code == 415
    assert stored(any_store, person) is None


@given(
    answers=st.dictionaries(
        st.sampled_from(["age", "gender", "work", "other"]),
        st.none() | st.integers() | st.text() | st.floats() | st.booleans() | st.just("woman") | st.integers(18, 120),
    )
)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_demographic_answer_is_stored_unchanged_or_refused(
    study_with_questions: Study, any_store: Store, answers: dict[str, Any]
) -> None:
    person = Participant(create_app(study_with_questions, any_store, SECRETS, NO_LIMITS))
    person.start()
    body = json.dumps({"session": person.session["session"], "answers": answers})
    reply = person.http.post("/api/demographics", data=body, content_type="application/json")
    assert reply.status_code in {200, 422}, reply.text
    assert stored(any_store, person) == (answers if reply.status_code == 200 else None)


# Where the answers are stored, and where they are not


def test_demographic_answers_are_not_among_the_trials_and_in_no_other_table(
    person: Participant, any_store: Store
) -> None:
    send(person, ANSWERS | {"work": "watchmaker-7391"})
    person.answer_all()
    person.complete()
    assert "watchmaker-7391" not in repr(any_store.trials())
    assert "watchmaker-7391" not in person.http.get("/api/session").text
    for table in ("responses", "events", "participants", "visits", "studies", "items", "slots"):
        assert "watchmaker-7391" not in repr(rows(any_store, f"SELECT * FROM {table}"))


def test_a_withdrawal_deletes_only_the_participants_demographic_answers(person: Participant, any_store: Store) -> None:
    other = Participant(person.http.application)
    other.start()
    for one in (person, other):
        send(one, ANSWERS)
    person.withdraw()
    assert [stored(any_store, person), stored(any_store, other)] == [None, ANSWERS]
    assert send(person, ANSWERS).status_code in {200, 409}
    assert stored(any_store, person) is None, "a participant who withdrew gets no questions"
    assert problems(any_store) == []


def test_the_withdrawal_code_deletes_demographic_answers_after_the_end_too(
    person: Participant, any_store: Store
) -> None:
    send(person, ANSWERS)
    person.answer_all()
    code = person.complete().get_json()["withdrawal_code"]
    assert person.http.post("/withdraw", data={"code": code}).status_code == 200
    assert stored(any_store, person) is None


def test_the_list_of_sessions_has_demographic_answers_and_device_but_no_identity(
    study_with_questions: Study, any_store: Store
) -> None:
    any_store.register_study(study_with_questions)
    person = Person(any_store, study_with_questions, identity=Identity("panel", "the-panels-id"))
    silent = Person(any_store, study_with_questions, Kind.SIMULATED).complete()
    any_store.add_demographics(person.session, ANSWERS | {"age": None})
    listed = {row["session"]: row for row in any_store.sessions(study_with_questions)}
    assert set(listed) == {person.session, silent.session}
    row = listed[person.session]
    assert [row[f"demographics_{name}"] for name in ANSWERS] == [None, "another", ANSWERS["work"]]
    assert (row["status"], row["kind"], row["n_visits"], row["n_trials"], row["study_version"]) == (
        "active", "human", 1, 3, "asking",
    )  # fmt: skip
    assert listed[silent.session]["status"] == "completed"
    assert not [name for name in listed[silent.session] if name.startswith("demographics_")]
    assert "the-panels-id" not in repr(listed)
    assert person.token not in repr(listed)
    assert person.stored.plan.withdrawal_code not in repr(listed)


def test_the_digest_of_the_study_changes_with_its_questions(study_folder: Path, edit: Any) -> None:
    digests = []
    for ask in ("How old are you?", "Your age?"):
        write_questions(study_folder, ask)
        digests.append(load_study(study_folder).digest)
    assert digests[0] != digests[1]


def write_questions(folder: Path, ask: str = "How old are you?", work: str = "text") -> None:
    path = folder / "study.yaml"
    text = path.read_text(encoding="utf-8")
    if "\n  demographics:" not in text:
        path.write_text(text.replace("timeline:\n", "timeline:\n  demographics: about-you.yaml\n"), encoding="utf-8")
    (folder / "about-you.yaml").write_text(
        f"questions:\n  - {{name: age, ask: '{ask}', answer: number, low: 18, high: 120}}\n"
        f"  - {{name: work, ask: What do you do?, answer: {work}}}\n",
        encoding="utf-8",
    )


def test_equipoise_store_sessions_writes_demographic_answers_to_a_private_file(
    study_folder: Path, tmp_path: Path
) -> None:
    write_questions(study_folder)
    study = load_study(study_folder)
    with closing(SqliteStore(study.store_path)) as store:
        person = Participant(create_app(study, store, SECRETS, NO_LIMITS))
        person.start()
        assert send(person, {"age": 42, "work": '=HYPERLINK("https://x.example"),\n"äöü"'}).status_code == 200
        silent = Participant(person.http.application)
        silent.start(kind="simulated")
    out = tmp_path / "sessions.csv"
    result = CliRunner().invoke(main, ["store", "sessions", str(study_folder), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert "2 sessions" in result.output
    with out.open(encoding="utf-8", newline="") as file:
        found = {row["session"]: row for row in csv.DictReader(file)}
    answers, nothing = found[person.session["session"]], found[silent.session["session"]]
    assert (answers["demographics_age"], nothing["demographics_age"], nothing["demographics_work"]) == ("42", "", "")
    assert answers["demographics_work"] == '\'=HYPERLINK("https://x.example"),\n"äöü"'
    assert (answers["n_visits"], answers["kind"], nothing["kind"]) == ("1", "human", "simulated")
    assert out.stat().st_mode & 0o077 == 0


def test_a_session_continues_under_a_newer_version_without_questions(
    person: Participant, small_study: Study, any_store: Store
) -> None:
    newer = create_app(version_of(small_study, "2"), any_store, SECRETS, NO_LIMITS).test_client()
    cookie = person.http.get_cookie("equipoise_session_blackbox-predict")
    assert cookie is not None
    newer.set_cookie(cookie.key, cookie.value)
    person.http = newer
    assert open_questions(person) == []
    assert person.answer(0).status_code == 201


def test_verification_finds_a_manually_inserted_demographic_answer(person: Participant, any_store: Store) -> None:
    before = verified(any_store).digest
    execute_sql(any_store, 'UPDATE sessions SET demographics = \'{"answers":{"age":99}}\'')
    assert verified(any_store).digest != before
