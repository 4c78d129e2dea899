"""Each format is recognised by its content, and its particular fields are read."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from batteries.vignettes.published_csv import PUBLISHED_COLUMNS, write_published_csv
from equipoise.commands.models.imports import models_import
from experiment.models.imports.column_map import read_map
from experiment.models.imports.recognise import recognise
from experiment.models.imports.replies import ImportedReply, Problem
from experiment.models.imports.study_items import StudyItems
from experiment.study.definition import Study
from tests.experiment.models.imports.fabricated import (
    anthropic_failure,
    anthropic_line,
    ids_of,
    openai_failure,
    openai_line,
    responses_line,
    right,
    write_lines,
)  # fmt: skip


def records(study: Study, path: Path, column_map: str | None = None) -> list[ImportedReply | Problem]:
    found = recognise(path, StudyItems(study), read_map(column_map) if column_map else None)
    assert found.read is not None
    return list(found.read())


def format_of(study: Study, path: Path) -> str:
    return recognise(path, StudyItems(study)).name


@pytest.mark.parametrize("name", ["results.jsonl", "results.csv", "results.eval", "results"])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (openai_line("a", "1"), "openai-batch"),
        (responses_line("a", "1"), "openai-batch"),
        (openai_failure("a", 1), "openai-batch"),
        (anthropic_line("a", "1"), "anthropic-batch"),
        (anthropic_failure("a", 1), "anthropic-batch"),
        ({"doc": {}, "resps": [["1"]], "target": "1", "filtered_resps": ["1"]}, "lm-eval"),
        ({"results": []}, "stored-blackbox"),
        ({"version": 2, "status": "success", "eval": {}}, "inspect"),
    ],
)
def test_the_name_of_a_file_has_no_effect(
    vignettes: Study, tmp_path: Path, name: str, line: dict[str, Any], expected: str
) -> None:
    path = write_lines(tmp_path / name, ["", '{"damaged', json.dumps(line)])
    if expected in {"stored-blackbox", "inspect"}:
        write_lines(path, [json.dumps(line)])
    assert format_of(vignettes, path) == expected


def test_indented_json_is_recognised(vignettes: Study, tmp_path: Path, stored_runs: Path) -> None:
    path = tmp_path / "runs"
    path.write_text(json.dumps(json.loads(stored_runs.read_text("utf-8")), indent=2), encoding="utf-8")
    assert format_of(vignettes, path) == "stored-blackbox"
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": {}}, indent=2), encoding="utf-8")
    assert format_of(vignettes, path) == "inspect"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "the format of this file is unknown"),
        ('{"a": 1}\n', "the format of this file is unknown"),
        ("\0\1\2", "the format of this file is unknown"),
        ('{"custom_id": "1", "method": "POST", "url": "/v1/x", "body": {}}\n', "requests to a model, without replies"),
        ('{"custom_id": "1", "params": {"model": "m"}}\n', "requests to a model, without replies"),
    ],
)
def test_a_file_of_another_kind_is_refused(vignettes: Study, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as refused:
        recognise(path, StudyItems(vignettes))
    assert "Fix: " in str(refused.value)


def test_the_fields_of_a_chat_completion_are_read(vignettes: Study, tmp_path: Path) -> None:
    line = openai_line("a", "1", finish="length")
    line["response"]["body"]["choices"][0]["message"]["reasoning_content"] = "Hm."
    (reply,) = records(vignettes, write_lines(tmp_path / "x", [json.dumps(line)]))
    assert isinstance(reply, ImportedReply)
    assert (reply.model, reply.reply, reply.thinking, reply.is_truncated) == ("gpt-4o-2024-08-06", "1", "Hm.", True)
    assert (reply.tokens_in, reply.tokens_out) == (100, 10)
    assert reply.time is not None
    assert reply.time.isoformat() == "2025-10-09T08:53:20+00:00"


def test_the_fields_of_the_responses_api_are_read(vignettes: Study, tmp_path: Path) -> None:
    (reply,) = records(vignettes, write_lines(tmp_path / "x", [json.dumps(responses_line("a", "1", finish="length"))]))
    assert isinstance(reply, ImportedReply)
    assert (reply.reply, reply.thinking, reply.is_truncated) == ("1", "Let me see.", True)
    assert (reply.temperature, reply.max_tokens) == (0.7, 512)


def test_a_refusal_and_content_in_parts_are_read_as_text(vignettes: Study, tmp_path: Path) -> None:
    refused, parts = openai_line("a", ""), openai_line("b", "")
    refused["response"]["body"]["choices"][0]["message"] |= {"content": None, "refusal": "I cannot help."}
    parts["response"]["body"]["choices"][0]["message"]["content"] = [{"type": "text", "text": "2"}]
    found = records(vignettes, write_lines(tmp_path / "x", [json.dumps(refused), json.dumps(parts)]))
    assert [one.reply for one in found if isinstance(one, ImportedReply)] == ["I cannot help.", "2"]


def test_the_fields_of_an_anthropic_message_are_read(vignettes: Study, tmp_path: Path) -> None:
    lines = [anthropic_line("a", "1", finish="length"), *(anthropic_failure("b", number) for number in range(3))]
    reply, *failed = records(vignettes, write_lines(tmp_path / "x", list(map(json.dumps, lines))))
    assert isinstance(reply, ImportedReply)
    assert (reply.reply, reply.thinking, reply.is_truncated) == ("1", "Let me see.", True)
    assert [one.detail for one in failed if isinstance(one, Problem)] == ["errored: Overloaded", "canceled", "expired"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body.pop("model"),
        lambda body: body.update(model=""),
        lambda body: body.update(choices=[]),
        lambda body: body.update(choices=[None]),
        lambda body: body.pop("choices"),
        lambda body: body["choices"].append(body["choices"][0]),
    ],
)
def test_a_body_without_a_usable_message_is_unreadable(vignettes: Study, tmp_path: Path, spoil: Any) -> None:
    line = openai_line("a", "1")
    spoil(line["response"]["body"])
    (problem,) = records(vignettes, write_lines(tmp_path / "x", [json.dumps(line)]))
    assert isinstance(problem, Problem)
    assert problem.kind == "are unreadable"


@pytest.mark.parametrize("column_map", ["model==m", "temperature==1"])
def test_a_map_for_a_format_that_needs_no_map_is_refused(vignettes: Study, tmp_path: Path, column_map: str) -> None:
    path = write_lines(tmp_path / "results", [json.dumps(openai_line("a", "1"))])
    with pytest.raises(InputError, match="this map cannot be used with the format openai-batch"):
        models_import(vignettes, path, map=column_map)


# The CSV file of the published generator.


def published(study: Study, path: Path, *, with_ids: bool, model: str = "GPT-4o-mini") -> Path:
    battery = path.with_name("battery.csv")
    with battery.open("w", newline="", encoding="utf-8") as file:
        write_published_csv(study.test_items, (), file)
    with battery.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for number, (row, item) in enumerate(zip(rows, study.test_items, strict=True)):
        reply = "" if number == 5 else "The answer is unclear." if number == 6 else right(item)
        row |= {"": str(number), "model": model, "temperature": "0.5", "top_p": "1", "full_answer": reply,
                "answer_num": reply[:1], "answer_text": "", "answer_explanation": ""}  # fmt: skip
    columns = ["", *PUBLISHED_COLUMNS, "model", "temperature", "top_p", "full_answer", "answer_num", "answer_text"]
    columns += ["answer_explanation", *(["item_id"] if with_ids else [])]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("with_ids", [True, False])
def test_the_csv_file_of_the_published_generator_is_imported(vignettes: Study, tmp_path: Path, with_ids: bool) -> None:
    path = published(vignettes, tmp_path / "ai_data.csv", with_ids=with_ids)
    assert format_of(vignettes, path) == "published-vignettes"
    run, failed = models_import(vignettes, path)
    assert run.startswith("GPT-4o-mini, temperature 0.5: 143 responses, 142 correct (99.3%), 1 invalid (1 no answer).")
    assert f"1 of 144 items is missing (1 failed): `{vignettes.test_items[5].item_id}`." in run
    assert "1 line failed (line " in failed
    assert "the cell `full_answer` is empty" in failed


def test_a_vignette_whose_text_differs_from_the_battery_is_not_imported(vignettes: Study, tmp_path: Path) -> None:
    path = published(vignettes, tmp_path / "ai_data.csv", with_ids=True)
    text = path.read_text(encoding="utf-8")
    story = str(vignettes.test_items[0].content["text"])[:30]
    assert story in text
    path.write_text(text.replace(story, "Another story."), encoding="utf-8")
    _, *problems = models_import(vignettes, path)
    assert any("belong to another battery (line " in problem for problem in problems)
    assert any("the text of the vignette differs from the battery's text" in problem for problem in problems)


# Samples of lm-evaluation-harness.


def sample(request: str, replies: list[str], name: str = "item_id") -> str:
    settings = {"until": [], "temperature": 0.3, "max_gen_toks": 512}
    fields = {
        "doc_id": 0,
        "doc": {name: request, "question": "?"},
        "target": "1",
        "arguments": {"gen_args_0": {"arg_0": "?", "arg_1": settings}},
        "resps": [replies],
        "filtered_resps": replies[:1],
        "filter": "none",
        "doc_hash": "",
        "prompt_hash": "",
        "target_hash": "",
    }
    return json.dumps(fields)


def loglikelihoods(request: str, continuations: list[str], values: list[float], as_text: bool) -> str:
    resps = [[[str(value), "False"]] if as_text else [[value, False]] for value in values]
    arguments = {f"gen_args_{n}": {"arg_0": "?", "arg_1": f" {text}"} for n, text in enumerate(continuations)}
    fields = {"doc": {"id": request}, "target": 0, "arguments": arguments, "resps": resps, "filtered_resps": []}
    return json.dumps(fields)


def test_samples_are_imported_with_an_epoch_for_each_repetition(vignettes: Study, tmp_path: Path) -> None:
    lines = [sample(item.item_id, [right(item), "The answer is unclear."]) for item in vignettes.test_items]
    path = write_lines(tmp_path / "samples_vignettes_2026-01-02T03-04-05.678901.jsonl", lines)
    results = {"model_name": "EleutherAI/pythia-160m", "date": 1_760_000_000.5, "config": {"model": "hf"}}
    (tmp_path / "results_2026-01-02T03-04-05.678901.json").write_text(json.dumps(results), encoding="utf-8")
    first, second = models_import(vignettes, path)
    assert first == "EleutherAI/pythia-160m, temperature 0.3, epoch 1: 144 responses, 144 correct (100.0%)."
    assert second.endswith("epoch 2: 144 responses, 0 correct (0.0%), 144 invalid (144 no answer).")


def test_samples_without_results_need_the_name_of_the_model(vignettes: Study, tmp_path: Path) -> None:
    ids = ids_of(vignettes)
    lines = [sample(ids[item.item_id], [right(item)], "custom_id") for item in vignettes.test_items[:143]]
    path = write_lines(tmp_path / "samples.jsonl", [*lines, sample("", ["1"]), sample("other", ["1"], "id"), lines[0]])
    with pytest.raises(InputError, match="Fix: name the model with --map model==NAME"):
        models_import(vignettes, path)
    run, *problems = models_import(vignettes, path, map="model==pythia")
    assert run.startswith("pythia, template 9f8e7d6c, temperature 0.7, epoch 1: 143 responses, 143 correct (100.0%).")
    assert "2 lines belong to no request of this study (line 144: the field `doc` has no `item_id`" in problems[0]
    assert "1 line repeats the same reply" in problems[1]


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("form", ["texts", "numbers", "letters"])
def test_the_option_with_the_largest_log_likelihood_is_the_response(
    vignettes: Study, tmp_path: Path, as_text: bool, form: str
) -> None:
    lines = []
    for item in vignettes.test_items:
        options = item.content["options"]
        assert isinstance(options, list)
        assert isinstance(item.key, int)
        shown = {"texts": options, "numbers": ["1", "2", "3", "4"], "letters": list("ABCD")}[form]
        values = [-2.5 if number == item.key else -3.5 for number in range(1, 5)]
        # In another order than in the item: the texts of the continuations identify the options.
        lines.append(loglikelihoods(item.item_id, [str(text) for text in shown[::-1]], values[::-1], as_text))
    (run,) = models_import(vignettes, write_lines(tmp_path / "samples", lines), map="model==m")
    assert run == "m: 144 responses, 144 correct (100.0%)."


def test_equal_log_likelihoods_are_not_a_response(vignettes: Study, tmp_path: Path) -> None:
    first, second = vignettes.test_items[:2]
    options = [str(option) for option in list(first.content["options"])]  # type: ignore[arg-type]
    lines = [
        loglikelihoods(first.item_id, options, [-1.0, -1.0, -2.0, -3.0], as_text=False),
        loglikelihoods(second.item_id, ["yes", "no", "maybe", "never"], [-1.0, -2.0, -3.0, -4.0], as_text=False),
    ]
    run, problem = models_import(vignettes, write_lines(tmp_path / "samples", lines), map="model==m")
    assert "1 responses, 0 correct (0.0%), 1 invalid (1 not a response)." in run
    assert "the log-likelihoods are not those of the item's options" in problem
