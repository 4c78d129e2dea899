"""Ends of visits: by escape, by a rule of the study, by completion, and while the store is unavailable."""

import re

import pytest
from click.testing import CliRunner

from batteries.errors import InputError
from equipoise.cli.main import main
from equipoise.commands.lab.clients import local_client
from experiment.lab.screens.layout.screen_image import ESCAPE
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import WITHDRAW, FullDisk, careful, leaving_at, names_on, press, rows


def test_a_participant_who_types_the_word_withdraws(lab, small):
    study = load_study(small)
    stays = lab(study, leaving_at(3, ["3", ESCAPE, "1"]), participant="P01")
    assert stays.outcome is VisitOutcome.COMPLETED
    leaves = lab(study, leaving_at(3, WITHDRAW), participant="P02")
    assert leaves.outcome is VisitOutcome.WITHDRAWN
    assert all(t["received_at"] is None and t["status"] == "withdrawn" for t in rows(study, leaves.session))
    kept = {path.name.partition("_")[0] for path in (study.folder / "data" / "lab").rglob("P0*")}
    assert kept == {"P01"}, "no file has deleted data"
    assert leaves.table is None


DIGITS = [str(digit) for digit in range(10)]


@pytest.mark.parametrize(
    "keys",
    [
        ["3", "2"], ["3", "2", "return"], ["3", *DIGITS, "num_2", "num_enter"], ["3", "return", "3", "return"],
        ["3", *"delet", "return"], ["3", *"3delete", "return"], ["3", *"a5x", "return"], ["3", "confirm"],
        ["3", "delete", "return"], ["3", *"delete", ESCAPE], ["3", *"delete", "stay"],
    ],
)  # fmt: skip
def test_without_the_word_nothing_is_deleted(lab, small, keys):
    """Digits and other response keys do not delete; neither does the word without Enter. `delete` is also a key."""
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    visit = lab(study, leaving_at(2, [*keys, ESCAPE, "1"]))
    assert visit.outcome is VisitOutcome.COMPLETED and visit.session.session == first.session.session
    trials = rows(study, visit.session)
    assert {trial["status"] for trial in trials} == {"completed"}
    assert all(trial["received_at"] for trial in trials)


def test_a_wrong_word_is_reported_and_can_be_corrected(lab, small):
    study = load_study(small)
    visit = lab(study, leaving_at(3, ["3", *"delate", "return", "3", *" Delex", "backspace", *"TE ", "return"]))
    assert visit.outcome is VisitOutcome.WITHDRAWN
    menus = [seen for seen in visit.display.seen if "Leave the study?" in seen]
    note = "You did not type the word “delete”. Nothing was deleted."
    assert [note in seen for seen in menus] == [False, True]


def test_the_page_says_what_is_deleted_and_that_it_cannot_be_undone(lab, small):
    study = load_study(small)
    lab(study, leaving_at(3, ["2"]))
    visit = lab(study, leaving_at(3, WITHDRAW))
    page = next(seen for seen in visit.display.seen if "type this word" in seen)
    assert "your answers in this session (number: 4)" in page, "two of this visit, and two of the visit before"
    assert "the files of this session on this computer" in page
    assert "Deleted answers cannot be restored, and you cannot come back to this study." in page
    assert "other sessions" not in page


def test_escape_before_the_consent_stores_no_decision(lab, small):
    pressed = iter([ESCAPE, "2"])
    visit = lab(load_study(small), lambda _: press(next(pressed, "right")))
    assert "Nothing has been stored so far." in visit.display.seen[1]
    assert visit.outcome is VisitOutcome.DECLINED


def test_the_contact_page_can_be_read_at_the_end(lab, small):
    (small / "contact.md").write_text("Write to Ada, ada@example.org.")
    asked = []

    def person(display):
        names = names_on(display)
        if {"next", "contact"} <= names and not asked:
            asked.append(display.seen[-1])
            return press("1")
        return careful(display)

    visit = lab(load_study(small), person)
    assert "write down this code" in asked[0]
    assert "Write to Ada" in visit.display.seen[-2]
    assert visit.display.seen[-1] == asked[0]


