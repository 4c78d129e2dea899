"""The exports to Gorilla and jsPsych: complete, in order, running, and without keys in participants' files."""

import csv
import io
import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

from batteries.errors import InputError
from batteries.exports.gorilla import gorilla_spreadsheets, trial_html
from batteries.exports.jspsych import JSPSYCH_VERSION, jspsych_files
from batteries.files.atomic_folder import write_new_folder
from batteries.items import Battery, Item
from equipoise.cli.main import main
from tests.missing import skip_but_never_in_ci
from tests.paths import ROOT, STUDIES

WEB = ROOT / "experiment" / "web"

TRICKY = {
    "text": 'She said, "wait",\nand  ran to São Paulo — 北京.\n\n<b>Then</b> & only: {x} $title */ </script> *no*\\n;',
    "prompt": "What's <next>?",
    "options": ["A & B", '“C”, "D"', "two\nlines", "none=of these"],
}


def item(item_id: str, key: int = 1, content: dict[str, Any] | None = None, **factors: Any) -> Item:
    plain = {"text": f"Story {item_id}.\n\nIt ends.", "prompt": f"Why {item_id}?", "options": ["p", "q", "r", "s"]}
    return Item(item_id=item_id, task="multiple_choice", content=content or plain, key=key, factors=factors)


GROUPS = {f"s{number}-{version}": number % 3 + 1 for number in range(1, 4) for version in "ab"}
SHARED: dict[str, Any] = {"practice": ["warm-up", "first"], "attention_checks": ["check"], "fixation_ms": 200}


def battery(key: int = 1, **contents: dict[str, Any]) -> Battery:
    tests = [
        item(
            item_id,
            key,
            contents.get(item_id.replace("-", "_")),
            scenario=item_id[:2],
            condition="01",
            option_order="1",
        )
        for item_id in GROUPS
    ]
    others = [item("check", 2), item("first", key), item("warm-up", key)]
    return Battery(battery="tales", version="1.0", canary="canary-5e2c", items=(*tests, *others))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def spreadsheets(**arguments: Any) -> dict[str, str]:
    return gorilla_spreadsheets(**({"battery": battery(), "groups": GROUPS} | SHARED | arguments))


def experiment(**arguments: Any) -> dict[str, str]:
    return jspsych_files(**({"battery": battery(), "groups": GROUPS, "title": "Tales"} | SHARED | arguments))


def browser_files(files: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in files.items() if name.startswith("public/")}


def group_trials(files: dict[str, str], group: str) -> dict[str, Any]:
    match = re.fullmatch(r"window\.groupTrials = (.*);\n", files[f"public/trials-group-{group}.js"], re.DOTALL)
    assert match
    trials: dict[str, Any] = json.loads(match[1])
    return trials


def in_group(group: int) -> set[str]:
    return {item_id for item_id, its_group in GROUPS.items() if its_group == group}


def test_a_gorilla_spreadsheet_has_each_item_of_its_group_once_with_practice_first() -> None:
    files = spreadsheets()
    assert [name for name in files if name.startswith("gorilla-group")] == [
        f"gorilla-group-0{group}.csv" for group in (1, 2, 3)
    ]
    for group in (1, 2, 3):
        sheet = rows(files[f"gorilla-group-0{group}.csv"])
        assert [row["item_id"] for row in sheet[:2]] == ["warm-up", "first"]
        assert sorted(row["item_id"] for row in sheet[2:]) == sorted([*in_group(group), "check"])
        assert {(row["display"], row["randomise_trials"], row["phase"]) for row in sheet[:2]} == {
            ("practice", "", "practice")
        }
        assert {(row["display"], row["randomise_trials"]) for row in sheet[2:]} == {("trial", "1")}
        assert [row["item_id"] for row in sheet if row["phase"] == "attention_check"] == ["check"]


def test_a_jspsych_group_has_each_item_once_and_practice_separately() -> None:
    files = experiment()
    for group in (1, 2, 3):
        trials = group_trials(files, f"0{group}")
        assert [trial["item_id"] for trial in trials["practice"]] == ["warm-up", "first"]
        assert sorted(trial["item_id"] for trial in trials["trials"]) == sorted([*in_group(group), "check"])
        assert trials["group"] == group


def test_a_battery_without_a_design_is_one_group() -> None:
    assert len(rows(spreadsheets(groups={})["gorilla-group-01.csv"])) == len(battery().items)
    assert len(group_trials(experiment(groups={}), "01")["trials"]) == len(GROUPS) + 1


