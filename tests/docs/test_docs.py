"""The documentation agrees with the program: examples load, commands exist, tables are complete."""

import csv
import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
import types
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from flask import Flask

import equipoise
from analysis.data.columns import AFTER_FACTORS, BEFORE_FACTORS
from analysis.exclusions.flow import NOT_A_TEST_TRIAL
from batteries.items import load_battery
from equipoise.cli.main import main as command_line
from equipoise.commands.analyze import analyze
from equipoise.commands.models.storing import add_runs
from experiment.load_study import load_study
from experiment.models.baselines import BASELINES, run_baseline
from experiment.models.prompts.requests import requests_for
from experiment.models.prompts.styles import DEFAULT_STYLES, styles_of
from experiment.participant_api import ResponsesRequest, StartRequest
from experiment.records import Response, TrialAction
from experiment.study.definition import Study
from server.app import create_app
from server.health import health
from server.laboratory import laboratory
from server.participants.assets import assets
from server.participants.study_page import web_client
from server.participants.views import participants
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore
from server.store.sql.sessions import LISTED
from tests.experiment.models.runs.inspect_needed import need_inspect
from tests.paths import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^```(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`(equipoise [^`]+)`")
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def fences(page: Path) -> Iterator[tuple[str, str]]:
    for fence in FENCE.finditer(text_of(page)):
        yield fence["words"], fence["text"]


def typed_commands() -> list[tuple[str, str]]:
    """Return every `equipoise` command in a console block, with its page."""
    lines = [
        (name_of(page), line.removeprefix("$ "))
        for page in PAGES
        for words, text in fences(page)
        if words == "console"
        for line in text.splitlines()
        if line.startswith("$ ")
    ]
    return [(page, line) for page, line in lines if line.startswith("equipoise")]


def named_commands() -> list[tuple[str, str]]:
    """Return every `equipoise` command in a sentence, with its page."""
    return [
        (name_of(page), span) for page in PAGES for span in CODE_SPAN.findall(FENCE.sub("", text_of(page)))
    ]  # fmt: skip


def resolved(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that the words run, and its arguments."""
    command: click.Command = command_line
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        try:
            _, found, rest = command.resolve_command(command.make_context("", [], resilient_parsing=True), rest)
        except click.UsageError:
            raise AssertionError(f"there is no command {' '.join(words)}") from None
        assert found is not None
        command = found
    return command, rest


def generator(name: str = "generate_reference") -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documented_in(page: Path, heading: str) -> set[str]:
    """Return the names in the first column of the tables under a heading."""
    sections = re.split(r"^## ", text_of(page), flags=re.MULTILINE)
    (section,) = [section for section in sections if section.splitlines()[0] == heading]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| ")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def examples(kind: str) -> list[tuple[str, int]]:
    """Return page and position of the examples that are marked as a complete `study` or `battery`."""
    return [
        (name_of(page), index)
        for page in PAGES
        for index, (words, _) in enumerate(fences(page))
        if words.split()[1:] == [kind]
    ]


def written_battery(folder: Path, form: str, text: str) -> Path:
    path = folder / f"battery.{form}"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["study-yaml.md", "battery.md", "battery-spec.md", "settings.md", "command-line.md",
    "python-api.md", "texts.md", "codebook.md", "table-map.md"])  # fmt: skip
def test_a_generated_page_agrees_with_the_code(name: str) -> None:
    assert (DOCS / "reference" / name).read_text(encoding="utf-8") == generator().pages()[name], (
        "run docs/generate_reference.py"
    )


def test_the_drawing_of_the_packages_agrees_with_the_imports() -> None:
    contributing = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert contributing == generator("draw_rooms").with_drawing(contributing), "run docs/draw_rooms.py"


def test_generated_pages_have_no_empty_cell() -> None:
    for name, text in generator().pages().items():
        for line in text.splitlines():
            assert "|  |" not in line, f"{name}: {line}"


@pytest.mark.parametrize(("page", "index"), examples("battery"))
def test_a_battery_in_the_docs_loads(tmp_path: Path, page: str, index: int) -> None:
    words, text = list(fences(DOCS / page))[index]
    assert load_battery(written_battery(tmp_path, words.split()[0], text)).items


@pytest.mark.parametrize(("page", "index"), examples("study"))
def test_a_study_in_the_docs_loads_with_its_battery_and_has_the_stated_groups(
    tmp_path: Path, page: str, index: int
) -> None:
    blocks = list(fences(DOCS / page))
    (words, text), (next_words, groups) = blocks[index - 1 : index + 2 : 2]
    written_battery(tmp_path, words.split()[0], text)
    (tmp_path / "study.yaml").write_text(blocks[index][1], encoding="utf-8")
    for name in ("consent.md", "instructions.md", "debrief.md", "pictures.md", "words.md"):
        (tmp_path / name).write_text("Text.", encoding="utf-8")
    study = load_study(tmp_path)
    assert next_words == "text groups"
    shown = {
        item_id: int(number)
        for number, items in re.findall(r"^group (\d+): (.+)$", groups, re.MULTILINE)
        for item_id in items.split(", ")
    }
    assert shown == dict(study.groups)


def test_the_commands_on_the_page_about_vignettes_print_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = DOCS / "how-to" / "build-a-vignette-battery.md"
    monkeypatch.chdir(tmp_path)
    (spec,) = [text for words, text in fences(page) if words == "yaml spec"]
    Path("spec.yaml").write_text(spec, encoding="utf-8")
    (output,) = [text.strip() for words, text in fences(page) if words == "text"]
    done = {}
    for name, line in typed_commands():
        if name == name_of(page) and not line.startswith("equipoise serve"):
            arguments = shlex.split(line.replace("check my-templates", "check intuition"))[1:]
            result = CliRunner().invoke(command_line, arguments)
            assert result.exit_code == 0, (line, result.output)
            done[line] = result.stdout.strip()
    assert done["equipoise battery build intuition -o battery.jsonl"] == output
    assert load_battery(Path("battery-again.jsonl")).by_id == load_battery(Path("battery.jsonl")).by_id


def test_the_page_on_power_shows_the_output_of_its_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output belongs to the last command above it. The search with a mixed model takes minutes, so it is not run."""
    page = DOCS / "how-to" / "find-the-number-of-participants.md"
    monkeypatch.chdir(tmp_path)
    equipoise.new("my-study", "intuition-single")
    blocks = list(fences(page))
    (plan,) = (text for words, text in blocks if words == "yaml")
    with Path("my-study/study.yaml").open("a", encoding="utf-8") as file:
        file.write(plan)
    n_compared = 0
    for (_, commands), (words, output) in pairwise(block for block in blocks if block[0] != "yaml"):
        command = commands.splitlines()[-1].removeprefix("$ ")
        if words == "text" and "--model " not in command:
            assert CliRunner().invoke(command_line, shlex.split(command)[1:]).output == output
            n_compared += 1
    assert n_compared == 5


def test_the_page_on_prompts_shows_the_output_of_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = DOCS / "how-to" / "run-models.md"
    monkeypatch.chdir(tmp_path)
    equipoise.new("my-study", "intuition-single")
    texts = [text for _, text in fences(page)]
    start = next(index for index, text in enumerate(texts) if text.startswith("$ equipoise models prompts"))
    command, output, template, *_ = texts[start:]
    result = CliRunner().invoke(command_line, shlex.split(command.removeprefix("$ "))[1:])
    assert result.stdout.startswith(output), result.output
    Path("my-prompt.txt").write_text(template, encoding="utf-8")
    requests = requests_for(load_study(Path("my-study")), style="my-prompt.txt")
    assert next(iter(requests)).prompt.system == "Reply with the number of one option."


def test_the_page_on_models_shows_the_output_of_the_mock_model(tmp_path: Path) -> None:
    need_inspect()
    equipoise.new(tmp_path / "my-study", "intuition-single")
    _, (_, command), (_, output), *_ = fences(DOCS / "how-to" / "run-models.md")
    arguments = shlex.split(command.removeprefix("$ "))[1:]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd()), "XDG_DATA_HOME": str(tmp_path / "inspect")}
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", *arguments],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == output, done.stderr


def test_the_page_on_prompts_names_every_style_and_every_name_for_templates() -> None:
    page = DOCS / "how-to" / "run-models.md"
    assert documented_in(page, "Choose a style") == {style for task in DEFAULT_STYLES for style in styles_of(task)}
    names = set()
    samples = ROOT / "equipoise" / "studies"
    for folder in (samples / "intuition-single", samples / "blackbox-predict", ROOT / "tests" / "question_study"):
        requests = requests_for(load_study(folder))
        names |= {name for item in requests.items for name in requests._variables(item)}
    assert documented_in(page, "Write your own template") == names


def test_both_tasks_and_both_designs_have_a_complete_example() -> None:
    marked = "".join(text for page in PAGES for words, text in fences(page) if words.split()[1:])
    for needed in ("multiple_choice", "blackbox_predict", "method: latin_square", "method: deal"):
        assert needed in marked


@pytest.mark.parametrize(("page", "line"), typed_commands())
def test_the_program_accepts_each_command_typed_in_the_docs(page: str, line: str) -> None:
    words = shlex.split(line.split(" > ", maxsplit=1)[0])
    command, rest = resolved(words)
    assert not isinstance(command, click.Group), f"{page}: {line} names no whole command"
    command.make_context(" ".join(words), rest)  # only parses the arguments


@pytest.mark.parametrize(("page", "span"), named_commands())
def test_a_command_named_in_the_docs_exists_with_its_options(page: str, span: str) -> None:
    command, rest = resolved(span.split())
    known = {option for parameter in command.params for option in parameter.opts} | {"-h", "--help", "--version"}
    assert {word for word in rest if word.startswith("-")} <= known, f"{page}: {span}"


def test_every_command_is_in_a_page_outside_the_reference() -> None:
    typed = {line for page, line in [*typed_commands(), *named_commands()] if not page.startswith("reference/c")}
    for path, _ in generator().commands(command_line):
        assert [line for line in typed if line.startswith(" ".join(("equipoise", *path)))], path


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_to_a_page_and_a_heading(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", text_of(page))):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file(), f"{name_of(page)}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(target)), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{name_of(page)}: {link}"


def test_the_index_names_every_page() -> None:
    linked = set(LINK.findall(text_of(DOCS / "index.md")))
    assert linked >= {name_of(page) for page in PAGES} - {"index.md"}


def test_every_python_example_compiles_and_uses_names_that_exist() -> None:
    sources = [text for page in PAGES for words, text in fences(page) if words == "python"]
    assert sources
    for source in sources:
        compile(source, "example", "exec")
    names = set(re.findall(r"\beq\.(\w+)", "".join(text_of(page) for page in PAGES)))
    assert names <= set(equipoise.__all__)


def test_every_public_name_is_in_one_group_of_the_python_api() -> None:
    names = [name for _, _, group in generator().API_GROUPS for name in group]
    assert sorted(names) == sorted({*equipoise._COMMANDS, *equipoise._PARTS})


@pytest.mark.parametrize("name", sorted(equipoise._COMMANDS))
def test_the_python_api_describes_every_parameter_of_a_function(name: str) -> None:
    function = getattr(equipoise, name)
    about, sections = generator().docstring_parts(inspect.getdoc(function))
    described = {each for entry, _ in sections["Parameters"] for each in entry.partition(" : ")[0].split(", ")}
    assert described == set(inspect.signature(function).parameters)
    assert about
    assert all(meaning for entries in sections.values() for _, meaning in entries)
    returns_nothing = inspect.signature(function).return_annotation in (None, "None")
    assert ("Returns" in sections) != returns_nothing


def test_the_examples_of_the_python_api_run_one_after_another(tmp_path: Path) -> None:
    examples = [text for words, text in fences(DOCS / "reference" / "python-api.md") if words == "python"]
    groups = [example for _, example, _ in generator().API_GROUPS if example]
    assert len(examples) == 1 + len(groups)
    run = [sys.executable, "-c", "\n".join(examples)]
    ran = subprocess.run(run, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "my-study" / "results" / "report.html").exists()
    assert "model" in ran.stdout and "simulated" in ran.stdout


def test_exactly_the_columns_of_the_view_trials_are_documented(store_with_runs: Study) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(store_with_runs.store_path)) as store:
        columns = {row[1] for row in store.execute("PRAGMA table_info(trials)")}
    assert documented_in(DOCS / "reference" / "data.md", "The view `trials`") == columns


