"""Upload from several laboratories to a server: sessions arrive complete, and are stored once."""

from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from analysis.data.tidy_table import read_trials
from batteries.errors import InputError
from equipoise.cli.main import main
from equipoise.commands.lab.clients import local_client, remote_client
from equipoise.commands.lab.upload import lab_upload
from experiment.lab.server_client import LabClient
from experiment.lab.visitor import VisitOutcome
from experiment.lab_api import OpenSession, SlotReply
from experiment.load_study import load_study
from experiment.records import Kind
from server.store import Release
from server.store.sql.lab_sessions import trials_of
from tests.experiment.lab.visits.lab_visits import (
    WITHDRAW,
    leaving_at,
    other_server,
    other_store,
    rows,
    syncing_with,
    upload_all_to,
)


def test_a_withdrawal_on_the_target_of_an_upload_is_applied_in_the_laboratory_too(lab, small, tmp_path):
    study = load_study(small)
    leaves, stays = lab(study, participant="P01"), lab(study, participant="P02")
    into = other_store(tmp_path)
    upload_all_to(study, into)
    with local_client(study, into) as (_, store):
        store.withdraw_session(leaves.session.session)
    result = CliRunner().invoke(main, ["lab", "upload", str(small), "--into", into])
    assert "Sessions withdrawn on the server, and now deleted on this machine too: 1." in result.stdout
    trials = read_trials(study.store_path)
    assert set(trials[trials["response"].notna()]["session"]) == {stays.session.session}
    assert stays.table.exists() and not leaves.table.exists()
    assert "Withdrawn" not in CliRunner().invoke(main, ["lab", "upload", str(small), "--into", into]).stdout


def test_sessions_of_another_version_are_reported_and_not_resumed(lab, small, edit, tmp_path):
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
        "Sessions of version 1.0 that were not uploaded: 1. "
        "Fix: upload these sessions from the folder of version 1.0.\n"
    )


def test_duplicate_codes_of_two_laboratories_are_refused_unless_prefixed(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study, store=into)
    lab(study)
    upload = ["lab", "upload", str(small), "--into", into]
    refused = CliRunner().invoke(main, upload)
    assert refused.exit_code == 1 and "another session with the number 1 of participant P01" in refused.stderr
    for _ in range(2):
        assert CliRunner().invoke(main, [*upload, "--prefix", "B-"]).exit_code == 0
    with local_client(study, into) as (_, store):
        assert sorted(one["external_id"] for one in store.identities(study)) == ["B-P01", "P01"]


def test_a_reply_of_an_older_server_is_understood(lab, small):
    """An older server does not know the numbers on the page about deletion."""
    reply = lab(load_study(small)).session.model_dump(mode="json")
    older = {name: value for name, value in reply.items() if name not in {"n_answers", "n_other_sessions"}}
    assert OpenSession.model_validate(older).session == reply["session"]
    assert SlotReply.model_validate({}).study_digest is None


def test_a_store_is_not_uploaded_to_itself(lab, small):
    study = load_study(small)
    lab(study)
    with pytest.raises(InputError, match="this is the store whose sessions are uploaded"):
        lab_upload(study, into=str(study.store_path))


def test_other_responses_to_the_same_trials_are_refused(lab, small, tmp_path):
    """Two machines that continued one session while the network was cut."""
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]))
    assert upload_all_to(study, into) == (1, 2)
    lab(study, store=into)
    lab(study)
    result = lab_upload(study, into=into)
    assert result.n_new == 0 and len(result.refused) == 1


def test_a_session_that_continued_on_another_machine_is_not_resumed(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]))
    upload_all_to(study, into)
    lab(study, leaving_at(3, ["2"]), store=into)
    with (
        other_server(study, into) as (server_client, _),
        pytest.raises(InputError, match="another machine has this session"),
    ):
        lab(study, wrap=syncing_with(study, server_client)[0])


def test_a_session_that_has_begun_resumes_without_a_slot_on_the_server(lab, small, edit, tmp_path):
    edit(small / "study.yaml", "\ntimeline:", "\nrecruitment:\n  quota: 1\ntimeline:")
    study, into = load_study(small), other_store(tmp_path)
    lab(study, leaving_at(3, ["2"]), participant="P01")
    lab(study, leaving_at(3, ["2"]), participant="P02", store=into)  # Reserves the server's only slot.
    with other_server(study, into) as (server_client, server_store):
        wrap, clients = syncing_with(study, server_client)
        assert lab(study, wrap=wrap).outcome is VisitOutcome.COMPLETED
        assert clients[-1].finish()
        assert sorted(row["status"] for row in server_store.sessions(study)) == ["active", "completed"]


def test_only_the_servers_slots_count(lab, small, edit, tmp_path):
    edit(small / "study.yaml", "\ntimeline:", "\nrecruitment:\n  quota: 1\ntimeline:")
    study, into = load_study(small), other_store(tmp_path)
    with other_server(study, into) as (server_client, server_store):
        wrap, clients = syncing_with(study, server_client)
        left = lab(study, leaving_at(3, ["2"]), participant="P01", wrap=wrap)
        with pytest.raises(InputError, match="no free slot for participant P02"):
            lab(study, participant="P02", wrap=wrap)
        server_store.release_slot(left.session.session, Release.RETURN)
        assert lab(study, participant="P02", wrap=wrap).outcome is VisitOutcome.COMPLETED
        assert all(client.finish() for client in clients)


