"""Programs with a window; tests and benchmarks start them with `VirtualScreen.start`, and receive messages in JSON."""

import hashlib
import json
import os
import statistics
import time
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import psutil
from PIL import Image
from psychopy import logging
from psychopy.hardware.keyboard import Keyboard
from psychopy.visual.backends.pygletbackend import PygletBackend
from pyglet.libs.x11 import xlib

from batteries.errors import InputError
from equipoise.commands.lab.check import _trials_finding
from experiment.lab.hardware import iohub_guard, psychopy_internals
from experiment.lab.hardware import keys_and_clicks as keys_module
from experiment.lab.hardware import window as window_module
from experiment.lab.hardware.clock import wait_until
from experiment.lab.hardware.eye_tracker import EyeTracker
from experiment.lab.hardware.eye_tracker_settings import read_eye_tracker
from experiment.lab.hardware.keys_and_clicks import InputDevices, Press
from experiment.lab.hardware.machine_check import check_machine
from experiment.lab.hardware.psychopy_messages import collect_messages, psychopy_messages
from experiment.lab.hardware.response_box.box import open_box
from experiment.lab.hardware.response_box.box_text import read_box
from experiment.lab.hardware.triggers import open_trigger
from experiment.lab.hardware.window import LabWindow
from experiment.lab.photodiode.flashes import FlashSeries, show_flashes
from experiment.lab.presentation import Step, present
from experiment.lab.psychopy_display import PsychoPyDisplay
from experiment.lab.psychopy_trials.loading import load_classes
from experiment.lab.psychopy_trials.running import RunningTrial, try_all_items
from experiment.lab.requirements import sheet_for
from experiment.lab.screens import trial as trial_screens
from experiment.lab.screens.layout.screen_image import Region
from experiment.lab.timing_summary import before_the_visit
from experiment.lab.visit_events import VisitEvents
from experiment.load_study import load_study
from experiment.plan import plan_session
from experiment.study.event_codes import EventCodes
from tests.experiment.lab.window_processes import prefer
from tests.psychopy_study import make_psychopy_study, psychopy_item

FIXATION_MS = 200.0
KEY = "2"
FIXATION, STIMULI = "navy", ("teal", "olive")


_connection = None


def run(connection, name, *arguments):
    """Run the program of a name; its messages go to a connection, and commands come from it."""
    global _connection  # noqa: PLW0603 - one program runs in a process
    _connection = connection
    globals()[name](*arguments)


def send(what):
    """Send the test a message."""
    _connection.send(json.dumps(what))


def commands():
    """Yield the commands of the test, until the test ends the program."""
    while True:
        try:
            yield json.loads(_connection.recv())
        except EOFError:
            return


def measure_once():
    """Measure the refresh of the next window only once, to save time."""
    window_module.MOST_MEASUREMENTS = 1


def noise(size_px, seed=1):
    """Make an image in which every pixel differs from its neighbours."""
    width_px, height_px = size_px
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height_px, width_px, 3), dtype=np.uint8))


def trials(backend, n_trials, hz=""):
    """Show trials, and send each onset and each press; with `hz`, flips wait for an imitated screen."""
    if hz:
        imitate_screen(hz)
    with LabWindow() as window:
        inputs = InputDevices(window, backend)
        fixation = window.prepare(Image.new("RGB", window.size_px, FIXATION))
        send({"backend": inputs.backend, "pacing": window.pacing, "frame_ms": window.frame_ms})
        for n in range(int(n_trials)):
            stimulus = window.prepare(Image.new("RGB", window.size_px, STIMULI[n % 2]))
            inputs.clear()
            onset = present(window, fixation, stimulus, FIXATION_MS, on_onset=[inputs.reset])
            send({"onset_ns": onset.onset_ns, "fixation_ms": onset.fixation_ms})
            press = inputs.wait([KEY], until_ms=10_000)
            send({"name": press and press.name, "rt_ms": press and press.rt_ms})
            time.sleep(0.1)  # Until the key is released.


def cost(n_images=15):
    """Prepare and show images, and send the costs in ms."""
    measure_once()
    with LabWindow() as window:
        costs_ms = []
        for n in range(n_images):
            image = noise(window.size_px, n)
            began = time.perf_counter()
            prepared = window.prepare(image)
            ready = time.perf_counter()
            window.draw(prepared)
            drawn = time.perf_counter()
            window.flip()
            costs_ms.append([1000 * each for each in (ready - began, drawn - ready, time.perf_counter() - drawn)])
        prepare_ms, draw_ms, flip_ms = (statistics.median(each) for each in zip(*costs_ms, strict=True))
        send({"size_px": window.size_px, "prepare_ms": prepare_ms, "draw_ms": draw_ms, "flip_ms": flip_ms})


