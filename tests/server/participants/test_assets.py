"""Pictures, sounds and videos: their copies, their addresses, and what a browser may do with them."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask import Flask
from werkzeug.test import TestResponse

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.study.definition import Study
from server.app import create_app
from server.asset_copies import keep_assets
from server.response_headers import StrictHeaders
from server.settings import Settings
from server.store import SqliteStore
from tests.paths import MEDIA
from tests.picture_study import DRAWING, make_picture_study, picture
from tests.server.conftest import SECRETS, Participant
from tests.server.served import ServedParticipant, Server

CLIP = (MEDIA / "clip.mp4").read_bytes()


def address(data: bytes, suffix: str) -> str:
    return f"/asset/{hashlib.sha256(data).hexdigest()}{suffix}"


def get(app: Flask, url: str, **headers: str) -> TestResponse:
    """Return a reply that was read to its end, so that its file is closed."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return app.test_client().get(url, headers=named, buffered=True)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return load_study(make_picture_study(tmp_path / "pictures"))


@pytest.fixture
def app(study: Study, store: SqliteStore) -> Flask:
    return create_app(study, store, SECRETS, Settings())


FILES = [
    (picture(), ".png", "image/png"),
    (DRAWING.encode(), ".svg", "image/svg+xml"),
    ((MEDIA / "tone.wav").read_bytes(), ".wav", "audio/wav"),
    (CLIP, ".mp4", "video/mp4"),
]


@pytest.mark.parametrize(("data", "suffix", "kind"), FILES, ids=[suffix for _, suffix, _ in FILES])
def test_a_file_is_served_by_its_digest_and_may_be_cached(app: Flask, data: bytes, suffix: str, kind: str) -> None:
    reply = get(app, address(data, suffix))
    assert reply.status_code == 200
    assert reply.data == data
    assert reply.mimetype == kind
    assert reply.headers["Cache-Control"] == "max-age=31536000, immutable"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert reply.headers["Accept-Ranges"] == "bytes"
    (policy,) = reply.headers.getlist("Content-Security-Policy")
    assert "sandbox" in policy.split("; ")
    assert "script-src" not in policy
    assert policy.startswith("default-src 'none'")
    assert get(app, address(data, suffix), If_None_Match=reply.headers["ETag"]).status_code == 304


def test_a_part_of_a_video_is_served(app: Flask) -> None:
    part = get(app, address(CLIP, ".mp4"), Range="bytes=100-199")
    assert part.status_code == 206
    assert part.data == CLIP[100:200]
    assert part.headers["Content-Range"] == f"bytes 100-199/{len(CLIP)}"
    assert get(app, address(CLIP, ".mp4"), Range="bytes=-5").data == CLIP[-5:]
    assert get(app, address(CLIP, ".mp4"), Range="bytes=999999-").status_code == 416


@pytest.mark.parametrize(
    "name",
    [
        "red-is-right.png",
        "0" * 64 + ".png",
        hashlib.sha256(CLIP).hexdigest(),
        hashlib.sha256(CLIP).hexdigest() + ".webm",
        hashlib.sha256(CLIP).hexdigest().upper() + ".mp4",
        hashlib.sha256(CLIP).hexdigest() + ".mp4%0a",
        "..%2f..%2fdata%2fequipoise.db",
        "%2e%2e/signing-key",
        "",
    ],
)
def test_other_names_do_not_exist(app: Flask, name: str) -> None:
    assert get(app, f"/asset/{name}").status_code == 404


def test_a_file_that_no_item_names_is_not_served(tmp_path: Path, store: SqliteStore) -> None:
    folder = make_picture_study(tmp_path / "pictures")
    secret = picture(colour="green")
    (folder / "assets" / "not-used.png").write_bytes(secret)
    app = create_app(load_study(folder), store, SECRETS, Settings())
    assert get(app, address(secret, ".png")).status_code == 404


def test_other_files_in_the_folder_of_the_copies_are_not_served(app: Flask, study: Study) -> None:
    for name in ("notes.txt", "notes.png", f"{'0' * 64}.png-12345678.part"):
        (study.folder / "data" / "assets" / name).write_bytes(picture())
        assert get(app, f"/asset/{name}").status_code == 404


