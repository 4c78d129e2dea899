"""`equipoise lab STUDY` from the command to its last word; only the window and the network are not there."""

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from equipoise.cli.main import main
from equipoise.commands import lab
from equipoise.commands.lab import local_client
from experiment.lab.screens.layout.sheet import Sheet
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import (
    SIZE_PX,
    FakeDisplay,
    careful,
    leaving_at,
    other_store,
    server_elsewhere,
    trials_of,
)

SERVER = ["--server", "https://study.example.org"]


@pytest.fixture
def command(monkeypatch, small):
    """Return a function that gives the command; with a server if there is one."""

    def give(*options, person=careful, participant="P01"):
        stages = []

        @contextmanager
        def open_display(study, *_setup):
            stages.append(FakeDisplay(person))
            yield stages[-1], Sheet.of(study, SIZE_PX)

        monkeypatch.setattr(lab, "require_psychopy", lambda: None)
        monkeypatch.setitem(sys.modules, "experiment.lab.psychopy_display", SimpleNamespace(open_display=open_display))
        result = CliRunner().invoke(main, ["lab", str(small), "--participant", participant, *options])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        return SimpleNamespace(
            exit_code=result.exit_code, stdout=result.stdout, stderr=result.stderr, was_opened=bool(stages)
        )

    return give


@pytest.fixture
def server(monkeypatch, small, tmp_path):
    """Return what lends the command a server, whose network is cut after so many requests."""

    @contextmanager
    def lend(n_requests=10**9):
        with server_elsewhere(load_study(small), other_store(tmp_path), n_requests) as (there, store):

            @contextmanager
            def remote_client(_address):
                yield there

            monkeypatch.setattr(lab, "remote_client", remote_client)
            yield there, store

    return lend


def answered(study, location):
    with local_client(study, location) as (_, store):
        return [trial for row in store.sessions(study) for trial in trials_of(store, row["session"])]


def test_a_session_is_run_to_its_end_and_said_to_be(command, small):
    done = command()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("P01 completed the session.\nPsychoPy's table: ")


@pytest.mark.parametrize(
    ("options", "participant", "sentence"),
    [
        (["--group", "59"], "P01", "this group does not exist"),
        ([], "", "participant"),
        ([], "P 01 ", "no space at its start or end"),
    ],
)
def test_who_cannot_begin_is_refused_before_the_window_opens(command, options, participant, sentence):
    refused = command(*options, participant=participant)
    assert refused.exit_code == 2 and not refused.was_opened
    assert sentence in refused.stderr and "Traceback" not in refused.stderr


def test_where_there_is_no_place_the_window_does_not_open(command, small, edit):
    edit(small / "study.yaml", "\ntimeline:", "\nrecruitment:\n  quota: 1\ntimeline:")
    command(person=leaving_at(3, ["2"]))
    refused = command(participant="P02")
    assert refused.exit_code == 2 and not refused.was_opened
    assert "no free slot for participant P02" in refused.stderr


def test_a_code_that_has_had_the_session_is_refused_before_the_window_opens(command):
    assert command().exit_code == 0
    refused = command()
    assert refused.exit_code == 2 and not refused.was_opened
    assert "Fix: if this is another person, use another code" in refused.stderr


@pytest.mark.parametrize(
    ("earlier", "participant", "options", "notice"),
    [
        ("P05", "p05", [], "Check the code: p05 is new here, but there is P05."),
        ("P05", "P5", [], "Check the code: P5 is new here, but there is P05."),
        ("P05", "P-05", [], "Check the code: P-05 is new here, but there is P05."),
        ("P05", "P50", [], None),
        ("P05", "P05", ["--session", "2"], None),
        ("P05", "P77", ["--session", "2"], "Check the code: P77 has no session 1 here, and this will be session 2."),
    ],
)
def test_what_looks_like_a_slip_in_a_code_is_told_of_and_stops_nobody(command, earlier, participant, options, notice):
    assert command(participant=earlier).exit_code == 0
    visit = command(*options, participant=participant)
    assert visit.exit_code == 0
    assert visit.stderr == (f"{notice}\n" if notice else "")


def test_no_token_is_made_that_could_be_taken_for_the_servers(command, small):
    command()
    assert sorted(path.name for path in (small / "data").iterdir() if path.is_file()) == ["equipoise.db"]


def test_who_withdraws_while_the_network_is_cut_is_deleted_at_the_server_with_the_next_visit(
    command, server, small, tmp_path
):
    study = load_study(small)
    with server() as (there, _):
        network = there._client._transport

        def person(display):
            if len(display.trials) == 3:
                network.n_left = 0
            return leaves(display)

        leaves = leaving_at(3, ["3", "2"])
        cut_off = command(*SERVER, person=person)
    assert cut_off.exit_code == 1
    assert "The responses on the server are NOT deleted yet" in cut_off.stderr
    assert "everything is stored here" not in cut_off.stdout
    assert {trial["status"] for trial in answered(study, other_store(tmp_path))} == {"active"}
    with server():
        assert command(*SERVER, participant="P02").exit_code == 0
    trials = answered(study, other_store(tmp_path))
    assert {trial["status"] for trial in trials} == {"withdrawn", "completed"}
    assert all(trial["response"] is None for trial in trials if trial["status"] == "withdrawn")


def test_with_the_network_cut_nobody_waits_for_it_once_for_each_who_has_withdrawn(command, server, monkeypatch):
    for participant in ("P01", "P02", "P03"):
        command(participant=participant, person=leaving_at(3, ["3", "2"]))
    command(participant="P04", person=leaving_at(3, ["2"]))
    with server(n_requests=0) as (there, _):
        start, asked = there.start, []
        monkeypatch.setattr(there, "start", lambda body: (asked.append(body.participant), start(body))[1])
        goes_on = command(*SERVER, participant="P04")
    assert goes_on.stdout.startswith("P04 completed the session.")
    assert goes_on.exit_code == 1 and "who withdrew (the cable is out)" in goes_on.stderr
    assert [participant for participant in asked if participant != "P04"] == ["P01"]


def test_each_answer_goes_to_the_server_once_and_the_plan_does_not_come_back_with_it(command, server, monkeypatch):
    with server() as (there, _):
        asked = []
        there._client.event_hooks["request"].append(
            lambda request: asked.append((request.method, request.url.path, request.content))
        )
        assert command(*SERVER).exit_code == 0
    begun = [path for method, path, _ in asked if (method, path) == ("POST", "/api/lab/session")]
    assert len(begun) == 2, "a place is taken, and the session is opened to be handed on"
    answers = [content for _, path, content in asked if path == "/api/responses"]
    assert len(set(answers)) == len(answers)


def test_what_goes_wrong_on_the_way_to_the_server_is_told_and_ends_no_session(command, server, monkeypatch):
    def fail(*_):
        raise RuntimeError("something nobody thought of")

    with server() as (there, _):
        monkeypatch.setattr(there, "respond", fail)
        visit = command(*SERVER)
    assert visit.exit_code == 0
    assert "The upload is not complete (something nobody thought of); everything is stored here." in visit.stdout
