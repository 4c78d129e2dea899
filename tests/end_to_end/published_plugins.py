"""The published jsPsych plugins that are tried in a real browser: one row per plugin.

A row has the parameters of an item, the input of a participant, and the data that must be stored. The page
docs/reference/jspsych-plugins.md is made from the same rows by docs/generate_plugins_page.py.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from batteries.stimulus.parameter_files import paths_in
from experiment.web import __file__ as web

NPM = Path(web).parent / "node_modules"
LOCK = Path(web).parent / "package-lock.json"
FACE, HOUSE, TONE, CLIP = "assets/face.png", "assets/house.svg", "assets/tone.wav", "assets/clip.webm"
IMG = f'<img src="{FACE}" alt="" width="60" height="40">'

Act = Callable[[Page], None]


@dataclass(frozen=True)
class Tried:
    """A plugin, an item with it, and what a participant does."""

    package: str
    """Name of the npm package."""
    parameters: Mapping[str, Any]
    shown: str
    """Selector of an element that appears with the stimulus."""
    act: Act
    """The input of the participant."""
    recorded: Mapping[str, Any]
    """Fields of the stored data, with their values. A value can be a function that returns True for a right value."""
    response: str
    """Contents of the response, in Markdown."""
    remark: str = ""
    has_rt: bool = True
    """False if the plugin records no `rt`, so that there is no `rt_ms`."""
    repeated: tuple[str, ...] = field(default=("stimulus",))
    """Parameters that the data repeat."""

    @property
    def name(self) -> str:
        """The name of the plugin, such as `html-button-response`."""
        return self.package.partition("/plugin-")[2]

    @property
    def variable(self) -> str:
        """The variable that the build for browsers defines."""
        return "jsPsych" + "".join(word.capitalize() for word in self.name.split("-"))

    @property
    def file(self) -> Path:
        """The build for browsers."""
        return NPM / self.package / "dist" / "index.browser.min.js"

    @property
    def asset_parameters(self) -> list[str]:
        """Names of the parameters that name files in this item."""
        return [name for name, value in self.parameters.items() if paths_in(value)]


@cache
def _locked() -> dict[str, Any]:
    packages: dict[str, Any] = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]
    return packages


def version_of(package: str) -> str:
    """Return the version of an npm package in the lock file."""
    version: str = _locked()[f"node_modules/{package}"]["version"]
    return version


def _official(name: str) -> str:
    return f"@jspsych/plugin-{name}"


def _press(key: str) -> Act:
    return lambda page: page.keyboard.press(key)


def _click(*selectors: str) -> Act:
    def act(page: Page) -> None:
        for selector in selectors:
            page.click(selector)

    return act


def _in_order(*acts: Act) -> Act:
    def act(page: Page) -> None:
        for each in acts:
            each(page)

    return act


def _fill(selector: str, text: str) -> Act:
    return lambda page: page.fill(selector, text)


def _wait(duration_ms: int) -> Act:
    return lambda page: page.wait_for_timeout(duration_ms)


def _slide(name: str) -> Act:
    """Move the slider by two steps with the keyboard, and continue."""

    def act(page: Page) -> None:
        page.focus("input[type=range]")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.click(f"#jspsych-{name}-next")

    return act


def _drag(page: Page, what: Locator, x: float, y: float) -> None:
    box = what.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(x, y, steps=3)
    page.mouse.up()


def _sort(page: Page) -> None:
    arena = page.locator("#jspsych-free-sort-arena").bounding_box()
    assert arena is not None
    for number in range(2):
        target = arena["x"] + arena["width"] / 2 + 60 * number, arena["y"] + arena["height"] / 2
        _drag(page, page.locator(f"#jspsych-free-sort-draggable-{number}"), *target)
    page.click("#jspsych-free-sort-done-btn")


def _draw(page: Page) -> None:
    canvas = page.locator("#sketchpad-canvas").bounding_box()
    assert canvas is not None
    page.mouse.move(canvas["x"] + 20, canvas["y"] + 20)
    page.mouse.down()
    page.mouse.move(canvas["x"] + 60, canvas["y"] + 50, steps=4)
    page.mouse.up()
    page.click("#sketchpad-end")


def _one_of_each(values: Any) -> bool:
    return sorted(entry["src"] for entry in values) == [FACE, HOUSE]


def _has(**fields: Any) -> Callable[[Any], bool]:
    """Return a check that a list has an object with these fields, and perhaps others."""
    return lambda values: any(fields.items() <= entry.items() for entry in values)


KEY = "`response`: the key"
BUTTON = "`response`: the index of the button, from 0"
SLIDER = "`response`: the position of the slider, a number"
JUDGES = "The plugin judges the response in the browser, so its parameters contain the answer key."
INEXACT = "So use `rt`, not `rt_ms`."
SOUND = f"`rt` begins when the plugin starts the sound. {INEXACT}"
CHOICES = {"choices": ["f", "j"]}
TWO = {"choices": ["no", "yes"]}
SCALE = {"min": 0, "max": 10, "slider_start": 5, "labels": ["low", "high"]}

TEXTS = [
    Tried(
        _official("html-keyboard-response"),
        {"stimulus": f"<p>f or j?</p>{IMG}", **CHOICES},
        "#jspsych-html-keyboard-response-stimulus",
        _press("j"),
        {"response": "j"},
        KEY,
    ),
    Tried(
        _official("html-button-response"),
        {"stimulus": f"<p>Which?</p>{IMG}", "choices": ["no", f'<img src="{HOUSE}" alt="house">']},
        "#jspsych-html-button-response-stimulus",
        _click("#jspsych-html-button-response-btngroup button:nth-child(2)"),
        {"response": 1},
        BUTTON,
    ),
    Tried(
        _official("html-slider-response"),
        {"stimulus": IMG, **SCALE},
        "input[type=range]",
        _slide("html-slider-response"),
        {"response": 7, "slider_start": 5},
        SLIDER,
    ),
    Tried(
        _official("same-different-html"),
        {
            "stimuli": [IMG, "<p id='second'>B</p>"],
            "answer": "different",
            "first_stim_duration": 50,
            "gap_duration": 50,
        },
        "#second",
        _press("p"),
        {"response": "p", "correct": True, "stimulus": [IMG, "<p id='second'>B</p>"]},
        "`response`: the key. `correct`",
        f"{JUDGES} `rt` begins at the second stimulus. {INEXACT}",
        repeated=("answer",),
    ),
    Tried(
        _official("categorize-html"),
        {"stimulus": IMG, "key_answer": "f", **CHOICES, "feedback_duration": 50},
        "#jspsych-categorize-html-stimulus",
        _press("j"),
        {"response": "j", "correct": False},
        "`response`: the key. `correct`",
        f"{JUDGES} It shows feedback in every trial.",
    ),
    Tried(
        _official("iat-html"),
        {"stimulus": "rose", "stim_key_association": "left"},
        "#jspsych-iat-stim",
        _press("e"),
        {"response": "e", "correct": True},
        "`response`: the key. `correct`",
        JUDGES,
    ),
    Tried(
        _official("instructions"),
        {"pages": [f"<p>One</p>{IMG}", "<p>Two</p>"], "show_clickable_nav": True},
        "#jspsych-instructions-next",
        _click("#jspsych-instructions-next", "#jspsych-instructions-next"),
        {"view_history": lambda pages: [page["page_index"] for page in pages] == [0, 1]},
        "`view_history`: the pages with their viewing times",
        repeated=(),
    ),
    Tried(
        _official("cloze"),
        {"text": f"The sky is %%. {IMG}"},
        "#input0",
        _in_order(_fill("#input0", "blue"), _click("#finish_cloze_button")),
        {"response": ["blue"]},
        "`response`: the list of the texts",
        "Write gaps without their solutions (`%%`), because participants can read the parameters. There is no `rt_ms`.",
        has_rt=False,
        repeated=(),
    ),
]
PICTURES = [
    Tried(
        _official("image-keyboard-response"),
        {"stimulus": FACE, **CHOICES},
        "#jspsych-image-keyboard-response-stimulus",
        _press("f"),
        {"response": "f"},
        KEY,
    ),
    Tried(
        _official("image-button-response"),
        {"stimulus": HOUSE, **TWO, "render_on_canvas": False},
        "#jspsych-image-button-response-stimulus",
        _click("#jspsych-image-button-response-btngroup button:nth-child(1)"),
        {"response": 0},
        BUTTON,
    ),
    Tried(
        _official("image-slider-response"),
        {"stimulus": FACE, **SCALE},
        "#jspsych-image-slider-response-stimulus",
        _slide("image-slider-response"),
        {"response": 7, "slider_start": 5},
        SLIDER,
    ),
    Tried(
        _official("same-different-image"),
        {"stimuli": [FACE, HOUSE], "answer": "same", "first_stim_duration": 50, "gap_duration": 50,
         "prompt": "<i>2</i>"},
        "i",
        _press("p"),
        {"response": "p", "correct": False, "stimulus": [FACE, HOUSE]},
        "`response`: the key. `correct`",
        f"{JUDGES} `rt` begins at the second stimulus. {INEXACT}",
        repeated=("answer",),
    ),
    Tried(
        _official("categorize-image"),
        {"stimulus": FACE, "key_answer": "f", **CHOICES, "feedback_duration": 50},
        "#jspsych-categorize-image-stimulus",
        _press("f"),
        {"response": "f", "correct": True},
        "`response`: the key. `correct`",
        f"{JUDGES} It shows feedback in every trial.",
    ),
    Tried(
        _official("categorize-animation"),
        {"stimuli": [FACE, HOUSE], "key_answer": "f", **CHOICES, "frame_time": 100, "feedback_duration": 50,
         "allow_response_before_complete": True, "prompt": "<i>f or j?</i>"},
        "i",
        _press("j"),
        {"response": "j", "correct": False, "stimulus": [FACE, HOUSE]},
        "`response`: the key. `correct`",
        f"{JUDGES} It shows feedback in every trial.",
        repeated=(),
    ),
    Tried(
        _official("iat-image"),
        {"stimulus": FACE, "stim_key_association": "right"},
        "#jspsych-iat-stim",
        _press("i"),
        {"response": "i", "correct": True},
        "`response`: the key. `correct`",
        JUDGES,
    ),
    Tried(
        _official("animation"),
        {"stimuli": [FACE, HOUSE], "frame_time": 200, "sequence_reps": 2, "choices": ["a"]},
        "canvas[width='60'], canvas[width='80']",
        _press("a"),
        {"response": _has(key_press="a"), "animation_sequence": _has(stimulus=HOUSE)},
        "`response`: a list of the keys with their times and pictures. `animation_sequence`",
        "There is no `rt_ms`, because there can be several keys. Each key has its own `rt`.",
        has_rt=False,
        repeated=(),
    ),
    Tried(
        _official("visual-search-circle"),
        {"stimuli": [FACE, HOUSE, HOUSE], "fixation_image": FACE, "target_present": True, "fixation_duration": 50},
        "#jspsych-visual-search-circle-container img:nth-of-type(3)",
        _press("j"),
        {"response": "j", "correct": True},
        "`response`: the key. `correct`. `locations`",
        f"{JUDGES} The plugin shows its own fixation picture first, and `rt` begins after this picture. {INEXACT}",
        repeated=("target_present",),
    ),
    Tried(
        _official("free-sort"),
        {"stimuli": [FACE, HOUSE], "sort_area_width": 400, "sort_area_height": 300, "stim_width": 40,
         "stim_height": 40},
        "#jspsych-free-sort-draggable-1",
        _sort,
        {"init_locations": _one_of_each, "moves": _one_of_each, "final_locations": _one_of_each},
        "`final_locations`, `init_locations`, `moves`: lists with the path (`src`) and the position of each picture",
        repeated=(),
    ),
]  # fmt: skip
SOUNDS_AND_VIDEOS = [
    Tried(
        _official("audio-keyboard-response"),
        {"stimulus": TONE, **CHOICES, "prompt": "<i>f or j?</i>"},
        "i",
        _press("f"),
        {"response": "f"},
        KEY,
        SOUND,
    ),
    Tried(
        _official("audio-button-response"),
        {"stimulus": TONE, **TWO},
        "#jspsych-audio-button-response-btngroup",
        _click("#jspsych-audio-button-response-btngroup button:nth-child(2)"),
        {"response": 1},
        BUTTON,
        SOUND,
    ),
    Tried(
        _official("audio-slider-response"),
        {"stimulus": TONE, **SCALE},
        "input[type=range]",
        _slide("audio-slider-response"),
        {"response": 7, "slider_start": 5},
        SLIDER,
        SOUND,
    ),
    Tried(
        _official("video-keyboard-response"),
        {"stimulus": [CLIP], **CHOICES, "width": 300, "height": 200},
        "video",
        _press("j"),
        {"response": "j"},
        KEY,
        "The plugin plays the first file of the list. Without `width` and `height`, jsPsych writes a warning.",
    ),
    Tried(
        _official("video-button-response"),
        {"stimulus": [CLIP], **TWO, "response_allowed_while_playing": False},
        "video",
        _click("#jspsych-video-button-response-btngroup button:nth-child(1):enabled"),
        {"response": 0},
        BUTTON,
        "The plugin plays the first file of the list.",
    ),
    Tried(
        _official("video-slider-response"),
        {"stimulus": [CLIP], **SCALE},
        "video",
        _slide("video-slider-response"),
        {"response": 7, "slider_start": 5},
        SLIDER,
        "The plugin plays the first file of the list.",
    ),
]
SURVEYS = [
    Tried(
        _official("survey-text"),
        {"questions": [{"prompt": f"Who is this? {IMG}", "name": "who"}]},
        "#input-0",
        _in_order(_fill("#input-0", "Anna"), _click("#jspsych-survey-text-next")),
        {"response": {"who": "Anna"}},
        "`response`: the text of each question, under the question's `name`",
        repeated=(),
    ),
    Tried(
        _official("survey-multi-choice"),
        {"questions": [{"prompt": f"Who? {IMG}", "name": "who", "options": ["Anna", "Ben"]}]},
        "#jspsych-survey-multi-choice-response-0-1",
        _click("#jspsych-survey-multi-choice-response-0-1", "#jspsych-survey-multi-choice-next"),
        {"response": {"who": "Ben"}, "response_index": [1]},
        "`response`: the text of the option for each question. `response_index`: the list of their indexes, from 0",
        repeated=(),
    ),
    Tried(
        _official("survey-multi-select"),
        {"questions": [{"prompt": f"Who? {IMG}", "name": "who", "options": ["Anna", "Ben", "Eva"]}]},
        "#jspsych-survey-multi-select-response-0-2",
        _click("#jspsych-survey-multi-select-response-0-0", "#jspsych-survey-multi-select-response-0-2",
               "#jspsych-survey-multi-select-next"),
        {"response": {"who": ["Anna", "Eva"]}},
        "`response`: the list of the chosen options for each question",
        repeated=(),
    ),
    Tried(
        _official("survey-likert"),
        {"questions": [{"prompt": f"I know her. {IMG}", "name": "knows", "labels": ["no", "maybe", "yes"]}]},
        "#jspsych-survey-likert-form",
        _click("#jspsych-survey-likert-form li:nth-child(2) input", "#jspsych-survey-likert-next"),
        {"response": {"knows": 1}},
        "`response`: the index of the label for each question, from 0",
        repeated=(),
    ),
    Tried(
        _official("survey-html-form"),
        {"html": f'{IMG}<input name="name" id="name"><input name="age" id="age">'},
        "#name",
        _in_order(_fill("#name", "Anna"), _fill("#age", "30"), _click("#jspsych-survey-html-form-next")),
        {"response": {"name": "Anna", "age": "30"}},
        "`response`: the text of each field, under the field's `name`",
        repeated=(),
    ),
    Tried(
        _official("survey"),
        {"survey_json": {"elements": [
            {"type": "text", "name": "who", "title": "Who is this?"},
            {"type": "html", "name": "picture", "html": IMG},
        ]}},
        "input[type=text]",
        _in_order(_fill("input[type=text]", "Anna"), _click(".sd-btn.sv-nav-btn, input[type=button]")),
        {"response": {"who": "Anna", "picture": None}},
        "`response`: the answers by the names of the questions",
        "The page does not load the plugin's style sheet, so the form looks plain. The plugin's code has 1.4 MB.",
        repeated=(),
    ),
    Tried(
        _official("maxdiff"),
        {"alternatives": ["apple", f'<img src="{HOUSE}" alt="house">', "pear"], "labels": ["best", "worst"]},
        "#jspsych-maxdiff-form",
        _click(".jspsych-maxdiff-alt-0[name=left]", ".jspsych-maxdiff-alt-1[name=right]", "#jspsych-maxdiff-next"),
        {"response": {"left": "apple", "right": f'<img src="{HOUSE}" alt="house">'}},
        "`response`: the two chosen alternatives, `left` and `right`",
        repeated=(),
    ),
]  # fmt: skip
OTHERS = [
    Tried(
        _official("serial-reaction-time"),
        {"target": [0, 2]},
        "#jspsych-serial-reaction-time-stimulus-cell-0-2",
        _press("7"),
        {"response": "7", "correct": True},
        "`response`: the key. `correct`",
        repeated=("target",),
    ),
    Tried(
        _official("serial-reaction-time-mouse"),
        {"target": [0, 1]},
        "#jspsych-serial-reaction-time-stimulus-cell-0-1",
        _click("#jspsych-serial-reaction-time-stimulus-cell-0-1"),
        {"response": [0, 1], "correct": True},
        "`response`: row and column of the clicked square. `correct`",
        repeated=("target",),
    ),
    Tried(
        _official("sketchpad"),
        {"background_image": FACE, "canvas_width": 100, "canvas_height": 80, "prompt": "<p>Draw.</p>"},
        "#sketchpad-canvas",
        _draw,
        {
            "strokes": lambda strokes: len(strokes) == 1 and len(strokes[0]) > 2,
            "png": lambda png: png.startswith("data:image/png;base64,"),
        },
        "`strokes`: the points of each line. `png`: the drawing as a `data:` address",
        "A large drawing makes a large response. `save_final_image: false` stores only the strokes.",
        repeated=(),
    ),
    Tried(
        _official("fullscreen"),
        {"message": f"<p>Full screen</p>{IMG}", "delay_after": 0},
        "#jspsych-fullscreen-btn",
        _click("#jspsych-fullscreen-btn"),
        {"success": True},
        "`success`",
        "The setting `timeline: {fullscreen: true}` opens the full screen for the whole session.",
        repeated=(),
    ),
    Tried(
        _official("browser-check"),
        {"features": ["width", "height", "mobile"], "minimum_width": 200},
        "",
        _wait(0),
        {"width": 1280, "height": 800, "mobile": False},
        "a field for each feature, such as `width`",
        "The trial needs no input. The setting `device` of the study checks devices before the session begins.",
        has_rt=False,
        repeated=(),
    ),
    Tried(
        "@jspsych-contrib/plugin-html-multi-response",
        {"stimulus": IMG, "button_choices": ["no", "yes"], "keyboard_choices": ["f"]},
        "#jspsych-html-multi-response-stimulus",
        _click("#jspsych-html-multi-response-button-1 button"),
        {"button_response": 1, "keyboard_response": None, "response_source": "button"},
        "`button_response`: index from 0. `keyboard_response`: the key. `response_source`",
    ),
    Tried(
        "@jspsych-contrib/plugin-corsi-blocks",
        {"sequence": [0, 1], "mode": "input", "response_animation_duration": 50},
        "[data-id='1']",
        _in_order(_click("[data-id='0']"), _wait(120), _click("[data-id='1']")),
        {"response": [0, 1], "correct": True},
        "`response`: the list of the clicked blocks. `correct`. `rt` is a list of times",
        "There is no `rt_ms`, because `rt` is a list.",
        has_rt=False,
        repeated=("sequence",),
    ),
]

TRIED = {
    "texts": TEXTS,
    "pictures": PICTURES,
    "sounds and videos": SOUNDS_AND_VIDEOS,
    "surveys": SURVEYS,
    "other tasks": OTHERS,
}
"""The plugins that work, by the kind of their items."""

NEEDS_A_FUNCTION = "It needs a function as a parameter, which an item cannot contain. The page refuses the study."
NOT_WORKING = {
    _official("canvas-keyboard-response"): f"{NEEDS_A_FUNCTION} The other `canvas` plugins need the same function.",
    _official("reconstruction"): NEEDS_A_FUNCTION,
    _official("html-audio-response"): "It needs a microphone that another trial has opened on the same page.",
    "@jspsych-contrib/plugin-audio-multi-response": "It is made for jsPsych 7, and calls a function that jsPsych 8 "
    "does not have (`getAudioBuffer`).",
}
"""The plugins that do not work as items, with the reason."""
