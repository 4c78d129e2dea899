"""`equipoise models prompts`: files and summary, and one sentence for input that is refused."""

import json
from pathlib import Path

import pytest

from batteries.items import load_battery, save_battery
from equipoise.studies import copy_sample_study
from tests.equipoise.commands.store.commands import done, refused

BATCH = ("--format", "openai-batch", "--model", "gpt-4.1")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    copy_sample_study("intuition-single", folder)
    return folder


def test_the_command_writes_the_requests_and_prints_a_summary(study: Path, tmp_path: Path) -> None:
    printed = done("models", "prompts", study, *BATCH, "--shots", 1, "-o", tmp_path / "batch.jsonl").splitlines()
    lines = [json.loads(line) for line in (tmp_path / "batch.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 144
    assert printed[0] == f"Wrote 144 requests for 144 items to {tmp_path / 'batch.jsonl'}."
    assert printed[1].startswith("Template for multiple_choice: three-lines, digest ")
    assert lines[0]["custom_id"].split("-")[2] == printed[2].rpartition(" ")[2][:8]
    assert printed[-1].endswith(f"equipoise models import {study} RESULTS")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "anthropic-batch"), "needs the name of a model"),
        (("--format", "anthropic-batch", "--model", "claude-x", "--temperature", 1.5), "highest temperature"),
        ((*BATCH, "--style", "baseline"), "`baseline` is neither a style of prompts"),
        ((*BATCH, "--shots", 5), "the study has 1 practice item"),
        ((*BATCH, "--group", 7, "--seed", 1), "the design has no group 7"),
        ((*BATCH, "--group", 1), "add --seed"),
        ((*BATCH, "--temperature", -1), "--temperature"),
        (("--format", "xml"), "--format"),
    ],
)
def test_bad_input_is_refused_in_one_sentence_and_no_file_is_made(
    study: Path, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    assert message in refused("models", "prompts", study, *options, "-o", tmp_path / "batch.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["study"]


def test_an_existing_file_is_kept(study: Path, tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_text("kept")
    printed = refused("models", "prompts", study, *BATCH, "-o", tmp_path / "batch.jsonl")
    assert printed.endswith("this file exists already. Fix: choose another file name, or delete the file.")
    assert (tmp_path / "batch.jsonl").read_text() == "kept"


def test_a_study_with_a_plugin_is_refused(study: Path, tmp_path: Path) -> None:
    battery = load_battery(study / "battery.jsonl")
    first = battery.items[0]
    content = {"plugin": "slider", "parameters": {}, "answers": [{"response": 1}, {"response": 2}]}
    slider = first.model_copy(update={"task": "jspsych", "content": content, "key": {"response": 1}})
    save_battery(battery.model_copy(update={"items": (slider, *battery.items[1:])}), study / "battery.jsonl")
    (study / "slider.js").write_text("var jsPsychSlider = {};")
    with (study / "study.yaml").open("a") as file:
        file.write("plugins: {slider: {file: slider.js, variable: jsPsychSlider}}\n")
    printed = refused("models", "prompts", study, *BATCH, "-o", tmp_path / "batch.jsonl")
    assert "only jsPsych can show them. Fix: use a study without such items." in printed
