"""`equipoise lab STUDY` as a command, without a window and without a network."""

import re

import pytest
from click.testing import CliRunner

from batteries.errors import InputError
from equipoise.cli.main import main
from equipoise.commands.lab.clients import local_client
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import (
    WITHDRAW,
    careful,
    leaving_at,
    other_store,
    trials_of,
)

SERVER = ["--server", "https://study.example.org"]


def answered(study, location):
    with local_client(study, location) as (_, store):
        return [trial for row in store.sessions(study) for trial in trials_of(store, row["session"])]


def test_the_command_runs_a_session_and_reports_its_completion(command, small):
    done = command()
    assert (done.exit_code, done.stderr) == (0, "")
    assert "\nP01 completed the session.\nPsychoPy's table: " in done.stdout


@pytest.mark.parametrize(
    ("options", "participant", "sentence"),
    [
        (["--group", "59"], "P01", "this group does not exist"),
        ([], "", "participant"),
        ([], "P 01 ", "Fix: use printable characters only, and no space at its start or end"),
    ],
)
def test_an_ineligible_participant_is_refused_before_the_window_opens(command, options, participant, sentence):
    refused = command(*options, participant=participant)
    assert refused.exit_code == 2 and not refused.was_opened
    assert sentence in refused.stderr and "Traceback" not in refused.stderr


def test_without_a_free_slot_the_window_does_not_open(command, small, edit):
    edit(small / "study.yaml", "\ntimeline:", "\nrecruitment:\n  quota: 1\ntimeline:")
    command(person=leaving_at(3, ["2"]))
    refused = command(participant="P02")
    assert refused.exit_code == 2 and not refused.was_opened
    assert "no free slot for participant P02" in refused.stderr


def test_a_completed_session_is_refused_before_the_window_opens(command):
    assert command().exit_code == 0
    refused = command()
    assert refused.exit_code == 2 and not refused.was_opened
    assert "Fix: if this is another person, use another code" in refused.stderr


@pytest.mark.parametrize(
    ("earlier", "participant", "options", "notice"),
    [
        ("P05", "p05", [], "Check the code: p05 is new, but the store has P05."),
        ("P05", "P5", [], "Check the code: P5 is new, but the store has P05."),
        ("P05", "P-05", [], "Check the code: P-05 is new, but the store has P05."),
        ("P05", "P50", [], None),
        ("P05", "P05", ["--session", "2"], None),
        ("P05", "P77", ["--session", "2"], "Check the code: P77 has no session 1, and this will be session 2."),
    ],
)
def test_a_code_that_looks_mistyped_causes_a_warning_only(command, earlier, participant, options, notice):
    assert command(participant=earlier).exit_code == 0
    visit = command(*options, participant=participant)
    assert visit.exit_code == 0
    assert visit.stderr == (f"{notice}\n" if notice else "")


def test_an_excluded_session_is_not_resumed_and_the_window_does_not_open(command, small):
    command(person=leaving_at(3, ["2"]))
    done = CliRunner().invoke(main, ["exclude", str(small), "--participant", "P01", "--reason", "wrong code"])
    assert done.exit_code == 0, done.output
    refused = command()
    assert refused.exit_code == 2 and not refused.was_opened
    assert "session 1 of P01 is excluded (wrong code). Fix: if this is another person, use another code" in (
        refused.stderr
    )
    undo = re.search(r"`equipoise (.*?) REASON --undo`", refused.stderr).group(1)
    assert CliRunner().invoke(main, [*undo.split(), "found again", "--undo"]).exit_code == 0
    assert "P01 completed the session." in command().stdout


