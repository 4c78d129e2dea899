"""The choice by log-probability comes back as planted, and a reply without a certain choice has no response."""

import json
import math
import uuid
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analysis.data.subjects import DescribedRun, subjects_of_runs
from batteries.canonical_json import canonical_json
from batteries.errors import InputError
from batteries.items import Item
from equipoise.cli.main import main
from equipoise.commands.models.imports import models_import
from equipoise.studies import copy_sample_study
from experiment.models.imports.logprob_choice import with_logprob_choice
from experiment.models.imports.replies import ImportedReply
from experiment.study.definition import Study
from server.store import SqliteStore
from tests.experiment.models.imports.fabricated import (
    Line,
    anthropic_line,
    ids_of,
    openai_line,
    responses_line,
    right,
    write_lines,
)  # fmt: skip
from tests.experiment.models.imports.planted_tokens import entry, planted_tokens, text_of

REASONS = "72 invalid (24 equal log probabilities, 24 no answer position, 24 undecided by listed tokens)"


def chat_line(request: str, tokens: list[dict[str, Any]]) -> dict[str, Any]:
    line = openai_line(request, text_of(tokens))
    line["response"]["body"]["choices"][0]["logprobs"] = {"content": tokens, "refusal": None}
    return line


def response_line(request: str, tokens: list[dict[str, Any]]) -> dict[str, Any]:
    line = responses_line(request, text_of(tokens))
    line["response"]["body"]["output"][1]["content"][0]["logprobs"] = tokens
    return line


@pytest.mark.parametrize("line", [chat_line, response_line])
def test_planted_choices_of_batch_results_are_a_separate_run(
    vignettes: Study, vignettes_folder: Path, tmp_path: Path, line: Line
) -> None:
    lines = [
        json.dumps(line(request, planted_tokens(number, item)))
        for number, (item, request) in enumerate(zip(vignettes.test_items, ids_of(vignettes).values(), strict=True))
    ]
    path = write_lines(tmp_path / "results", lines)
    (as_text,) = models_import(vignettes, path)
    command = ["models", "import", str(vignettes_folder), str(path), "--choice", "logprob"]
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    unlisted = [item.item_id for number, item in enumerate(vignettes.test_items) if number % 6 in {2, 4}]
    assert as_text.startswith("gpt-4o-2024-08-06, template 9f8e7d6c, temperature 0.7, epoch 1: 144 responses, 96 cor")
    assert done.output == (
        "gpt-4o-2024-08-06, choice by log-probability, template 9f8e7d6c, temperature 0.7, epoch 1: 144 responses, "
        f"48 correct (33.3%), {REASONS}. The top log-probabilities of 48 replies lack 120 options "
        f"(`{unlisted[0]}`, `{unlisted[1]}`, `{unlisted[2]}` and 45 others).\n"
    )
    assert "already in the store" in CliRunner().invoke(main, command).output
    (known,) = models_import(vignettes, path)
    assert known == f"{as_text.partition(':')[0]}: already in the store."

    store = SqliteStore(vignettes_folder / "data" / "equipoise.db")
    try:
        with store.snapshot() as db:
            runs = db.execute("SELECT run, parameters FROM runs ORDER BY LENGTH(run)").fetchall()
            (text,) = db.execute(
                "SELECT text FROM responses JOIN runs USING (session) WHERE run LIKE '%choice%' AND trial_index = 2"
            ).fetchone()
            stored_ids = {row[0] for row in db.execute("SELECT response_id FROM responses")}
    finally:
        store.close()
    parameters = [json.loads(each) for _, each in runs]
    assert [each.get("choice") for each in parameters] == [None, "logprob"]
    described = [
        DescribedRun(name, "import", "m", "m", 0.7, None, each)
        for (name, _), each in zip(runs, parameters, strict=True)
    ]
    assert len(set(subjects_of_runs(described))) == 2
    key, other = vignettes.test_items[2].key, vignettes.test_items[2].key % 4 + 1  # type: ignore[operator]
    content = json.loads(text)
    assert content["reply"] == f"Answer: {key}"
    assert content["log_probabilities"] == {
        str(n): pytest.approx(math.log({key: 0.3, other: 0.6}[n])) if n in {key, other} else None for n in range(1, 5)
    }

    # The ids of responses that are read in the text are those of earlier versions, so that stored runs are recognised.
    key_of_run = {
        "format": "openai-batch", "model": "gpt-4o-2024-08-06", "model_version": "gpt-4o-2024-08-06",
        "provider": "openai", "template": "9f8e7d6c", "prompt": None, "temperature": 0.7, "epoch": 1,
        "max_tokens": 512 if line is response_line else None,
    }  # fmt: skip
    named = f"{canonical_json([vignettes.battery.digest, key_of_run]).decode()}/{vignettes.test_items[0].item_id}"
    assert str(uuid.uuid5(uuid.UUID("7d0a3c52-6c0f-4b51-9a39-0f2a8c1d7e44"), named)) in stored_ids


OPTIONS = ["The man.", "The woman.", "The child.", "Nobody knows."]


def choice(tokens: list[dict[str, Any]], reply: str | None = None, options: list[str] = OPTIONS) -> ImportedReply:
    content = {"text": "", "prompt": "Who?", "options": options}
    item = Item(item_id="a", task="multiple_choice", factors={}, content=content, key=1)
    text = text_of(tokens) if reply is None else reply
    return with_logprob_choice(ImportedReply(line=1, request="a", model="m", reply=text, logprobs=tokens), item)


SURE = {"1": 0.02, "2": 0.9, "3": 0.01, "4": 0.01}


