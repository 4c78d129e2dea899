"""oTree, in its production mode on SQLite, with a project of a consent page, 26 pages of radio buttons and an end.

A response is posted as a form and acknowledged by a redirect; the next page is then fetched, as a browser does it.
"""

import json
import os
import random
import shutil
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path

from benchmarks.load import HOST, LoadError, Reply, Request, Script, request
from benchmarks.peers import FOLDER, environment
from benchmarks.processes import ServerProcess

REST_KEY = "benchmark"
N_PARTICIPANTS = 250
"""Participants in the session, a number that oTree needs at its start; more than a run uses."""

FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


def server(folder: Path, port: int) -> ServerProcess:
    """Return oTree's server with a new project and database in `folder`, which must not exist."""
    programs = environment("otree")
    shutil.copytree(FOLDER / "otree_project", folder)
    (folder / "_static").mkdir()  # oTree does not start without it
    return ServerProcess(
        [str(programs / "otree"), "prodserver1of2", f"{HOST}:{port}"],
        folder,
        port,
        {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",  # it starts another `otree` process
            "OTREE_PRODUCTION": "1",
            "OTREE_REST_KEY": REST_KEY,
        },
    )


def new_participants(port: int) -> Callable[[], Script]:
    """Make a session over oTree's REST API; return the script of a participant's session."""
    wanted = urllib.request.Request(
        f"http://{HOST}:{port}/api/sessions",
        json.dumps({"session_config_name": "study", "num_participants": N_PARTICIPANTS}).encode(),
        {"Content-Type": "application/json", "otree-rest-key": REST_KEY},
    )
    with urllib.request.urlopen(wanted) as reply:  # noqa: S310
        link = _path(json.load(reply)["session_wide_url"])
    return lambda: _participant(link)


def _participant(link: str) -> Script:
    page = yield from _page(link)
    page = yield from _submit(page, b"consent=True")
    while "/trials/" in page:
        page = yield from _submit(page, b"choice=%d" % random.randrange(4), is_response=True)
    if "/thanks/" not in page:
        raise LoadError(f"after the trials comes {page}")


def _submit(page: str, form: bytes, is_response: bool = False) -> Generator[Request, Reply, str]:
    reply = yield request("POST", page, form, FORM, is_response)
    next_page = _path(reply.expect(302, 303).header("location"))
    if next_page == page:
        raise LoadError(f"oTree did not accept {form!r} at {page}")
    return (yield from _page(next_page))


def _page(path: str) -> Generator[Request, Reply, str]:
    """Open a page and follow redirects; return the final address."""
    reply = yield request("GET", path)
    while reply.status in {302, 303, 307}:
        path = _path(reply.header("location"))
        reply = yield request("GET", path)
    reply.expect(200)
    return path


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3] if "://" in url else url
