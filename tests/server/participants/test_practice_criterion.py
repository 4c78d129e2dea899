"""A practice criterion: rounds, skipped rounds, resuming between rounds, and attempts to evade the criterion."""

import uuid
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from analysis.data.tidy_table import read_trials
from experiment.records import Kind, Response
from experiment.study.definition import Study
from experiment.study.timeline import PracticeCriterion
from server.app import create_app
from server.settings import Settings
from server.store import SqliteStore, Store, StoreUnavailable
from tests.server.conftest import SECRETS, Participant
from tests.server.stores import (
    another,
    at_once,
    execute_sql,
    practising,
    problems,
    recruiting,
    responses_of,
    rows,
    version_of,
)

N_IN_ROUND, ROUNDS = 2, 3
FIRST_QUESTION = N_IN_ROUND * ROUNDS
RIGHT, WRONG = "east-5", "absorbed"
"""To every practice trial."""
NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, slots_per_address=1_000_000)


@pytest.fixture(scope="module")
def studies(small_study: Study) -> dict[str, Study]:
    """At most three practice rounds of two trials, in which both responses must be right; then two questions."""
    return {
        otherwise: practising(
            version_of(small_study, otherwise),
            N_IN_ROUND,
            PracticeCriterion(correct=N_IN_ROUND, rounds=ROUNDS, otherwise=otherwise),
        )
        for otherwise in ("continue", "end")
    }


PersonOf = Callable[..., Participant]


@pytest.fixture
def person_of(studies: dict[str, Study], any_store: Store) -> PersonOf:
    """Make a participant who has begun a study with this rule for participants who never pass."""

    def make(otherwise: str = "continue", kind: str = "human", study: Study | None = None) -> Participant:
        person = Participant(create_app(study or studies[otherwise], any_store, SECRETS, NO_LIMITS))
        assert person.start(kind=kind).status_code == 201
        return person

    return make


def answer_to(trial_index: int, response: str = WRONG) -> dict[str, Any]:
    return {"response_id": str(uuid.uuid4()), "trial_index": trial_index, "response": response}


def send(person: Participant, *answers: dict[str, Any]) -> TestResponse:
    body = {"session": person.session["session"], "responses": list(answers)}
    return person.http.post("/api/responses", json=body)


def practise(person: Participant, first: int, *responses: str) -> dict[str, Any]:
    """Respond to practice trials one by one; return the result in the reply to the last trial."""
    for number, response in enumerate(responses):
        reply = send(person, answer_to(first + number, response))
        assert reply.status_code == 201, reply.text
    result: dict[str, Any] = reply.get_json()["responses"][-1]["feedback"]["practice"]
    return result


def fail_all_rounds(person: Participant) -> dict[str, Any]:
    return practise(person, 0, *[WRONG] * FIRST_QUESTION)


def finish(person: Participant) -> TestResponse:
    for index in range(FIRST_QUESTION, len(person.session["trials"])):
        assert send(person, answer_to(index)).status_code == 201
    return person.complete()


def current_session(person: Participant) -> dict[str, Any]:
    session: dict[str, Any] = person.http.get("/api/session").get_json()
    return session


def stored_trials(store: Store, person: Participant) -> list[int]:
    return [index for index, _ in responses_of(store, person.session["session"])]


# Rounds


def test_all_rounds_are_planned_and_look_alike(person_of: PersonOf) -> None:
    session = person_of().session
    phases = [trial["phase"] for trial in session["trials"]]
    assert session["practice_rounds"] == ROUNDS
    assert phases == ["practice"] * FIRST_QUESTION + ["test"] * 2
    shown = [trial["content"] for trial in session["trials"][:FIRST_QUESTION]]
    assert shown[:N_IN_ROUND] * ROUNDS == shown


def test_without_a_criterion_there_is_one_round_without_consequences(small_study: Study, person_of: PersonOf) -> None:
    person = person_of(study=practising(small_study, N_IN_ROUND, None))
    assert person.session["practice_rounds"] == 1
    for index in range(N_IN_ROUND):
        feedback = send(person, answer_to(index)).get_json()["responses"][0]["feedback"]
        assert feedback["correct"] is False
        assert feedback.get("practice") is None
    assert send(person, answer_to(N_IN_ROUND)).status_code == 201