def test_exports_do_not_depend_on_the_order_of_the_items() -> None:
    shuffled = battery().model_copy(update={"items": battery().items[::-1]})
    assert spreadsheets(battery=shuffled)["gorilla-group-01.csv"] == spreadsheets()["gorilla-group-01.csv"]
    assert browser_files(experiment(battery=shuffled)) == browser_files(experiment())


def test_the_files_for_a_browser_do_not_depend_on_the_keys() -> None:
    files = browser_files(experiment())
    assert len(files) == 5
    assert browser_files(experiment(battery=battery(key=3))) == files
    everything = "\n".join(files.values())
    for secret in ('"key"', "keys.csv", "factors", "option_order", "correct", "canary-5e2c", battery().digest):
        assert secret not in everything


def test_a_gorilla_spreadsheet_has_the_answers_only_on_request() -> None:
    sheet = rows(spreadsheets(battery=battery(key=3), answers=True)["gorilla-group-01.csv"])
    assert {row["item_id"]: row["answer"] for row in sheet} == {row["item_id"]: "3" for row in sheet} | {"check": "2"}
    apart, otherwise = spreadsheets(), spreadsheets(battery=battery(key=3))
    assert "answer" not in rows(apart["gorilla-group-01.csv"])[0]
    assert apart["gorilla-group-01.csv"] == otherwise["gorilla-group-01.csv"]
    assert apart["keys.csv"] != otherwise["keys.csv"]


def test_the_file_of_keys_has_every_item_once_with_its_key_group_and_factors() -> None:
    for files in (spreadsheets(), experiment()):
        keys = {row["item_id"]: row for row in rows(files["keys.csv"])}
        assert len(rows(files["keys.csv"])) == len(keys) == len(battery().items)
        assert keys["s1-a"] == {
            "item_id": "s1-a",
            "phase": "test",
            "group": "2",
            "key": "1",
            "scenario": "s1",
            "condition": "01",
            "option_order": "1",
        }
        assert (keys["check"]["phase"], keys["check"]["group"], keys["check"]["key"]) == ("attention_check", "", "2")


def test_texts_are_read_back_unchanged() -> None:
    tricky = battery(s1_a=TRICKY)
    [row] = [row for row in rows(spreadsheets(battery=tricky)["gorilla-group-02.csv"]) if row["item_id"] == "s1-a"]
    options = [row[f"option_{number}"] for number in range(1, 5)]
    assert {"text": row["text"], "prompt": row["prompt"], "options": options} == TRICKY
    [trial] = [t for t in group_trials(experiment(battery=tricky), "02")["trials"] if t["item_id"] == "s1-a"]
    assert {name: trial[name] for name in TRICKY} == TRICKY


@pytest.mark.parametrize("start", ["=1+1", "@SUM(A1)", "+A1", "-2 to 3", "\t=1", "＝1"])
def test_a_text_that_a_spreadsheet_program_would_compute_is_refused(start: str) -> None:
    spoilt = battery(s1_a={"text": "", "prompt": "?", "options": ["a", start]})
    with pytest.raises(
        InputError, match=r"`s1-a`: the text of option_2 begins with .*formula. Fix: begin the text with"
    ):
        spreadsheets(battery=spoilt)
    assert "public/experiment.html" in experiment(battery=spoilt)  # which is not a spreadsheet


def test_a_negative_number_is_not_a_formula() -> None:
    numbers = battery(s1_a={"text": "", "prompt": "?", "options": ["-5", "+5", "0"]})
    sheet = rows(spreadsheets(battery=numbers)["gorilla-group-02.csv"])
    [row] = [row for row in sheet if row["item_id"] == "s1-a"]
    assert [row[f"option_{number}"] for number in range(1, 5)] == ["-5", "+5", "0", ""]