def pixels():
    """Show images, some in the texture of an earlier image, and send whether each was drawn pixel for pixel."""
    measure_once()
    with LabWindow() as window:
        same = []
        for seed in (1, 2, 3):
            image = noise(window.size_px, seed)
            prepared = window.prepare(image)
            window.draw(prepared)
            same.append(window.drawn().tobytes() == image.tobytes())
            window.flip()
            if seed != 2:
                prepared = None  # Its texture is then free for the next image.
        first, second = (window.prepare(noise(window.size_px, seed)) for seed in (4, 5))
        for prepared, seed in ((first, 4), (second, 5), (first, 4)):
            window.draw(prepared)
            same.append(digest(window.drawn()) == digest(noise(window.size_px, seed)))
        send({"size_px": window.size_px, "same": same, "n_textures": len({first.texture, second.texture})})


def digest(image):
    return hashlib.sha256(image.tobytes()).hexdigest()


def opening(options):
    """Open a window with options, and send its properties, or the reason why it cannot be opened."""
    try:
        with LabWindow(**json.loads(options)) as window:
            send({"size_px": window.size_px, "full_screen": window.full_screen, "refresh": asdict(window.refresh)})
    except InputError as error:
        send({"error": str(error)})


def presentation():
    """Present a stimulus with and without fixation, and send the onsets."""
    with LabWindow() as window:
        fixation, stimulus = (window.prepare(noise(window.size_px, seed)) for seed in (1, 2))
        called = []
        with_one = present(
            window, fixation, stimulus, 50.0,
            on_fixation=[lambda at_ns: called.append(["fixation", at_ns])],
            on_onset=[lambda at_ns: called.append(["onset", at_ns]), lambda at_ns: called.append(["trigger", at_ns])],
        )  # fmt: skip
        without = present(window, None, stimulus, 50.0)
        outcome = [asdict(onset) | {"shown_at": onset.shown_at.timestamp()} for onset in (with_one, without)]
        send({"onsets": outcome, "called": called, "now": time.time()})


LATEST_NS = 2_000_000
"""Time before the end of a frame from which the imitated screen takes an image only for the frame after the next."""