def test_only_the_reply_to_the_last_trial_of_a_round_has_its_result(person_of: PersonOf) -> None:
    person = person_of()
    for index in range(FIRST_QUESTION):
        feedback = send(person, answer_to(index)).get_json()["responses"][0]["feedback"]
        assert (feedback.get("practice") is not None) == ((index + 1) % N_IN_ROUND == 0), index


def test_a_passed_round_leads_to_the_questions(person_of: PersonOf, any_store: Store) -> None:
    person = person_of()
    result = practise(person, 0, RIGHT, RIGHT)
    assert result == {
        "passed": True, "correct": 2, "needed": 2, "next_trial_index": FIRST_QUESTION, "ended": None,
    }  # fmt: skip
    assert finish(person).status_code == 200
    assert stored_trials(any_store, person) == [0, 1, FIRST_QUESTION, FIRST_QUESTION + 1]
    assert problems(any_store) == []


@pytest.mark.parametrize("responses", [(WRONG, RIGHT), (RIGHT, WRONG), (WRONG, WRONG)])
def test_a_failed_round_leads_to_the_next_round(person_of: PersonOf, responses: tuple[str, ...]) -> None:
    result = practise(person_of("end"), 0, *responses)
    assert (result["passed"], result["correct"]) == (False, responses.count(RIGHT))
    assert (result["next_trial_index"], result["ended"]) == (N_IN_ROUND, None)


def test_right_responses_of_different_rounds_are_not_added(person_of: PersonOf) -> None:
    """Right responses in half of the first round and half of the second round do not pass a round."""
    result = practise(person_of(), 0, WRONG, RIGHT, RIGHT, WRONG)
    assert (result["passed"], result["correct"], result["next_trial_index"]) == (False, 1, 2 * N_IN_ROUND)


def test_the_criterion_can_be_fewer_right_responses_than_trials(small_study: Study, person_of: PersonOf) -> None:
    study = practising(small_study, 3, PracticeCriterion(correct=1, rounds=2))
    result = practise(person_of(study=study), 0, WRONG, WRONG, RIGHT)
    assert (result["passed"], result["correct"], result["needed"], result["next_trial_index"]) == (True, 1, 1, 6)


def test_a_participant_who_never_passes_continues_if_the_study_allows_it(person_of: PersonOf, any_store: Store) -> None:
    person = person_of("continue")
    result = fail_all_rounds(person)
    assert (result["passed"], result["next_trial_index"], result["ended"]) == (False, FIRST_QUESTION, None)
    assert finish(person).status_code == 200
    assert stored_trials(any_store, person) == list(range(len(person.session["trials"])))
    assert problems(any_store) == []


def test_a_participant_who_never_passes_ends_if_the_study_requires_it(person_of: PersonOf, any_store: Store) -> None:
    person = person_of("end")
    ended = fail_all_rounds(person)["ended"]
    assert "too few right answers" in ended["message"]
    assert ended["exit"] == {"code": None, "url": None}
    assert ended["contact_html"] is not None
    session = current_session(person)
    assert session["status"] == "ended"
    assert {name: session[name] for name in ended} == ended
    assert stored_trials(any_store, person) == list(range(FIRST_QUESTION)), "the answers to the practice are kept"
    assert problems(any_store) == []


def test_practice_can_have_a_single_round(small_study: Study, person_of: PersonOf) -> None:
    person = person_of(study=practising(small_study, 1, PracticeCriterion(correct=1, rounds=1, otherwise="end")))
    assert practise(person, 0, WRONG)["ended"] is not None
    assert send(person, answer_to(1)).status_code == 409


def test_the_slot_of_a_participant_who_did_not_pass_goes_to_another_participant(
    studies: dict[str, Study], any_store: Store
) -> None:
    app = create_app(recruiting(studies["end"], quota=1), any_store, SECRETS, NO_LIMITS)
    first, second = Participant(app), Participant(app)
    first.start()
    assert second.start().status_code == 409
    fail_all_rounds(first)
    assert second.start().status_code == 201
    assert second.session["trials"]
    assert problems(any_store) == []


