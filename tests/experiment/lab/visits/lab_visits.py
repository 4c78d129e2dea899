"""Visits with the server's application and a real store, but without a window."""

import json
import time
import uuid
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from zlib import crc32

import httpx

from batteries.blackbox import all_ports
from batteries.tasks.multiple_choice import MultipleChoice
from equipoise.commands.lab.clients import local_client
from equipoise.commands.lab.syncing_client import SyncingClient
from equipoise.commands.lab.upload import lab_upload
from experiment.lab.hardware.clock import Anchor
from experiment.lab.presentation import Onset, Played
from experiment.lab.screens.layout.screen_image import ESCAPE
from experiment.lab.session_files.psychopy_log import PsychoPyLog
from experiment.lab.timing_summary import MachineTiming
from experiment.lab.trial import Escaped
from experiment.lab.visit_events import VisitEvents
from experiment.records import LabDevice, Shown
from experiment.study.event_codes import EventCodes
from server.store.sql.lab_sessions import trials_of

SIZE_PX = (1024, 768)
DEVICE = LabDevice(
    width_px=1024, height_px=768, full_screen=True, screen=0, nominal_hz=60, measured_hz=59.9, frame_ms=16.7,
    is_synchronised=True, pacing="frames", keyboard="ptb", psychopy_version="2026.2", python_version="3.11",
    platform="test", text_font="DejaVuSans", clock_started_at=datetime(2026, 11, 28, 12, 0, 0, 7, tzinfo=UTC),
)  # fmt: skip

MOST_PRESSES = 400
PULSE_NS = 800_000_000
"""Time between two pulses of the imitated scanner."""
WITHDRAW = ("3", *"delete", "return")
"""The presses after escape with which a participant leaves and deletes the answers."""


def press(name):
    return SimpleNamespace(name=name, key=name, rt_ms=None, input="key")


def names_on(display):
    """Return the names of the regions that can be clicked."""
    return {region.name for region in display.picture.regions}


def is_asked(display):
    """Return True if the screen shows a trial's question."""
    return bool({"absorbed", "1"} & names_on(display))


def careful(display):
    """Press a key that leads to the next screen: agree, turn the page, skip a demographic question, or respond."""
    names = names_on(display)
    if "continue" in names:
        return press("return")
    for name, key in (("agree", "1"), ("next", "right"), ("stay", "1")):
        if name in names:
            return press(key)
    if "absorbed" in names:
        return press("return" if "Your answer" in display.seen[-1] else "a")
    return press("1")


def words_of(item):
    """Return the words by which an item is recognised on a screen; no other item has all of them."""
    content = item.content
    if item.task == MultipleChoice.name:
        return [content["text"], content["prompt"], *content["options"]]
    side, _, position = content["entry"].partition("-")
    cells = "; ".join(f"row {row} column {column}" for row, column in sorted(content["atoms"]))
    return [f"The ray enters at {side.upper()} {position}:", f"Atoms at {cells}." if cells else "There are no atoms"]


def demanded(item):
    """Return the response of a participant who computes it from an item's words; it differs between items."""
    number = crc32("".join(words_of(item)).encode())
    if item.task == MultipleChoice.name:
        return number % len(item.content["options"]) + 1
    ports = [str(port) for port in all_ports(item.content["size"]) if str(port) != item.content["entry"]]
    return ports[number % len(ports)]


def reader_of(study):
    """Return a person who responds to each question by the words on the screen, and is `careful` on other screens."""
    waiting = []

    def person(display):
        if not is_asked(display):
            return careful(display)
        if not waiting:
            waiting.extend(_keys_for(demanded(_item_on(display.seen[-1], study))))
        return press(waiting.pop(0))

    return person


def _item_on(screen, study):
    """Return the item whose words are on a screen, for any line breaks."""
    read = "".join(screen.split())
    (item,) = [
        item for item in study.battery.items if all("".join(part.split()) in read for part in words_of(item))
    ]  # fmt: skip
    return item


def _keys_for(answer):
    if isinstance(answer, int):
        return [str(answer)]
    side, _, position = answer.partition("-")
    return [side[0], position, "return"]


