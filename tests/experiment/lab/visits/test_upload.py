"""Several laboratories, and a server beside them: sessions are handed on whole, and never twice."""

from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from analysis.data.tidy_table import read_trials
from batteries.errors import InputError
from equipoise.cli.main import main
from equipoise.commands.lab import lab_upload, local_client, remote_client
from experiment.lab.server_client import LabClient
from experiment.lab.session import VisitOutcome
from experiment.load_study import load_study
from experiment.records import Kind
from server.store import Release
from server.store.sql.lab_sessions import trials_of
from tests.experiment.lab.visits.lab_visits import leaving_at, other_store, relaying, rows, sent, server_elsewhere


def test_what_was_withdrawn_where_it_was_handed_on_to_is_deleted_here_too(lab, small, tmp_path):
    study = load_study(small)
    leaves, stays = lab(study, participant="P01"), lab(study, participant="P02")
    into = other_store(tmp_path)
    sent(study, into)
    with local_client(study, into) as (_, store):
        store.withdraw_session(leaves.session.session)
    result = CliRunner().invoke(main, ["lab", "upload", str(small), "--into", into])
    assert "Withdrawn there, and deleted here too: 1." in result.stdout
    trials = read_trials(study.store_path)
    assert set(trials[trials["response"].notna()]["session"]) == {stays.session.session}
    assert stays.table.exists() and not leaves.table.exists()
    assert "Withdrawn" not in CliRunner().invoke(main, ["lab", "upload", str(small), "--into", into]).stdout


def test_sessions_that_begun_with_another_version_are_told_of_and_not_shown_other_items(lab, small, edit, tmp_path):
    lab(load_study(small), leaving_at(3, ["2"]))
    edit(small / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    newer = load_study(small)
    with pytest.raises(InputError, match=r"begun session 1 with version 1\.0"):
        lab(newer)
    lab(newer, session_number=2)
    result = CliRunner().invoke(main, ["lab", "upload", str(small), "--into", other_store(tmp_path)])
    assert result.exit_code == 0
    assert "Uploaded laboratory sessions: 1;" in result.stdout
    assert result.stderr.endswith(
        "Sessions of version 1.0, not uploaded: 1. Fix: upload them from the folder of that version.\n"
    )


def test_two_laboratories_with_the_same_codes_are_told_and_can_be_told_apart(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study, store=into)
    lab(study)
    send = ["lab", "upload", str(small), "--into", into]
    refused = CliRunner().invoke(main, send)
    assert refused.exit_code == 1 and "another session 1 of a participant P01" in refused.stderr
    for _ in range(2):
        assert CliRunner().invoke(main, [*send, "--prefix", "B-"]).exit_code == 0
    with local_client(study, into) as (_, store):
        assert sorted(one["external_id"] for one in store.identities(study)) == ["B-P01", "P01"]


def test_a_store_is_not_handed_on_to_itself(lab, small):
    study = load_study(small)
    lab(study)
    with pytest.raises(InputError, match="this is the store where the sessions are"):
        lab_upload(study, into=str(study.store_path))


def test_answers_that_were_given_elsewhere_in_place_of_ours_are_told_of(lab, small, tmp_path):
    """Two machines that went on with one session while the network was cut."""
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]))
    assert sent(study, into) == (1, 2)
    lab(study, store=into)
    lab(study)
    told = lab_upload(study, into=into)
    assert told.n_new == 0 and len(told.refused) == 1


def test_a_session_that_went_on_at_another_machine_is_not_gone_on_with_here(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]))
    sent(study, into)
    lab(study, leaving_at(3, ["2"]), store=into)
    with (
        server_elsewhere(study, into) as (there, _),
        pytest.raises(InputError, match="another machine has this session"),
    ):
        lab(study, wrap=relaying(study, there)[0])


