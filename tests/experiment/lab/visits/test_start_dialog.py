"""The start dialog of `equipoise lab STUDY` without `--participant`, without a window."""

import pytest

from equipoise.commands.lab.clients import local_client
from experiment.lab.screens.layout.screen_image import ESCAPE
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import careful, leaving_at, press


def experimenter(*names, participant=careful):
    """Return a person who presses keys in the dialog; then the participant takes part."""
    left = list(names)
    return lambda display: press(left.pop(0)) if left else participant(display)


def sessions(folder):
    """Return the stored sessions: participant codes, kinds, groups and session numbers."""
    study = load_study(folder)
    with local_client(study, None) as (_, store):
        codes = {one["participant"]: one["external_id"] for one in store.identities(study)}
        return [
            (codes.get(row["participant"]), row["kind"], row["group"], row["session_number"])
            for row in store.sessions(study)
        ]


def test_the_dialog_asks_for_the_participant_and_then_runs_the_same_session(command, small):
    visit = command(participant=None, person=experimenter(*"P07", "return", "return"))
    assert (visit.exit_code, visit.stderr) == (0, "")
    assert "\nP07 completed the session.\n" in visit.stdout
    code, *_, choice = visit.seen[:5]
    assert "Type the participant code" in code and "Timing: Flips wait for the screen" in code
    for words in (
        "Participant P07",
        "Begin the session",
        "number: 1 (suggested)",
        "Group: 1 (suggested)",
        "Rehearsal: no",
    ):
        assert words in choice
    assert "psychtoolbox times key presses." in choice, "the verdict on the machine"
    with_option = command(participant="P08")
    assert len(with_option.seen) == len(visit.seen[5:]) and with_option.seen[:9] == visit.seen[5:14]
    assert sessions(small) == [("P07", "human", 1, 1), ("P08", "human", 1, 1)]


@pytest.mark.parametrize("keys", [[ESCAPE], ["P", ESCAPE], [*"P07", "return", ESCAPE], [*"P07", "return", "1", ESCAPE]])
def test_escape_in_the_dialog_begins_no_session(command, small, keys):
    visit = command(participant=None, person=experimenter(*keys, participant=None))
    assert visit.exit_code == 2
    assert (
        visit.stderr == "Error: no session has begun, because the dialog was cancelled. Fix: run the command again.\n"
    )
    assert sessions(small) == []


def test_an_interrupted_session_is_suggested_and_then_the_next_one(command):
    command(participant="P07", person=leaving_at(3, ["2"]))
    resumed = command(participant=None, person=experimenter(*"P07", "return", "return"))
    assert "Resume the session" in resumed.seen[4] and "number: 1 (to be resumed)" in resumed.seen[4]
    assert "Group: 1 " not in resumed.seen[4], "the group cannot be chosen any more"
    assert "P07 completed the session." in resumed.stdout
    second = command(participant=None, person=experimenter(*"P07", "return", "return"))
    assert "number: 2 (suggested)" in second.seen[4] and "Group: 2 (suggested)" in second.seen[4]
    assert "P07 completed the session." in second.stdout


def test_number_group_and_rehearsal_can_be_chosen(command, small):
    chosen = [*"P07", "return", "2", "2", "return", "3", *"59", "return", "5", "return", "return"]
    visit = command(participant=None, person=experimenter(*chosen))
    assert visit.exit_code == 0
    assert any("`59` is not possible. Type a whole number from 1 to 58." in screen for screen in visit.seen)
    confirmed = next(screen for screen in visit.seen if "Group: 5 (chosen)" in screen)
    assert "number: 2 (chosen)" in confirmed
    assert "Check the code: P07 has no session 1, and this will be session 2." in confirmed
    rehearsal = command(participant=None, person=experimenter(*"P08", "return", "4", "return"))
    assert rehearsal.exit_code == 0 and "Begin the rehearsal" in rehearsal.seen[5]
    assert [session[1:] for session in sessions(small)] == [("human", 5, 2), ("simulated", 1, 1)]


def test_a_code_that_is_mistyped_or_cannot_begin_can_be_corrected(command, small):
    command(participant="P05")
    keys = ["return", *"p5", "return", "1", *"P05", "return", "2", "1", "return", "1", *"P06", "return", "return"]
    visit = command(participant=None, person=experimenter(*keys))
    assert any("Check the code: p5 is new, but the store has P05." in screen for screen in visit.seen)
    refused = next(
        screen for screen in visit.seen if "Participant P05 has completed session 1 of this study." in screen
    )
    assert "Begin" not in refused and "Resume" not in refused
    assert [code for code, *_ in sessions(small)] == ["P05", "P06"]


def test_a_server_is_asked_for_the_suggestions(command, server, small):
    """The server has a session of the participant from another laboratory."""
    with server():
        taken = command("--server", "https://study.example.org", participant="P05")
        assert taken.exit_code == 0
        (small / "data" / "equipoise.db").unlink()
        keys = [*"P05", "return", "return"]
        visit = command("--server", "https://study.example.org", participant=None, person=experimenter(*keys))
    assert "number: 2 (suggested)" in visit.seen[4]
    assert "Rehearsal" not in visit.seen[4], "a rehearsal is not uploaded"
    assert [session[3] for session in sessions(small)] == [2]


@pytest.mark.parametrize("option", [["--group", "3"], ["--session-number", "2"], ["--rehearsal"]])
def test_the_choices_of_the_dialog_need_no_options(command, option):
    visit = command(*option, participant=None)
    assert visit.exit_code == 2 and not visit.was_opened
    assert "need a participant. Fix: add --participant, or omit these options" in visit.stderr
