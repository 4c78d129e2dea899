"""Windows of three browser engines with the same few commands: Chromium (Blink), Firefox (Gecko) and WebKitGTK.

Each window belongs to a new browser process without stored data. Playwright controls Debian's Chromium, but it
needs its own builds of Firefox and WebKit, which Debian does not have. Debian's Firefox accepts WebDriver BiDi, and
WebKitGTK's MiniBrowser accepts WebDriver. Both protocols describe input in the same way (W3C WebDriver, "Actions").
"""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import httpx
from playwright.sync_api import BrowserType
from playwright.sync_api import Error as PlaywrightError
from websockets.sync.client import ClientConnection, connect

from server.serve import free_port
from tests.browser import FLAGS, chromium_path
from tests.missing import skip_but_never_in_ci
from tests.waiting import wait_until_it_replies

WIDTH_PX, HEIGHT_PX = 1280, 800
MINIBROWSER_BAR_PX = 38
"""Height of MiniBrowser's toolbar."""
WEBDRIVER_KEYS = {"Enter": "\ue007", "Tab": "\ue004", "ArrowLeft": "\ue012", "ArrowRight": "\ue014"}
"""WebDriver's characters for keys without a character, by their names in `KeyboardEvent.key`."""
TOUCH_SCREEN = """\
user_pref("dom.w3c_touch_events.enabled", 1);
user_pref("ui.primaryPointerCapabilities", 1);
user_pref("ui.allPointerCapabilities", 1);
"""
"""Firefox's preferences for a touch screen without a mouse."""

ENGINES = ("chromium", "firefox", "webkit")


class Window(ABC):
    """A browser's window. All input is real input of the browser, which the page cannot distinguish from a person's."""

    @abstractmethod
    def goto(self, url: str) -> None:
        """Open a page and wait until it has loaded."""

    @abstractmethod
    def reload(self) -> None:
        """Reload the page and wait until it has loaded."""

    @abstractmethod
    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression. The value must be possible in JSON."""

    @abstractmethod
    def press(self, key: str) -> None:
        """Press and release a key, by its name in `KeyboardEvent.key`."""

    @abstractmethod
    def click_at(self, x_px: float, y_px: float) -> None:
        """Click on a point of the viewport."""

    def click(self, selector: str) -> None:
        """Click on the middle of an element, which must be the top element there."""
        point = self.evaluate(f"""(() => {{
          const element = document.querySelector({json.dumps(selector)});
          element.scrollIntoView({{ block: "nearest", behavior: "instant" }});
          const {{ x, y, width, height }} = element.getBoundingClientRect();
          const top = document.elementFromPoint(x + width / 2, y + height / 2);
          return element.contains(top) ? [x + width / 2, y + height / 2] : null;
        }})()""")
        assert point is not None, f"another element covers {selector}"
        self.click_at(*point)

    def wait_until(self, expression: str, timeout_s: float = 20) -> Any:
        """Wait until a JavaScript expression is true, and return its value."""
        deadline = time.monotonic() + timeout_s
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < deadline, f"{expression} on the page:\n{self.evaluate('document.body.innerText')}"
            time.sleep(0.05)
        return value


Launch = Callable[..., AbstractContextManager[Window]]
"""Starts a browser, with the options of the function for its engine, such as `chromium_window`."""


class ChromiumWindow(Window):
    """A window of Chromium."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def goto(self, url: str) -> None:
        self._page.goto(url)

    def reload(self) -> None:
        self._page.reload()

    def evaluate(self, expression: str) -> Any:
        return self._page.evaluate(expression)

    def press(self, key: str) -> None:
        self._page.keyboard.press(key)

    def click_at(self, x_px: float, y_px: float) -> None:
        self._page.mouse.click(x_px, y_px)


class ChromiumTouchWindow(ChromiumWindow):
    """A window of Chromium on a touch screen. All clicks are taps."""

    def click_at(self, x_px: float, y_px: float) -> None:
        self._page.touchscreen.tap(x_px, y_px)