def test_a_session_that_was_begun_goes_on_whatever_the_server_says(lab, small, edit, tmp_path):
    edit(small / "study.yaml", "\ntimeline:", "\nrecruitment:\n  quota: 1\ntimeline:")
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]), participant="P01")
    lab(study, leaving_at(3, ["2"]), participant="P02", store=into)  # takes the server's only place
    with server_elsewhere(study, into) as (there, elsewhere):
        wrap, relays = relaying(study, there)
        assert lab(study, wrap=wrap).outcome is VisitOutcome.COMPLETED
        assert relays[-1].finish()
        assert sorted(row["status"] for row in elsewhere.sessions(study)) == ["active", "completed"]


def test_a_place_that_the_server_has_is_there_though_none_is_left_here(lab, small, edit, tmp_path):
    edit(small / "study.yaml", "\ntimeline:", "\nrecruitment:\n  quota: 1\ntimeline:")
    study, into = load_study(small), other_store(tmp_path)
    with server_elsewhere(study, into) as (there, elsewhere):
        wrap, relays = relaying(study, there)
        left = lab(study, leaving_at(3, ["2"]), participant="P01", wrap=wrap)
        with pytest.raises(InputError, match="no free slot for participant P02"):
            lab(study, participant="P02", wrap=wrap)
        elsewhere.release_slot(left.session.session, Release.RETURN)
        assert lab(study, participant="P02", wrap=wrap).outcome is VisitOutcome.COMPLETED
        assert all(relay.finish() for relay in relays)


def test_who_began_again_without_the_server_goes_on_with_it_and_both_sessions_are_handed_on(lab, small, edit, tmp_path):
    edit(small / "study.yaml", "\ntimeline:", "\nresume: {max_reloads: 0, otherwise: restart}\ntimeline:")
    study, into = load_study(small), other_store(tmp_path)
    with server_elsewhere(study, into) as (there, elsewhere):
        wrap, relays = relaying(study, there)
        first = lab(study, leaving_at(3, ["2"]), wrap=wrap)
        assert relays[-1].finish()
        second = lab(study, leaving_at(2, ["2"]))
        assert first.session.session != second.session.session
        lab(study, wrap=wrap)
        assert relays[-1].finish(), relays[-1].problem
    told = lab_upload(study, into=into)
    assert told.refused == ()
    with local_client(study, None) as (_, here), local_client(study, into) as (_, elsewhere):
        for store in (here, elsewhere):
            assert len(store.sessions(study)) == 3
        assert {row["session"] for row in here.sessions(study)} == {row["session"] for row in elsewhere.sessions(study)}


def test_what_was_not_handed_on_at_the_end_is_by_the_same_command(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study)
    with server_elsewhere(study, into) as (there, elsewhere):
        with pytest.raises(InputError, match="has completed session 1"):
            lab(study, wrap=relaying(study, there)[0])
        assert {row["status"] for row in elsewhere.sessions(study)} == {"completed"}


def test_a_login_page_in_place_of_the_server_is_told_of(small):
    page = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>Please log in</html>"))
    lab_client = LabClient(httpx.Client(transport=page, base_url="https://study.example.org"), "token")
    with pytest.raises(InputError, match=r"study\.example\.org is not an Equipoise server"):
        lab_client.find("P01", 1)


def test_sessions_are_handed_on_to_another_store_whole_and_never_twice(lab, small, tmp_path):
    study = load_study(small)
    done = lab(study, participant="P01", group=5)
    lab(study, leaving_at(4, ["2"]), participant="P02")
    lab(study, leaving_at(4, ["3", "2"]), participant="P03")
    lab(study, kind=Kind.SIMULATED)
    into = other_store(tmp_path)
    n_trials = len(rows(study, done.session))
    assert sent(study, into) == (3, n_trials + 3)
    assert sent(study, into) == (3, 0)
    with local_client(study, into) as (_, store):
        there = trials_of(store, done.session.session)
        sessions = {row["session"]: row["status"] for row in store.sessions(study)}
    here = rows(study, done.session)
    same = set(here[0]) - {"received_at"}
    assert [{name: row[name] for name in same} for row in there] == [{name: row[name] for name in same} for row in here]
    assert sorted(sessions.values()) == ["active", "completed", "withdrawn"]
    gone_on = lab(study, participant="P02")
    assert sent(study, into) == (3, len(rows(study, gone_on.session)) - 3)
    with local_client(study, into) as (_, store):
        assert {row["status"] for row in store.sessions(study)} == {"completed", "withdrawn"}


