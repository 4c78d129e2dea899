"""Any CSV or JSON Lines file is imported with a map of its columns, also a wide table with a column for each model."""

import csv
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from batteries.errors import InputError
from batteries.items import Battery, Item, save_battery
from equipoise.cli.main import main
from equipoise.commands.models.imports import models_import
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.models.imports.column_map import read_map
from experiment.study.definition import Study
from tests.experiment.models.imports.fabricated import right, write_lines, wrong

GPT_MODELS = ("gpt-3.5-turbo", "gpt-4", "gpt-4-1106-preview")
PROMPTS = {"output": "zero-shot", "output_inject": "injected", "output_inject_oneshot": "one-shot"}
ROUTES = ("best", "shortest", "misleading", "far")


def write_table(path: Path, rows: list[dict[str, Any]], separator: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "json"])
def test_a_long_table_is_imported_with_a_short_map(vignettes: Study, tmp_path: Path, separator: str) -> None:
    rows = [
        {"id": item.item_id, "answer": make(item), "llm": model, "t": "0.3", "rep": epoch, "ms": "812.5"}
        for model, make in (("small", wrong), ("large", right))
        for epoch in (1, 2)
        for item in vignettes.test_items
    ]
    random.Random(1).shuffle(rows)
    path = tmp_path / "replies"
    if separator == "json":
        write_lines(path, [json.dumps(row) for row in rows])
    else:
        write_table(path, rows, separator)
    sentences = models_import(vignettes, path, map="item=id,reply=answer,model=llm,temperature=t,epoch=rep,rt_ms=ms")
    assert sorted(sentences) == [
        f"{model}, temperature 0.3, epoch {epoch}: 144 responses, {n} correct ({n / 144:.1%})."
        for model, n in (("large", 144), ("small", 0))
        for epoch in (1, 2)
    ]


def test_several_columns_name_the_item_by_its_factors(vignettes: Study, tmp_path: Path) -> None:
    names = ("template_id", "condition", "inference_level")
    rows = [{name: item.factors[name] for name in names} | {"reply": right(item)} for item in vignettes.test_items]
    rows.append(rows[0] | {"condition": "Z"})
    path = write_table(tmp_path / "replies", rows)
    run, problem = models_import(vignettes, path, map=f"item={'+'.join(names)},reply=reply,model==m")
    assert run == "m: 144 responses, 144 correct (100.0%)."
    assert "1 line has an unknown item (line " in problem


def test_nested_fields_of_json_lines_are_columns(vignettes: Study, tmp_path: Path) -> None:
    rows = [json.dumps({"doc": {"id": item.item_id}, "out": [{"text": right(item)}]}) for item in vignettes.test_items]
    rows.append(json.dumps({"doc": {"id": vignettes.test_items[0].item_id}}))
    path = write_lines(tmp_path / "replies", rows)
    column_map = tmp_path / "map.yaml"
    column_map.write_text("item: doc.id\nreply: out\nmodel: {text: m}\n", encoding="utf-8")
    run, problem = models_import(vignettes, path, map=column_map)
    assert run.startswith("m: 144 responses")
    assert "1 line failed (line 145, " in problem


def test_a_wide_table_has_a_run_for_each_column(vignettes: Study, tmp_path: Path) -> None:
    rows = [{"id": item.item_id, "a": right(item), "b": wrong(item)} for item in vignettes.test_items]
    rows[4]["b"] = ""
    path = write_table(tmp_path / "replies", rows)
    column_map = tmp_path / "map.yaml"
    column_map.write_text(
        "item: id\ntemperature: 0.5\nruns:\n- {reply: a, model: {text: large}}\n"
        "- {reply: b, model: {text: small}, temperature: 1, prompt: {text: short}}\n",
        encoding="utf-8",
    )
    large, small, failed = models_import(vignettes, path, map=column_map)
    assert large == "large, temperature 0.5: 144 responses, 144 correct (100.0%)."
    assert small.startswith("small, short, temperature 1: 143 responses, 0 correct (0.0%). 1 of 144 items is missing")
    assert "`b` is empty" in failed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("reply=a,model==m", "does not say which column contains the item"),
        ("item=a,model==m", "each run needs either the column `reply`"),
        ("item=a,reply=b,choice=c,model==m", "each run needs either the column `reply`"),
        ("item=a,reply=b", "does not say which model wrote the replies"),
        ("item=a,reply=b,modle==m", "`modle==m` is not a part of a map"),
        ("item=a,item=b,reply=c", "`item` appears twice"),
        ("item==a,reply=b,model==m", "`item` must be the name of a column"),
        ("item=,reply=b", "`item=` is not a part of a map"),
    ],
)
def test_an_invalid_map_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        read_map(text)
    assert "Fix: " in str(refused.value)


def test_a_missing_or_invalid_map_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_map(tmp_path / "map.yaml")
    path = tmp_path / "map.yaml"
    path.write_text("item: id\nreply: a\nmodle: b\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 3: `modle` is an unknown field; did you mean `model`"):
        read_map(path)