@pytest.mark.parametrize(("typed", "begins"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_a_code_that_looks_mistyped_can_be_corrected(command, monkeypatch, typed, begins):
    assert command(participant="P05").exit_code == 0
    visit = command(participant="p05", typed=typed)
    assert visit.was_opened == begins, "the question comes before the full screen"
    assert "Check the code: p05 is new, but the store has P05." in visit.stderr
    if not begins:
        assert visit.exit_code == 2
        assert "no session has begun. Fix: run the command with the right code and session number." in visit.stderr


def test_an_error_during_a_trial_begins_a_line_of_the_terminal(command):
    def person(display):
        if len(display.trials) == 3:
            raise InputError("The response box was disconnected. Fix: check the cable.")
        return careful(display)

    stopped = command(person=person, typed="")
    assert stopped.exit_code == 2 and "Trial 3 of " in stopped.stderr
    assert "\nError: The response box was disconnected. Fix: check the cable." in stopped.stderr


def test_a_server_with_another_version_is_refused_before_the_window_opens(command, server, small, edit):
    with server() as (_, store):
        edit(small / "study.yaml", 'version: "1.0"', 'version: "1.1"')
        refused = command(*SERVER)
        assert refused.exit_code == 2 and not refused.was_opened, "nobody consents to a session that cannot begin"
        assert "differs from the server's study" in refused.stderr
        assert "Fix: use the same study folder on both machines." in refused.stderr
        assert store.sessions(load_study(small)) == []


def test_the_command_writes_no_token_file(command, small):
    command()
    assert sorted(path.name for path in (small / "data").iterdir() if path.is_file()) == ["equipoise.db"]


def test_a_withdrawal_without_network_is_uploaded_with_the_next_visit(command, server, small, tmp_path):
    study = load_study(small)
    with server() as (there, _):
        network = there._client._transport

        def person(display):
            if len(display.trials) == 3:
                network.n_left = 0
            return leaves(display)

        leaves = leaving_at(3, WITHDRAW)
        cut_off = command(*SERVER, person=person)
    assert cut_off.exit_code == 1
    assert "The responses on the server are NOT deleted yet" in cut_off.stderr
    assert "Everything is stored on this machine" not in cut_off.stdout
    assert {trial["status"] for trial in answered(study, other_store(tmp_path))} == {"active"}
    with server():
        assert command(*SERVER, participant="P02").exit_code == 0
    trials = answered(study, other_store(tmp_path))
    assert {trial["status"] for trial in trials} == {"withdrawn", "completed"}
    assert all(trial["response"] is None for trial in trials if trial["status"] == "withdrawn")


def test_without_network_the_upload_of_withdrawals_stops_after_one_attempt(command, server, monkeypatch):
    for participant in ("P01", "P02", "P03"):
        command(participant=participant, person=leaving_at(3, WITHDRAW))
    command(participant="P04", person=leaving_at(3, ["2"]))
    with server(n_requests=0) as (there, _):
        start, asked = there.start, []
        monkeypatch.setattr(there, "start", lambda body: (asked.append(body.participant), start(body))[1])
        visit = command(*SERVER, participant="P04")
    assert "P04 completed the session." in visit.stdout
    assert visit.exit_code == 1 and "who withdrew (the cable is out)" in visit.stderr
    assert [participant for participant in asked if participant != "P04"] == ["P01"]


def test_each_response_is_uploaded_once_and_the_plan_is_not_fetched_again(command, server, monkeypatch):
    with server() as (there, _):
        asked = []
        there._client.event_hooks["request"].append(
            lambda request: asked.append((request.method, request.url.path, request.content))
        )
        assert command(*SERVER).exit_code == 0
    begun = [path for method, path, _ in asked if (method, path) == ("POST", "/api/lab/session")]
    assert len(begun) == 2, "one request reserves the slot, and one opens the session for the upload"
    answers = [content for _, path, content in asked if path == "/api/responses"]
    assert len(set(answers)) == len(answers)


def test_an_unexpected_upload_error_is_reported_and_ends_no_session(command, server, monkeypatch):
    def fail(*_):
        raise RuntimeError("an unexpected error")

    with server() as (there, _):
        monkeypatch.setattr(there, "respond", fail)
        visit = command(*SERVER)
    assert visit.exit_code == 0
    assert "The upload is not complete (an unexpected error). Everything is stored on this machine." in visit.stdout


def test_on_a_terminal_the_experimenter_sees_each_trial_as_it_begins(command):
    result = command(typed="")
    assert result.exit_code == 0
    lines = [line for line in result.stderr.split("\r") if line.startswith("Trial ")]
    n_trials = int(re.search(r"of (\d+)", lines[0])[1])
    assert [int(re.match(r"Trial (\d+) of", line)[1]) for line in lines] == list(range(1, n_trials + 1))
    assert lines[0].startswith(f"Trial 1 of {n_trials} (practice, item practice-1).")
    assert "Trial" not in command(participant="P02").stderr, "not in the log of a script"


def test_two_sizes_of_the_window_are_refused(command):
    refused = command("--windowed", "--window", "800", "600")
    assert refused.exit_code == 2 and not refused.was_opened
    assert "--window and --windowed: both name a size. Fix: omit one of them." in refused.stderr
