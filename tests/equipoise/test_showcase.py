"""The sample study `showcase` by command: simulated participants, mock models, analysis, exports and preview."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import equipoise as eq
from batteries.tasks import task_named
from equipoise.cli.main import main
from experiment.load_study import load_study
from experiment.models.mock_replies import COLUMN_MAP, MOCK_MODELS, write_mock_replies
from experiment.models.prompts.requests import Requests, requests_for
from tests.equipoise.commands_in_processes import StartedCommand
from tests.experiment.models.runs.fake_provider import MODEL, Sent, fake_provider
from tests.experiment.models.runs.inspect_needed import need_inspect

N_PARTICIPANTS = 8
STRONG, WEAK = MOCK_MODELS
"""The weak model refuses some questions."""
PROMPTS: dict[str, Any] = {"style": "human-equivalent", "pictures": "described"}
TYPED = re.compile(r"simulated (?:answer|entry) \d+")
"""The texts that simulated participants and mock models write, if they do not write a right text."""


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def done(*arguments: object) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def requests_of(folder: Path) -> Requests:
    return requests_for(load_study(folder), **PROMPTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The showcase with responses of simulated participants and mock models."""
    folder = tmp_path_factory.mktemp("showcase") / "study"
    done("new", folder, "--from", "showcase")
    done("simulate", folder, "-n", N_PARTICIPANTS, "--seed", 1)
    for model in MOCK_MODELS:
        replies = folder / f"{model.name}.csv"
        write_mock_replies(requests_of(folder), model, replies, seed=1)
        done("models", "import", folder, replies, "--map", COLUMN_MAP)
    return folder


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    trials = eq.read_trials(folder / "data" / "equipoise.db")
    return trials.astype(object).where(trials.notna(), None).to_dict("records")


def test_simulated_participants_respond_to_each_item_with_a_possible_response(
    folder: Path, rows: list[dict[str, Any]]
) -> None:
    items = load_study(folder).battery.by_id
    simulated = [row for row in rows if row["kind"] == "simulated"]
    assert {row["session"] for row in simulated if row["status"] == "completed"} == {
        row["session"] for row in simulated
    }
    assert sorted(row["item_id"] for row in simulated) == sorted([*items] * N_PARTICIPANTS)
    for row in simulated:
        item = items[row["item_id"]]
        assert row["missing"] is None, item.item_id
        task_named(item.task).check_response(item.content, row["response"])
    assert {row["item_id"] for row in simulated if row["correct"] == True} >= {  # noqa: E712 - a numpy bool
        item.item_id for item in items.values() if item.is_graded
    }


def test_each_reply_of_a_mock_model_is_read_in_the_form_of_its_task(folder: Path, rows: list[dict[str, Any]]) -> None:
    study = load_study(folder)
    for model in MOCK_MODELS:
        of_model = [row for row in rows if row["kind"] == "model" and model.name in row["subject"]]
        assert sorted(row["item_id"] for row in of_model) == sorted(item.item_id for item in study.test_items)
        valid = [row for row in of_model if row["valid"]]
        assert len(valid) == len(of_model) if model is STRONG else len(valid) > len(of_model) / 2
        for row in valid:
            item = study.battery.by_id[row["item_id"]]
            task_named(item.task).check_response(item.content, row["response"])


def test_a_model_is_asked_every_item_over_http(tmp_path: Path) -> None:
    need_inspect()
    folder = tmp_path / "study"
    done("new", folder, "--from", "showcase")
    requests = requests_of(folder)
    write_mock_replies(requests, STRONG, tmp_path / "replies.csv", seed=1)
    with (tmp_path / "replies.csv").open(encoding="utf-8", newline="") as file:
        replies = {row["request_id"]: row["reply"] for row in csv.DictReader(file)}
    by_prompt = {request.prompt.user: replies[str(request.request_id)] for request in requests}
    assert len(by_prompt) == len(requests)
    with fake_provider(lambda prompt, _attempt: Sent(by_prompt[prompt])) as provider:
        environment = {"XDG_DATA_HOME": str(tmp_path / "inspect")} | provider.environment
        options = [part for name, value in PROMPTS.items() for part in (f"--{name}", value)]
        ended = StartedCommand("models", "run", folder, "--model", MODEL, *options, environment=environment).finished()
    assert ended.returncode == 0, ended.stderr
    trials = eq.read_trials(folder / "data" / "equipoise.db")
    assert sorted(trials["item_id"]) == sorted(item.item_id for item in load_study(folder).test_items)
    assert trials["valid"].all()


def test_the_report_names_people_and_models(folder: Path, tmp_path: Path) -> None:
    done("analyze", folder, "-o", tmp_path / "results")
    report = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    assert "Traceback" not in report
    assert all(model.name in report for model in MOCK_MODELS)


@pytest.mark.parametrize("form", ["csv", "bids", "psych-ds"])
def test_texts_of_participants_are_only_in_full_exports(
    folder: Path, rows: list[dict[str, Any]], tmp_path: Path, form: str
) -> None:
    texts = {kind: {text for row in rows if row["kind"] == kind for text in TYPED.findall(str(row["response"]))}
             for kind in ("simulated", "model")}  # fmt: skip
    assert texts["simulated"] - texts["model"]
    done("export", folder, "--format", form, "-o", tmp_path / "coarse")
    done("export", folder, "--format", form, "--full", "-o", tmp_path / "full")
    assert texts_in(tmp_path / "coarse") == texts["model"]
    assert texts_in(tmp_path / "full") == texts["model"] | texts["simulated"]


def texts_in(export: Path) -> set[str]:
    files = [path.read_text(encoding="utf-8", errors="replace") for path in export.rglob("*") if path.is_file()]
    return {text for file in files for text in TYPED.findall(file)}


def test_the_preview_says_that_it_shows_no_other_tasks(folder: Path, tmp_path: Path) -> None:
    result = invoke("battery", "preview", folder, "-o", tmp_path / "preview.html")
    assert result.exit_code == 2
    assert result.output.endswith("the preview shows only multiple-choice items. Fix: choose another battery.\n")