def test_two_laboratories_without_a_connection_come_together_in_one_store(lab, small, tmp_path):
    study = load_study(small)
    stores = [str(tmp_path / f"lab-{name}.db") for name in "ab"]
    for store, participant in zip(stores, ("A01", "B01"), strict=True):
        lab(study, participant=participant, store=store)
    for store in stores:
        lab_upload(study, into=str(study.store_path), store=store)
    trials = read_trials(study.store_path)
    assert trials["participant"].nunique() == trials["session"].nunique() == 2
    assert (trials["status"] == "completed").all()


def test_with_a_server_the_place_is_the_servers_and_all_is_there_at_the_end(lab, small, tmp_path):
    study = load_study(small)
    into = other_store(tmp_path)
    for participant in ("W01", "W02"):
        lab(study, participant=participant, store=into)
    with server_elsewhere(study, into) as (there, elsewhere):
        wrap, relays = relaying(study, there)
        visit = lab(study, wrap=wrap)
        assert relays[-1].finish()
        assert (visit.session.group, visit.session.seed) == (1, 3), "two were begun at the server, and failed the check"
        assert [t["response"] for t in trials_of(elsewhere, visit.session.session)] == [
            t["response"] for t in rows(study, visit.session)
        ]
        assert {row["status"] for row in elsewhere.sessions(study)} == {"completed"}


def test_when_the_network_is_cut_the_session_goes_on_and_is_handed_on_later(lab, small, tmp_path, monkeypatch):
    study = load_study(small)
    into = other_store(tmp_path)
    with server_elsewhere(study, into, n_requests=6) as (there, elsewhere):
        wrap, relays = relaying(study, there)
        visit = lab(study, wrap=wrap)
        assert visit.outcome is VisitOutcome.COMPLETED
        assert not relays[-1].finish()
        assert relays[-1].problem == "the cable is out"
        n_waiting = sum(t["received_at"] is None for t in trials_of(elsewhere, visit.session.session))
    assert n_waiting > 0 and sent(study, into)[1] == n_waiting
    with local_client(study, into) as (_, elsewhere):
        assert {row["status"] for row in elsewhere.sessions(study)} == {"completed"}


def test_a_server_that_cannot_be_reached_begins_nothing(lab, small, tmp_path):
    study = load_study(small)
    with (
        server_elsewhere(study, other_store(tmp_path), n_requests=0) as (there, _),
        pytest.raises(InputError, match=r"cannot be reached .* no session was begun"),
    ):
        lab(study, wrap=relaying(study, there)[0])
    with local_client(study, None) as (_, store):
        assert store.sessions(study) == []


def test_a_session_that_is_refused_does_not_keep_the_others_back(lab, small, tmp_path):
    study = load_study(small)
    into = other_store(tmp_path)
    lab(study, leaving_at(3, ["3", "2"]), participant="P01", store=into)
    for participant in ("P01", "P02"):
        lab(study, participant=participant)
    uploaded = lab_upload(study, into=into)
    assert uploaded.n_sessions == 1 and len(uploaded.refused) == 1
    assert uploaded.refused[0].startswith("P01, session 1: ")
    assert lab_upload(study, into=into).n_new == 0


