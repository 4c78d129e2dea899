"""Programs with a window, which tests and benchmarks start in processes of their own; they tell in JSON what they find.

python tests/experiment/lab/window_programs.py trials ptb 20
"""

import hashlib
import json
import statistics
import sys
import time
from dataclasses import asdict

import numpy as np
from PIL import Image
from psychopy.visual.backends.pygletbackend import PygletBackend

from batteries.errors import InputError
from experiment.lab.hardware.clock import wait_until
from experiment.lab.hardware.keys_and_clicks import InputDevices
from experiment.lab.hardware.machine_check import check_machine
from experiment.lab.hardware.window import LabWindow
from experiment.lab.presentation import present
from experiment.lab.screens.layout.screen_image import Region

FIXATION_MS = 200.0
KEY = "2"


def tell(what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def noise(size_px, seed=1):
    """A picture of which every pixel differs from its neighbours."""
    width_px, height_px = size_px
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height_px, width_px, 3), dtype=np.uint8))


def trials(backend, n_trials):
    """Show trials and tell of each onset and each press."""
    with LabWindow() as window:
        inputs = InputDevices(window, backend)
        fixation = window.prepare(Image.new("RGB", window.size_px, "white"))
        tell({"backend": inputs.backend, "pacing": window.pacing, "frame_ms": window.frame_ms})
        for n in range(int(n_trials)):
            stimulus = window.prepare(Image.new("RGB", window.size_px, ("teal", "olive")[n % 2]))
            inputs.clear()
            onset = present(window, fixation, stimulus, FIXATION_MS, on_onset=[inputs.reset])
            tell({"onset_ns": onset.onset_ns, "fixation_ms": onset.fixation_ms})
            press = inputs.wait([KEY], until_ms=10_000)
            tell({"name": press and press.name, "rt_ms": press and press.rt_ms})
            time.sleep(0.1)  # until the key is up


def cost(n_pictures=15):
    """Make pictures ready and show them, and tell what it cost."""
    with LabWindow() as window:
        costs_ms = []
        for n in range(n_pictures):
            image = noise(window.size_px, n)
            began = time.perf_counter()
            prepared = window.prepare(image)
            ready = time.perf_counter()
            window.draw(prepared)
            drawn = time.perf_counter()
            window.flip()
            costs_ms.append([1000 * each for each in (ready - began, drawn - ready, time.perf_counter() - drawn)])
        prepare_ms, draw_ms, flip_ms = (statistics.median(each) for each in zip(*costs_ms, strict=True))
        tell({"size_px": window.size_px, "prepare_ms": prepare_ms, "draw_ms": draw_ms, "flip_ms": flip_ms})


def pixels():
    """Show pictures, one in the other's texture, and tell whether what was drawn is what was given."""
    with LabWindow() as window:
        same = []
        for seed in (1, 2, 3):
            image = noise(window.size_px, seed)
            prepared = window.prepare(image)
            window.draw(prepared)
            same.append(window.drawn().tobytes() == image.tobytes())
            window.flip()
            if seed != 2:
                prepared = None  # its texture is free for the next
        first, second = (window.prepare(noise(window.size_px, seed)) for seed in (4, 5))
        for prepared, seed in ((first, 4), (second, 5), (first, 4)):
            window.draw(prepared)
            same.append(digest(window.drawn()) == digest(noise(window.size_px, seed)))
        tell({"size_px": window.size_px, "same": same, "n_textures": len({first.texture, second.texture})})


def digest(image):
    return hashlib.sha256(image.tobytes()).hexdigest()


def opening(options):
    """Open a window with options, and tell how it is or why it cannot be."""
    try:
        with LabWindow(**json.loads(options)) as window:
            tell({"size_px": window.size_px, "full_screen": window.full_screen, "refresh": asdict(window.refresh)})
    except InputError as error:
        tell({"error": str(error)})


def presentation():
    """Present with and without fixation, and tell of it."""
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
        tell({"onsets": outcome, "called": called, "now": time.time()})


def waiting(hz, n_trials, n_queued=0):
    """Present in a window whose flips wait for a screen that is made up, behind a queue of so many pictures."""
    frame_ns = round(1e9 / float(hz))
    swap = PygletBackend.swapBuffers
    shown_ns = [0]

    def swap_and_wait(self, flipThisFrame=True):
        swap(self, flipThisFrame)
        shown_ns[0] = (max(time.perf_counter_ns(), shown_ns[0]) // frame_ns + 1) * frame_ns
        wait_until(shown_ns[0] - int(n_queued) * frame_ns)

    PygletBackend.swapBuffers = swap_and_wait
    with LabWindow() as window:
        fixation, stimulus = (window.prepare(Image.new("RGB", window.size_px, name)) for name in ("white", "teal"))
        onsets = [present(window, fixation, stimulus, FIXATION_MS) for _ in range(int(n_trials))]
        tell(
            {
                "refresh": asdict(window.refresh),
                "pacing": window.pacing,
                "onsets": [asdict(onset) | {"shown_at": None} for onset in onsets],
            }
        )


def check():
    """Check the machine, and tell the findings."""
    with LabWindow() as window:
        tell([asdict(finding) for finding in check_machine(window, InputDevices(window), "ش")])


def unopened():
    """Tell how keys are read where psychtoolbox may list the keyboard, but not open it."""
    from psychtoolbox import hid

    def refuse(*_args, **_kwargs):
        raise FileNotFoundError("PsychHID: KbQueueCreate")

    hid.Keyboard._create_queue = refuse
    with LabWindow() as window:
        heard = InputDevices(window)
        tell({"backend": heard.backend, "obstacle": heard.obstacle})


def inputs(backend):
    """Do as the lines on standard input say, and tell what was pressed."""
    with LabWindow() as window:
        window.show(window.prepare(Image.new("RGB", window.size_px, "white")))
        heard = InputDevices(window, backend)
        tell({"backend": heard.backend})
        for line in sys.stdin:
            command = json.loads(line)
            regions = [Region(name, tuple(box_px)) for name, box_px in command.get("regions", ())]
            match command["do"]:
                case "clear":
                    heard.clear()
                    tell({})
                case "begin":
                    heard.reset_on_flip(window)
                    tell({"at_ns": window.flip()})
                case "wait":
                    press = heard.wait(command.get("keys"), command.get("until_ms"), regions)
                    tell(press and asdict(press))
                case "early":
                    tell({"n": heard.discard_early_presses(command["keys"], regions)})
                case "focus":
                    window.dispatch_events()
                    tell({"n": heard.n_focus_lost})
                case "close":
                    window._handle.dispatch_event("on_close")
                case "type":
                    tell(asdict(heard.wait_for_typing(regions)))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
