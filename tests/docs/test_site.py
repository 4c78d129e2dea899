"""The documentation site builds without a warning, has every page in its navigation, and needs no other host."""

import functools
import http.server
import importlib.util
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.docs.test_docs import DOCS, LINK, PAGES, name_of, text_of
from tests.missing import skip_but_never_in_ci

LOADING = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "srcset", "video": "src"}
"""Elements whose address the browser loads with the page."""


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a folder, as `make docs` does."""
    for package in ("sphinx", "furo", "myst_parser", "sphinx_copybutton"):
        if importlib.util.find_spec(package) is None:
            skip_but_never_in_ci(f"{package} is not installed: pip install -e '.[docs]'")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(source), str(target)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of docs/, built with warnings as errors: a broken link or anchor is a warning."""
    target = tmp_path_factory.mktemp("site")
    built = build(DOCS, target)
    assert built.returncode == 0, built.stdout + built.stderr
    return target


class Tags(HTMLParser):
    """The start tags of a page, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def pages_of(site: Path) -> list[Path]:
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def test_every_page_of_docs_is_a_page_of_the_site_and_in_its_navigation(site: Path) -> None:
    """A page that no list of docs/index.md names is missing here: add a line for it to docs/index.md."""
    names = {name_of(page).replace(".md", ".html") for page in PAGES}
    assert names | {"genindex.html", "search.html"} == {path.relative_to(site).as_posix() for path in pages_of(site)}
    _, _, navigation = (site / "index.html").read_text(encoding="utf-8").partition('<div class="sidebar-tree">')
    navigation, _, _ = navigation.partition("</aside>")
    assert set(re.findall(r'href="([\w/-]+\.html)"', navigation)) == names - {"index.html"}
    captions = re.findall(r'class="caption-text">([^<]+)<', navigation)
    assert captions == ["Tutorials", "How-to guides", "Gallery", "Reference", "Explanation"]


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    for path in pages_of(site):
        for tag, attributes in Tags(path.read_text(encoding="utf-8")).tags:
            address = attributes.get(LOADING.get(tag, "")) or ""
            is_loaded = tag != "link" or attributes.get("rel") != "canonical"
            assert not (is_loaded and re.match(r"(?:\w+:)?//", address)), (path.name, address)
    for path in (site / "_static").rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")\s]+)", path.read_text(encoding="utf-8")):
            assert address.startswith("data:") or "//" not in address, (path.name, address)


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """Serve the site, and yield its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_no_page_scrolls_sideways_asks_another_host_or_stores_a_cookie(
    chromium: Browser, site: Path, served: str
) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        asked: set[str] = set()
        page.on("request", lambda request: asked.add(re.match(r"\w+:(//[^/]*/)?", request.url)[0]))  # type: ignore[index]
        for path in pages_of(site):
            page.goto(f"{served}/{path.relative_to(site).as_posix()}", wait_until="domcontentloaded")
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 844})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, path.name
        assert asked <= {f"{served}/", "data:"}
        assert context.cookies() == []


def test_the_search_finds_a_page_also_without_a_server(chromium: Browser, site: Path) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{(site / 'search.html').as_uri()}?q=counterbalancing")
        page.locator("#search-results a", has_text="Counterbalancing").first.wait_for()


def test_a_broken_link_a_broken_anchor_and_a_page_outside_the_navigation_stop_the_build(tmp_path: Path) -> None:
    source = tmp_path / "docs" / "in"
    source.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1"\n', encoding="utf-8")
    for name in ("conf.py", "_static"):
        (source.parent / name).symlink_to(DOCS / name)
    (source.parent / "index.md").write_text("# Start\n\n## How-to: one\n\n- [One](in/one.md): first.\n", "utf-8")
    (source / "one.md").write_text("# One\n\n[No page](no.md), [no heading](two.md#no).\n", encoding="utf-8")
    (source / "two.md").write_text("# Two\n", encoding="utf-8")
    built = build(source.parent, tmp_path / "site")
    assert built.returncode != 0
    for problem in ("'no.md'", "two.md", "two.md: WARNING: document isn't included in any toctree"):
        assert problem in built.stderr, built.stderr
    assert "'no'" in built.stderr


def test_the_start_page_names_no_page_twice() -> None:
    named = [link for link in LINK.findall(text_of(DOCS / "index.md")) if link.endswith(".md")]
    assert len(named) == len(set(named))
