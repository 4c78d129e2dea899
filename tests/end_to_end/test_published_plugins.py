"""Published jsPsych plugins from npm as items of a study: files by path, a participant's own input, and stored data."""

import dataclasses
import importlib.util
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from equipoise.studies import copy_sample_study
from tests.end_to_end.published_plugins import NEEDS_A_FUNCTION, NOT_WORKING, NPM, TRIED, Tried
from tests.end_to_end.visitor import Visitor
from tests.engines import HEIGHT_PX, MINIBROWSER_BAR_PX, WIDTH_PX, Window, firefox_window, webkit_window
from tests.missing import skip_but_never_in_ci
from tests.paths import MEDIA, ROOT
from tests.picture_study import DRAWING, picture
from tests.server_process import running_server
from tests.x_server import x_server

STUDY: dict[str, Any] = {
    "study": "plugins",
    "version": "1.0",
    "title": "Plugins",
    "battery": "battery.yaml",
    "practice": [],
    "design": {"method": "deal", "groups": 1, "balance": ["shape"]},
    "timeline": {"consent": "consent.md"},
    "device": {"phones": True, "sound": False},  # without the sound check
}


def make_study(folder: Path, rows: Sequence[Tried]) -> Path:
    copy_sample_study("intuition-single", folder)
    plugins = {row.name: {"file": f"{row.name}.js", "variable": row.variable} for row in rows}
    items = [
        {
            "item_id": row.name,
            "task": "jspsych",
            "factors": {"shape": "any"},
            "content": {"plugin": row.name, "parameters": row.parameters},
            "key": None,
        }
        for row in rows
    ]
    (folder / "study.yaml").write_text(json.dumps({**STUDY, "plugins": plugins}), encoding="utf-8")
    battery = {"battery": "plugins", "version": "1", "items": items}
    (folder / "battery.yaml").write_text(json.dumps(battery), encoding="utf-8")
    for row in rows:
        shutil.copy(row.file, folder / f"{row.name}.js")
    assets = folder / "assets"
    assets.mkdir()
    (assets / "face.png").write_bytes(picture(size=(60, 40)))
    (assets / "house.svg").write_text(DRAWING, encoding="utf-8")
    for name in ("tone.wav", "clip.webm"):
        shutil.copy(MEDIA / name, assets)
    return folder


def take(visitor: Visitor, row: Tried) -> None:
    """Give the input of a participant in one trial."""
    page = visitor.page
    if row.shown:
        page.locator(row.shown).first.wait_for()
        page.evaluate(COUNT_FRAMES)
        visitor.wait_until(IS_VISIBLE)
        assert page.locator("body").evaluate(BROKEN_PICTURES) == []
    row.act(page)


COUNT_FRAMES = """(() => {
  window.framesSeen = 0;
  const count = () => { window.framesSeen++; requestAnimationFrame(count); };
  if (!window.isCounting) requestAnimationFrame(count);
  window.isCounting = true;
})()"""
IS_VISIBLE = "window.framesSeen >= 12"
"""JavaScript: so many frames later, the stimulus is visible also on a busy machine. Earlier input is ignored."""
BROKEN_PICTURES = """body => [
  ...[...body.querySelectorAll("img")].filter((img) => !img.complete || img.naturalWidth === 0),
  ...[...body.querySelectorAll("canvas")].filter((canvas) => canvas.clientWidth !== canvas.width),
].map((broken) => broken.outerHTML)"""
"""JavaScript function that returns the pictures that are not loaded, and the canvases with another size than drawn."""


@pytest.mark.parametrize("kind", TRIED)
def test_published_plugins_record_what_a_participant_does(visit: Any, tmp_path: Path, rows: Any, kind: str) -> None:
    tried = {row.name: row for row in TRIED[kind]}
    folder = make_study(tmp_path / "study", TRIED[kind])
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        requested: list[str] = []
        visitor.page.on("request", lambda request: requested.append(request.url))
        with visitor.page.expect_response(lambda reply: reply.request.method == "POST" and reply.ok) as begun:
            visitor.page.click("#consent-agree")
        trials = begun.value.json()["trials"]
        assert "assets/" not in json.dumps(trials)
        for trial in trials:
            name = trial["content"]["plugin"]
            try:
                take(visitor, tried[name])
            except Exception as error:
                error.add_note(f"in the trial of the plugin {name}")
                raise
        visitor.page.locator("#completion-code").wait_for()
        stored = {row["item_id"]: row for row in rows(folder)}
    files = [url for url in requested if "/asset/" in url]
    assert len(files) == len(set(files)), "a plugin requested a file that was loaded before"
    assert stored.keys() == tried.keys()
    for name, row in stored.items():
        check(tried[name], row)


def test_a_plugins_picture_is_decoded_before_the_fixation_ends(visit: Any, tmp_path: Path, rows: Any) -> None:
    (row,) = (row for row in TRIED["pictures"] if row.name == "image-keyboard-response")
    folder = make_study(tmp_path / "study", [row])
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        visitor.page.evaluate(SLOW_DECODING)
        visitor.page.click("#consent-agree")
        take(visitor, row)
        visitor.page.locator("#completion-code").wait_for()
        (stored,) = rows(folder)
    assert stored["fixation_ms"] > DECODING_MS - 100  # decoding begins just before the fixation
    assert stored["fixation_frames"] > stored["fixation_frames_intended"]