def test_exactly_the_columns_of_the_tidy_table_are_documented() -> None:
    documented = documented_in(DOCS / "reference" / "data.md", "The tidy table")
    assert documented == {*BEFORE_FACTORS, *AFTER_FACTORS, "excluded_by"}


@pytest.fixture
def store_with_runs(study_folder: Path) -> Study:
    """Return a study with a simulated participant, for response times, and with the baselines."""
    study = load_study(study_folder)
    store = SqliteStore(study.store_path)
    http = create_app(study, store, Secrets("key", "token"), Settings()).test_client()
    digest = http.get("/api/study").json["consent_digest"]
    start = {"start_id": str(uuid.UUID(int=0)), "consent_digest": digest, "kind": "simulated"}
    session = http.post("/api/session", json=start, headers={"Authorization": "Bearer token"}).json
    for trial in session["trials"]:
        index = trial["trial_index"]
        response = 2 if trial["task"] == "multiple_choice" else "absorbed"
        answer = {"response_id": str(uuid.UUID(int=index)), "trial_index": index, "response": response, "rt_ms": 3_000}
        body = {"session": session["session"], "responses": [answer]}
        assert http.post("/api/responses", json=body).status_code == 201
    http.post("/api/complete", json={})
    store.close()
    add_runs(study, [run_baseline(study, name) for name in BASELINES])
    return study


