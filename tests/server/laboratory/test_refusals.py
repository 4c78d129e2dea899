"""Refusals for the experimenter: in English, with the participant's code and a fix."""

from collections.abc import Callable

import pytest

from experiment.study.definition import Study
from experiment.study.timeline import PracticeCriterion, Resume
from experiment.texts import catalogue
from server.app import create_app
from server.laboratory import SENTENCES
from server.settings import Settings
from server.store import NotYourSession, Refusal, Release, Store, StoreUnavailable
from tests.server.conftest import SECRETS, Participant
from tests.server.laboratory.test_api import Experimenter, new_id, refused
from tests.server.stores import Clock, practising, problems, recruiting, saying, version_of

LabIn = Callable[..., Experimenter]
RAISE_OR_RELEASE = ("raise the quota", "`equipoise assignment release`")


@pytest.fixture
def lab_in(small_study: Study, any_store: Store) -> LabIn:
    """Make the laboratory of a study in German, recruited as a test chooses."""

    def make(study: Study = small_study, **recruitment: int) -> Experimenter:
        german = recruiting(saying(study, language="de"), **recruitment)
        return Experimenter(create_app(german, any_store, SECRETS, Settings()))

    return make


def assert_contains(sentence: str, *what: str) -> None:
    for one in what:
        assert one in sentence, sentence
    assert not {"you", "your", "sie", "ihr"} & set(sentence.lower().split()), sentence


def test_the_refusal_of_a_withdrawn_participant_names_the_code(lab_in: LabIn) -> None:
    lab = lab_in()
    lab.start("P12")
    lab.post("/api/withdraw")
    expected = ("participant P12 has withdrawn", "if this is another person, use another code.")
    assert_contains(refused(lab.start("P12"), 409), *expected)
    assert_contains(refused(lab.start("P12", session_number=2), 409), *expected)
    assert_contains(refused(lab.check_slot("P12"), 409), *expected)
    assert lab.start("P13").status_code == 201


@pytest.mark.parametrize("otherwise", ["end", "restart"])
def test_a_participant_without_a_slot_can_resume_after_the_quota_is_raised(
    lab_in: LabIn, small_study: Study, any_store: Store, clock: Clock, otherwise: str
) -> None:
    resume = Resume(max_reloads=9 if otherwise == "end" else 0, otherwise=otherwise)
    study = saying(version_of(small_study, otherwise), resume=resume)
    lab = lab_in(study, quota=1)
    lab.start("P12")
    lab.respond(*lab.answers(0))
    clock.advance(minutes=61)
    Participant(lab.http.application).start()
    for _ in range(2):
        assert_contains(
            refused(lab.start("P12"), 409), "participant P12", "time-out", *RAISE_OR_RELEASE, "responses so far"
        )
    assert lab_in(study, quota=2).start("P12").status_code == 200
    assert problems(any_store) == []


def test_the_refusal_names_a_released_slot(lab_in: LabIn, any_store: Store) -> None:
    lab = lab_in()
    lab.start("P12")
    any_store.release_slot(lab.session["session"], Release.RETURN)
    assert_contains(
        refused(lab.start("P12"), 409), "P12", "released after the time-out or with `equipoise assignment release`"
    )


@pytest.mark.parametrize("is_done", [True, False])
def test_the_check_and_the_start_refuse_a_full_study_with_the_same_message(lab_in: LabIn, is_done: bool) -> None:
    lab = lab_in(quota=1)
    lab.start("P12")
    if is_done:
        lab.take()
    by_check, by_start = lab.check_slot("P13"), lab.start("P13")
    assert refused(by_check, 409) == refused(by_start, 409)
    assert_contains(refused(by_start, 409), "no free slot for participant P13", *RAISE_OR_RELEASE)


def test_a_start_that_began_another_participants_session_is_refused_by_the_code(lab_in: LabIn) -> None:
    lab = lab_in()
    start_id = new_id()
    assert lab.start("P12", start_id=start_id).status_code == 201
    assert_contains(refused(lab.start("P13", start_id=start_id), 409), "not of participant P13")


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (
            NotYourSession("opened_at_once"),
            "another program opened the session of participant P12 at the same moment",
        ),
        (Refusal("session_over"), "Participant P12: This session is over"),
    ],
    ids=str,
)
def test_every_other_refusal_for_the_experimenter_is_in_english(
    lab_in: LabIn, any_store: Store, monkeypatch: pytest.MonkeyPatch, refusal: Refusal, expected: str
) -> None:
    def refuse(*_: object) -> None:
        raise refusal

    lab = lab_in()
    monkeypatch.setattr(any_store, "start_session", refuse)
    assert_contains(refused(lab.start("P12"), 409), expected)


def test_every_sentence_for_the_experimenter_replaces_a_participants_text() -> None:
    assert SENTENCES.keys() <= catalogue("en").keys()


def test_the_refusal_of_a_completed_session_first_says_that_it_may_be_another_participants(lab_in: LabIn) -> None:
    lab = lab_in()
    lab.start("P12")
    lab.take()
    message = refused(lab.start("P12"), 409)
    assert_contains(
        message, "Participant P12 has completed session 1", "Fix: if this is another person, use another code;"
    )
    assert message.index("another code") < message.index("`--session-number 2`")


def test_the_refusal_of_a_wrong_token_says_where_the_right_token_is(lab_in: LabIn) -> None:
    lab = lab_in()
    wrong = {"Authorization": "Bearer wrong"}
    for reply in (lab.send(lab.body(), wrong), lab.find(wrong, participant="P12"), lab.check_slot(headers=wrong)):
        expected = ("`data/researcher-token`", "on the server, not on this machine", "EQUIPOISE_RESEARCHER_TOKEN")
        assert_contains(refused(reply, 403), *expected)


def test_a_session_whose_practice_ended_during_a_server_stop_is_ended(
    small_study: Study, lab_in: LabIn, any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    criterion = PracticeCriterion(correct=2, rounds=1, otherwise="end")
    lab = lab_in(practising(version_of(small_study, "practising"), 2, criterion))
    lab.start("P12")
    with monkeypatch.context() as patch:

        def away(*_: object) -> None:
            raise StoreUnavailable("stopped")

        patch.setattr(any_store, "release_slot", away)
        assert lab.respond(*lab.answers(0, 1)).status_code == 503
    assert lab.find(participant="P12").get_json()["status"] == "ended"
    assert lab.start("P12").get_json()["status"] == "ended"
    assert problems(any_store) == []
