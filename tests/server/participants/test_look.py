"""The study's own colour and logo on the participants' pages."""

import hashlib
import re
from pathlib import Path

import pytest
from flask import Flask

from experiment.load_study import load_study
from server.app import create_app
from server.settings import Settings
from server.store import SqliteStore
from tests.picture_study import DRAWING, make_picture_study
from tests.server.conftest import SECRETS

BROWSER = {"Accept": "text/html"}
PAGES = ["/", "/withdraw", "/nowhere"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_picture_study(tmp_path / "study")


@pytest.fixture
def served(folder: Path, store: SqliteStore) -> Flask:
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write('look: {accent: "#0a7d5c", logo: assets/circle.svg, logo_alt: "The <university>"}\n')
    return create_app(load_study(folder), store, SECRETS, Settings())


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_the_colour_the_logo_and_the_name_of_the_study(served: Flask, page: str) -> None:
    http = served.test_client()
    text = http.get(page, headers=BROWSER).text
    logo = hashlib.sha256(DRAWING.encode()).hexdigest()
    assert f'<img src="/asset/{logo}.svg" alt="The &lt;university&gt;">' in text
    assert '<header class="study-bar">' in text
    assert text.count("<main") == 1
    address = re.search(r'href="(/study/\w+\.css)"', text)
    assert address
    css = http.get(address[1])
    assert (css.status_code, css.mimetype) == (200, "text/css")
    assert "--accent: #0a7d5c" in css.text
    assert "immutable" in css.headers["Cache-Control"]
    picture = http.get(f"/asset/{logo}.svg", buffered=True)
    assert picture.data == DRAWING.encode()
    assert "sandbox" in picture.headers["Content-Security-Policy"]


@pytest.mark.parametrize("page", PAGES)
def test_a_study_without_a_look_has_its_name_and_our_colours(folder: Path, store: SqliteStore, page: str) -> None:
    http = create_app(load_study(folder), store, SECRETS, Settings()).test_client()
    text = http.get(page, headers=BROWSER).text
    assert "<span>Pictures</span>" in text
    assert "<img" not in text
    assert "/study/" not in text
    assert http.get(f"/study/{'0' * 64}.css").status_code == 404


def test_other_rules_are_not_served(served: Flask) -> None:
    assert served.test_client().get(f"/study/{'0' * 64}.css").status_code == 404