class FirefoxWindow(Window):
    """A window of Firefox, controlled by WebDriver BiDi."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count()
        self._command("session.new", capabilities={})
        # The first tab never gets the focus, and without the focus Enter presses no button.
        self._context = self._command("browsingContext.create", type="tab")["context"]
        viewport = {"width": WIDTH_PX, "height": HEIGHT_PX}
        self._command("browsingContext.setViewport", context=self._context, viewport=viewport)

    def goto(self, url: str) -> None:
        self._command("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def reload(self) -> None:
        self._command("browsingContext.reload", context=self._context, wait="complete")

    def evaluate(self, expression: str) -> Any:
        as_json = f"JSON.stringify({expression})"
        reply = self._command(
            "script.evaluate", expression=as_json, target={"context": self._context}, awaitPromise=False
        )
        assert reply["type"] == "success", reply
        return json.loads(reply["result"].get("value", "null"))

    def press(self, key: str) -> None:
        self._command("input.performActions", context=self._context, actions=pressing(key))

    def click_at(self, x_px: float, y_px: float) -> None:
        self._command("input.performActions", context=self._context, actions=clicking(x_px, y_px))

    def _command(self, method: str, **params: Any) -> Any:
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (reply := json.loads(self._socket.recv(timeout=30))).get("id") != number:
            pass  # an event
        assert reply["type"] == "success", reply
        return reply["result"]


class FirefoxTouchWindow(FirefoxWindow):
    """A window of Firefox on a touch screen. All clicks are taps."""

    def click_at(self, x_px: float, y_px: float) -> None:
        self._command("input.performActions", context=self._context, actions=clicking(x_px, y_px, "touch"))


class WebKitWindow(Window):
    """A window of WebKitGTK's MiniBrowser, controlled by WebDriver."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self._command("window/rect", width=WIDTH_PX, height=HEIGHT_PX + MINIBROWSER_BAR_PX)

    def goto(self, url: str) -> None:
        self._command("url", url=url)

    def reload(self) -> None:
        self._command("refresh")

    def evaluate(self, expression: str) -> Any:
        return self._command("execute/sync", script=f"return {expression}", args=[])

    def press(self, key: str) -> None:
        self._command("actions", actions=pressing(key))

    def click_at(self, x_px: float, y_px: float) -> None:
        self._command("actions", actions=clicking(x_px, y_px))

    def _command(self, path: str, **body: Any) -> Any:
        reply = self._http.post(path, json=body)
        assert reply.is_success, reply.text
        return reply.json()["value"]


def pressing(key: str) -> list[dict[str, Any]]:
    """Return WebDriver's actions for a press of a key."""
    value = WEBDRIVER_KEYS.get(key, key)
    steps = [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
    return [{"type": "key", "id": "keyboard", "actions": steps}]


def clicking(x_px: float, y_px: float, pointer: Literal["mouse", "touch"] = "mouse") -> list[dict[str, Any]]:
    """Return WebDriver's actions for a click or a tap on a point of the viewport."""
    steps = [
        {"type": "pointerMove", "x": round(x_px), "y": round(y_px), "duration": 0},
        {"type": "pointerDown", "button": 0},
        {"type": "pointerUp", "button": 0},
    ]
    return [{"type": "pointer", "id": pointer, "parameters": {"pointerType": pointer}, "actions": steps}]


@contextmanager
def chromium_window(browser_type: BrowserType, *, touch: bool = False) -> Iterator[ChromiumWindow]:
    """Start Chromium, on a touch screen if `touch` is true. At the end, kill it."""
    path = chromium_path()
    if path is None:
        skip_but_never_in_ci("no Chromium was found; install the package chromium")
    browser = browser_type.launch(executable_path=path, args=list(FLAGS))
    try:
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": HEIGHT_PX}, has_touch=touch)
        yield ChromiumTouchWindow(page) if touch else ChromiumWindow(page)
    finally:
        with suppress(PlaywrightError):  # the browser ends without a reply
            browser.new_browser_cdp_session().send("Browser.crash")
        browser.close()


@contextmanager
def firefox_window(*, touch: bool = False) -> Iterator[FirefoxWindow]:
    """Start Firefox, on a touch screen if `touch` is true. At the end, kill it."""
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        skip_but_never_in_ci("no Firefox was found; install the package firefox-esr")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        options = ["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", home]
        log = Path(home, "log")
        if touch:
            Path(home, "user.js").write_text(TOUCH_SCREEN, encoding="utf-8")
        with _killed_at_the_end([path, *options], {"HOME": home}, log):
            address = _address_in(log)
            with connect(f"{address}/session", max_size=None, compression=None) as socket:
                yield FirefoxTouchWindow(socket) if touch else FirefoxWindow(socket)


@contextmanager
def webkit_window(display: str) -> Iterator[WebKitWindow]:
    """Start WebKitGTK's MiniBrowser on an X display. At the end, kill it."""
    driver = shutil.which("WebKitWebDriver")
    browsers = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
    if driver is None or not browsers:
        skip_but_never_in_ci("no WebKitGTK was found; install the package webkit2gtk-driver")
    port = free_port()
    environment = {"DISPLAY": display, "DBUS_SESSION_BUS_ADDRESS": "disabled:", "NO_AT_BRIDGE": "1"}
    with _killed_at_the_end([driver, f"--port={port}"], environment, Path(os.devnull)) as process:
        wait_until_it_replies(f"http://127.0.0.1:{port}/status", process)
        options = {"binary": str(browsers[-1]), "args": ["--automation"]}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/session/", timeout=60) as http:
            reply = http.post("", json={"capabilities": capabilities})
            assert reply.is_success, reply.text
            http.base_url = http.base_url.join(f"{reply.json()['value']['sessionId']}/")
            yield WebKitWindow(http)


@contextmanager
def _killed_at_the_end(command: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in its own group, which writes its errors to a file. At the end, kill the group."""
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=errors, process_group=0
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _address_in(log: Path) -> str:
    """Wait until Firefox has written the address of its WebDriver BiDi, and return the address."""
    deadline = time.monotonic() + 60
    while not (found := re.search(r"WebDriver BiDi listening on (\S+)\n", log.read_text(errors="replace"))):
        assert time.monotonic() < deadline, "Firefox did not start"
        time.sleep(0.05)
    return found[1]