DECODING_MS = 1500
SLOW_DECODING = f"""() => {{
  HTMLImageElement.prototype.decode = () => new Promise((resolve) => setTimeout(resolve, {DECODING_MS}));
}}"""


def check(tried: Tried, row: dict[str, Any], least_rt_ms: float = 0) -> None:
    """Check that a stored row has what the participant did, with a response time above `least_rt_ms`."""
    response = json.loads(row["response"])
    expected = {name: tried.parameters[name] for name in tried.repeated} | dict(tried.recorded)
    for field, value in expected.items():
        found = response[field]
        assert value(found) if callable(value) else found == value, (tried.name, field, found)
    assert "blob:" not in row["response"], tried.name
    assert "/asset/" not in row["response"], tried.name
    noted = json.loads(row["jspsych"])
    assert noted["trial_type"] == tried.name
    assert row["fixation_frames"] >= row["fixation_frames_intended"] > 0, tried.name
    assert row["onset_source"] in {"presented", "painted"}
    assert row["shown_at"] is not None
    if tried.has_rt:
        assert least_rt_ms < row["rt_ms"] <= response["rt"], (tried.name, row["rt_ms"], response["rt"])
    else:
        assert row["rt_ms"] is None, tried.name


def answered_at_once(tried: Tried) -> Tried:
    """Return a row whose buttons work while a video is played, with the first button as the response."""
    parameters = {**tried.parameters, "response_allowed_while_playing": True}
    return dataclasses.replace(tried, parameters=parameters, recorded={"response": 0})


WITH_BUTTONS = [
    answered_at_once(row) for rows in TRIED.values() for row in rows if row.name.endswith("-button-response")
]
BUTTON_GROUP = "main [id$='-btngroup'] button:enabled"
LOADED = """[...document.querySelectorAll("main :is(img, canvas, video)")].every(
  (one) => (one.naturalWidth ?? one.videoWidth ?? one.width) > 0)"""
PLAYS = "[...document.querySelectorAll('main video')].every((one) => one.controls || one.ended || !one.paused)"
"""JavaScript condition: each video plays or has ended, or the participant can begin it."""


@pytest.mark.parametrize("engine", ["firefox", "webkit"])
def test_other_engines_show_the_files_of_plugins(engine: str, tmp_path: Path, rows: Any) -> None:
    folder = make_study(tmp_path / "study", WITH_BUTTONS)
    with running_server(folder) as url, other_window(engine) as window:
        window.goto(url)
        window.wait_until("document.querySelector('#consent-agree') !== null")
        window.click("#consent-agree")
        for _ in WITH_BUTTONS:
            window.wait_until(f'document.querySelector("{BUTTON_GROUP}:not([data-walked])") !== null && ({LOADED})')
            window.wait_until(PLAYS)
            window.evaluate(COUNT_FRAMES)
            window.wait_until(IS_VISIBLE)
            window.evaluate(
                f"""document.querySelectorAll("{BUTTON_GROUP}").forEach((one) => (one.dataset.walked = 1))"""
            )
            window.click(BUTTON_GROUP)
        window.wait_until("document.querySelector('#completion-code') !== null")
        stored = {row["item_id"]: row for row in rows(folder)}
    assert stored.keys() == {row.name for row in WITH_BUTTONS}
    for tried in WITH_BUTTONS:
        # Without a sound card, Firefox's clock of sounds does not run, so a response time is 0.
        has_no_clock = engine == "firefox" and tried.name.startswith("audio-")
        check(tried, stored[tried.name], least_rt_ms=-1 if has_no_clock else 0)


@contextmanager
def other_window(engine: str) -> Iterator[Window]:
    """Open a window of Firefox or WebKit."""
    if engine == "firefox":
        with firefox_window() as window:
            yield window
    elif shutil.which("Xvfb") is None:
        skip_but_never_in_ci("no Xvfb was found; install the package xvfb")
    else:
        with x_server(WIDTH_PX, HEIGHT_PX + MINIBROWSER_BAR_PX) as server, webkit_window(server.display) as window:
            yield window


NO_FUNCTION = [package for package, reason in NOT_WORKING.items() if reason.startswith(NEEDS_A_FUNCTION)]


@pytest.mark.parametrize("package", NO_FUNCTION)
def test_a_plugin_that_needs_a_function_is_refused_before_the_first_trial(
    visit: Any, tmp_path: Path, package: str
) -> None:
    row = Tried(package, {"stimulus": "<p>Draw</p>"}, "", lambda _page: None, {}, "")
    with running_server(make_study(tmp_path / "study", [row])) as url:
        visitor: Visitor = visit(url)
        visitor.page.click("#consent-agree")
        alert = visitor.page.get_by_role("alert")
        expect(alert).to_contain_text(f"The plugin {row.name} needs a function as its parameter stim")


def test_the_page_of_the_plugins_agrees_with_this_test() -> None:
    spec = importlib.util.spec_from_file_location("generator", ROOT / "docs" / "generate_plugins_page.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.PAGE.read_text(encoding="utf-8") == generator.page(), "run docs/generate_plugins_page.py"


def test_the_lock_file_contains_no_addresses_of_a_registry() -> None:
    packages = json.loads((NPM.parent / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert sum(1 for name in packages if "/plugin-" in name) >= 25