def test_the_page_gets_addresses_and_html_and_no_names_of_files(app: Flask) -> None:
    participant = Participant(app)
    participant.start()
    sent = json.dumps(participant.session)
    assert "is-right" not in sent
    assert "sha256" not in sent
    contents: dict[str, Any] = {trial["content"]["prompt"]: trial["content"] for trial in participant.session["trials"]}
    question = contents["Which picture is red?"]
    text, circle = question["stimulus"]
    assert text == {"kind": "text", "html": "<p>Look at the <em>picture</em>.</p>\n<p>Then answer.</p>\n"}
    drawing = address(DRAWING.encode(), ".svg")
    size = {"width_px": 80, "height_px": 60}
    assert circle == {"kind": "image", "src": drawing, "alt": "A circle", **size}
    size = {"width_px": 6, "height_px": 4}
    red = {"kind": "image", "src": address(picture(), ".png"), "alt": "A red square", **size}
    assert question["options"][0] == red
    tone, clip = contents["What did you notice?"]["stimulus"]
    wav = address((MEDIA / "tone.wav").read_bytes(), ".wav")
    assert tone == {"kind": "sound", "src": wav, "alt": "A tone", "duration_ms": 250}
    assert clip == {"kind": "video", "src": address(CLIP, ".mp4"), "alt": "A clip", "duration_ms": 400}
    assert "stimulus" not in contents["Which number is even?"]
    for part in (circle, red, tone, clip):
        assert get(app, part["src"]).status_code == 200