def test_simulated_participants_practise_like_people(person_of: PersonOf, any_store: Store) -> None:
    person = person_of("end", kind=Kind.SIMULATED.value)
    assert practise(person, 0, RIGHT, RIGHT)["next_trial_index"] == FIRST_QUESTION
    assert finish(person).status_code == 200
    assert problems(any_store) == []


# Resuming


@pytest.mark.parametrize("otherwise", ["continue", "end"])
@pytest.mark.parametrize("passed_in", [1, 2, 3, None])
def test_a_resumed_session_continues_where_the_practice_led(
    studies: dict[str, Study], person_of: PersonOf, any_store: Store, otherwise: str, passed_in: int | None
) -> None:
    person = person_of(otherwise)
    cookie = person.http.get_cookie("equipoise_session_blackbox-predict")
    assert cookie is not None
    next_index, has_ended = 0, False
    with closing(another(any_store)) as other_store:
        other_browser = create_app(studies[otherwise], other_store, SECRETS, NO_LIMITS).test_client()
        other_browser.set_cookie(cookie.key, cookie.value)
        while not has_ended and next_index < len(person.session["trials"]):
            visited = other_browser.post("/api/visit", json={"visit_id": str(uuid.uuid4())}).get_json()
            for session in (current_session(person), visited, person.start().get_json()):
                assert (session["status"], session["next_trial_index"]) == ("active", next_index)
            is_right = passed_in is not None and next_index // N_IN_ROUND + 1 == passed_in
            reply = send(person, answer_to(next_index, RIGHT if is_right else WRONG))
            assert reply.status_code == 201, reply.text
            practice = (reply.get_json()["responses"][0]["feedback"] or {}).get("practice")
            next_index = practice["next_trial_index"] if practice else next_index + 1
            has_ended = bool(practice and practice["ended"])
        assert has_ended == (otherwise == "end" and passed_in is None)
        for session in (
            current_session(person),
            other_browser.get("/api/session").get_json(),
            person.start().get_json(),
        ):
            assert session["status"] == ("ended" if has_ended else "active")
    assert person.complete().status_code == (409 if has_ended else 200)
    assert problems(any_store) == []


