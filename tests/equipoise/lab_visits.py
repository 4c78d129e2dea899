"""Visits to a laboratory over the server's own application and a real store; only the window is not there."""

import uuid
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace

import httpx

from equipoise.laboratory import local_desk, send_sessions
from experiment.lab.presentation import Onset
from experiment.records import LabDevice
from server.store.taken import trials_of

SIZE_PX = (1024, 768)
DEVICE = LabDevice(
    width_px=1024, height_px=768, full_screen=True, screen=0, nominal_hz=60, measured_hz=59.9, frame_ms=16.7,
    is_synchronised=True, pacing="frames", keyboard="ptb", psychopy_version="2026.2", python_version="3.11",
    platform="test", text_font="DejaVuSans",
)  # fmt: skip
ESCAPE = "escape"


def press(name, rt_ms=1200.0):
    return SimpleNamespace(name=name, rt_ms=rt_ms, input="key")


def careful(stage):
    """Press whatever goes on: agree, go on, and on a trial the first possible answer."""
    names = {region.name for region in stage.picture.regions}
    for name, key in (("agree", "1"), ("next", "right"), ("stay", "1")):
        if name in names:
            return press(key)
    if "absorbed" in names:
        return press("return" if "Your answer" in stage.seen[-1] else "a")
    return press("1")


@dataclass
class FakeStage:
    """A stage without a window: `person` says what is pressed on each screen; None lets the time pass."""

    person: Callable = careful
    device: LabDevice = DEVICE
    picture: object = None
    seen: list = field(default_factory=list)
    trials: list = field(default_factory=list)
    codes: list = field(default_factory=list)
    keys: tuple = ()
    until_ms: float | None = None
    early: int = 0
    n_focus_lost: int = 0

    def take_early(self, picture, keys):
        return self.early

    def show(self, picture):
        self.picture = picture
        self.seen.append(" ".join(written.text for written in picture.written))

    redraw = show

    def press(self, picture, keys, until_ms=None):
        assert picture is self.picture, "presses are waited for on what is on the screen"
        self.keys, self.until_ms = tuple(keys), until_ms
        return self.person(self)

    def typing(self, picture):
        assert picture is self.picture
        return self.person(self)

    def fixate(self, fixation, stimulus, fixation_ms, phase):
        self.show(stimulus)
        self.trials.append(phase.value)
        return Onset(
            onset_ns=1, shown_at=datetime.now(UTC), fixation_ms=200.4, fixation_frames=12,
            fixation_frames_intended=12, frame_ms=16.7, frames_dropped=0, frame_intervals_ms=(16.7,) * 12,
        )  # fmt: skip

    def mark_response(self, phase):
        self.codes.append(phase.value)


def rows(study, session):
    with local_desk(study, None) as (_, store):
        return trials_of(store, session.session)


def leaving_at(n_trials, menu):
    """Be careful, but press escape on a trial, and then what the menus get."""
    menu = list(menu)

    def person(stage):
        names = {region.name for region in stage.picture.regions}
        if len(stage.trials) == n_trials and menu:
            return press(menu.pop(0)) if "stay" in names else press(ESCAPE)
        return careful(stage)

    return person


def sent(study, into):
    """Hand everything on that is in the study's store; return how many sessions and new answers there are."""
    handed_on = send_sessions(study, None, None, into)
    assert handed_on.refused == ()
    return handed_on.n_sessions, handed_on.n_new


def other_store(tmp_path):
    return str(tmp_path / "elsewhere.db")


class Broken(httpx.BaseTransport):
    """A network that is cut after so many requests."""

    def __init__(self, transport, n_requests):
        self.transport, self.n_left = transport, n_requests

    def handle_request(self, request):
        self.n_left -= 1
        if self.n_left < 0:
            raise httpx.ConnectError("the cable is out")
        return self.transport.handle_request(request)


@contextmanager
def server_elsewhere(study, location, n_requests=10**9):
    """Lend a desk of another server, whose network is cut after so many requests."""
    with local_desk(study, location) as (desk, store):
        desk._client._transport = Broken(desk._client._transport, n_requests)
        yield desk, store


def take_on_the_web(client):
    """Answer a whole session as a browser would."""
    consent_digest = client.get("/api/study").json()["consent_digest"]
    start = {"start_id": str(uuid.uuid4()), "consent_digest": consent_digest, "kind": "human"}
    answers = {"blackbox_predict": "absorbed", "multiple_choice": 1}
    session = client.post("/api/session", json=start).raise_for_status().json()
    for trial in session["trials"]:
        answer = {
            "response_id": str(uuid.uuid4()),
            "trial_index": trial["trial_index"],
            "response": answers[trial["task"]],
        }
        reply = client.post("/api/responses", json={"session": session["session"], "responses": [answer]})
        assert reply.is_success, reply.text
    client.post("/api/complete", json={}).raise_for_status()