def test_the_contact_page_can_be_read_on_every_screen(lab, small):
    (small / "contact.md").write_text("Write to Ada, ada@example.org.")
    study = load_study(small)
    read = []

    def person(display):
        names = names_on(display)
        if "Write to Ada" in display.seen[-1]:
            read.append(len(display.trials))
            return press("right")
        if {"stay", "contact"} <= names:
            return press("4") if len(read) == 0 else press("1")
        return press(ESCAPE) if len(display.trials) == 2 and not read else careful(display)

    assert lab(study, person).outcome is VisitOutcome.COMPLETED
    assert read == [2]


def test_after_completion_the_participant_cannot_leave(lab, small):
    study = load_study(small)
    visit = lab(study, lambda display: press(ESCAPE) if "You are done" in display.seen[-1] else careful(display))
    assert visit.outcome is VisitOutcome.COMPLETED
    assert "You are done" in visit.display.seen[-1], "no menu, and no further page"
    assert "[Esc]" in visit.display.seen[-2] and "[Esc]" not in visit.display.seen[-1]
    assert all(trial["status"] == "completed" for trial in rows(study, visit.session))


def test_a_response_that_cannot_be_stored_is_retried(lab, small):
    study, disk = load_study(small), FullDisk("/api/responses", n_failing=2, n_passing=2)

    def person(display):
        return press("1") if "could not be saved yet" in display.seen[-1] else careful(display)

    visit = lab(study, person, wrap=disk)
    assert visit.outcome is VisitOutcome.COMPLETED
    assert disk.asked[2] == disk.asked[3] == disk.asked[4] != disk.asked[5], "the same response"
    assert [t["attempt"] for t in rows(study, visit.session)][2] == 1


def test_a_session_that_cannot_be_stored_does_not_begin(lab, small):
    with pytest.raises(InputError, match=r"the session has not begun, .* the disk is full\. Fix: free"):
        lab(load_study(small), careful, wrap=FullDisk("/api/lab/session", n_failing=1, n_passing=1))


@pytest.mark.parametrize("address", ["/api/complete", "/api/demographics"])
def test_every_request_that_cannot_be_stored_is_retried(lab, asking, address):
    study, disk = load_study(asking), FullDisk(address, n_failing=2)

    def person(display):
        return press("1") if "Something went wrong" in display.seen[-1] else careful(display)

    visit = lab(study, person, wrap=disk)
    assert visit.outcome is VisitOutcome.COMPLETED and len(disk.asked) == 3
    assert sum("Please tell the experimenter" in seen and "Try again" in seen for seen in visit.display.seen) == 2
    assert "write down this code" in visit.display.seen[-1]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/api/responses", "Your answer could not be saved yet"),
        ("/api/complete", "The study cannot continue at the moment"),
        ("/api/demographics", "Your answer could not be saved yet"),
    ],
)
def test_a_participant_can_stop_instead_of_retrying_and_resume_later(lab, asking, address, words):
    study, asked = load_study(asking), []

    def person(display):
        if "Something went wrong" in display.seen[-1]:
            asked.append(display.seen[-1])
            return press("2")
        return careful(display)

    left = lab(study, person, wrap=FullDisk(address, n_failing=1))
    assert left.outcome is VisitOutcome.LEFT and words in asked[0]
    assert "Your answers so far are saved." in left.display.seen[-1]
    visit = lab(study)
    assert visit.outcome is VisitOutcome.COMPLETED
    assert all(trial["received_at"] and trial["missing"] is None for trial in rows(study, visit.session))


@pytest.fixture
def asking(small, edit):
    """A study with demographic questions."""
    edit(small / "study.yaml", "debrief: debrief.md", "debrief: debrief.md\n  demographics: about.yaml")
    (small / "about.yaml").write_text(
        "questions:\n- {name: hand, ask: Which?, answer: choice, options: [left, right]}\n"
    )
    return small


def test_a_failed_deletion_of_responses_is_retried(lab, small):
    study, disk = load_study(small), FullDisk("/api/withdraw", n_failing=2)
    leaves = lab(study, leaving_at(3, [*WITHDRAW, "1", "1"]), wrap=disk)
    assert leaves.outcome is VisitOutcome.WITHDRAWN and len(disk.asked) == 3
    assert sum("could not be deleted yet" in seen for seen in leaves.display.seen) == 2
    assert {trial["status"] for trial in rows(study, leaves.session)} == {"withdrawn"}