@dataclass
class FakeDisplay:
    """A display without a window: `person` returns the press on each screen; None lets the time pass.

    All trials have different times and frames.
    """

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
    onsets: list = field(default_factory=list)
    intervals_ms: list = field(default_factory=list)
    """The interval before each presentation of a trial; None if there was none."""
    pressed: list = field(default_factory=list)
    n_typed: int = 0
    answers: list = field(default_factory=list)
    trigger: object = None
    scanner: object = None
    eye_tracker: object = None
    codes_of: EventCodes = field(default_factory=EventCodes)
    log: PsychoPyLog = field(default_factory=PsychoPyLog)

    def __post_init__(self):
        self.events = VisitEvents(Anchor.now(), self.codes_of, self.trigger, self.eye_tracker)

    @property
    def machine_timing(self):
        device = self.device
        reason = "flips come at regular intervals" if device.pacing == "frames" else "flips come every 0.59 ms"
        obstacle = None if device.keyboard == "ptb" else "psychtoolbox finds no keyboard"
        return MachineTiming(device.pacing, device.measured_hz, device.nominal_hz, reason, device.keyboard, obstacle)

    def wait_for_scanner(self, picture):
        self.show(picture)
        if self.person(self).name == ESCAPE:
            raise Escaped
        for number in range(self.scanner.n_discarded + 1):
            self.events.pulse(self.events.anchor.at_ns + (number + 1) * PULSE_NS)
        self.events.mark_scanner_start(self.scanner.n_discarded + 1)

    def calibrate(self):
        self.events.mark_calibration()
        self.eye_tracker.calibrate(self)

    def discard_early_presses(self, picture, keys):
        return self.early

    def see(self, picture):
        self.picture = picture
        self.seen.append(" ".join(written.text for written in picture.written))

    redraw = confirm = see

    def show(self, picture):
        self.see(picture)
        self.events.page_appears(time.perf_counter_ns())

    ask = show

    def press(self, picture, keys, until_ms=None):
        assert picture is self.picture, "the program waits for presses on another screen than the shown screen"
        self.keys, self.until_ms = tuple(keys), until_ms
        made = self.person(self)
        if made is not None:
            n = len(self.pressed)
            made.rt_ms, made.input = 1000 + 7.25 * n, ("key", "mouse")[n % 2]
            self.pressed.append(made)
        assert len(self.pressed) < MOST_PRESSES, f"no screen follows: {self.seen[-1]}"
        return made

    def typing(self, picture, until_ms=None):
        self.n_typed += 1
        assert self.n_typed < MOST_PRESSES, f"no screen follows: {self.seen[-1]}"
        return self.press(picture, (), until_ms) if is_asked(self) else self.person(self)

    def fixate(self, fixation, screens, stimulus, fixation_ms, intertrial, trial, item):
        self.events.begin_trial(trial, item)
        self.intervals_ms.append(intertrial and intertrial.duration_ms)
        if intertrial:
            assert not intertrial.picture.written, "the screen between two trials is blank"
            self.events.at_flip("intertrial")(time.perf_counter_ns())
        self.events.at_flip("fixation")(time.perf_counter_ns())
        self.see(stimulus[0].picture)
        self.events.at_flip("stimulus")(time.perf_counter_ns())
        self.trials.append(trial.phase.value)
        n, now = len(self.trials), datetime.now(UTC)
        onset = Onset(
            onset_ns=n,
            shown_at=now.replace(microsecond=now.microsecond // 1000 * 1000),
            frame_intervals_ms=(16.5,) * n,
            intertrial=intertrial and Shown(duration_ms=intertrial.duration_ms + 0.5, frames=n, frames_intended=n),
            **self.timing_of(n),
        )
        self.onsets.append(onset)
        return onset

    def timing_of(self, n):
        """Return the timing of the fixation of the n-th trial."""
        return {
            "fixation_ms": 200 + n / 8,
            "fixation_frames": 12 + n,
            "fixation_frames_intended": 11 + n,
            "frame_ms": 16 + n / 64,
            "frames_dropped": n % 5,
        }

    def stop(self):
        return Played(events=self.events.of_trial, events_before=self.events.before_trial)

    def mark(self, event, rt_ms, key=None):
        self.events.mark(event, time.perf_counter_ns(), key)
        if event == "response":
            self.codes.append(self.trials[-1])
            self.answers.append(self.pressed[-1])


@dataclass
class PunctualDisplay(FakeDisplay):
    """A display whose fixations last 12 frames of 16.7 ms, except in the trials in `late`.

    `late` has the changed timing of some trials; its keys are the numbers of the trials, from 1.
    """

    late: dict = field(default_factory=dict)

    def timing_of(self, n):
        exact = {
            "fixation_ms": 200.4, "fixation_frames": 12, "fixation_frames_intended": 12, "frame_ms": 16.7,
            "frames_dropped": 0,
        }  # fmt: skip
        return exact | self.late.get(n, {})


def rows(study, session):
    with local_client(study, None) as (_, store):
        return trials_of(store, session.session)


def devices_of(study, session):
    """Return the stored device of each visit."""
    with local_client(study, None) as (_, store), store.snapshot() as db:
        stored = db.execute("SELECT device FROM visits WHERE session = ? ORDER BY visit", (session.session,))
        return [device and LabDevice.model_validate(json.loads(device)) for (device,) in stored.fetchall()]


class Killed(BaseException):
    """A power cut."""


def killed_where(is_there):
    """Return a person who is `careful` until a power cut."""

    def person(display):
        if is_there(display):
            raise Killed
        return careful(display)

    return person


class FullDisk(httpx.BaseTransport):
    """A server that cannot store some requests to an address: `n_passing` requests pass, then `n_failing` fail.

    Use it as the `wrap` of a visit.
    """

    def __init__(self, address, n_failing, n_passing=0):
        self.address, self.n_failing, self.n_passing = address, n_failing, n_passing
        self.asked = []

    def __call__(self, lab_client, _):
        self.transport, lab_client._client._transport = lab_client._client._transport, self
        return lab_client

    def handle_request(self, request):
        if request.url.path == self.address:
            self.asked.append(request.read())
            if self.n_passing < len(self.asked) <= self.n_passing + self.n_failing:
                return httpx.Response(503, json={"error": "The disk is full."})
        return self.transport.handle_request(request)


def leaving_at(n_trials, menu):
    """Return a person who is `careful`, but presses escape on a trial, and then the keys of `menu`."""
    menu = list(menu)

    def person(display):
        if len(display.trials) == n_trials and menu:
            return press(menu.pop(0) if {"stay", "again"} & names_on(display) else ESCAPE)
        return careful(display)

    return person


def upload_all_to(study, into):
    """Upload everything in the study's store; return the numbers of sessions and of new responses."""
    uploaded = lab_upload(study, into=into)
    assert uploaded.refused == ()
    return uploaded.n_sessions, uploaded.n_new


def other_store(tmp_path):
    return str(tmp_path / "elsewhere.db")


class Broken(httpx.BaseTransport):
    """A network that is cut after `n_requests` requests."""

    def __init__(self, transport, n_requests):
        self.transport, self.n_left = transport, n_requests

    def handle_request(self, request):
        self.n_left -= 1
        if self.n_left < 0:
            raise httpx.ConnectError("the cable is out")
        return self.transport.handle_request(request)


@contextmanager
def other_server(study, location, n_requests=10**9):
    """Yield the client and the store of another server; the network is cut after `n_requests` requests."""
    with local_client(study, location) as (lab_client, store):
        lab_client._client._transport = Broken(lab_client._client._transport, n_requests)
        yield lab_client, store


def syncing_with(study, server_client):
    """Return a `wrap` that makes visits upload to a server, and the list of the syncing clients that it makes."""
    clients = []

    def wrap(lab_client, store):
        clients.append(SyncingClient(study, store, lab_client, server_client))
        return clients[-1]

    return wrap, clients


def take_on_the_web(client):
    """Respond to every trial of a session as a browser would."""
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
