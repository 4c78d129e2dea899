"""Building a battery: items, the battery as a whole, and builds that fail."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batteries.items import Battery, load_battery
from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.building import (
    QUESTIONS,
    assert_refused,
    battery_of,
    build,
    by,
    code,
    labels_of,
    question,
    rewritten,
    run,
    spread,
    texts,
    write_spec,
)
from tests.paths import ROOT

# --- the battery as a whole -------------------------------------------------------------------------------------------


def test_without_a_spec_everything_is_built(plain: Battery) -> None:
    """Every template and condition, all four levels, the first person, five variants: their product, each item once."""
    expected = {
        (qa_id, condition, level, variant)
        for qa_id, qa in QUESTIONS.items()
        for condition in qa["links"]
        for level in range(4)
        for variant in range(1, 6)
    }
    found = [
        (item.factors["template_id"], code(item), item.factors["inference_level"], item.factors["variant"])
        for item in plain.items
    ]
    assert len(found) == len(expected) == 1440
    assert set(found) == expected
    assert {item.factors["pov"] for item in plain.items} == {"first"}
    assert len({item.item_id for item in plain.items}) == 1440


def test_every_text_comes_from_its_template(plain: Battery, third: Battery) -> None:
    """Story with the condition's switches and the level's filler, prompt, and the four options, in both persons."""
    for item in (*plain.items, *third.items):
        _, places = labels_of(item)
        assert isinstance(item.key, int)
        right = question(item)["answers"][code(item)]
        assert right[places[item.key - 1]] == 1, item.item_id
        assert item.factors["option_order"] == "".join(str(place + 1) for place in places)


def test_no_markup_remains_in_a_text(plain: Battery, third: Battery, perturbed: Battery) -> None:
    for item in (*plain.items, *third.items, *perturbed.items):
        whole = json.dumps([item.content, item.clean])
        assert not re.search(r"vs\[|\{vs|pov_|switch_|filler|coinflip|otherside|:p\d|!c", whole), whole
        for shown in (*texts(item)[:2], *texts(item)[2]):
            assert "{" not in shown and "}" not in shown, shown
            if item.clean is None:
                assert not re.search(r"\b(None|nan|NaN|True|False)\b", shown), shown
                assert shown == shown.strip(), repr(shown)


def test_no_label_appears_twice_in_a_story(plain: Battery, third: Battery) -> None:
    for item in (*plain.items, *third.items):
        labels = [label.casefold() for label in labels_of(item)[0].of.values()]
        assert len(set(labels)) == len(labels), (item.item_id, labels)


def test_variants_of_a_question_all_differ(plain: Battery, third: Battery) -> None:
    for battery in (plain, third):
        for cell, items in by(battery.items, "template_id", "condition", "inference_level", "pov").items():
            shown = {(text, prompt, tuple(sorted(options))) for text, prompt, options in map(texts, items)}
            assert len(shown) == len(items), cell


def test_no_two_variants_differ_only_in_a_label_that_is_not_shown(tmp_path: Path) -> None:
    """Ten guests make ten different stories. A label that no text shows must not make a further story."""
    folder = published.write_one_story(
        tmp_path / "templates",
        "A {vs[item_1]} {vs[switch_1]}.{vs[filler]}",
        variables=["place_1"],
        items={"item_1": {"material": "metal"}},  # six labels
    )
    spec = write_spec(tmp_path, {"variants": 6})
    result = run("build", folder, "--spec", spec, "-o", tmp_path / "battery.jsonl")
    if result.exit_code == 0:  # or refused, where labels of all slots are used up together
        for items in by(load_battery(tmp_path / "battery.jsonl").items, "condition", "inference_level").values():
            assert len({texts(item)[0] for item in items}) == 6


def test_a_label_of_two_pools_appears_once_in_a_story(tmp_path: Path) -> None:
    """Eighteen stories without a repeated name are possible, and a battery can have all eighteen."""
    folder = published.write_one_story(
        tmp_path / "templates",
        "{vs[name_1]}, {vs[flower_1]} and {vs[name_2]} {vs[switch_1]}.{vs[filler]}",
        variables=["name_1", "name_2", "flower_1"],
        tables={
            "variable_df.csv": "name,flower\nRosa,rosa\nIris,iris\nViola,viola\nLily,\n",
            "variable_weights_df.csv": "name,flower\n1,1\n1,1\n1,1\n1,\n",
        },
    )
    for item in battery_of(folder, {"variants": 18}).items:
        names = re.findall(r"\w+", texts(item)[0])[:4]
        names.remove("and")
        assert len({name.casefold() for name in names}) == 3, names


# --- always the same --------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(templates: Path, tmp_path: Path) -> None:
    spec = {"variants": 2, "pov": ["first", "third"], "perturbations": [{}, {"spelling_letters": 5}]}
    one = build(templates, tmp_path / "one.jsonl", spec, seed=7).read_bytes()
    assert build(templates, tmp_path / "two.jsonl", spec, seed=7).read_bytes() == one
    assert build(templates, tmp_path / "three.jsonl", spec, seed=8).read_bytes() != one


def test_the_order_of_files_does_not_matter(templates: Path, tmp_path: Path) -> None:
    """Byte order marks, line ends, and the path of the folder do not matter either."""
    shuffled = published.write_template_set(tmp_path / "elsewhere" / "templates", reverse=True)
    for path in shuffled.rglob("*.*"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    for suffix in ("jsonl", "csv"):
        one = build(templates, tmp_path / f"one.{suffix}", {"variants": 2})
        assert build(shuffled, tmp_path / f"two.{suffix}", {"variants": 2}).read_bytes() == one.read_bytes()


def test_the_order_of_the_directory_does_not_matter(
    templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = build(templates, tmp_path / "one.jsonl", {"variants": 1}).read_bytes()
    listdir, scandir, iterdir = os.listdir, os.scandir, Path.iterdir
    monkeypatch.setattr(os, "listdir", lambda *arguments: listdir(*arguments)[::-1])
    monkeypatch.setattr(Path, "iterdir", lambda self: iter([*iterdir(self)][::-1]))

    class Reversed:
        def __init__(self, *arguments: Any) -> None:
            with scandir(*arguments) as entries:
                self.entries = [*entries][::-1]

        def __enter__(self) -> Any:
            return iter(self.entries)

        def __exit__(self, *_: object) -> None:
            pass

        def __iter__(self) -> Any:
            return iter(self.entries)

    monkeypatch.setattr(os, "scandir", Reversed)
    assert build(templates, tmp_path / "two.jsonl", {"variants": 1}).read_bytes() == expected


def test_hash_seeds_do_not_matter(templates: Path, tmp_path: Path) -> None:
    spec = write_spec(tmp_path, {"variants": 2, "perturbations": [{}, {"spelling_letters": 5}]})
    command = [
        sys.executable,
        "-m",
        "equipoise",
        "battery",
        "build",
        str(templates),
        "--spec",
        str(spec),
        "--seed",
        "9",
    ]
    processes = [
        subprocess.Popen([*command, "-o", str(tmp_path / f"{n}.jsonl")], cwd=ROOT,
                         env={**os.environ, "PYTHONHASHSEED": str(n), "LC_ALL": locale, "TZ": "Asia/Tokyo"})
        for n, locale in ((1, "C"), (2, "C.UTF-8"))
    ]  # fmt: skip
    assert [process.wait(60) for process in processes] == [0, 0]
    (tmp_path / "here").mkdir()
    here = run("build", templates, "--spec", spec, "--seed", 9, "-o", tmp_path / "here" / "0.jsonl")
    assert here.exit_code == 0
    assert (
        (tmp_path / "1.jsonl").read_bytes()
        == (tmp_path / "2.jsonl").read_bytes()
        == (tmp_path / "here" / "0.jsonl").read_bytes()
    )


def test_an_added_scenario_leaves_other_stories_unchanged(templates: Path, tmp_path: Path) -> None:
    """Batteries of a growing template set stay comparable."""
    copy = published.copy_of(templates, tmp_path / "templates")
    shutil.rmtree(copy / "night_bus")
    spec = {"variants": 2, "inference_levels": [2]}
    fewer = {item.item_id: texts(item)[:2] for item in battery_of(copy, spec).items}
    whole = {item.item_id: texts(item)[:2] for item in battery_of(templates, spec).items}
    assert fewer.items() <= whole.items()


SPECS = st.fixed_dictionaries(
    {
        "variants": st.integers(1, 4),
        "ids": st.lists(st.sampled_from(sorted(QUESTIONS)), min_size=1, max_size=4, unique=True),
    },
    optional={
        "inference_levels": st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True),
        "pov": st.lists(st.sampled_from(["first", "third"]), min_size=1, max_size=2, unique=True),
        "conditions": st.just(["A"]) | st.just(["B", "A"]),
        "matched": st.booleans(),
        "perturb_options": st.booleans(),
        "perturbations": st.lists(
            st.sampled_from(
                [{}, {"spacing_proportion": 0.75}, {"spelling_letters": 15}, {"capitalisation_letters": 5},
                 {"spacing_proportion": 0.25, "spelling_letters": 10, "capitalisation_letters": 15}]
            ),
            min_size=1, max_size=2, unique_by=str,
        ),
    },
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=SPECS, seed=st.integers(0, 2**40))
def test_any_valid_spec_can_be_built(templates: Path, spec: dict[str, Any], seed: int) -> None:
    battery = battery_of(templates, spec, seed)
    asked = spec.get("conditions", ["A", "B", "C", "D"])
    n_cells = sum(
        len([letter for letter in "ABCD"[: len(qa["links"])] if letter in asked])
        for qa_id, qa in QUESTIONS.items()
        if qa_id in spec["ids"]
    )
    levels, povs = spec.get("inference_levels", range(4)), spec.get("pov", ["first"])
    noises = spec.get("perturbations", [{}])
    assert len(battery.items) == n_cells * len(levels) * len(povs) * len(noises) * spec["variants"]
    for item in battery.items:
        clean = item if item.clean is None else item.model_copy(update={"content": item.clean})
        labels, places = labels_of(clean)
        assert question(item)["answers"][code(item)][places[int(str(item.key)) - 1]] == 1
        assert len(set(labels.of.values())) == len(labels.of)
    assert battery_of(templates, spec, seed).digest == battery.digest


# --- when it fails ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "spoil"),
    [
        ({"ids": ["9.9.9.9.z"]}, lambda folder: None),
        ({"variants": 30_000, "ids": ["1.1.0.0.a"]}, lambda folder: None),
        ({}, lambda folder: published.delete_json(published.qa_path(folder, "1.1.0.0.a"), ("answers", "0"))),
        ({}, lambda folder: (folder / "tables" / "item_df.csv").unlink()),
        ({"add": ["missing.jsonl"]}, lambda folder: None),
    ],
    ids=["unknown id", "too many variants", "mistake in a template", "missing table", "missing battery to add"],
)
@pytest.mark.parametrize("name", ["battery.jsonl", "battery.csv"])
def test_a_build_that_fails_leaves_the_old_file(
    templates: Path, tmp_path: Path, spec: dict[str, Any], spoil: Callable[[Path], object], name: str
) -> None:
    folder = published.copy_of(templates, tmp_path / "templates")
    spoil(folder)
    output = tmp_path / "out" / name
    output.parent.mkdir()
    output.write_text("the old battery", encoding="utf-8")
    path = write_spec(tmp_path, spec)
    assert_refused(run("build", folder, "--spec", path, "-o", output))
    assert output.read_text(encoding="utf-8") == "the old battery"
    assert [path.name for path in output.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", ["battery.txt", "battery", "nowhere/battery.csv"])
def test_an_invalid_output_is_refused(templates: Path, tmp_path: Path, name: str) -> None:
    assert_refused(run("build", templates, "-o", tmp_path / name), name)
    assert [*tmp_path.iterdir()] == []


def test_many_variants_can_be_built(templates: Path) -> None:
    """Large pools make many variants, all of which differ."""
    items = battery_of(
        templates, {"ids": ["1.1.0.0.a"], "variants": 300, "conditions": ["A"], "inference_levels": [2]}
    ).items
    assert len({texts(item)[0] for item in items}) == 300
    assert spread(Counter(int(str(item.key)) for item in items)) <= 1


def test_a_dimension_with_a_name_of_our_columns_is_refused(templates: Path, tmp_path: Path) -> None:
    """A dimension of a lab can have the name of one of our factors. The build must refuse it, not overwrite it."""
    folder = published.copy_of(templates, tmp_path / "templates")
    published.edit_text(folder / "tables" / "demand_df.csv", "relational", "condition")
    assert_refused(run("build", folder, "-o", tmp_path / "battery.jsonl"), "condition", "demand_df.csv")


@pytest.mark.parametrize(
    ("column", "change", "said"),
    [
        ("correct_answer_number", lambda old: str(int(old) % 4 + 1), "correct_answer_text"),
        ("inference_level", lambda old: "7", "inference level 7"),
        ("item_id", lambda old: "twice", "twice"),
    ],
)
def test_a_csv_that_contradicts_itself_is_refused(
    templates: Path, tmp_path: Path, column: str, change: Any, said: str
) -> None:
    source = build(templates, tmp_path / "battery.csv", {"variants": 1, "ids": ["1.1.0.0.a"]})
    other = rewritten(source, tmp_path / "other.csv", lambda row: {**row, column: change(row[column])})
    assert_refused(run("import", other, "-o", tmp_path / "back.jsonl"), said, "other.csv")
    assert not (tmp_path / "back.jsonl").exists()


def test_a_file_that_is_not_a_battery_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "excel.csv").write_text("id;vignette;option_1\n1;a;b\n", encoding="utf-8")
    assert_refused(run("import", tmp_path / "excel.csv", "-o", tmp_path / "back.jsonl"), "semicolons")
    (tmp_path / "list.csv").write_text("name,age\nAda,36\n", encoding="utf-8")
    assert_refused(run("import", tmp_path / "list.csv", "-o", tmp_path / "back.jsonl"), "not a vignette battery")


def test_an_empty_spec_asks_for_everything(templates: Path, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("# nothing yet\n", encoding="utf-8")
    plain, empty = tmp_path / "plain.jsonl", tmp_path / "empty.jsonl"
    run("build", templates, "-o", plain)
    run("build", templates, "--spec", tmp_path / "spec.yaml", "-o", empty)
    assert plain.read_bytes() == empty.read_bytes()


@pytest.mark.parametrize("output", ["page.pdf", "nowhere/page.html", "folder.html"])
def test_an_invalid_path_of_a_preview_is_refused(templates: Path, tmp_path: Path, output: str) -> None:
    (tmp_path / "folder.html").mkdir()
    battery = build(templates, tmp_path / "battery.jsonl", {"variants": 1, "ids": ["1.1.0.0.a"]})
    assert_refused(run("preview", battery, "-o", tmp_path / output), Path(output).name)


def test_an_export_without_groups_says_so(templates: Path, tmp_path: Path) -> None:
    battery = build(templates, tmp_path / "battery.jsonl", {"variants": 1, "ids": ["1.1.0.0.a"]})
    assert "no groups" in run("export", battery, "--format", "jspsych", "-o", tmp_path / "page").stdout