def test_a_session_ends_although_the_server_stopped_before_it_stored_the_end(
    person_of: PersonOf, any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last practice response is on disk, the reply was lost, and the browser that would retry is closed."""
    person = person_of("end")
    for index in range(FIRST_QUESTION - 1):
        assert send(person, answer_to(index)).status_code == 201
    with monkeypatch.context() as patch:

        def away(*_args: object) -> None:
            raise StoreUnavailable("stopped")

        patch.setattr(any_store, "release_slot", away)
        assert send(person, answer_to(FIRST_QUESTION - 1)).status_code == 503
    assert stored_trials(any_store, person) == list(range(FIRST_QUESTION))
    session = person.http.post("/api/visit", json={"visit_id": str(uuid.uuid4())}).get_json()
    continues = send(person, answer_to(session["next_trial_index"])).status_code == 201
    assert (session["status"] == "active") == continues, (
        "the page and the server agree on whether the session continues"
    )
    assert session["status"] == "ended"


def test_the_reply_about_the_end_can_be_requested_again(
    person_of: PersonOf, any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = person_of("end")
    for index in range(FIRST_QUESTION - 1):
        send(person, answer_to(index))
    last = answer_to(FIRST_QUESTION - 1)
    with monkeypatch.context() as patch:

        def away(*_args: object) -> None:
            raise StoreUnavailable("stopped")

        patch.setattr(any_store, "release_slot", away)
        assert send(person, last).status_code == 503
    first, again = send(person, last), send(person, last)
    assert first.status_code == again.status_code == 200
    assert first.get_json() == again.get_json()
    assert first.get_json()["responses"][0]["feedback"]["practice"]["ended"] is not None
    assert current_session(person)["status"] == "ended"
    assert problems(any_store) == []


# Attempts to evade the criterion


@pytest.mark.parametrize("otherwise", ["continue", "end"])
@pytest.mark.parametrize("responses", [(), (RIGHT,), (WRONG, RIGHT), (WRONG,) * 3, (WRONG, WRONG, WRONG, RIGHT, RIGHT)])
def test_no_response_to_a_question_is_accepted_before_the_practice_is_passed(
    person_of: PersonOf, any_store: Store, otherwise: str, responses: tuple[str, ...]
) -> None:
    person = person_of(otherwise)
    for index, response in enumerate(responses):
        assert send(person, answer_to(index, response)).status_code == 201
    for batch in (
        [answer_to(FIRST_QUESTION)],
        [answer_to(FIRST_QUESTION), answer_to(FIRST_QUESTION + 1)],
        [answer_to(FIRST_QUESTION + 1)],
        [answer_to(FIRST_QUESTION), *(answer_to(index, RIGHT) for index in range(len(responses), FIRST_QUESTION))],
    ):
        reply = send(person, *batch)
        assert reply.status_code == 409, reply.text
    assert stored_trials(any_store, person) == list(range(len(responses)))
    assert person.complete().status_code == 409
    assert current_session(person)["next_trial_index"] == len(responses)


def test_a_practice_response_cannot_be_corrected_later(person_of: PersonOf, any_store: Store) -> None:
    person = person_of("end")
    sent = [answer_to(0, WRONG), answer_to(1, RIGHT)]
    assert send(person, *sent).status_code == 201
    better = answer_to(0, RIGHT)
    for first in (better, better | {"response_id": sent[0]["response_id"]}):
        assert send(person, first, answer_to(FIRST_QUESTION)).status_code == 409
        assert send(person, first, sent[1], answer_to(FIRST_QUESTION)).status_code == 409
    assert stored_trials(any_store, person) == [0, 1]
    assert [answer for _, answer in sorted(any_store.responses(person.session["session"]).items())] == [WRONG, RIGHT]


def test_without_passed_practice_there_are_no_questions_and_no_code(person_of: PersonOf, any_store: Store) -> None:
    person = person_of("end")
    fail_all_rounds(person)
    for first in (FIRST_QUESTION, FIRST_QUESTION + 1, 0):
        assert send(person, answer_to(first)).status_code == 409
    assert send(person, answer_to(FIRST_QUESTION), answer_to(FIRST_QUESTION + 1)).status_code == 409
    assert person.complete().status_code == 409
    assert stored_trials(any_store, person) == list(range(FIRST_QUESTION))
    assert "completion_code" not in current_session(person)
    assert problems(any_store) == []


def test_a_request_can_continue_beyond_the_end_of_a_passed_round(person_of: PersonOf, any_store: Store) -> None:
    person = person_of("end")
    batch = [answer_to(0, RIGHT), answer_to(1, RIGHT), answer_to(FIRST_QUESTION), answer_to(FIRST_QUESTION + 1)]
    reply = send(person, *batch)
    assert reply.status_code == 201
    feedback = [one["feedback"] for one in reply.get_json()["responses"]]
    assert feedback[1]["practice"]["passed"]
    assert feedback[2:] == [None, None]
    again = send(person, *batch)
    assert (again.status_code, again.get_json()) == (200, reply.get_json())
    assert person.complete().status_code == 200
    assert problems(any_store) == []


@pytest.mark.parametrize("otherwise", ["continue", "end"])
def test_a_request_that_continues_beyond_a_failed_round_is_refused_completely(
    person_of: PersonOf, any_store: Store, otherwise: str
) -> None:
    person = person_of(otherwise)
    assert send(person, answer_to(0, WRONG), answer_to(1, RIGHT), answer_to(FIRST_QUESTION)).status_code == 409
    assert stored_trials(any_store, person) == []
    practise(person, 0, RIGHT, WRONG)
    assert send(person, answer_to(2, RIGHT), answer_to(3, WRONG), answer_to(FIRST_QUESTION)).status_code == 409
    assert stored_trials(any_store, person) == [0, 1]


@pytest.mark.parametrize(("otherwise", "status"), [("continue", 201), ("end", 409)])
def test_a_request_beyond_the_last_round_is_accepted_only_if_the_study_continues_after_it(
    person_of: PersonOf, any_store: Store, otherwise: str, status: int
) -> None:
    person = person_of(otherwise)
    practise(person, 0, *[WRONG] * 4)
    assert send(person, answer_to(4), answer_to(5), answer_to(FIRST_QUESTION)).status_code == status
    assert stored_trials(any_store, person) == list(range(FIRST_QUESTION + 1) if status == 201 else range(4))
    assert problems(any_store) == []


def test_skipped_practice_trials_accept_no_later_response(person_of: PersonOf, any_store: Store) -> None:
    person = person_of()
    practise(person, 0, RIGHT, RIGHT)
    send(person, answer_to(FIRST_QUESTION))
    for index in range(N_IN_ROUND, FIRST_QUESTION):
        assert send(person, answer_to(index, RIGHT)).status_code == 409
        assert send(person, answer_to(index, RIGHT), answer_to(FIRST_QUESTION + 1)).status_code == 409
    assert finish_rest(person) == 200
    assert send(person, answer_to(N_IN_ROUND, RIGHT)).status_code == 409
    assert problems(any_store) == []


def finish_rest(person: Participant) -> int:
    assert send(person, answer_to(FIRST_QUESTION + 1)).status_code == 201
    return person.complete().status_code


@pytest.mark.parametrize("otherwise", ["continue", "end"])
def test_a_participant_who_passed_can_always_continue_with_the_questions(
    person_of: PersonOf, any_store: Store, otherwise: str
) -> None:
    """Another window may still send a response to a round that is not needed. This response must undo nothing."""
    person = person_of(otherwise)
    practise(person, 0, RIGHT, RIGHT)
    for index in range(N_IN_ROUND, FIRST_QUESTION):
        send(person, answer_to(index, WRONG))
        assert current_session(person)["status"] == "active"
    assert send(person, answer_to(FIRST_QUESTION)).status_code == 201
    assert problems(any_store) == []


def test_a_retried_response_returns_the_result_of_its_round_at_any_later_time(
    person_of: PersonOf, any_store: Store
) -> None:
    person = person_of()
    last_of = {}
    responses = [WRONG, WRONG, RIGHT, RIGHT]
    for index, response in enumerate(responses):
        sent = answer_to(index, response)
        last_of[index] = (sent, send(person, sent).get_json())
    assert finish(person).status_code == 200
    for sent, first in last_of.values():
        again = send(person, sent)
        assert (again.status_code, again.get_json()) == (200, first)
    assert stored_trials(any_store, person) == [0, 1, 2, 3, 6, 7]


# Simultaneous requests


def test_two_simultaneous_responses_to_the_first_question_are_one_response(
    person_of: PersonOf, any_store: Store
) -> None:
    person = person_of()
    practise(person, 0, RIGHT, RIGHT)
    cookie = person.http.get_cookie("equipoise_session_blackbox-predict")
    assert cookie is not None

    def job() -> int:
        window = Participant(person.http.application)
        window.http.set_cookie(cookie.key, cookie.value)
        window.session = person.session
        return send(window, answer_to(FIRST_QUESTION)).status_code

    assert sorted(at_once(*[job] * 8)) == [201, *[409] * 7]
    assert stored_trials(any_store, person) == [0, 1, FIRST_QUESTION]
    assert problems(any_store) == []


def test_simultaneous_responses_to_a_question_and_another_round_leave_a_session_that_can_be_completed(
    person_of: PersonOf, any_store: Store
) -> None:
    for _ in range(4):
        person = person_of("end")
        practise(person, 0, RIGHT, RIGHT)
        cookie = person.http.get_cookie("equipoise_session_blackbox-predict")
        assert cookie is not None

        def job(*indices: int, person: Participant = person, cookie: Any = cookie) -> int:
            window = Participant(person.http.application)
            window.http.set_cookie(cookie.key, cookie.value)
            window.session = person.session
            return send(window, *(answer_to(index) for index in indices)).status_code

        statuses = at_once(lambda job=job: job(FIRST_QUESTION), lambda job=job: job(N_IN_ROUND))
        assert statuses[0] in {201, 409}
        session = current_session(person)
        assert session["status"] == "active"
        assert session["next_trial_index"] >= FIRST_QUESTION or statuses[1] == 201
        assert problems(any_store) == []


def commit_only(store: Store, person: Participant, *answers: dict[str, Any]) -> None:
    """Store responses like a request that has not yet judged the practice."""
    ((token_digest,),) = rows(store, "SELECT token_digest FROM sessions WHERE session = ?", (session_of(person),))
    store.add_responses(session_of(person), token_digest, [Response.model_validate(answer) for answer in answers])


@pytest.mark.parametrize("otherwise", ["continue", "end"])
def test_a_response_to_a_question_at_the_same_time_as_the_last_practice_response_is_refused(
    person_of: PersonOf, any_store: Store, monkeypatch: pytest.MonkeyPatch, otherwise: str
) -> None:
    """The practice cannot be judged before its last response is stored; a client waits for the result."""
    person = person_of(otherwise)
    assert send(person, *map(answer_to, range(FIRST_QUESTION - 1))).status_code == 201
    last, stored_answers = [answer_to(FIRST_QUESTION - 1)], any_store.responses

    def answers_of_a_moment_ago(session: str) -> dict[int, Any]:
        found = stored_answers(session)
        if last:
            commit_only(any_store, person, last.pop())
        return found

    with monkeypatch.context() as patch:
        patch.setattr(any_store, "responses", answers_of_a_moment_ago)
        assert send(person, answer_to(FIRST_QUESTION)).status_code == 409
    assert stored_trials(any_store, person) == list(range(FIRST_QUESTION))
    statuses = {"continue": 201, "end": 409}
    assert send(person, answer_to(FIRST_QUESTION)).status_code == statuses[otherwise]
    assert problems(any_store) == []


@pytest.mark.parametrize("how", ["retry", "visit", "start"])
def test_a_failed_practice_ends_the_session_although_a_question_has_a_response(
    person_of: PersonOf, any_store: Store, how: str
) -> None:
    person = person_of("end")
    sent = [answer_to(index) for index in range(FIRST_QUESTION + 1)]
    commit_only(any_store, person, *sent)
    if how == "retry":
        assert send(person, sent[FIRST_QUESTION - 1]).status_code == 200
    elif how == "visit":
        assert person.http.post("/api/visit", json={"visit_id": str(uuid.uuid4())}).status_code == 200
    else:
        assert person.start().status_code == 200
    assert current_session(person)["status"] == "ended"
    assert send(person, answer_to(FIRST_QUESTION + 1)).status_code == 409
    assert person.complete().status_code == 409
    assert problems(any_store) == []


@pytest.mark.parametrize("passed_in", [1, 2, 3])
@pytest.mark.parametrize("n_at_once", [1, 3, 100])
def test_responses_kept_offline_are_accepted_in_order_in_one_request_or_several_requests(
    person_of: PersonOf, any_store: Store, passed_in: int, n_at_once: int
) -> None:
    person = person_of("end")
    rounds = [WRONG, WRONG] * (passed_in - 1) + [RIGHT, RIGHT]
    kept = [answer_to(index, response) for index, response in enumerate(rounds)]
    kept += [answer_to(FIRST_QUESTION), answer_to(FIRST_QUESTION + 1)]
    for status in (201, 200):  # the replies were lost, and all responses are sent again
        for first in range(0, len(kept), n_at_once):
            assert send(person, *kept[first : first + n_at_once]).status_code == status
    assert person.complete().status_code == 200
    assert problems(any_store) == []


# Verification of a store


def session_of(person: Participant) -> str:
    name: str = person.session["session"]
    return name


def of_session(problems: list[str], person: Participant) -> list[str]:
    return [problem for problem in problems if session_of(person) in problem]


@pytest.mark.parametrize("responses", [(RIGHT, RIGHT), (WRONG, WRONG, RIGHT, RIGHT), (WRONG,) * FIRST_QUESTION])
@pytest.mark.parametrize("is_whole", [True, False])
def test_verification_finds_a_deleted_practice_response_although_other_trials_were_skipped(
    person_of: PersonOf, any_store: Store, responses: tuple[str, ...], is_whole: bool
) -> None:
    for index in range(len(responses)):
        person = person_of()
        practise(person, 0, *responses)
        if is_whole:
            assert finish(person).status_code == 200
        assert not of_session(problems(any_store), person)
        execute_sql(
            any_store, f"DELETE FROM responses WHERE session = '{session_of(person)}' AND trial_index = {index}"
        )
        assert of_session(problems(any_store), person), index


def test_verification_finds_a_deleted_response_to_a_question(person_of: PersonOf, any_store: Store) -> None:
    for index in (FIRST_QUESTION, FIRST_QUESTION + 1):
        person = person_of()
        practise(person, 0, RIGHT, RIGHT)
        assert finish(person).status_code == 200
        execute_sql(
            any_store, f"DELETE FROM responses WHERE session = '{session_of(person)}' AND trial_index = {index}"
        )
        assert of_session(problems(any_store), person), index


def test_verification_finds_a_single_deleted_practice_response(person_of: PersonOf, any_store: Store) -> None:
    person = person_of()
    send(person, answer_to(0, RIGHT))
    execute_sql(any_store, f"DELETE FROM responses WHERE session = '{session_of(person)}'")
    assert of_session(problems(any_store), person)


def test_without_a_criterion_missing_practice_responses_are_not_skipped_trials(
    small_study: Study, person_of: PersonOf, any_store: Store
) -> None:
    person = person_of(study=practising(small_study, N_IN_ROUND, None))
    for index in range(N_IN_ROUND + 1):
        send(person, answer_to(index))
    execute_sql(any_store, f"DELETE FROM responses WHERE session = '{session_of(person)}' AND trial_index = 1")
    assert of_session(problems(any_store), person)


def test_withdrawal_after_skipped_rounds_deletes_all_responses(person_of: PersonOf, any_store: Store) -> None:
    person = person_of()
    practise(person, 0, RIGHT, RIGHT)
    finish(person)
    assert person.withdraw().status_code == 200
    assert stored_trials(any_store, person) == []
    assert problems(any_store) == []


def test_the_tidy_table_has_the_skipped_rounds_without_responses(studies: dict[str, Study], store: SqliteStore) -> None:
    person = Participant(create_app(studies["continue"], store, SECRETS, NO_LIMITS))
    person.start()
    practise(person, 0, RIGHT, RIGHT)
    finish(person)
    table = read_trials(store.path)
    assert table["trial_index"].tolist() == list(range(FIRST_QUESTION + 2))
    assert table["correct"].notna().tolist() == [True] * 2 + [False] * 4 + [True] * 2
    assert table["missing"].isna().all()


# Random sequences of requests


@given(
    batches=st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(["next", "next", "next", "told", "told", "question", "back"]),
                st.sampled_from([RIGHT, RIGHT, WRONG]),
            ),
            min_size=1,
            max_size=4,
        ),
        max_size=12,
    ),
    otherwise=st.sampled_from(["continue", "end"]),
)
@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_for_any_requests_questions_have_responses_only_after_passed_practice(
    studies: dict[str, Study], store: SqliteStore, batches: list[list[tuple[str, str]]], otherwise: str
) -> None:
    """In the stored data each participant with a response to a question has passed a round or used all rounds."""
    person = Participant(create_app(studies[otherwise], store, SECRETS, NO_LIMITS))
    person.start()
    for batch in batches:
        stored = stored_trials(store, person)
        planned = current_session(person)["next_trial_index"]
        at = {"next": (stored[-1] + 1) if stored else 0, "told": planned, "question": FIRST_QUESTION, "back": 0}
        sent = []
        for where, response in batch:
            index = at[where]
            if index < len(person.session["trials"]):
                sent.append(answer_to(index, response if index < FIRST_QUESTION else WRONG))
            at = dict.fromkeys(at, index + 1) | {"question": FIRST_QUESTION, "back": 0}
        if sent:
            reply = send(person, *sent)
            assert reply.status_code in {201, 409}, reply.text
            new = set(stored_trials(store, person)) - set(stored)
            assert len(new) == (len(sent) if reply.status_code == 201 else 0)
    given_answers = store.responses(person.session["session"])
    rounds = [
        [given_answers.get(first + number) for number in range(N_IN_ROUND)]
        for first in range(0, FIRST_QUESTION, N_IN_ROUND)
    ]
    has_passed = [RIGHT] * N_IN_ROUND in rounds
    all_used_up = all(answer is not None for one in rounds for answer in one)
    if any(index >= FIRST_QUESTION for index in given_answers):
        assert has_passed or (all_used_up and otherwise == "continue")
    found = rows(store, "SELECT n_answered FROM sessions WHERE session = ?", (session_of(person),))
    assert found[0][0] == (max(given_answers) + 1 if given_answers else 0)
    assert problems(store) == []
