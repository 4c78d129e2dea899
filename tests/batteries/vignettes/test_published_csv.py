"""A battery as CSV with the columns of the published batteries."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from batteries.items import Battery, Item, load_battery
from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.building import assert_refused, build, code, question, rewritten, rows_of, run, texts

PUBLISHED_COLUMNS = re.findall(
    r"\w+",
    "target_demand, id, number, name, version, capability_type, condition, demand_condition, vignette, inference_level,"
    " pov, spacing_noise_proportion, character_noise_number, character_noise_proportion, capitalisation_number,"
    " capitalisation_proportion, novelty, causal_type, causal_direction, correct_answer_number, correct_answer_text,"
    " option_1, option_2, option_3, option_4",
)


def test_the_csv_has_the_published_columns_first_and_in_order(templates: Path, plain: Battery, tmp_path: Path) -> None:
    header, rows = rows_of(build(templates, tmp_path / "battery.csv"))
    n = len(PUBLISHED_COLUMNS)
    assert header[:n] == PUBLISHED_COLUMNS
    assert header[n : n + len(published.DIMENSIONS)] == list(published.DIMENSIONS)
    assert len(rows) == len(plain.items)
    for row, item in zip(rows, plain.items, strict=True):
        text, prompt, options = texts(item)
        assert row["id"] == item.factors["template_id"]
        assert row["name"] == item.factors["scenario"]
        assert row["number"] == str(question(item)["base_context_number"])
        assert row["condition"] == code(item)
        for name in ("version", "capability_type", "inference_level", "novelty", "causal_type", "causal_direction"):
            assert row[name] == str(item.factors[name])
        # Context, blank line, prompt, numbered options.
        numbered = "\n".join(f"{number}. {option}" for number, option in enumerate(options, start=1))
        assert row["vignette"].strip() == f"{text}\n\n{prompt}\n{numbered}"
        assert row["correct_answer_number"] == str(item.key)
        assert row["correct_answer_text"] == options[int(str(item.key)) - 1]
        assert row["correct_answer_text"] in row["vignette"]
        for name in PUBLISHED_COLUMNS[11:16]:
            assert float(row[name]) == 0
        assert not re.search(r"\b(nan|None)\b", ",".join(row.values()))


def test_the_articles_of_the_stored_right_text_are_corrected(tmp_path: Path) -> None:
    folder = published.write_one_story(
        tmp_path / "templates",
        "{vs[name_1]} {vs[switch_1]}.{vs[filler]}",
        options=["A hour.", "An unicorn.", "A 80-page book.", "Tea."],
    )
    _, rows = rows_of(build(folder, tmp_path / "battery.csv", {"variants": 1}))
    assert {row["correct_answer_text"] for row in rows} == {"An hour.", "A unicorn."}


def imported(source: Path, output: Path) -> Battery:
    result = run("import", source, "-o", output)
    assert result.exit_code == 0, result.output
    return load_battery(output)


def as_data(items: Iterable[Item]) -> dict[str, Any]:
    return {item.item_id: item.model_dump(mode="json") for item in items}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"pov": ["third", "first"], "variants": 2},
        {"matched": False, "variants": 2, "inference_levels": [0, 3]},
        {"variants": 1, "perturbations": [{}, {"spacing_proportion": 0.75}, {"spelling_letters": 10}]},
        {"variants": 1, "perturbations": [{"capitalisation_letters": 5, "spacing_proportion": 1}]},
        {"variants": 1, "perturbations": [{"capitalisation_letters": 15}], "perturb_options": True},
        {"demands": {"social": True, "beliefs": True, "feelings": False}, "variants": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_round_trip_keeps_every_item(templates: Path, tmp_path: Path, spec: dict[str, Any]) -> None:
    expected = as_data(load_battery(build(templates, tmp_path / "battery.jsonl", spec)).items)
    found = as_data(imported(build(templates, tmp_path / "battery.csv", spec), tmp_path / "back.jsonl").items)
    assert found.keys() == expected.keys()
    for item_id, item in expected.items():
        for part in ("task", "content", "key", "factors", "clean"):
            assert found[item_id][part] == item[part], (item_id, part)


def test_a_round_trip_keeps_unusual_texts(tmp_path: Path) -> None:
    folder = published.write_one_story(
        tmp_path / "templates",
        'Erster Absatz; „Zitat“, "quoted".\n\nSecond, with 1. a list\n2. of things\n\n'
        "{vs[name_1]} {vs[switch_1]}: 東京.{vs[filler]}",
        prompt="Which, “a” or 1. b?",
        options=["1. One", 'Two, "2"', "=3+4", "4.5 euros"],
    )
    expected = as_data(load_battery(build(folder, tmp_path / "battery.jsonl")).items)
    found = as_data(imported(build(folder, tmp_path / "battery.csv"), tmp_path / "back.jsonl").items)
    assert found == expected


def published_only(row: dict[str, str]) -> dict[str, str]:
    return {name: row[name] for name in PUBLISHED_COLUMNS}


def through_a_spreadsheet(row: dict[str, str]) -> dict[str, str]:
    """Change the cells as a spreadsheet does: numbers lose their leading zeros."""
    return {name: str(int(text)) if re.fullmatch(r"0\d+", text) else text for name, text in row.items()}


def test_the_condition_01_survives_a_spreadsheet(templates: Path, tmp_path: Path) -> None:
    source = build(templates, tmp_path / "battery.csv")
    _, rows = rows_of(source)
    doubles = Counter(row["condition"] for row in rows if row["capability_type"] == "double")
    assert set(doubles) == {"00", "10", "01", "11"}
    plain = as_data(imported(source, tmp_path / "plain.jsonl").items)
    spoilt = rewritten(source, tmp_path / "spoilt.csv", through_a_spreadsheet)
    assert as_data(imported(spoilt, tmp_path / "spoilt.jsonl").items) == plain
    for item in plain.values():
        if item["factors"]["capability_type"] == "double":
            assert item["factors"]["condition"] in "ABCD"


@pytest.mark.parametrize("change", [published_only, lambda row: published_only(through_a_spreadsheet(row))])
def test_a_csv_with_only_the_published_columns_is_imported(
    templates: Path, tmp_path: Path, change: Callable[[dict[str, str]], dict[str, str]]
) -> None:
    spec = {"variants": 2, "pov": ["first", "third"]}
    expected = load_battery(build(templates, tmp_path / "battery.jsonl", spec)).items
    source = rewritten(build(templates, tmp_path / "battery.csv", spec), tmp_path / "published.csv", change)
    found = imported(source, tmp_path / "back.jsonl").items
    assert len({item.item_id for item in found}) == len(found) == len(expected)
    for item, original in zip(found, expected, strict=True):
        assert texts(item) == texts(original)
        assert item.key == original.key
        for name in (
            "scenario",
            "version",
            "condition",
            "inference_level",
            "capability_type",
            "novelty",
            "template_id",
        ):
            assert item.factors[name] == original.factors[name]


@pytest.mark.parametrize(
    "dialect",
    [{"encoding": "utf-8-sig"}, {"lineterminator": "\r\n"}, {"quoting": csv.QUOTE_ALL}, {"lineterminator": "\n"}],
    ids=str,
)
def test_a_csv_that_other_programs_saved_is_imported(templates: Path, tmp_path: Path, dialect: dict[str, Any]) -> None:
    source = build(templates, tmp_path / "battery.csv", {"variants": 1})
    expected = as_data(imported(source, tmp_path / "plain.jsonl").items)
    other = rewritten(source, tmp_path / "other.csv", lambda row: row, **dialect)
    assert as_data(imported(other, tmp_path / "other.jsonl").items) == expected


@pytest.mark.parametrize("names", [["index"], ["Index"], ["unnamed: 0"], ["Unnamed: 0"], [""], ["Unnamed: 0", "index"]])
@pytest.mark.parametrize("form", ["{}", "{}.0"])
def test_columns_of_row_numbers_are_not_imported(templates: Path, tmp_path: Path, names: list[str], form: str) -> None:
    source = build(templates, tmp_path / "battery.csv", {"variants": 1})
    expected = as_data(imported(source, tmp_path / "plain.jsonl").items)
    numbers = iter(range(10_000))
    numbered = rewritten(
        source, tmp_path / "numbered.csv", lambda row: dict.fromkeys(names, form.format(next(numbers))) | row
    )
    assert as_data(imported(numbered, tmp_path / "numbered.jsonl").items) == expected


def test_a_factor_called_index_that_does_not_lead_the_table_is_imported(templates: Path, tmp_path: Path) -> None:
    source = build(templates, tmp_path / "battery.csv", {"variants": 1})
    levelled = rewritten(source, tmp_path / "levelled.csv", lambda row: row | {"index": "1"})
    items = imported(levelled, tmp_path / "levelled.jsonl").items
    assert {item.factors["index"] for item in items} == {1}


def test_a_duplicate_column_is_refused(templates: Path, tmp_path: Path) -> None:
    source = build(templates, tmp_path / "battery.csv", {"variants": 1})
    lines = source.read_text(encoding="utf-8").replace("item_id", "name", 1)
    source.write_text(lines, encoding="utf-8")
    assert_refused(run("import", source, "-o", tmp_path / "back.jsonl"), "line 1: duplicate column `name`")


def test_a_published_csv_with_uncorrected_articles_is_imported(templates: Path, tmp_path: Path) -> None:
    """The published generator stores the right text before a and an are corrected; the number identifies the option."""
    spec = {"variants": 1, "ids": ["1.0.0.0.b"]}
    source = build(templates, tmp_path / "battery.csv", spec)

    def unmended(row: dict[str, str]) -> dict[str, str]:
        return published_only({**row, "correct_answer_text": row["correct_answer_text"].replace("An ", "A ")})

    found = imported(rewritten(source, tmp_path / "published.csv", unmended), tmp_path / "back.jsonl").items
    expected = load_battery(build(templates, tmp_path / "battery.jsonl", spec)).items
    assert [(texts(item), item.key) for item in found] == [(texts(item), item.key) for item in expected]


def test_exporting_a_battery_gives_the_csv_that_build_gives(templates: Path, tmp_path: Path) -> None:
    spec = {"variants": 1, "perturbations": [{}, {"spelling_letters": 5}]}
    built = build(templates, tmp_path / "built.csv", spec)
    battery = build(templates, tmp_path / "battery.jsonl", spec)
    result = run("export", battery, "--format", "csv", "-o", tmp_path / "exported.csv")
    assert result.exit_code == 0, result.output
    header, rows = rows_of(tmp_path / "exported.csv")
    assert header[: len(PUBLISHED_COLUMNS)] == PUBLISHED_COLUMNS
    assert sorted(rows, key=lambda row: row["item_id"]) == sorted(rows_of(built)[1], key=lambda row: row["item_id"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: {name: text for name, text in row.items() if name != "vignette"}, ("vignette",)),
        (lambda row: {**row, "correct_answer_number": "5"}, ("line",)),
        (lambda row: {**row, "correct_answer_number": "two"}, ("correct_answer_number", "two")),
        (lambda row: {**row, "vignette": "Just a story."}, ("vignette", "line")),
        (lambda row: {**row, "condition": "7"}, ("condition", "7")),
        (lambda row: {**row, "inference_level": "high"}, ("inference_level", "high")),
    ],
)
def test_a_damaged_csv_is_refused(
    templates: Path, tmp_path: Path, change: Callable[[dict[str, str]], dict[str, str]], words: tuple[str, ...]
) -> None:
    source = build(templates, tmp_path / "battery.csv", {"variants": 1, "ids": ["1.2.0.0.a"]})
    spoilt = rewritten(source, tmp_path / "spoilt.csv", change)
    assert_refused(run("import", spoilt, "-o", tmp_path / "back.jsonl"), "spoilt.csv", *words)
    assert not (tmp_path / "back.jsonl").exists()