@pytest.mark.parametrize(
    ("column_map", "message"),
    [
        ("item=id,reply=answr,model==m", "the map names the column `answr`, but the file has the columns id, answer"),
        ("item=id+answer,reply=answer,model==m", "the items have no factor `id`"),
    ],
)
def test_a_map_that_does_not_fit_the_file_is_refused(
    vignettes: Study, tmp_path: Path, column_map: str, message: str
) -> None:
    path = write_table(tmp_path / "replies", [{"id": "a", "answer": "1"}])
    with pytest.raises(InputError, match=message) as refused:
        models_import(vignettes, path, map=column_map)
    assert "Fix: " in str(refused.value)


def test_a_damaged_row_loses_no_other_row(vignettes: Study, tmp_path: Path) -> None:
    items = vignettes.test_items[:4]
    rows = [f'{item.item_id},"{right(item)}",m,{epoch}' for item, epoch in zip(items, "1x10", strict=True)]
    text = "\n".join(
        ["id,answer,model,epoch", *rows[:2], "a,b,c", "z,1,m,1", *rows[2:], f"{items[3].item_id},1,,1", ""]
    )
    path = tmp_path / "replies"
    path.write_bytes(text.encode().replace(b"The story", b"The \xff story", 1))
    sentences = models_import(vignettes, path, map="item=id,reply=answer,model=model,epoch=epoch")
    assert sentences[0].startswith("m, epoch 1: 2 responses, 2 correct")
    unreadable, foreign = sorted(sentences[1:], key=lambda sentence: "no request of this study" in sentence)
    assert "4 lines are unreadable (" in unreadable
    assert "3 cells, but the header has 4" in unreadable
    assert "the epoch `x` is not a whole number from 1" in unreadable
    assert "1 line belongs to no request of this study (line 9, `z`: " in foreign


@pytest.mark.parametrize(
    ("choice", "is_valid"),
    [("2", True), ("2.0", True), ("two", True), ("b", False), ("0", False), ("5", False), ("UNKNOWN", False)],
)
def test_a_choice_is_the_number_or_the_text_of_an_option(tmp_path: Path, choice: str, is_valid: bool) -> None:
    study = route_study(tmp_path, {"s1": 2}, ("one", "two", "three"))
    path = write_table(tmp_path / "replies", [{"id": "s1", "choice": choice}])
    (run,) = models_import(study, path, map="item=id,choice=choice,model==m")
    assert ("1 correct" in run) == is_valid
    assert ("1 invalid (1 not a response)" in run) != is_valid


def test_a_choice_that_means_two_options_is_not_a_response(tmp_path: Path) -> None:
    study = route_study(tmp_path, {"s1": 2, "s2": 3}, ("2", "3", "7"))
    rows = [{"id": "s1", "choice": "2"}, {"id": "s2", "choice": "7"}]
    (run,) = models_import(study, write_table(tmp_path / "replies", rows), map="item=id,choice=choice,model==m")
    assert "2 responses, 1 correct (50.0%), 1 invalid (1 not a response)." in run


def route_study(folder: Path, keys: dict[str, int], options: tuple[str, ...]) -> Study:
    """Return a study of multiple-choice questions with these keys."""
    study = folder / "routes"
    copy_sample_study("blackbox-predict", study)
    items = tuple(
        Item(
            item_id=item_id,
            task="multiple_choice",
            factors={"set": "routes"},
            content={"text": "A campus.", "prompt": "Which route is best?", "options": list(options)},
            key=key,
        )
        for item_id, key in keys.items()
    )
    save_battery(Battery(battery="routes", version="1.0", items=items), study / "battery.jsonl")
    (study / "study.yaml").write_text(
        'study: routes\nversion: "1.0"\ntitle: Routes\nlanguage: en\nbattery: battery.jsonl\n'
        "design: {method: deal, groups: 1, balance: [set]}\n"
        "timeline: {consent: consent.md, instructions: [consent.md], debrief: consent.md}\n",
        encoding="utf-8",
    )
    return load_study(study)


def test_the_published_choices_of_three_models_are_imported_as_multiple_choice_runs(
    test_data: Path, tmp_path: Path
) -> None:
    table = test_data / "iip" / "gpt_choices.csv"
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # The hybrid route is the best route in each scene.
    study = route_study(tmp_path, {row["scene_id"]: 1 for row in rows}, ROUTES)
    column_map = tmp_path / "map.yaml"
    runs = [(model, column, prompt) for model in GPT_MODELS for column, prompt in PROMPTS.items()]
    column_map.write_text(
        "item: scene_id\nruns:\n"
        + "".join(
            f"- {{choice: {model}_{column}_res_option, model: {{text: {model}}}, prompt: {{text: {prompt}}}}}\n"
            for model, column, prompt in runs
        ),
        encoding="utf-8",
    )
    arguments = ["models", "import", str(study.folder), str(table), "--map", str(column_map)]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    printed = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert len(printed) == 9
    for model, column, prompt in runs:
        counts = Counter(row[f"{model}_{column}_res_option"] for row in rows)
        n_best, n_unknown = counts["best"], counts["UNKNOWN"]
        invalid = f", {n_unknown} invalid ({n_unknown} not a response)" if n_unknown else ""
        assert printed[f"{model}, {prompt}"] == (f"500 responses, {n_best} correct ({n_best / 500:.1%}){invalid}.")
    again = CliRunner().invoke(main, arguments)
    assert again.stdout.count("already in the store") == 9