def test_a_restart_without_the_server_is_uploaded_with_the_first_session(lab, small, edit, tmp_path):
    edit(small / "study.yaml", "\ntimeline:", "\nresume: {max_reloads: 0, otherwise: restart}\ntimeline:")
    study, into = load_study(small), other_store(tmp_path)
    with other_server(study, into) as (server_client, server_store):
        wrap, clients = syncing_with(study, server_client)
        first = lab(study, leaving_at(3, ["2"]), wrap=wrap)
        assert clients[-1].finish()
        second = lab(study, leaving_at(2, ["2"]))
        assert first.session.session != second.session.session
        lab(study, wrap=wrap)
        assert clients[-1].finish(), clients[-1].problem
    result = lab_upload(study, into=into)
    assert result.refused == ()
    with local_client(study, None) as (_, local_store), local_client(study, into) as (_, server_store):
        for store in (local_store, server_store):
            assert len(store.sessions(study)) == 3
        assert {row["session"] for row in local_store.sessions(study)} == {
            row["session"] for row in server_store.sessions(study)
        }


def test_running_the_command_again_completes_an_interrupted_upload(lab, small, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    lab(study)
    with other_server(study, into) as (server_client, server_store):
        with pytest.raises(InputError, match="has completed session 1"):
            lab(study, wrap=syncing_with(study, server_client)[0])
        assert {row["status"] for row in server_store.sessions(study)} == {"completed"}


def test_a_login_page_instead_of_the_server_is_reported(small):
    page = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>Please log in</html>"))
    lab_client = LabClient(httpx.Client(transport=page, base_url="https://study.example.org"), "token")
    with pytest.raises(InputError, match=r"study\.example\.org did not reply like an Equipoise server"):
        lab_client.find("P01", 1)


def test_sessions_are_uploaded_completely_and_stored_once(lab, small, tmp_path):
    study = load_study(small)
    done = lab(study, participant="P01", group=5)
    lab(study, leaving_at(4, ["2"]), participant="P02")
    lab(study, leaving_at(4, WITHDRAW), participant="P03")
    lab(study, kind=Kind.SIMULATED)
    into = other_store(tmp_path)
    n_trials = len(rows(study, done.session))
    assert upload_all_to(study, into) == (3, n_trials + 3)
    assert upload_all_to(study, into) == (3, 0)
    with local_client(study, into) as (_, store):
        on_server = trials_of(store, done.session.session)
        sessions = {row["session"]: row["status"] for row in store.sessions(study)}
    local = rows(study, done.session)
    same = set(local[0]) - {"received_at"}
    assert [{name: row[name] for name in same} for row in on_server] == [
        {name: row[name] for name in same} for row in local
    ]
    assert sorted(sessions.values()) == ["active", "completed", "withdrawn"]
    continued = lab(study, participant="P02")
    assert upload_all_to(study, into) == (3, len(rows(study, continued.session)) - 3)
    with local_client(study, into) as (_, store):
        assert {row["status"] for row in store.sessions(study)} == {"completed", "withdrawn"}


def test_sessions_of_two_laboratories_can_be_uploaded_to_one_store(lab, small, tmp_path):
    study = load_study(small)
    stores = [str(tmp_path / f"lab-{name}.db") for name in "ab"]
    for store, participant in zip(stores, ("A01", "B01"), strict=True):
        lab(study, participant=participant, store=store)
    for store in stores:
        lab_upload(study, into=str(study.store_path), store=store)
    trials = read_trials(study.store_path)
    assert trials["participant"].nunique() == trials["session"].nunique() == 2
    assert (trials["status"] == "completed").all()


def test_with_a_server_the_slot_is_the_servers_and_every_response_is_uploaded(lab, small, tmp_path):
    study = load_study(small)
    into = other_store(tmp_path)
    for participant in ("W01", "W02"):
        lab(study, participant=participant, store=into)
    with other_server(study, into) as (server_client, server_store):
        wrap, clients = syncing_with(study, server_client)
        visit = lab(study, wrap=wrap)
        assert clients[-1].finish()
        assert (visit.session.group, visit.session.seed) == (1, 3), "two earlier sessions failed the check"
        assert [t["response"] for t in trials_of(server_store, visit.session.session)] == [
            t["response"] for t in rows(study, visit.session)
        ]
        assert {row["status"] for row in server_store.sessions(study)} == {"completed"}


def test_without_network_a_session_continues_and_is_uploaded_later(lab, small, tmp_path, monkeypatch):
    study = load_study(small)
    into = other_store(tmp_path)
    with other_server(study, into, n_requests=6) as (server_client, server_store):
        wrap, clients = syncing_with(study, server_client)
        visit = lab(study, wrap=wrap)
        assert visit.outcome is VisitOutcome.COMPLETED
        assert not clients[-1].finish()
        assert clients[-1].problem == "the cable is out"
        n_waiting = sum(t["received_at"] is None for t in trials_of(server_store, visit.session.session))
    assert n_waiting > 0 and upload_all_to(study, into)[1] == n_waiting
    with local_client(study, into) as (_, server_store):
        assert {row["status"] for row in server_store.sessions(study)} == {"completed"}


def test_without_the_server_no_session_begins(lab, small, tmp_path):
    study = load_study(small)
    with (
        other_server(study, other_store(tmp_path), n_requests=0) as (server_client, _),
        pytest.raises(InputError, match=r"cannot be reached .* no session has begun"),
    ):
        lab(study, wrap=syncing_with(study, server_client)[0])
    with local_client(study, None) as (_, store):
        assert store.sessions(study) == []


def test_a_refused_session_does_not_stop_the_upload_of_others(lab, small, tmp_path):
    study = load_study(small)
    into = other_store(tmp_path)
    lab(study, leaving_at(3, WITHDRAW), participant="P01", store=into)
    for participant in ("P01", "P02"):
        lab(study, participant=participant)
    uploaded = lab_upload(study, into=into)
    assert uploaded.n_sessions == 1 and len(uploaded.refused) == 1
    assert uploaded.refused[0].startswith("P01, session 1: ")
    assert lab_upload(study, into=into).n_new == 0


def test_sessions_with_deleted_codes_are_reported_and_not_uploaded(lab, small, tmp_path):
    study = load_study(small)
    lab(study, participant="P01")
    CliRunner().invoke(main, ["identities", "delete", str(small), "--participant", "P01"])
    lab(study, participant="P02")
    lab(study, kind=Kind.SIMULATED)
    result = CliRunner().invoke(main, ["lab", "upload", str(small), "--into", other_store(tmp_path)])
    assert result.exit_code == 0 and "Uploaded laboratory sessions: 1;" in result.stdout
    assert "not uploaded, because their participant code was deleted: 1." in result.stderr


def test_an_upload_needs_exactly_one_target(lab, small, tmp_path):
    for arguments in ([], ["--server", "http://127.0.0.1:9", "--into", "other.db"]):
        result = CliRunner().invoke(main, ["lab", "upload", str(small), *arguments])
        assert result.exit_code == 2 and "give either --server or --into" in result.stderr
    study = load_study(small)
    lab(study)
    into = other_store(tmp_path)
    result = CliRunner().invoke(main, ["lab", "upload", str(small), "--into", into])
    assert result.exit_code == 0
    assert result.stdout == f"Uploaded laboratory sessions: 1; new responses: {len(read_trials(Path(into)))}.\n"


def test_an_unreachable_server_and_a_missing_token_are_reported(lab, small, monkeypatch):
    lab(load_study(small))
    upload = ["lab", "upload", str(small), "--server", "http://127.0.0.1:9"]
    monkeypatch.delenv("EQUIPOISE_RESEARCHER_TOKEN", raising=False)
    assert "set the environment variable EQUIPOISE_RESEARCHER_TOKEN" in CliRunner().invoke(main, upload).stderr
    monkeypatch.setenv("EQUIPOISE_RESEARCHER_TOKEN", "token")
    assert "cannot be reached" in CliRunner().invoke(main, upload).stderr


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
def test_the_researchers_token_is_never_sent_unencrypted(monkeypatch, server, sentence):
    monkeypatch.setenv("EQUIPOISE_RESEARCHER_TOKEN", "token")
    with pytest.raises(InputError, match=sentence), remote_client(server):
        pass


def test_sessions_that_began_before_a_revision_are_uploaded_after_it(lab, small, edit, tmp_path):
    study, into = load_study(small), other_store(tmp_path)
    first = lab(study, participant="P01")
    upload_all_to(study, into)
    second = lab(study, participant="P02")
    edit(small / "study.yaml", "title: ", "title: New ")
    upload = ["lab", "upload", str(small), "--into", into]
    refused = CliRunner().invoke(main, upload)
    assert refused.exit_code == 2 and "only the wording of `title` changed after the first session" in refused.stderr
    for store in ([], ["--store", into]):
        accepted = CliRunner().invoke(main, ["revise", str(small), "--reason", "clearer", *store])
        assert accepted.exit_code == 0, accepted.output
    third = lab(load_study(small), participant="P03")
    excluded = CliRunner().invoke(main, ["exclude", str(small), "--participant", "P02", "--reason", "fire alarm"])
    assert excluded.exit_code == 0, excluded.output
    result = CliRunner().invoke(main, upload)
    assert result.exit_code == 0, result.output
    assert f"Sessions that are excluded on this machine: {second.session.session}." in result.stderr
    with local_client(load_study(small), into) as (_, store):
        revisions = {row["session"]: row["study_revision"] for row in store.sessions(study)}
    assert [revisions[one.session.session] for one in (first, second, third)] == [1, 1, 2]