class Outline(HTMLParser):
    """The tags of a page, and the texts between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_html_for_gorilla_has_escaped_paragraphs_on_one_line() -> None:
    page = trial_html(TRICKY)
    assert "\n" not in page
    outline = Outline(page)
    assert outline.tags == ["div", "p", "br", "p", "p", "strong", "ol", "li", "li", "li", "br", "li"]
    pieces = [
        *TRICKY["text"].replace("\n\n", "\n").split("\n"),
        TRICKY["prompt"],
        *"\n".join(TRICKY["options"]).split("\n"),
    ]
    assert outline.texts == pieces


def test_the_title_of_the_experiment_is_escaped() -> None:
    page = experiment(title='<script>alert("$title")</script> & co')["public/experiment.html"]
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(&quot;$title&quot;)&lt;/script&gt; &amp; co") == 2


def test_the_how_tos_name_battery_and_files() -> None:
    gorilla = spreadsheets(fixation_ms=250)["gorilla-how-to.md"]
    assert "gorilla-group-01.csv to gorilla-group-03.csv" in gorilla
    assert "250 ms" in gorilla
    assert "keys 1 to 4" in gorilla
    assert "bound to the column `answer`" not in gorilla
    assert "bound to the column `answer`" in spreadsheets(answers=True)["gorilla-how-to.md"]
    for text in (gorilla, experiment()["jspsych-how-to.md"]):
        assert battery().digest in text
        assert "canary-5e2c" in text
        assert "$" not in text


def test_the_page_names_the_jspsych_version_of_the_web_client() -> None:
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    assert package["dependencies"]["jspsych"] == JSPSYCH_VERSION


@pytest.mark.parametrize("export", [spreadsheets, experiment])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": GROUPS | {"nobody": 1}}, "there is no item `nobody`"),
        ({"practice": ["warm-up", "first", "warm-up"]}, "`warm-up` is listed 2 times"),
        ({"attention_checks": ["check", "s1-a"]}, "`s1-a` is listed 2 times"),
        ({"groups": {k: v for k, v in GROUPS.items() if k != "s3-a"}}, "`s3-a` is in no group"),
        ({"groups": {}, "practice": list(battery().by_id), "attention_checks": []}, "Fix: add test items"),
    ],
)
def test_groups_that_do_not_fit_the_battery_are_refused(export: Any, arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        export(**arguments)


@pytest.mark.parametrize("export", [spreadsheets, experiment])
def test_items_that_cannot_be_shown_are_refused_by_name(export: Any) -> None:
    ray = Item(item_id="ray", task="blackbox_predict", content={"atoms": [[1, 1]], "entry": "west-5"}, key="east-5")
    no_key = item("keyless", key=5)
    no_options = item("bare", content={"text": "", "prompt": "?"})
    for extra, message in (
        (ray, "`ray` has the task `blackbox_predict`"),
        (no_key, "`keyless`: the answer key is not a possible response"),
        (no_options, "`bare`: .*options"),
    ):
        spoilt = battery().model_copy(update={"items": (*battery().items, extra)})
        with pytest.raises(InputError, match=message):
            export(battery=spoilt, groups=GROUPS | {extra.item_id: 1})


def test_files_are_written_to_a_new_or_empty_folder(tmp_path: Path) -> None:
    files = experiment(battery=battery(s1_a=TRICKY))
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "new" / "deep", tmp_path / "empty"):
        write_new_folder(files, folder)
        written = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        assert {name: path.read_bytes().decode() for name, path in written.items()} == files
        with pytest.raises(InputError, match="this is not a new or empty folder"):
            write_new_folder(files, folder)


def test_an_export_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="this is not a new or empty folder"):
        write_new_folder({"a.txt": ""}, tmp_path / "file")
    with pytest.raises(InputError, match="cannot be written"):
        write_new_folder({"a.txt": ""}, tmp_path / "file" / "below")
    for folder in (tmp_path / "new", tmp_path / "empty"):
        with pytest.raises(InputError, match="cannot be written"):
            write_new_folder({"public/a.txt": "a", "b.txt": "half a character: \ud800"}, folder)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "file"]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The browser's folder of an experiment, with jsPsych where the page expects it."""
    package = WEB / "node_modules" / "jspsych"
    if not package.is_dir():
        skip_but_never_in_ci("jsPsych is not in experiment/web/node_modules; `npm ci` in experiment/web puts it there")
    folder = tmp_path_factory.mktemp("export") / "tales"
    write_new_folder(experiment(battery=battery(s1_a=TRICKY), title="Tales & <more>"), folder)
    (folder / "public" / "jspsych").mkdir()
    for name in ("dist/index.browser.min.js", "css/jspsych.css"):
        shutil.copy(package / name, folder / "public" / "jspsych")
    return folder / "public"


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def site(public: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(public)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A browser page that must report no error."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    yield page
    context.close()
    assert [said for said in complaints if "favicon" not in said and "404" not in said] == []


def shoot(page: Page, name: str) -> None:
    if folder := os.environ.get("EQUIPOISE_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def take(page: Page, answer: Any) -> list[dict[str, Any]]:
    """Begin, answer every question, and return what the browser saves at the end."""
    page.locator("#begin:enabled").wait_for()
    shoot(page, "jspsych-start")
    page.keyboard.press("Enter")
    with page.expect_download() as saved:
        before = ""
        while page.locator(".end").count() == 0:
            stimulus = page.locator(f".stimulus:not(:has(h1:text-is({json.dumps(before)}))), .end")
            stimulus.wait_for()
            if page.locator(".end").count():
                break
            before = page.locator(".stimulus h1").inner_text()
            shoot(page, f"jspsych-{re.sub(r'[^a-z0-9]+', '-', before)}")
            answer(before)
    data: list[dict[str, Any]] = json.loads(Path(saved.value.path()).read_text(encoding="utf-8"))
    return data


def test_the_jspsych_experiment_runs_with_keys(page: Page, site: str) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{site}/experiment.html?group=2&participant=P07")
    expect(page.locator("h1")).to_have_text("Tales & <more>")
    given: list[int] = []
    shown: dict[str, str] = {}

    def press(question: str) -> None:
        shown[question] = page.locator(".stimulus").evaluate("element => element.textContent")
        page.keyboard.press("9")  # there is no ninth option
        given.append(len(given) % 4 + 1)
        page.keyboard.press(str(given[-1]))

    data = take(page, press)
    shoot(page, "jspsych-end")
    assert [trial["item_id"] for trial in data[:2]] == ["warm-up", "first"]
    assert {trial["item_id"] for trial in data[2:]} == in_group(2) | {"check"}
    assert len(data) == len(in_group(2)) + 3
    assert [trial["response"] for trial in data] == given
    for trial in data:
        assert 0 < trial["rt"] < 10_000
        assert 180 < trial["fixation_ms"] < 400
        assert (trial["group"], trial["participant"], trial["battery"]) == (2, "P07", "tales")
    assert [trial["phase"] for trial in data].count("attention_check") == 1

    # Every text was shown unchanged, and no part was taken for HTML.
    paragraphs = re.split("\n\n", TRICKY["text"])
    numbered = [f"{number}{option}" for number, option in enumerate(TRICKY["options"], start=1)]
    assert shown[TRICKY["prompt"]] == "".join([*paragraphs, TRICKY["prompt"], *numbered])
    assert all(url.startswith((site, "blob:")) for url in requests)
    assert [url for url in requests if "trials-group" in url] == [f"{site}/trials-group-02.js"]


def test_the_jspsych_experiment_runs_from_a_disk_with_the_mouse_in_random_order(page: Page, public: Path) -> None:
    page.add_init_script("Math.random = () => 0")  # so that a shuffle certainly changes the order
    page.goto(f"{(public / 'experiment.html').as_uri()}?group=1")
    data = take(page, lambda question: page.locator(".options button").nth(2).click())
    assert [trial["response"] for trial in data] == [3] * (len(in_group(1)) + 3)
    taken = [trial["item_id"] for trial in data]
    written = [*sorted(in_group(1)), "check"]
    assert taken[:2] == ["warm-up", "first"]
    assert sorted(taken[2:]) == sorted(written) and taken[2:] != written
    assert re.fullmatch("[a-z0-9]{8}", data[0]["participant"])


def test_an_address_without_a_group_or_jspsych_says_what_is_missing(chromium: Browser, site: str) -> None:
    page = chromium.new_page()
    for address in ("experiment.html", "experiment.html?group=4", "experiment.html?group=../../x"):
        page.goto(f"{site}/{address}")
        expect(page.locator("#message")).to_contain_text("such as ?group=1")
        expect(page.locator("#begin")).to_be_disabled()
    page.route("**/jspsych/*", lambda route: route.abort())
    page.goto(f"{site}/experiment.html?group=1")
    expect(page.locator("#message")).to_contain_text("jsPsych is missing")
    page.close()


@pytest.mark.parametrize("answers", [False, True])
def test_the_command_writes_gorilla_answers_only_on_request(tmp_path: Path, answers: bool) -> None:
    study = STUDIES / "intuition-single"
    command = ["battery", "export", str(study), "--format", "gorilla", "-o", str(tmp_path / "sheets")]
    result = CliRunner().invoke(main, [*command, *(["--answers"] if answers else [])])
    assert result.exit_code == 0, result.output
    sheets = sorted((tmp_path / "sheets").glob("gorilla-group-*.csv"))
    assert len(sheets) == 6
    for sheet in sheets:
        header = sheet.read_text(encoding="utf-8").splitlines()[0].split(",")
        assert ("answer" in header) == answers
