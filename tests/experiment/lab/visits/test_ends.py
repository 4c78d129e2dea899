"""How visits end: by the way out, by the study's rules, at the end, and while nothing can be stored."""

import re

import pytest
from click.testing import CliRunner

from batteries.errors import InputError
from equipoise.cli.main import main
from equipoise.commands.lab import local_client
from experiment.lab.screens.layout.screen_image import ESCAPE
from experiment.lab.session import VisitOutcome
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import FullDisk, careful, leaving_at, names_on, press, rows


def test_who_leaves_and_wants_the_answers_deleted_is_asked_once_more(lab, small):
    study = load_study(small)
    stays = lab(study, leaving_at(3, ["3", "1"]), participant="P01")
    assert stays.outcome is VisitOutcome.COMPLETED
    leaves = lab(study, leaving_at(3, ["3", "2"]), participant="P02")
    assert leaves.outcome is VisitOutcome.WITHDRAWN
    assert all(t["received_at"] is None and t["status"] == "withdrawn" for t in rows(study, leaves.session))
    kept = {path.name.partition("_")[0] for path in (study.folder / "data" / "lab").rglob("P0*")}
    assert kept == {"P01"}, "no file holds what was to be deleted"
    assert leaves.table is None


def test_who_asks_for_the_way_out_before_the_consent_has_chosen_nothing_yet(lab, small):
    pressed = iter([ESCAPE, "2"])
    visit = lab(load_study(small), lambda _: press(next(pressed, "right")))
    assert "Nothing has been stored so far." in visit.display.seen[1]
    assert visit.outcome is VisitOutcome.DECLINED


def test_who_to_turn_to_is_there_at_the_end_too(lab, small):
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


def test_who_to_turn_to_can_be_read_at_any_moment(lab, small):
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


def test_who_is_done_has_nothing_to_leave_any_more(lab, small):
    study = load_study(small)
    visit = lab(study, lambda display: press(ESCAPE) if "You are done" in display.seen[-1] else careful(display))
    assert visit.outcome is VisitOutcome.COMPLETED
    assert "You are done" in visit.display.seen[-1], "no menu, and no other page"
    assert "[Esc]" in visit.display.seen[-2] and "[Esc]" not in visit.display.seen[-1]
    assert all(trial["status"] == "completed" for trial in rows(study, visit.session))


def test_an_answer_that_cannot_be_stored_at_the_moment_is_handed_in_again(lab, small):
    study, disk = load_study(small), FullDisk("/api/responses", n_failing=2, n_passing=2)

    def person(display):
        return press("1") if "could not be saved yet" in display.seen[-1] else careful(display)

    visit = lab(study, person, wrap=disk)
    assert visit.outcome is VisitOutcome.COMPLETED
    assert disk.asked[2] == disk.asked[3] == disk.asked[4] != disk.asked[5], "the same answer"
    assert [t["attempt"] for t in rows(study, visit.session)][2] == 1


@pytest.mark.parametrize("address", ["/api/complete", "/api/demographics"])
def test_whatever_cannot_be_stored_at_the_moment_is_handed_in_again(lab, asking, address):
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
def test_who_does_not_want_to_wait_for_that_stops_for_now_and_goes_on_later(lab, asking, address, words):
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
    """A study that asks about the person."""
    edit(small / "study.yaml", "debrief: debrief.md", "debrief: debrief.md\n  demographics: about.yaml")
    (small / "about.yaml").write_text(
        "questions:\n- {name: hand, ask: Which?, answer: choice, options: [left, right]}\n"
    )
    return small


def test_answers_that_cannot_be_deleted_at_the_moment_are_when_they_can(lab, small):
    study, disk = load_study(small), FullDisk("/api/withdraw", n_failing=2)
    leaves = lab(study, leaving_at(3, ["3", "2", "1", "1"]), wrap=disk)
    assert leaves.outcome is VisitOutcome.WITHDRAWN and len(disk.asked) == 3
    assert sum("could not be deleted yet" in seen for seen in leaves.display.seen) == 2
    assert {trial["status"] for trial in rows(study, leaves.session)} == {"withdrawn"}