@pytest.mark.parametrize(
    ("tokens", "response", "rule", "n_unlisted"),
    [
        ([entry("2", SURE)], 2, "largest_log_probability", 0),
        ([entry("\n\n"), entry("2", SURE), entry(".")], 2, "largest_log_probability", 0),
        ([entry("2", SURE), entry("."), entry(" The"), entry(" woman"), entry(".")], 2, "largest_log_probability", 0),
        ([entry("**"), entry("Option"), entry(" 2", {" 2": 0.9}), entry("**")], 2, "largest_log_probability", 3),
        ([entry("B", {"A": 0.2, "B": 0.3, "C": 0.4, "D": 0.1, "2": 0.0001})], 3, "largest_log_probability", 0),
        # The tokens with and without a space before the number are added.
        ([entry("2", {"2": 0.4, "3": 0.3, " 3": 0.25, "1": 0.02, "4": 0.02})], 3, "largest_log_probability", 0),
        # The token of the reply is not one of the most likely tokens.
        ([entry("2", {"3": 0.9, "1": 0.05})], 3, "largest_log_probability", 1),
        ([entry("2", {"3": 0.34, "The": 0.3})], None, "undecided_by_listed_tokens", 2),
        # A longer number is not an option, neither as the reply nor as another token.
        ([entry("2", {"10": 0.5, "2": 0.4, "1": 0.05, "3": 0.02, "4": 0.02})], 2, "largest_log_probability", 0),
        ([entry("10", {"10": 0.6, "1": 0.4})], None, "no_answer_position", 0),
        ([entry("1", {"1": 0.9}), entry("0")], None, "no_answer_position", 0),
        ([entry("2", SURE), entry(" of"), entry(" 4"), entry(" fit"), entry(".")], None, "no_answer_position", 0),
        ([entry("2", SURE), entry(" options fit. The answer is 2.")], None, "no_answer_position", 0),
        ([entry("4", SURE), entry(" fit"), entry(".\n"), entry("2", SURE)], None, "no_answer_position", 0),
        ([entry("**2", SURE), entry("**")], None, "no_answer_position", 0),
        ([entry("2", {"2": 0.3, "The": 0.29})], None, "undecided_by_listed_tokens", 3),
        ([entry("2", {"2": 0.5, "3": 0.5})], None, "equal_log_probabilities", 2),
        ([], None, "no_log_probabilities", 0),
    ],
)
def test_only_the_token_of_the_answer_is_read(
    tokens: list[dict[str, Any]], response: int | None, rule: str, n_unlisted: int
) -> None:
    found = choice(tokens, reply=None if tokens else "2")
    assert (found.response, found.rule, found.n_unlisted) == (response, rule, n_unlisted)
    assert json.loads(found.reply)["reply"] == (text_of(tokens) or "2")


def test_a_list_of_the_options_is_not_an_answer() -> None:
    tokens = [token for n, text in enumerate(OPTIONS, 1) for token in (entry(str(n), SURE), entry(f". {text}\n"))]
    assert choice([*tokens, entry("The answer is 3.")]).rule == "no_answer_position"


def test_a_number_that_can_be_the_text_of_another_option_is_not_read() -> None:
    tokens = [entry("2", SURE)]
    assert choice(tokens, options=["4", "no", "yes", "maybe"]).rule == "no_answer_position"
    assert choice(tokens, options=["1", "2", "3", "4"]).response == 2


def test_tokens_of_another_text_are_not_read() -> None:
    tokens = [entry("Number"), entry(":"), entry(" 2", {" 2": 0.9})]
    assert choice(tokens).response == 2
    assert choice(tokens, reply="Answer: 2").rule == "no_answer_position"


@pytest.mark.parametrize(
    ("spoil", "response"),
    [
        ({"logprob": None}, 2),
        ({"token": 7}, None),
        ({"top_logprobs": "1"}, 2),
        ({"top_logprobs": [3, {}]}, 2),
        ({"top_logprobs": [{"token": "2", "logprob": None}, {"token": "3", "logprob": math.nan}]}, 2),
        ({"top_logprobs": [{"token": "3", "logprob": -math.inf}]}, 2),
    ],
)
def test_damaged_log_probabilities_are_not_an_error(spoil: dict[str, Any], response: int | None) -> None:
    assert choice([entry("2", SURE) | spoil], reply="2").response == response


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (anthropic_line, "the API of Anthropic has no log-probabilities"),
        (openai_line, "no reply has log-probabilities"),
    ],
)
def test_a_file_without_log_probabilities_is_refused(
    vignettes: Study, tmp_path: Path, line: Line, message: str
) -> None:
    lines = [
        json.dumps(line(request, right(item)))
        for item, request in zip(vignettes.test_items, ids_of(vignettes).values(), strict=True)
    ]
    with pytest.raises(InputError, match=f"{message}.*Fix: ") as refused:
        models_import(vignettes, write_lines(tmp_path / "results", lines), choice="logprob")
    assert "\n" not in str(refused.value)


def test_an_unknown_choice_is_refused(vignettes: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown choice `text`\. Fix: "):
        models_import(vignettes, tmp_path / "results", choice="text")


def test_a_study_with_other_tasks_is_refused(tmp_path: Path) -> None:
    copy_sample_study("blackbox-predict", tmp_path / "study")
    path = write_lines(tmp_path / "results", [json.dumps(openai_line("a", "1"))])
    with pytest.raises(InputError, match=r"has the task blackbox_predict.*Fix: omit --choice"):
        models_import(tmp_path / "study", path, choice="logprob")