def test_sessions_whose_codes_were_deleted_are_told_of_and_not_passed_over_in_silence(lab, small, tmp_path):
    study = load_study(small)
    lab(study, participant="P01")
    CliRunner().invoke(main, ["identities", "delete", str(small), "--participant", "P01"])
    lab(study, participant="P02")
    lab(study, kind=Kind.SIMULATED)
    told = CliRunner().invoke(main, ["lab", "upload", str(small), "--into", other_store(tmp_path)])
    assert told.exit_code == 0 and "Uploaded laboratory sessions: 1;" in told.stdout
    assert "which was deleted here, not uploaded: 1." in told.stderr


def test_handing_on_needs_one_place_to_go_to(lab, small, tmp_path):
    for arguments in ([], ["--server", "http://127.0.0.1:9", "--into", "other.db"]):
        result = CliRunner().invoke(main, ["lab", "upload", str(small), *arguments])
        assert result.exit_code == 2 and "with --server or with --into" in result.stderr
    study = load_study(small)
    lab(study)
    into = other_store(tmp_path)
    result = CliRunner().invoke(main, ["lab", "upload", str(small), "--into", into])
    assert result.exit_code == 0
    assert result.stdout == f"Uploaded laboratory sessions: 1; new responses: {len(read_trials(Path(into)))}.\n"


def test_a_server_that_is_not_there_or_whose_token_is_not_known_is_told_of(lab, small, monkeypatch):
    lab(load_study(small))
    send = ["lab", "upload", str(small), "--server", "http://127.0.0.1:9"]
    monkeypatch.delenv("EQUIPOISE_RESEARCHER_TOKEN", raising=False)
    assert "set the environment variable EQUIPOISE_RESEARCHER_TOKEN" in CliRunner().invoke(main, send).stderr
    monkeypatch.setenv("EQUIPOISE_RESEARCHER_TOKEN", "token")
    assert "cannot be reached" in CliRunner().invoke(main, send).stderr


@pytest.mark.parametrize(
    ("server", "sentence"),
    [
        ("http://study.example.org", "others on the network could read the researcher's token"),
        ("http://192.168.1.5:8000", "others on the network could read the researcher's token"),
        ("study.example.org", "not a server's address. Fix: write https://"),
        ("ftp://localhost", "not a server's address. Fix: write https://"),
        ("http://", "not a server's address. Fix: write https://"),
        ("http://localhost:port", "not a server's address. Fix: write https://"),
    ],
)
def test_the_researchers_token_goes_nowhere_unencrypted(monkeypatch, server, sentence):
    monkeypatch.setenv("EQUIPOISE_RESEARCHER_TOKEN", "token")
    with pytest.raises(InputError, match=sentence), remote_client(server):
        pass


def test_sessions_that_began_before_a_revision_are_handed_on_after_it(lab, small, edit, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    first = lab(study, participant="P01")
    sent(study, into)
    second = lab(study, participant="P02")
    edit(small / "study.yaml", "title: ", "title: New ")
    send = ["lab", "upload", str(small), "--into", into]
    refused = CliRunner().invoke(main, send)
    assert refused.exit_code == 2 and "only the wording of `title` changed since" in refused.stderr
    for store in ([], ["--store", into]):
        accepted = CliRunner().invoke(main, ["revise", str(small), "--reason", "clearer", *store])
        assert accepted.exit_code == 0, accepted.output
    third = lab(load_study(small), participant="P03")
    excluded = CliRunner().invoke(main, ["exclude", str(small), "--participant", "P02", "--reason", "fire alarm"])
    assert excluded.exit_code == 0, excluded.output
    result = CliRunner().invoke(main, send)
    assert result.exit_code == 0, result.output
    assert f"Excluded here, but not there: {second.session.session}." in result.stderr
    with local_client(load_study(small), into) as (_, store):
        revisions = {row["session"]: row["study_revision"] for row in store.sessions(study)}
    assert [revisions[one.session.session] for one in (first, second, third)] == [1, 1, 2]