def test_nobody_takes_answers_for_deleted_that_are_not(lab, small):
    """Neither the participant, who reads it last, nor the experimenter, who is told how to have it done."""
    study, seen = load_study(small), []
    leave = leaving_at(3, ["3", "2", "2"])

    def person(display):
        seen[:] = display.seen
        return leave(display)

    with pytest.raises(InputError, match=r"P01 .* NOT deleted yet .*`equipoise withdraw .* --session") as told:
        lab(study, person, wrap=FullDisk("/api/withdraw", n_failing=1))
    assert "could not be deleted yet" in seen[-1] and "were deleted" not in seen[-1]
    with local_client(study, None) as (_, store):
        (session,) = store.sessions(study)
    assert session["status"] == "active" and session["n_answered"] == 2
    command = re.search(r"`equipoise (.*)`", str(told.value))[1]
    assert CliRunner().invoke(main, command.split()).exit_code == 0
    with local_client(study, None) as (_, store):
        assert store.sessions(study)[0]["status"] == "withdrawn"


def test_a_withdrawal_that_is_refused_is_told_as_one(lab, small):
    """As where another program has opened the session: only there would it be deleted."""
    study, seen, lab_clients = load_study(small), [], []
    leave = leaving_at(3, ["3", "2"])

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


def test_who_leaves_a_further_session_is_told_that_the_earlier_ones_go_too(lab, small):
    study, words = load_study(small), "The answers of your earlier sessions in this study are deleted too."
    first = lab(study, leaving_at(3, ["3", "1"]))
    assert not any(words in seen for seen in first.display.seen)
    second = lab(study, leaving_at(3, ["3", "2"]), session_number=2)
    (sure,) = [seen for seen in second.display.seen if words in seen]
    assert "you cannot come back" in sure
    assert second.outcome is VisitOutcome.WITHDRAWN
    for session in (first.session, second.session):
        assert {trial["status"] for trial in rows(study, session)} == {"withdrawn"}


def ending(small, edit):
    """Return a study that ends where the practice is not passed, and has somebody to turn to."""
    criterion = "practice_criterion: {correct: 1, rounds: 2, otherwise: end}"
    edit(small / "study.yaml", "practice: [practice-1]", f"practice: [practice-1]\n{criterion}")
    (small / "contact.md").write_text("Write to Ada, ada@example.org.")
    return load_study(small)


def test_practice_that_is_not_passed_ends_the_study_where_it_says_so(lab, small, edit):
    visit = lab(ending(small, edit))
    assert visit.outcome is VisitOutcome.ENDED
    assert visit.display.trials == ["practice", "practice"]
    assert any("Practise again" in seen for seen in visit.display.seen)
    assert not any("The practice ends here" in seen for seen in visit.display.seen), "as if questions came now"
    assert "too few right answers" in visit.display.seen[-1]


@pytest.mark.parametrize("comes_again", [False, True])
def test_whose_session_the_rules_end_gets_a_code_and_somebody_to_turn_to_as_on_the_web(lab, small, edit, comes_again):
    study, read = ending(small, edit), []
    first = lab(study)

    def person(display):
        if "The study ends here for you" in display.seen[-1] and not read:
            return press("1")
        read.extend([display.seen[-1]] if "Write to Ada" in display.seen[-1] else [])
        return careful(display)

    visit = lab(study, person) if comes_again else lab(study, person, participant="P02")
    assert visit.outcome is VisitOutcome.ENDED and len(read) == 1
    assert "too few right answers" in visit.display.seen[-1]
    code = re.search(r"write down this code: ([0-9A-F]{10})", visit.display.seen[-1])[1]
    session = first.session.session if comes_again else visit.session.session
    with local_client(study, None) as (_, store):
        assert store.sessions_with_code(study, code) == [session]


def test_whose_session_the_rules_have_ended_has_nothing_to_leave_any_more(lab, small, edit):
    study = ending(small, edit)
    visit = lab(study, lambda display: press(ESCAPE) if "ends here for you" in display.seen[-1] else careful(display))
    assert visit.outcome is VisitOutcome.ENDED and "ends here for you" in visit.display.seen[-1]