def test_data_of_a_plugin_are_stored_with_paths_and_scored(tmp_path: Path, store: SqliteStore) -> None:
    folder = make_picture_study(tmp_path / "pictures")
    paths = ["assets/red-is-right.png", "assets/blue-is-right.png"]
    content = {"plugin": "chooser", "parameters": {"choices": paths}, "answers": [{"chosen": path} for path in paths]}
    key = {"chosen": paths[0]}
    item = {"item_id": "p1", "task": "jspsych", "factors": {"topic": "test"}, "content": content, "key": key}
    other = {**item, "item_id": "q1"}
    rows = [{"battery": "pictures", "version": "1.0"}, item, other]
    (folder / "battery.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "chooser.js").write_text("var chooser = null;", encoding="utf-8")
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("plugins: {chooser: {file: chooser.js, variable: chooser}}\n")
    participant = Participant(create_app(load_study(folder), store, SECRETS, Settings()))
    participant.start()
    sent = json.dumps(participant.session)
    assert "is-right" not in sent
    red = address(picture(), ".png")
    reply = participant.answer(0, response={"chosen": red, "stimulus": f"<img src='{red}'>"})
    assert reply.status_code == 201
    assert reply.json is not None
    assert reply.json["responses"][0]["feedback"]["correct"] is True
    stored = store.responses(participant.session["session"])
    assert stored[0] == {"chosen": paths[0], "stimulus": f"<img src='{paths[0]}'>"}


def test_html_in_a_text_is_shown_as_text(tmp_path: Path, store: SqliteStore) -> None:
    folder = make_picture_study(tmp_path / "pictures")
    battery = folder / "battery.jsonl"
    battery.write_text(battery.read_text(encoding="utf-8").replace("*picture*", "<img src=x onerror=alert(1)>"))
    participant = Participant(create_app(load_study(folder), store, SECRETS, Settings()))
    participant.start()
    assert "<img" not in json.dumps(participant.session)


def test_the_policy_of_the_page_allows_files_of_this_server_only(app: Flask) -> None:
    policy = app.test_client().get("/").headers["Content-Security-Policy"].split("; ")
    assert "img-src 'self' data: blob:" in policy
    assert "media-src 'self' blob:" in policy
    assert "connect-src 'self'" in policy


def test_published_plugins_may_have_sounds_and_videos_as_data() -> None:
    sent: list[dict[str, str]] = []
    app = StrictHeaders(lambda _, start: start("200 OK", []) or [], has_plugins=True)
    app({"wsgi.url_scheme": "http"}, lambda _status, headers: sent.append(dict(headers)))  # type: ignore[arg-type]
    policy = sent[0]["Content-Security-Policy"].split("; ")
    assert "media-src 'self' blob: data:" in policy
    assert "connect-src 'self' data: blob:" in policy
    assert "script-src 'self'" in policy


def test_several_answers_are_stored_and_other_answers_refused(app: Flask) -> None:
    participant = Participant(app)
    participant.start()
    index = next(trial["trial_index"] for trial in participant.session["trials"] if "several" in trial["content"])
    for trial_index in range(index):
        trial = participant.session["trials"][trial_index]
        response = [1] if "several" in trial["content"] else 1
        assert participant.answer(trial_index, response=response).status_code == 201
    for refused in (1, [], [2, 1], [1, 2, 3], [4], ["1"]):
        assert participant.answer(index, response=refused).status_code == 422
    assert participant.answer(index, response=[1, 2]).status_code == 201


def test_a_session_keeps_its_pictures_when_a_file_changes(tmp_path: Path, store: SqliteStore) -> None:
    folder = make_picture_study(tmp_path / "pictures")
    before = picture()
    Participant(create_app(load_study(folder), store, SECRETS, Settings())).start(kind="simulated")
    changed = picture(size=(9, 9))
    (folder / "assets" / "red-is-right.png").write_bytes(changed)
    app = create_app(load_study(folder), store, SECRETS, Settings())
    for data in (before, changed):
        assert get(app, address(data, ".png")).data == data


def test_copies_are_made_once_and_only_from_the_bytes_that_were_read(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    keep_assets(study, folder)
    made = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert len(made) == 5
    keep_assets(study, folder)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == made
    (study.folder / "assets" / "circle.svg").write_text(DRAWING.replace("9", "8"), encoding="utf-8")
    keep_assets(study, folder)  # The copy exists.
    with pytest.raises(InputError, match=r"assets/circle.svg: the file has changed since the study was read. Fix: "):
        keep_assets(study, tmp_path / "other")


def test_a_study_without_files_makes_no_folder(sample_study: Study, tmp_path: Path) -> None:
    keep_assets(sample_study, tmp_path / "copies")
    assert not (tmp_path / "copies").exists()


def test_a_folder_that_cannot_be_written_is_an_error_with_a_fix(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot be written .* EQUIPOISE_ASSETS"):
        keep_assets(study, tmp_path / "file" / "copies")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = make_picture_study(tmp_path_factory.mktemp("served") / "pictures")
    with Server(folder, EQUIPOISE_ASSETS=str(folder.parent / "copies")) as server:
        yield server


@pytest.mark.parametrize(("data", "suffix", "kind"), FILES, ids=[suffix for _, suffix, _ in FILES])
def test_a_real_server_sends_whole_files_and_parts(server: Server, data: bytes, suffix: str, kind: str) -> None:
    url = f"{server.url}{address(data, suffix)}"
    whole = httpx.get(url)
    assert (whole.status_code, whole.content) == (200, data)
    assert whole.headers["Content-Type"].partition(";")[0] == kind
    assert whole.headers["Content-Length"] == str(len(data))
    for wanted, expected in [("bytes=0-0", data[:1]), ("bytes=5-20", data[5:21]), ("bytes=-7", data[-7:])]:
        part = httpx.get(url, headers={"Range": wanted})
        assert (part.status_code, part.content) == (206, expected)
        assert part.headers["Content-Length"] == str(len(expected))
    assert httpx.get(url, headers={"If-None-Match": whole.headers["ETag"]}).status_code == 304
    head = httpx.head(url)
    assert (head.status_code, head.content, head.headers["Content-Length"]) == (200, b"", str(len(data)))


def test_a_real_server_keeps_the_copies_in_the_chosen_folder(server: Server) -> None:
    assert len(list((server.folder.parent / "copies").iterdir())) == 5
    assert not (server.folder / "data" / "assets").exists()
    assert ServedParticipant(server.url).answer(0).status_code == 201