def test_responses_that_are_not_deleted_are_never_reported_as_deleted(lab, small):
    """Neither the participant's last page nor the experimenter's message reports a deletion; the message has a fix."""
    study, seen = load_study(small), []
    leave = leaving_at(3, [*WITHDRAW, "2"])

    def person(display):
        seen[:] = display.seen
        return leave(display)

    with pytest.raises(InputError, match=r"P01 .* NOT deleted yet .*`equipoise withdraw .* --session") as error:
        lab(study, person, wrap=FullDisk("/api/withdraw", n_failing=1))
    assert "could not be deleted yet" in seen[-1] and "were deleted" not in seen[-1]
    with local_client(study, None) as (_, store):
        (session,) = store.sessions(study)
    assert session["status"] == "active" and session["n_answered"] == 2
    command = re.search(r"`equipoise (.*)`", str(error.value))[1]
    assert CliRunner().invoke(main, command.split()).exit_code == 0
    with local_client(study, None) as (_, store):
        assert store.sessions(study)[0]["status"] == "withdrawn"


def test_a_refused_withdrawal_is_reported(lab, small):
    """Another program has opened the session, so that only that program can delete it."""
    study, seen, lab_clients = load_study(small), [], []
    leave = leaving_at(3, WITHDRAW)

    def person(display):
        seen[:] = display.seen
        if "you cannot come back" in display.seen[-1]:
            lab_clients[0]._client.cookies.clear()
        return leave(display)

    def wrap(lab_client, _):
        lab_clients.append(lab_client)
        return lab_client

    with pytest.raises(InputError, match=r"NOT deleted yet \(this session is open in another program"):
        lab(study, person, wrap=wrap)
    assert "could not be deleted yet" in seen[-1]


def test_a_withdrawal_says_that_the_other_sessions_are_deleted_too(lab, small):
    study, words = load_study(small), "Number of other sessions on this computer: 1."
    lab(study, participant="P02")
    first = lab(study, leaving_at(3, ["3", ESCAPE, "1"]))
    assert not any("other sessions" in seen for seen in first.display.seen)
    second = lab(study, leaving_at(3, WITHDRAW), session_number=2)
    sure = next(seen for seen in second.display.seen if words in seen)
    assert "Your answers and files from your other sessions in this study are deleted too." in sure
    assert second.outcome is VisitOutcome.WITHDRAWN
    for session in (first.session, second.session):
        assert {trial["status"] for trial in rows(study, session)} == {"withdrawn"}


def ending(small, edit):
    """Return a study that ends after failed practice, and has a contact page."""
    criterion = "practice_criterion: {correct: 1, rounds: 2, otherwise: end}"
    edit(small / "study.yaml", "practice: [practice-1]", f"practice: [practice-1]\n{criterion}")
    (small / "contact.md").write_text("Write to Ada, ada@example.org.")
    return load_study(small)


def test_failed_practice_ends_the_session_if_the_study_says_so(lab, small, edit):
    visit = lab(ending(small, edit))
    assert visit.outcome is VisitOutcome.ENDED
    assert visit.display.trials == ["practice", "practice"]
    assert any("Practise again" in seen for seen in visit.display.seen)
    assert not any("The practice ends here" in seen for seen in visit.display.seen), (
        "this text says that questions follow"
    )
    assert "too few right answers" in visit.display.seen[-1]


@pytest.mark.parametrize("returns", [False, True])
def test_a_session_ended_by_a_rule_shows_withdrawal_code_and_contact_as_on_the_web(lab, small, edit, returns):
    study, read = ending(small, edit), []
    first = lab(study)

    def person(display):
        if "The study ends here for you" in display.seen[-1] and not read:
            return press("1")
        read.extend([display.seen[-1]] if "Write to Ada" in display.seen[-1] else [])
        return careful(display)

    visit = lab(study, person) if returns else lab(study, person, participant="P02")
    assert visit.outcome is VisitOutcome.ENDED and len(read) == 1
    assert "too few right answers" in visit.display.seen[-1]
    code = re.search(r"write down this code: ([0-9A-F]{10})", visit.display.seen[-1])[1]
    session = first.session.session if returns else visit.session.session
    with local_client(study, None) as (_, store):
        assert store.sessions_with_code(study, code) == [session]


def test_after_an_end_by_a_rule_the_participant_cannot_leave(lab, small, edit):
    study = ending(small, edit)
    visit = lab(study, lambda display: press(ESCAPE) if "ends here for you" in display.seen[-1] else careful(display))
    assert visit.outcome is VisitOutcome.ENDED and "ends here for you" in visit.display.seen[-1]