def test_every_file_and_column_of_an_analysis_is_documented(store_with_runs: Study, tmp_path: Path) -> None:
    analyze(store_with_runs, tmp_path / "out")
    page = DOCS / "how-to" / "analyze.md"
    for path in sorted((tmp_path / "out" / "tables").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            columns = set(next(csv.reader(file)))
        documented = documented_in(page, f"tables/{path.name}")
        if path.name == "trials.csv":
            documented |= documented_in(DOCS / "reference" / "data.md", "The tidy table")
            columns |= {"content"}
        factors = {"outcome", "configuration", "entry_side", "n_cells", "pattern", "path_length", "atoms_near_path",
                   "reflected_at_entry"}  # fmt: skip
        assert columns - factors == documented, path.name
    written = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file() and path.suffix != ".csv"}
    assert "response_times.svg" in written
    for name in written - {"report.html", "provenance.json"}:
        assert f"`{Path(name).stem.replace('by_outcome', 'by_<factor>')}`" in text_of(page)
    assert {"report.html", "provenance.json"} <= written
    assert NOT_A_TEST_TRIAL in text_of(page)


def test_every_column_of_the_list_of_sessions_is_documented() -> None:
    assert set(LISTED) <= documented_in(DOCS / "reference" / "data.md", "The list of sessions")