def imitate_screen(hz, n_queued=0):
    """Make the flips of the next window wait for an imitated screen, which queues `n_queued` images."""
    frame_ns = round(1e9 / float(hz))
    swap = PygletBackend.swapBuffers
    shown_ns = [0]

    def swap_and_wait(self, flipThisFrame=True):
        # A swap takes about a millisecond. Without this wait, its pixels could change before the end of a frame, and
        # the swap return after it. Then two observers would disagree about the frame.
        if int(n_queued) == 0 and -time.perf_counter_ns() % frame_ns < LATEST_NS:
            wait_until((time.perf_counter_ns() // frame_ns + 1) * frame_ns)
        swap(self, flipThisFrame)
        shown_ns[0] = (max(time.perf_counter_ns(), shown_ns[0]) // frame_ns + 1) * frame_ns
        wait_until(shown_ns[0] - int(n_queued) * frame_ns)

    PygletBackend.swapBuffers = swap_and_wait
    prefer(os.getpid())


def waiting(hz, n_trials, n_queued=0):
    """Present in a window whose flips wait for an imitated screen, which queues `n_queued` images."""
    imitate_screen(hz, n_queued)
    if int(n_queued) > 0:
        measure_once()  # A repetition is for windows whose flips wait.
    with LabWindow() as window:
        fixation, stimulus = (window.prepare(Image.new("RGB", window.size_px, name)) for name in ("white", "teal"))
        onsets = [present(window, fixation, stimulus, FIXATION_MS) for _ in range(int(n_trials))]
        send(
            {
                "refresh": asdict(window.refresh),
                "pacing": window.pacing,
                "onsets": [asdict(onset) | {"shown_at": None} for onset in onsets],
            }
        )


def internals():
    """Send whether the private parts of PsychoPy and pyglet are as `psychopy_internals` expects."""
    measure_once()
    with LabWindow() as window:
        handlers = psychopy_internals.x_event_handlers(window._handle)
        psychopy_internals.hear_held_keys_once(window._handle)
        device = Keyboard(backend="ptb").device
        found = {
            "image": psychopy_internals.drawn_image(window._window).size == window.size_px,
            "handlers": all(xlib.KeyPress in each for each in handlers),
            "responses": psychopy_internals.taken_responses(device) == [] == device.responses,
        }
        send(found)


def messages():
    """Send PsychoPy's messages of a visit, and the visit's clock at the second message. Wait for a key press."""
    measure_once()
    received, clock_before = [], logging.defaultClock
    receiver = SimpleNamespace(write=received.append)
    logging.warning("before the visit")
    window = LabWindow()
    with psychopy_messages(receiver, window.anchor), window:
        inputs = InputDevices(window)
        began_s = (time.perf_counter_ns() - window.anchor.at_ns) / 1e9
        logging.warning("during the visit")
        logging.exp("a message")
        inputs.reset(time.perf_counter_ns())
        send({"backend": inputs.backend})
        press = inputs.wait([KEY], until_ms=10_000)
        collect_messages()
        n_collected = len(received)
    logging.error("after the visit")
    logging.flush()
    send(
        {
            "began_s": began_s,
            "press": press and press.name,
            "rt_ms": press and press.rt_ms,
            "received": received[:n_collected],
            "n_later": len(received) - n_collected,
            "restored": logging.defaultClock is clock_before,
        }
    )


def machine_timing(hz=None):
    """Send the timing of the machine, and its report; with `hz`, flips wait for an imitated screen."""
    if hz is None:
        measure_once()
    else:
        imitate_screen(hz)
    with LabWindow() as window:
        machine = PsychoPyDisplay(
            window, InputDevices(window), VisitEvents(window.anchor, EventCodes(), None), None
        ).machine_timing
        send({"machine": asdict(machine), "refresh": asdict(window.refresh), "report": before_the_visit(machine)})


def check():
    """Check the machine, and send the findings."""
    with LabWindow() as window:
        send([asdict(finding) for finding in check_machine(window, InputDevices(window), "ش")])


def unopened():
    """Send how keys are read if psychtoolbox lists the keyboard but cannot open it."""
    from psychtoolbox import hid

    def refuse(*_args, **_kwargs):
        raise FileNotFoundError("PsychHID: KbQueueCreate")

    hid.Keyboard._create_queue = refuse
    with LabWindow() as window:
        heard = InputDevices(window)
        send({"backend": heard.backend, "obstacle": heard.obstacle})


def inputs(backend, box=None):
    """Follow the commands of the test, and send what was pressed; with `box`, also on a response box."""
    measure_once()
    with closing(open_box(read_box(box))) if box else nullcontext() as opened, LabWindow() as window:
        window.show(window.prepare(Image.new("RGB", window.size_px, "white")))
        heard = InputDevices(window, backend, box=opened)
        send({"backend": heard.backend})
        for command in commands():
            regions = [Region(name, tuple(box_px)) for name, box_px in command.get("regions", ())]
            match command["do"]:
                case "clear":
                    heard.clear()
                    send({})
                case "forget":
                    heard.forget()
                    send({})
                case "begin":
                    heard.reset_on_flip(window)
                    send({"at_ns": window.flip()})
                case "wait":
                    press = heard.wait(command.get("keys"), command.get("until_ms"), regions)
                    send(press and asdict(press))
                case "early":
                    send({"n": heard.discard_early_presses(command["keys"], regions)})
                case "focus":
                    window.dispatch_events()
                    send({"n": heard.n_focus_lost})
                case "double":
                    keys_module.DOUBLE_PRESS_MS = command["ms"]
                    send({})
                case "work":
                    send({})
                    time.sleep(command["work_s"])
                case "close":
                    window._handle.dispatch_event("on_close")
                case "type":
                    send(asdict(heard.wait_for_typing(regions=regions)))


def flashes(hz=None, log=None):
    """Show flashes, and send their timing with the colours that the window drew at each flip, and their times."""
    if hz is None:
        measure_once()
    else:
        imitate_screen(hz)
    with LabWindow((480, 400), background="#000000") as window:
        drawn = []
        flip = window.flip

        def flip_and_note():
            image = window.drawn()
            corners = [image.getpixel(place)[0] for place in ((2, 2), (477, 397))]
            flipped_ns = flip()
            drawn.append([*corners, window.anchor.us_until(flipped_ns) / 1e6])
            return flipped_ns

        if hz is None:  # Reading the image takes too long to keep the frames of a screen.
            window.flip = flip_and_note
        trigger = open_trigger(f"log:{log}", 3) if log else None
        series = FlashSeries(n=5, black_ms=100, white_ms=50, patch="top-left", code=3)
        shown = show_flashes(window, InputDevices(window), trigger, series)
        send({"flashes": [asdict(each) for each in shown], "drawn": drawn, "pacing": window.pacing})


def psychopy_trials(folder, hz):
    """Show one trial of each item in a window whose flips wait for an imitated screen.

    For each item, send the colour in the middle of each frame, and whether the next page is shown pixel for pixel. Then
    send the sentence about each of the study's classes that fails.
    """
    imitate_screen(hz)
    study = load_study(Path(folder))
    trials = {trial.item_id: trial for trial in plan_session(study, 1, 0).trials}
    with LabWindow() as window:
        inputs = InputDevices(window, "event")
        events = VisitEvents(window.anchor, EventCodes(), None)
        classes = load_classes(study)
        display = PsychoPyDisplay(window, inputs, events, None, media_folder=Path(folder), classes=classes)
        sheet = sheet_for(study, window.size_px)
        fixation, blank = trial_screens.fixation(sheet), trial_screens.blank(sheet)
        colours, flip = [], window.flip

        def noting_flip():
            colours.append(window.drawn().getpixel((window.size_px[0] // 2 + 40, window.size_px[1] // 2 + 40)))
            return flip()

        for item in study.battery.items:
            own = display.psychopy_trial(item)
            window.flip = noting_flip
            onset = display.fixate(
                fixation, [], [Step(blank, "stimulus", trial=own)], 200, None, trials[item.item_id], item
            )
            window.flip = flip
            display.press(blank, own.keys, until_ms=300)
            display.redraw(blank)  # As after the rules.
            display.press(blank, own.keys, until_ms=400)
            drawn = display.stop().drawn
            same = []
            for seed in (1, 2):
                page = noise(window.size_px, seed)
                prepared = window.prepare(page)
                window.draw(prepared)
                same.append(window.drawn().tobytes() == page.tobytes())
                window.flip()
            send(
                {
                    "colours": colours, "n_intended": onset.fixation_frames_intended, "frame_ms": window.frame_ms,
                    "drawn": drawn.model_dump(), "same": same, "units": window._window.units,
                    "dropped_before": onset.frames_dropped,
                }
            )  # fmt: skip
            colours = []


def failing_classes(codes):
    """Send the sentence about each code of a class that fails, also in a response to the key f.

    Then send the finding of `equipoise lab check` on the last class, and whether a page is shown pixel for pixel.
    """
    measure_once()
    with TemporaryDirectory() as temporary, LabWindow() as window:
        for name, code in json.loads(codes).items():
            item = psychopy_item("q1", "bad", "a", {}, answers=["a", "b"])
            folder = make_psychopy_study(Path(temporary) / name, [item], codes={"bad": ("bad.py", "Bad", code)})
            study = load_study(folder)
            try:
                classes = load_classes(study)
                try_all_items(study, classes, window)
                own = RunningTrial(window, classes["bad"], study.battery.items[0], folder)
                send({"error": None, "response": own.response(Press("f", 400.0, "key"))})
            except InputError as error:
                send({"error": str(error)})
        send(asdict(_trials_finding(study, window)))
        page = noise(window.size_px)
        window.draw(window.prepare(page))
        send({"same": window.drawn().tobytes() == page.tobytes()})


def eye_tracker(file):
    """Follow the commands of the test with the eye tracker that follows the mouse. Send the process of ioHub."""
    iohub_guard.CLOSING_S = 1.0
    tracker = EyeTracker(read_eye_tracker("mouse"), "testMonitor")
    for command in commands():
        match command["do"]:
            case "open":
                tracker.open(Path(file), "session")
                started = psutil.Process().children()
                send({"hub": next(each.pid for each in started if "start_iohub_process" in "".join(each.cmdline()))})
            case "message":
                try:
                    at_s = tracker.send("a message", time.perf_counter_ns())
                except InputError as error:
                    send({"error": str(error), "problem": tracker.problem})
                else:
                    send({"at_s": at_s, "is_open": tracker.is_open})
            case "close":
                tracker.close()
                send({"n_processes": len(psutil.Process().children()), "problem": tracker.problem})
