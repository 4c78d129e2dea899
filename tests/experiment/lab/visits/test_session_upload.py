"""States of a running session's upload."""

import threading
from contextlib import contextmanager

import pytest

from equipoise.commands.lab import session_upload
from equipoise.commands.lab.session_upload import SessionUpload, UploadEvent, UploadState

SHORT_S = 0.01
LONG_S = 60
N_TIME_OUTS = 20
PATIENCE_S = 10


class FakeStore:
    """A store of one session; counts how often the session is read."""

    def __init__(self):
        self.n_reads = 0
        self.was_read = threading.Condition()

    @contextmanager
    def snapshot(self):
        with self.was_read:
            self.n_reads += 1
            self.was_read.notify()
        yield self.n_reads

    def wait_for_reads(self, n_reads):
        with self.was_read:
            return self.was_read.wait_for(lambda: self.n_reads >= n_reads, PATIENCE_S)


@pytest.fixture
def make_upload(monkeypatch):
    """Return a function that makes an upload of a session whose uploads fail as often as wanted."""

    def make(retry_s, n_failing=0):
        store = FakeStore()

        def upload(_study, record, *_server):
            if record <= n_failing:
                raise ConnectionError("the cable is out")

        monkeypatch.setattr(session_upload, "RETRY_S", retry_s)
        monkeypatch.setattr(session_upload, "lab_session_record", lambda read, _session: read)
        monkeypatch.setattr(session_upload, "upload_session", upload)
        monkeypatch.setattr(session_upload, "_upload_changes", lambda record, _before, server: upload(None, record))
        return SessionUpload(None, store, "0123456789abcdef", None), store

    return make


def test_a_synced_session_is_not_read_again_without_a_change(make_upload):
    upload, store = make_upload(SHORT_S)
    upload.start()
    assert store.wait_for_reads(1)
    threading.Event().wait(N_TIME_OUTS * SHORT_S)
    assert store.n_reads == 1
    upload.close()
    assert upload.wait()


def test_a_failed_upload_is_retried_after_the_time_out_without_a_change(make_upload):
    upload, store = make_upload(SHORT_S, n_failing=2)
    upload.start()
    assert store.wait_for_reads(3)
    upload.close()
    assert upload.wait() and upload.problem is None


def test_a_change_is_uploaded_at_once_after_a_failed_upload(make_upload):
    upload, store = make_upload(LONG_S, n_failing=1)
    upload.start()
    assert store.wait_for_reads(1)
    upload.changed()
    assert store.wait_for_reads(2)
    upload.close()
    assert upload.wait()


def test_a_failed_upload_is_tried_once_more_at_the_end(make_upload):
    upload, store = make_upload(LONG_S, n_failing=2)
    upload.upload()
    upload.start()
    upload.close()
    assert not upload.wait()
    assert store.n_reads == 2 and upload.problem == "the cable is out"


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ("", UploadState.PENDING),
        ("BEGIN", UploadState.UPLOADING),
        ("BEGIN SUCCESS", UploadState.SYNCED),
        ("BEGIN FAILURE", UploadState.FAILED),
        ("BEGIN FAILURE TIME_OUT", UploadState.PENDING),
        ("BEGIN SUCCESS TIME_OUT", UploadState.SYNCED),
        ("BEGIN CHANGE SUCCESS", UploadState.PENDING),
        ("BEGIN CHANGE FAILURE", UploadState.PENDING),
        ("CLOSE", UploadState.CLOSING),
        ("BEGIN CLOSE SUCCESS", UploadState.CLOSING),
        ("BEGIN CLOSE FAILURE", UploadState.CLOSING),
        ("BEGIN FAILURE CLOSE", UploadState.CLOSING),
        ("BEGIN SUCCESS CLOSE", UploadState.COMPLETE),
        ("CLOSE BEGIN", UploadState.LAST_UPLOAD),
        ("CLOSE BEGIN SUCCESS", UploadState.COMPLETE),
        ("CLOSE BEGIN FAILURE", UploadState.INCOMPLETE),
        ("CLOSE BEGIN CHANGE SUCCESS", UploadState.CLOSING),
        ("CLOSE BEGIN FAILURE TIME_OUT", UploadState.INCOMPLETE),
        ("CLOSE BEGIN SUCCESS CLOSE", UploadState.COMPLETE),
    ],
)
def test_each_event_leads_to_one_state(make_upload, events, state):
    upload, _ = make_upload(LONG_S)
    for name in events.split():
        upload._move(UploadEvent[name])
    assert upload._state is state


@pytest.mark.parametrize("state", UploadState)
def test_every_state_can_be_closed_and_then_ends(make_upload, state):
    upload, _ = make_upload(LONG_S)
    upload._state = state
    for name in ("CLOSE", "BEGIN", "SUCCESS"):
        upload._move(UploadEvent[name])
    assert upload._state in {UploadState.COMPLETE, UploadState.INCOMPLETE}