def test_every_address_and_field_of_the_participant_api_is_documented() -> None:
    app = Flask("server", static_folder=None)
    for blueprint in (web_client, assets, participants, laboratory, health):
        app.register_blueprint(blueprint)
    page = DOCS / "reference" / "http-api.md"
    served = {
        f"{method} {rule.rule}"
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    listed = set(re.findall(r"^\| `((?:GET|POST) [^`]+)` \|", text_of(page), re.MULTILINE))
    assert listed == served
    assert documented_in(page, "POST /api/session") == set(StartRequest.model_fields)
    sent = {"session", *TrialAction.model_fields}
    assert documented_in(page, "POST /api/action") == sent
    answered = {"feedback"}
    assert (
        documented_in(page, "POST /api/responses")
        == set(ResponsesRequest.model_fields) | set(Response.model_fields) | answered
    )


def test_the_tutorial_shows_the_numbers_that_its_commands_print(study_folder: Path) -> None:
    page = (DOCS / "tutorials" / "first-study.md").read_text(encoding="utf-8")
    assert "equipoise simulate my-study -n 40 --seed 7" in page
    simulated = CliRunner().invoke(command_line, ["simulate", str(study_folder), "-n", "40", "--seed", "7"])
    assert simulated.exit_code == 0, simulated.output
    analyze(load_study(study_folder), study_folder / "results")
    assert (study_folder / "results" / "tables" / "exclusions.csv").read_text(encoding="utf-8") in page
    report = (study_folder / "results" / "report.html").read_text(encoding="utf-8")
    text = " ".join(re.sub("<[^>]+>", " ", report).split())
    shown = re.search(r"Simulated participants: .* trials\.", page)
    assert shown is not None
    assert " ".join(shown[0].split()) in text


def test_the_tutorial_shows_what_the_check_prints_for_its_mistake(study_folder: Path) -> None:
    page = (DOCS / "tutorials" / "first-study.md").read_text(encoding="utf-8")
    text = (study_folder / "study.yaml").read_text(encoding="utf-8").replace("fixation_ms", "fixation")
    (study_folder / "study.yaml").write_text(text, encoding="utf-8")
    mistake = CliRunner().invoke(command_line, ["check", str(study_folder)])
    (shown,) = re.findall(r"```text\n(failed .*?)```", page, re.DOTALL)
    found = " ".join(mistake.output.replace(str(study_folder), "my-study").split())
    assert " ".join(shown.split()) in found


def test_every_test_named_on_a_page_exists() -> None:
    named = [
        (name_of(page), *found)
        for page in PAGES
        for found in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text_of(page))
    ]
    assert len(named) > 30
    for page, file, name in named:
        path = DOCS.parent / file
        assert path.is_file(), f"{page}: there is no {file}"
        assert f"def {name}" in text_of(path), f"{page}: {file} has no {name}"
