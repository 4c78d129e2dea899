"""Several mistakes at once, sound templates, wrong folders, and failures of the published generator."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from equipoise.cli.main import main
from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.checks.checking import (
    BUS,
    CUP,
    FIX_WORDS,
    Mistake,
    _circle_of_switches,
    _circle_through_a_filler,
    _only_you,
    check,
    complaints,
    in_context,
    in_qa,
    says,
)
from tests.batteries.vignettes.checks.mistakes import MISTAKES


def assert_sound(result: Result) -> None:
    assert result.exit_code == 0, result.output


# --- all at once ------------------------------------------------------------------------------------------------------


TWENTY_FIVE = (
    "placeholder in a filler",
    "placeholder in the prompt",
    "unknown form",
    "filler in itself",
    "circle of switches",
    "link too short",
    "link out of range",
    "no right answer",
    "answers with a 2",
    "three options",
    "options alike through a possible label",
    "id that says double",
    "unknown demand provided",
    "unknown attribute of an item",
    "no activity with these attributes",
    "coinflip with one text",
    "unknown causal type",
    "a JSON key twice",
    "base context of another folder",
    "negative link",
    "weight in words",
    "truth value yes in the demands",
    "an item twice",
    "a label with a brace",
    "condition without answers",
)


def test_25_mistakes_are_all_reported_in_one_run(templates: Path) -> None:
    mistakes = [next(mistake for mistake in MISTAKES if mistake.name == name) for name in TWENTY_FIVE]
    # If several mistakes would be in one file, all but one of them get a separate question or story.
    moved = {
        "id that says double": ("3.1.0.0.a", ("id",), "3.2.0.1.a", ("id", "3.2.0.1.a", "capability_type|single")),
        "base context of another folder": (
            "3.0.1.0.b",
            ("base_context",),
            "night_buses",
            ("base_context", "night_buses"),
        ),
        "options alike through a possible label": ("1.0.0.0.b", ("question", "options", 2), "A pliers.", ("options",)),
    }
    for place, mistake in enumerate(mistakes):
        if mistake.name in moved:
            qa_id, keys, value, key = moved[mistake.name]
            mistakes[place] = Mistake(
                mistake.name,
                lambda folder, qa_id=qa_id, keys=keys, value=value: published.edit_json(
                    in_qa(qa_id)(folder), keys, value
                ),
                published.qa_path(Path(), qa_id).name,
                key,
            )
        mistakes[place].plant(templates)
    assert len(mistakes) == 25
    lines = complaints(check(templates))
    unreported = [mistake.name for mistake in mistakes if not mistake.reported_in(lines)]
    assert not unreported, "\n".join(lines)
    # Each mistake has its own line.
    free = list(lines)
    for mistake in sorted(mistakes, key=lambda mistake: len(mistake.reported_in(lines))):
        free.remove(mistake.reported_in(free)[0])


def test_two_mistakes_in_one_field_are_both_reported(templates: Path) -> None:
    path = in_qa("1.2.0.0.a")(templates)
    published.edit_json(path, ("answers", "00"), [0, 0, 0, 0])
    published.edit_json(path, ("answers", "11"), [1, 1, 0, 0])
    published.edit_json(path, ("links", "10"), [1, 0, 0])
    published.edit_json(path, ("question", "prompt"), "{vs[a_1]} {vs[b_1]}?")
    lines = complaints(check(templates))
    for words in (("answers", "00"), ("answers", "11"), ("links", "10"), ("prompt", "a_1"), ("prompt", "b_1")):
        assert any(all(says(word, line) for word in words) for line in lines), (words, lines)


def test_a_mistake_of_form_hides_no_mistake_in_other_files(templates: Path) -> None:
    published.edit_json(in_context(CUP)(templates), ("A", "variables"), "name_1")
    (templates / "tables" / "demand_df.csv").unlink()
    published.edit_json(in_context(CUP)(templates), ("B", "filler", "0"), "{vs[nobody_1]}")
    published.edit_json(in_qa("1.1.0.0.a")(templates), ("answers", "0"), [0, 0, 0, 0])
    published.edit_json(in_qa("1.0.0.0.a")(templates), ("question", "prompt"), "")
    lines = complaints(check(templates))
    for words in (("A", "variables"), ("demand_df.csv",), ("B", "nobody_1"), ("answers", "0"), ("prompt",)):
        assert any(all(says(word, line) for word in words) for line in lines), (words, lines)


def test_a_mistake_of_the_story_hides_no_identical_options(templates: Path) -> None:
    published.delete_json(in_context(CUP)(templates), ("A", "filler", "3"))
    published.edit_json(in_qa("1.0.1.0.a")(templates), ("question", "options", 0), "It floats.")
    lines = complaints(check(templates))
    assert any("1.0.1.0.a" in line and "options" in line for line in lines), lines


def test_a_mistake_is_reported_once(templates: Path) -> None:
    published.edit_json(in_qa("1.1.0.0.a")(templates), ("answers", "0"), [0, 0, 0, 0])
    assert len(complaints(check(templates))) == 1


def test_no_sentence_is_printed_twice(templates: Path) -> None:
    _circle_of_switches(templates)
    published.edit_json(in_context(BUS)(templates), ("A", "filler", "1"), "{vs[a_1]} and {vs[a_1]}")
    lines = complaints(check(templates))
    assert len(set(lines)) == len(lines)


# --- what is not a mistake --------------------------------------------------------------------------------------------


def test_a_set_without_mistakes_passes(sound_set: Path) -> None:
    result = check(sound_set)
    assert_sound(result)
    assert "30" in result.stdout  # questions
    assert result.stderr == ""


def test_files_of_operating_systems_are_ignored(templates: Path) -> None:
    (templates / CUP / "._1.1.0.0.a_qa_template.json").write_bytes(b"\x00\x05")
    (templates / ".ipynb_checkpoints").mkdir()
    (templates / ".ipynb_checkpoints" / "copy.json").write_text("{}", encoding="utf-8")
    assert_sound(check(templates))


def test_a_suffix_in_capitals_hides_no_question(templates: Path) -> None:
    path = in_qa("1.1.0.0.a")(templates)
    path.rename(path.with_suffix(".JSON"))
    assert "30" in check(templates).stdout


def test_a_label_may_have_a_line_break(templates: Path) -> None:
    for name, text in (("variable_df.csv", "New\nYork"), ("variable_weights_df.csv", "1")):
        path = templates / "tables" / name
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        rows[1][rows[0].index("place")] = text
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    assert_sound(check(templates))


def test_tables_can_be_in_a_different_folder(templates: Path, tmp_path: Path) -> None:
    (templates / "tables").rename(tmp_path / "elsewhere")
    assert_sound(check(templates, "--tables", tmp_path / "elsewhere"))
    for line in complaints(check(templates)):
        assert "tables" in line


def _bom_and_crlf(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))


def _counted_wheels(folder: Path) -> None:
    """Attributes are compared for equality: a column may contain counts, also 0 and 1."""
    path = folder / "tables" / "item_df.csv"
    published.edit_rows(path, lambda rows: [[*row, "wheels" if n == 0 else str(n % 5)] for n, row in enumerate(rows)])
    published.edit_json(in_context(BUS)(folder), ("A", "items", "item_1"), {"wheels": 2})


def _with_empty_row_and_column(rows: list[list[str]]) -> list[list[str]]:
    return [[*row, ""] for row in [*rows, [""] * len(rows[0])]]


def _with_index(*names: str, form: str = "{}") -> Callable[[list[list[str]]], list[list[str]]]:
    return lambda rows: [
        [*names, *rows[0]],
        *([*([form.format(n)] * len(names)), *row] for n, row in enumerate(rows[1:])),
    ]


def _with_column(*cells: str) -> Callable[[list[list[str]]], list[list[str]]]:
    return lambda rows: [[*row, cell] for row, cell in zip(rows, [*cells, *[""] * len(rows)], strict=False)]


def _unused_columns(folder: Path) -> None:
    published.edit_rows(folder / "tables" / "variable_df.csv", _with_column("remark", "{checked}", "{checked}"))
    published.edit_rows(folder / "tables" / "variable_weights_df.csv", _with_column("rank", "0", "-1"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: [_bom_and_crlf(path) for path in folder.rglob("*.*")], id="BOM and CRLF"),
        *(
            pytest.param(
                lambda folder, file=file, name=name: published.edit_rows(folder / "tables" / file, _with_index(name)),
                id=f"index {name!r} in {file}",
            )
            for file in published.TABLES
            for name in ("", "Unnamed: 0", "index", "Index")
            if file != "item_df.csv"  # which has one
        ),
        pytest.param(
            lambda folder: published.edit_rows(
                folder / "tables" / "variable_df.csv", _with_index("Unnamed: 0", "index", form="{}.0")
            ),
            id="two indexes as floats",
        ),
        pytest.param(_unused_columns, id="columns that no template uses"),
        pytest.param(
            lambda folder: published.edit_rows(
                folder / "tables" / "demand_df.csv",
                lambda rows: [[{"1": "True", "0": "False"}.get(one, one) for one in row] for row in rows],
            ),
            id="demands as True and False",
        ),
        pytest.param(
            lambda folder: published.edit_rows(
                folder / "tables" / "item_df.csv",
                lambda rows: [[{"True": "1", "False": "0"}.get(one, one) for one in row] for row in rows],
            ),
            id="items as 1 and 0",
        ),
        pytest.param(
            lambda folder: published.edit_rows(
                folder / "tables" / "activity_df.csv",
                lambda rows: [[{"1": "TRUE", "0": "FALSE"}.get(one, one) for one in row] for row in rows],
            ),
            id="activities as a spreadsheet writes truth",
        ),
        pytest.param(
            lambda folder: [
                published.edit_rows(folder / "tables" / file, _with_empty_row_and_column)
                for file in published.TABLES
            ],
            id="an empty row and column at the end",
        ),
        pytest.param(_counted_wheels, id="an attribute that is a number"),
        pytest.param(
            lambda folder: published.edit_json(in_context(BUS)(folder), ("author",), "somebody"), id="a note in JSON"
        ),
        pytest.param(lambda folder: (folder / CUP / ".DS_Store").write_bytes(b"\x00\xff"), id="a file of the system"),
        pytest.param(lambda folder: (folder / CUP / "notes.txt").write_text("to do"), id="notes beside the templates"),
        pytest.param(
            lambda folder: published.edit_json(in_qa("1.1.0.0.a")(folder), ("demands", "c1"), ["object_fragility"]),
            id="underscores for the spaces of a demand",
        ),
        pytest.param(
            lambda folder: published.edit_json(in_qa("3.2.0.0.a")(folder), ("answers", "11"), [0, 0, 0, 1]),
            id="a double that is not additive",
        ),
        pytest.param(
            lambda folder: published.edit_json(
                in_qa("1.0.1.0.b")(folder), ("question", "options"), ["{vs[item_1]}", "{vs[item_2]}", "a", "b"]
            ),
            id="options with two labels, of which none comes twice",
        ),
        pytest.param(
            lambda folder: published.edit_json(
                in_qa("2.0.1.0.b")(folder), ("question", "options"), ["{vs[coinflip_2]}", "{vs[otherside_2]}", "a", "b"]
            ),
            id="options with the two sides of a coinflip",
        ),
    ],
)  # fmt: skip
def test_a_valid_variation_passes(templates: Path, change: Callable[[Path], object]) -> None:
    change(templates)
    assert_sound(check(templates))


def test_only_parts_that_the_spec_selects_must_exist(templates: Path, tmp_path: Path) -> None:
    """A battery in the first person and without hints needs no hints."""
    published.delete_json(in_context(CUP)(templates), ("A", "filler", "1"))
    _only_you(templates)
    spec = tmp_path / "spec.yaml"
    spec.write_text("inference_levels: [0, 2, 3]\npov: [first]\n", encoding="utf-8")
    assert_sound(check(templates, "--spec", spec))
    spec.write_text("inference_levels: [0, 1]\npov: [first]\n", encoding="utf-8")
    assert any("filler" in line for line in complaints(check(templates, "--spec", spec)))


def leather(folder: Path, **story: Any) -> Path:
    """Write a story whose variants differ only in the item, of which the pool has two."""
    return published.write_one_story(
        folder,
        "A {vs[item_1]} {vs[switch_1]}.{vs[filler]}",
        **{"variables": [], "items": {"item_1": {"material": "leather", "edible": False}}} | story,
    )


@pytest.mark.parametrize("pov", ["[first]", "[third]", "[first, third]"])
def test_a_pool_too_small_for_the_variants_is_refused(tmp_path: Path, pov: str) -> None:
    folder = leather(tmp_path / "templates")
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"variants: 2\npov: {pov}\n", encoding="utf-8")
    assert_sound(check(folder, "--spec", spec))
    spec.write_text(f"variants: 3\npov: {pov}\n", encoding="utf-8")
    lines = complaints(check(folder, "--spec", spec))
    assert all("only_story_context_template.json" in line and says("item_1", line) for line in lines), lines
    assert all(says("3", line) and says("2", line) and FIX_WORDS.search(line) for line in lines), lines


def test_a_pool_too_small_for_five_variants_is_refused_without_a_spec(tmp_path: Path) -> None:
    """Without a spec, `check` refuses every set that `build` refuses."""
    folder = leather(tmp_path / "templates")
    arguments = ["battery", "build", str(folder), "-o", str(tmp_path / "battery.jsonl")]
    assert CliRunner().invoke(main, arguments).exit_code != 0
    assert any(says("5", line) and says("item_1", line) for line in complaints(check(folder)))


def test_a_variable_that_no_text_shows_makes_no_variants(tmp_path: Path) -> None:
    folder = leather(tmp_path / "templates", variables=["place_1"])
    spec = tmp_path / "spec.yaml"
    spec.write_text("variants: 3\npov: [first]\n", encoding="utf-8")
    assert any(says("item_1", line) for line in complaints(check(folder, "--spec", spec)))


def test_a_pool_too_small_for_one_story_is_refused(tmp_path: Path) -> None:
    """Three slots use a pool of two labels, and no label may appear twice in a story."""
    wanted = {"material": "leather", "edible": False}
    folder = published.write_one_story(
        tmp_path / "templates",
        "A {vs[item_1]}, a {vs[item_2]} and a {vs[item_3]} {vs[switch_1]}.{vs[filler]}",
        items={"item_1": wanted, "item_2": wanted, "item_3": wanted},
    )
    spec = tmp_path / "spec.yaml"
    spec.write_text("variants: 1\n", encoding="utf-8")
    assert any("items" in line and FIX_WORDS.search(line) for line in complaints(check(folder, "--spec", spec)))


@pytest.mark.parametrize("spec", ["variants: 1", "variants: 7", "variants: 8", "pov: [third]", "matched: false"])
def test_a_set_that_passes_the_check_can_be_built(sound_set: Path, tmp_path: Path, spec: str) -> None:
    """The check exits with 0 if and only if the battery can be built."""
    path = tmp_path / "spec.yaml"
    path.write_text(f"{spec}\ncapability_types: [single]\n", encoding="utf-8")
    passed = check(sound_set, "--spec", path).exit_code == 0
    for seed in (1, 2, 3):
        arguments = ["battery", "build", sound_set, "--spec", path, "--seed", seed, "-o", tmp_path / "out.jsonl"]
        assert (CliRunner().invoke(main, list(map(str, arguments))).exit_code == 0) == passed


# --- what is not a mistake, but worth a look --------------------------------------------------------------------------


def remarks(result: Result) -> list[str]:
    assert_sound(result)
    assert "Warnings:" in result.stdout
    return result.stdout.split("Warnings:\n")[1].splitlines()


@pytest.mark.parametrize(
    ("story", "said"),
    [
        ("Then you and {vs[pov_1]} saw {vs[name_1]} {vs[switch_1]}.{vs[filler]}", "third person"),
        ("{vs[name_1]} {vs[switch_1]}.{vs[filler]}", "no space"),
    ],
)
def test_a_story_that_reads_badly_gives_a_warning(tmp_path: Path, story: str, said: str) -> None:
    folder = published.write_one_story(
        tmp_path / "templates", story, filler={"0": "It was.", "1": " a", "2": "", "3": " b"}
    )
    found = remarks(check(folder))
    assert any(said in line and "only_story_context_template.json" in line for line in found), found


def test_levels_that_read_the_same_give_a_warning(templates: Path) -> None:
    published.edit_json(in_context(CUP)(templates), ("A", "filler", "0"), "")
    (line,) = remarks(check(templates))
    assert "A.filler.2" in line and "0 and 2" in line


def test_a_control_with_the_right_option_of_the_test_gives_a_warning(templates: Path) -> None:
    path = in_qa("1.1.0.0.a")(templates)
    answers = json.loads(path.read_text(encoding="utf-8"))["answers"]["0"]
    published.edit_json(path, ("answers", "1"), answers)
    (line,) = remarks(check(templates))
    assert "1.1.0.0.a" in line and "answers" in line


def test_a_set_without_mistakes_gives_no_warning(sound_set: Path) -> None:
    assert "Warnings" not in check(sound_set).stdout


# --- wrong places -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["nowhere", "empty", "file.json"])
def test_a_folder_without_templates_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.json").write_text("{}", encoding="utf-8")
    lines = complaints(check(tmp_path / place))
    assert any(place in line for line in lines)
    assert all(FIX_WORDS.search(line) for line in lines)


def test_the_folder_of_one_scenario_is_refused(sound_set: Path) -> None:
    """The folder is one level too deep. The message names the right folder."""
    lines = complaints(check(sound_set / CUP, "--tables", sound_set / "tables"))
    assert any("folder" in line and CUP in line for line in lines), lines


# --- the published generator's known failures that a check must catch -------------------------------------------------


def test_a_missing_key_is_reported_with_file_and_id(templates: Path) -> None:
    published.edit_json(in_qa("2.1.0.0.a")(templates), ("question", "prompt"), "What about {vs[food_1]}?")
    result = check(templates)
    (line,) = complaints(result)
    assert "2.1.0.0.a_qa_template.json" in line and "food_1" in line and "KeyError" not in line


def test_a_pool_too_small_for_the_variants_is_reported_by_the_check(tmp_path: Path) -> None:
    folder = leather(tmp_path / "templates")
    (line,) = complaints(check(folder))
    assert says("variants", line) and says("labels", line)
    assert "nan" not in line.casefold().split()


def test_a_template_with_two_right_answers_is_refused(templates: Path) -> None:
    published.edit_json(in_qa("2.2.0.0.b")(templates), ("answers", "01"), [1, 0, 0, 1])
    (line,) = complaints(check(templates))
    assert says("01", line) and says("answers", line)


def test_circular_fillers_are_refused(templates: Path) -> None:
    _circle_through_a_filler(templates)
    assert all("B" in line and "filler" in line for line in complaints(check(templates)))
