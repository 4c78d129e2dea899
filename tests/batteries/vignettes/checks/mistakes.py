"""Mistakes in a template set, each with the file and the words that its message must name."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.checks.checking import (
    BUS,
    CUP,
    MISTAKES,
    STALL,
    Mistake,
    Plant,
    _circle_of_switches,
    _circle_through_a_filler,
    _only_you,
    cell,
    in_context,
    in_qa,
)


def context(name: str, scenario: str, keys: tuple[str | int, ...], value: Any, *key: str) -> None:
    """Add a mistake in a context template."""
    MISTAKES.append(
        Mistake(
            name,
            lambda folder: published.edit_json(published.context_path(folder, scenario), keys, value),
            f"{scenario}_context_template.json",
            key or tuple(map(str, keys)),
        )
    )


def question(name: str, qa_id: str, keys: tuple[str | int, ...], value: Any, *key: str) -> None:
    """Add a mistake in a QA template."""
    MISTAKES.append(
        Mistake(
            name,
            lambda folder: published.edit_json(published.qa_path(folder, qa_id), keys, value),
            published.qa_path(Path(), qa_id).name,
            key or tuple(map(str, keys)),
        )
    )


def table(name: str, file: str, change: Callable[[list[list[str]]], list[list[str]]], *key: str) -> None:
    """Add a mistake in a table."""
    MISTAKES.append(Mistake(name, lambda folder: published.edit_rows(folder / "tables" / file, change), file, key))


def other(name: str, plant: Plant, file: str, *key: str) -> None:
    """Add a mistake of any other kind."""
    MISTAKES.append(Mistake(name, plant, file, key))


def plus(text: str) -> Callable[[str], str]:
    return lambda old: f"{old} {text}"


def _rewrite(path: Path, change: Callable[[str], bytes]) -> None:
    path.write_bytes(change(path.read_text(encoding="utf-8")))


def without_column(column: str) -> Callable[[list[list[str]]], list[list[str]]]:
    def change(rows: list[list[str]]) -> list[list[str]]:
        at = rows[0].index(column)
        return [row[:at] + row[at + 1 :] for row in rows]

    return change


def removed(keys: tuple[str | int, ...], path: Callable[[Path], Path]) -> Plant:
    return lambda folder: published.delete_json(path(folder), keys)


# Unknown placeholders in every kind of text.


context("placeholder in the context", CUP, ("A", "context"), plus("{vs[nmae_1]}"), "A", "context", "nmae_1")


context("placeholder in a filler", STALL, ("B", "filler", "3"), "{vs[colour_1]}", "B", "filler", "3", "colour_1")


context("placeholder in a switch", STALL, ("A", "switches", "switch_4", 1), "{vs[item_7]}", "A", "switch_4", "item_7")


context("placeholder in a coinflip", STALL, ("B", "coinflips", "coinflip_2", 0), "{vs[box]}", "B", "coinflip_2", "box")


question("placeholder in the prompt", "1.1.0.0.a", ("question", "prompt"), "Why, {vs[name_3]}?", "prompt", "name_3")


question("placeholder in an option", "1.1.0.0.a", ("question", "options", 2), "A {vs[item_2]}.", "options", "item_2")


question("switch that is not there", "2.1.0.0.a", ("question", "prompt"), "{vs[switch_9]}?", "prompt", "switch_9")


question(
    "otherside without coinflip", "1.1.0.0.b", ("question", "prompt"), "{vs[otherside_1]}?", "prompt", "otherside_1"
)


question("pov slot that is not there", "1.1.0.0.b", ("question", "prompt"), "{vs[pov_11]}?", "prompt", "pov_11")


context("activity that is not defined", BUS, ("A", "context"), plus("{vs[activity_1]}"), "A", "context", "activity_1")


# The markup itself.


context("unknown conversion", BUS, ("A", "context"), plus("{vs[name_1]!x}"), "A", "context", "!x", "name_1")


context("unknown form", BUS, ("B", "filler", "0"), plus("{vs[item_1]:p9}"), "B", "filler", "0", ":p9|p9")


question("unmatched brace", "3.1.0.0.a", ("question", "options", 3), "To stay {vs[name_1]", "options", "3|4")


question("closing brace alone", "3.1.0.0.a", ("question", "prompt"), "Why}?", "prompt")


context("name without vs", BUS, ("A", "filler", "1"), "The driver saw {name_1}.", "A", "filler", "1", "name_1")


context("quotes in the brackets", BUS, ("A", "filler", "1"), "The driver saw {vs['name_1']}.", "A", "filler", "1")


context("empty braces", BUS, ("A", "switches", "switch_1", 0), "slept {}", "A", "switch_1")


# Circles.


context("filler in itself", CUP, ("A", "filler", "0"), plus("{vs[filler]}"), "A", "filler")


context("switch in itself", CUP, ("A", "switches", "switch_1", 1), "dropped {vs[switch_1]}", "A", "switch_1")


other(
    "circle of switches", _circle_of_switches, f"{STALL}_context_template.json", "A", "switch_1", "switch_3", "switch_4"
)


other("circle through a filler", _circle_through_a_filler, f"{BUS}_context_template.json", "B", "switch_2", "filler")


# Links.


question("link too short", "2.2.0.0.a", ("links", "01"), [0, 1, 1], "links", "01")


question("link too long", "1.1.0.0.a", ("links", "1"), [1, 0, 0], "links", "1")


question("link out of range", "3.2.0.0.b", ("links", "11"), [3, 1], "links", "11", "switch_1")


question(
    "link out of range of the first switch, not of switch_1",
    "1.2.0.0.b",
    ("links", "10"),
    [2, 0],
    "links",
    "10",
    "switch_2",
)


question("negative link", "1.2.0.0.a", ("links", "10"), [-1, 0], "links", "10")


question("link of text", "1.2.0.0.a", ("links", "10"), ["on", 0], "links", "10")


other("no links", removed(("links",), in_qa("1.2.0.0.a")), "1.2.0.0.a_qa_template.json", "links")


other(
    "condition without link", removed(("links", "01"), in_qa("1.2.0.0.a")), "1.2.0.0.a_qa_template.json", "01", "links"
)


other(
    "single without condition 1",
    removed(("links", "1"), in_qa("1.1.0.0.a")),
    "1.1.0.0.a_qa_template.json",
    "1",
    "links",
)


# Conditions.


question(
    "one digit in a double",
    "3.2.0.0.a",
    ("links",),
    {"0": [0, 0], "10": [1, 0], "01": [0, 1], "11": [2, 1]},
    "links",
    "0",
)


question("two digits in a single", "3.1.0.0.a", ("links",), {"00": [0, 0], "1": [1, 0]}, "links", "00")


# Answers and options.


question("no right answer", "2.1.0.0.b", ("answers", "1"), [0, 0, 0, 0], "answers", "1")


question("two right answers", "2.1.0.0.b", ("answers", "0"), [1, 0, 1, 0], "answers", "0")


question("answers with a 2", "2.1.0.0.b", ("answers", "0"), [2, 0, 0, 0], "answers", "0")


question("answers with 2 and -1", "2.1.0.0.b", ("answers", "0"), [2, 0, 0, -1], "answers", "0")


question("three answers", "2.1.0.0.b", ("answers", "0"), [0, 1, 0], "answers", "0")


other(
    "condition without answers",
    removed(("answers", "10"), in_qa("2.2.0.0.b")),
    "2.2.0.0.b_qa_template.json",
    "answers",
    "10",
)


question("answers of no condition", "2.1.0.0.b", ("answers", "2"), [0, 1, 0, 0], "answers", "2")


question("three options", "2.0.0.0.a", ("question", "options"), lambda old: old[:3], "options", "3")


question("five options", "2.0.0.0.a", ("question", "options"), lambda old: [*old, "Nowhere."], "options", "5")


question("empty option", "2.0.0.0.a", ("question", "options", 1), "", "options")


question("empty prompt", "2.0.0.0.a", ("question", "prompt"), "", "prompt")


question("prompt of spaces", "2.0.0.0.a", ("question", "prompt"), "  ", "prompt")


context("empty context", BUS, ("A", "context"), "", "A", "context")


# Options that read the same.


question("two options alike", "1.0.1.0.a", ("question", "options", 0), "It floats.", "options")


question("options alike but for spaces", "1.0.1.0.a", ("question", "options", 0), "It floats. ", "options")


question(
    "options alike through a label",
    "1.0.1.0.a",
    ("question", "options"),
    ["{vs[name_1]}.", "{vs[name_1]!c}.", "A.", "B."],
    "options",
)


question("options alike through a possible label", "1.0.0.0.a", ("question", "options", 0), "Yusuf was.", "options")


question(
    "options alike through a switch",
    "1.0.1.0.a",
    ("question", "options"),
    ["{vs[switch_1]!c}.", "Dropped.", "A.", "B."],
    "options",
)


question(
    "options alike through a coinflip",
    "2.0.1.0.b",
    ("question", "options"),
    ["{vs[coinflip_2]}", "old box", "a", "b"],
    "options",
)


question(
    "options alike through a form",
    "1.0.1.0.a",
    ("question", "options"),
    ["{vs[item_1]:p1}", "they", "a", "b"],
    "options",
)


question(
    "options alike through a small number",
    "2.0.1.0.a",
    ("question", "options"),
    ["{vs[smallnumber_1]}", "six", "a", "b"],
    "options",
)


question(
    "options alike through a big number",
    "2.0.1.0.a",
    ("question", "options"),
    ["{vs[bignumber_1]}", "77", "a", "b"],
    "options",
)


question(
    "options alike once a and an are corrected",
    "1.0.1.0.a",
    ("question", "options"),
    ["A apple.", "An apple.", "Tea.", "Jam."],
    "options",
)


question(
    "options alike in the third person",
    "1.0.1.0.a",
    ("question", "options"),
    ["{vs[pov_2]} cup", "their cup", "a", "b"],
    "options",
)


question(
    "options alike through the third person's name",
    "1.0.1.0.a",
    ("question", "options"),
    ["{vs[pov_1]}", "Yusuf", "a", "b"],
    "options",
)


question(
    "options alike at one level",
    "1.0.1.0.a",
    ("question", "options"),
    ["No.{vs[filler]}", "No.", "A.", "B."],
    "options",
)


# Ids.


question("id of another question", "1.1.0.0.a", ("id",), "1.1.0.0.b", "id", "1.1.0.0.b")


def _same_id_twice(folder: Path) -> None:
    path = published.qa_path(folder, "1.1.0.0.a")
    path.with_name("copy_of_1.1.0.0.a_qa_template.json").write_bytes(path.read_bytes())


other("duplicate id", _same_id_twice, "1.1.0.0.a_qa_template.json", "id", "1.1.0.0.a")


question("id that says double", "1.1.0.0.a", ("id",), "1.2.0.1.a", "id", "1.2.0.1.a", "capability_type|single")


question("id that says knowledge", "1.0.0.0.a", ("id",), "1.0.1.1.a", "id", "1.0.1.1.a", "comprehension_check")


question("id of another scenario", "1.1.0.0.a", ("id",), "4.1.0.0.a", "id", "4.1.0.0.a", "1|base_context_number")


question("id of another version", "1.1.0.0.a", ("id",), "1.1.0.1.b", "id", "1.1.0.1.b")


question("id with four parts", "1.1.0.0.a", ("id",), "1.1.0.a", "id", "1.1.0.a")


question("id with a figure that is not a number", "1.1.0.0.a", ("id",), "1.1.0.².a", "id", "1.1.0.².a")


question("capability that is none", "1.1.0.0.a", ("capability_type",), "triple", "capability_type", "triple")


# The base context.


question(
    "base context of another folder",
    "1.1.0.0.a",
    ("base_context",),
    "cracked_cups",
    "base_context",
    "cracked_cups",
    CUP,
)


question("version that is none", "1.1.0.0.a", ("base_context_version",), "C", "base_context_version")


other("version B missing", removed(("B",), in_context(BUS)), f"{BUS}_context_template.json|the bus question.json", "B")


def _two_scenarios_one_number(folder: Path) -> None:
    for qa in list(published.qa_documents()):
        if qa["base_context_number"] == 3:
            path = published.qa_path(folder, qa["id"])
            published.edit_json(path, ("base_context_number",), 2)
            published.edit_json(path, ("id",), lambda old: f"2{old[1:-4]}.1{old[-2:]}")


other(
    "two scenarios with one number", _two_scenarios_one_number, "", "base_context_number|number", "2", f"{STALL}|{BUS}"
)


question("scenario with two numbers", "3.1.0.0.a", ("base_context_number",), 4, "base_context_number", "4")


# Demands.


question(
    "unknown demand",
    "1.1.0.0.a",
    ("demands", "c1"),
    ["object fragilty"],
    "demands",
    "c1",
    "object_fragilty|object fragilty",
)


question("unknown baseline demand", "1.1.0.0.a", ("demands", "c0"), ["location"], "demands", "c0", "location")


context("unknown demand provided", STALL, ("metadata", "provided"), ["memory"], "metadata", "provided", "memory")


context("unknown demand required", STALL, ("metadata", "required"), ["memory"], "metadata", "required", "memory")


# Attributes and pools.


context("unknown attribute of an item", BUS, ("A", "items", "item_1"), {"heavy": True}, "A", "items", "item_1", "heavy")


context(
    "unknown attribute of an activity",
    STALL,
    ("B", "activities", "activity_2"),
    {"loud": 1},
    "B",
    "activities",
    "activity_2",
    "loud",
)


context(
    "no item with these attributes",
    BUS,
    ("A", "items", "item_1"),
    {"edible": True, "material": "metal"},
    "A",
    "items",
    "item_1",
)


context(
    "no item with this value",
    BUS,
    ("A", "items", "item_1"),
    {"material": "gold"},
    "A",
    "items",
    "item_1",
    "material",
    "gold",
)


context(
    "no activity with these attributes",
    STALL,
    ("B", "activities", "activity_2"),
    {"quiet": 2},
    "B",
    "activities",
    "activity_2",
)


context(
    "variable without a column",
    BUS,
    ("A", "variables"),
    lambda old: [*old, "planet_1"],
    "A",
    "variables",
    "planet_1|planet",
)


context("coinflip with one text", STALL, ("A", "coinflips", "coinflip_1"), ["left"], "A", "coinflips", "coinflip_1")


context(
    "coinflip with equal texts",
    STALL,
    ("A", "coinflips", "coinflip_1"),
    ["left", "left"],
    "A",
    "coinflips",
    "coinflip_1",
)


# Fillers, switches and points of view.


for _level in "0123":
    other(
        f"filler {_level} missing",
        removed(("A", "filler", _level), in_context(CUP)),
        f"{CUP}_context_template.json",
        "A",
        "filler",
        _level,
    )


context(
    "filler that is never placed",
    CUP,
    ("B", "context"),
    lambda old: old.replace("{vs[filler]}", ""),
    "B",
    "filler",
    "context",
)


context("switch without texts", CUP, ("B", "switches", "switch_1"), [], "B", "switches", "switch_1")


other(
    "switch that is never placed",
    lambda folder: published.edit_text(in_context(CUP)(folder), "{vs[switch_1]}", "dropped"),
    "",  # the questions or the story may be named
    "switch_1|links|switches",
)


question(
    "demands under a misspelt name", "1.1.0.0.a", ("demands",), {"c0": [], "C1": ["object_fragility"]}, "demands", "C1"
)


question("conditions with equal texts and different answers", "1.1.0.0.a", ("links", "1"), [0, 0], "links|answers")


question("two of four conditions alike", "1.2.0.0.a", ("links", "01"), [1, 0], "links|answers")


other("third person without a name slot", _only_you, f"{BUS}_context_template.json", "A", "third person")


# Fields.


context("unknown causal type", CUP, ("metadata", "causal_type"), "accident", "metadata", "causal_type")


context("unknown causal direction", CUP, ("metadata", "causal_direction"), "sideways", "metadata", "causal_direction")


context("novelty in words", CUP, ("metadata", "novelty"), "new", "metadata", "novelty")


other("no metadata", removed(("metadata",), in_context(CUP)), f"{CUP}_context_template.json", "metadata")


other("no switches", removed(("A", "switches"), in_context(CUP)), f"{CUP}_context_template.json", "A", "switches")


other("no variables", removed(("A", "variables"), in_context(CUP)), f"{CUP}_context_template.json", "A", "variables")


other("no question", removed(("question",), in_qa("1.1.0.0.a")), "1.1.0.0.a_qa_template.json", "question")


other("no id", removed(("id",), in_qa("1.1.0.0.a")), "1.1.0.0.a_qa_template.json", "id")


context("a text where a list should be", BUS, ("A", "variables"), "name_1", "A", "variables")


context("a list where a text should be", BUS, ("A", "context"), ["It was night."], "A", "context")


# Files.


other(
    "malformed QA",
    lambda folder: published.edit_text(in_qa("2.1.0.0.a")(folder), '"id": "2.1.0.0.a",', '"id": "2.1.0.0.a"'),
    "2.1.0.0.a_qa_template.json",
    "line 3|line 2",
)


other(
    "malformed context",
    lambda folder: published.edit_text(in_context(BUS)(folder), '"A": {', '"A": '),
    f"{BUS}_context_template.json",
    "line 11|line 12",
)


other(
    "a JSON key twice",
    lambda folder: published.edit_text(in_qa("2.1.0.0.a")(folder), '"id": ', '"id": "2.1", "id": '),
    "2.1.0.0.a_qa_template.json",
    "id",
)


other("an empty file", lambda folder: in_qa("2.1.0.0.a")(folder).write_text(""), "2.1.0.0.a_qa_template.json")


other("a list for a file", lambda folder: in_qa("2.1.0.0.a")(folder).write_text("[1]"), "2.1.0.0.a_qa_template.json")


other(
    "Latin-1 JSON", lambda folder: in_qa("2.1.0.0.a")(folder).write_bytes('{"id": "é"}'.encode("latin-1")),
    "2.1.0.0.a_qa_template.json", "UTF-8",
)  # fmt: skip


other("notes as JSON", lambda folder: (folder / CUP / "notes.json").write_text('{"todo": "proofread"}'), "notes.json")


other("no context file", lambda folder: in_context(BUS)(folder).unlink(), f"{BUS}_context_template.json")


other(
    "context file of another name",
    lambda folder: in_context(BUS)(folder).rename(folder / BUS / "bus_context_template.json"),
    "bus_context_template.json",
    f"{BUS}_context_template.json|{BUS}",
)


for _file in published.TABLES:
    other(f"no {_file}", lambda folder, file=_file: (folder / "tables" / file).unlink(), _file)
    other(
        f"{_file} with semicolons",
        lambda folder, file=_file: _rewrite(folder / "tables" / file, lambda text: text.replace(",", ";").encode()),
        _file,
        "semicolon|semicolons",
    )
    other(
        f"{_file} in Latin-1",
        lambda folder, file=_file: _rewrite(
            folder / "tables" / file, lambda text: re.sub(r"(?m)^(\w+),", r"\1é,", text, count=1).encode("latin-1")
        ),
        _file,
        "UTF-8",
    )
    other(f"{_file} empty", lambda folder, file=_file: (folder / "tables" / file).write_text(""), _file)


table("a label twice", "variable_df.csv", cell(4, "name", "Aiko"), "name", "Aiko", "line 4|line 3")


table(
    "a label twice but for capitals",
    "variable_df.csv",
    cell(4, "place", "Harbour"),
    "place",
    "Harbour|harbour",
    "line 4|line 2",
)


table("an item twice", "item_df.csv", cell(4, "items", "hourglass"), "items", "hourglass", "line 4|line 2")


table(
    "an activity twice", "activity_df.csv", cell(4, "activities", "reading"), "activities", "reading", "line 4|line 2"
)


table("a label with a brace", "variable_df.csv", cell(4, "name", "{vs[x]}"), "name", "line 4")


table(
    "labels in a first column without a name",
    "variable_df.csv",
    lambda rows: [[label, *row] for label, row in zip(["", *"abcdefghijk"], rows, strict=False)],
    "line 1|column 1",
)


table("no column name", "variable_df.csv", cell(1, "weather", ""), "line 1|weather|column")


table("weights column missing", "variable_weights_df.csv", without_column("place"), "place")


table("weight 0", "variable_weights_df.csv", cell(3, "weather", "0"), "weather", "line 3")


table("weight below 0", "variable_weights_df.csv", cell(3, "weather", "-1"), "weather", "line 3")


table("weight in words", "variable_weights_df.csv", cell(3, "weather", "often"), "weather", "line 3", "often")


table("weight nan", "variable_weights_df.csv", cell(3, "weather", "nan"), "weather", "line 3")


table("weight with a decimal comma", "variable_weights_df.csv", cell(3, "weather", "0,5"), "weather", "line 3", "0,5")


table("one weight too few", "variable_weights_df.csv", cell(8, "weather", ""), "weather")


table("one weight too many", "variable_weights_df.csv", cell(9, "weather", "1"), "weather")


table(
    "weight beside another label",
    "variable_weights_df.csv",
    lambda rows: cell(3, "weather", "")(cell(9, "weather", "1")(rows)),
    "weather",
)


table("decimal comma in the weights", "variable_weights_df.csv", cell(3, "name", "0,5"), "name", "line 3", "0.5")


table("truth value yes in the demands", "demand_df.csv", cell(3, "physical", "yes"), "physical", "line 3", "yes")


table("a 2 in the demands", "demand_df.csv", cell(3, "physical", "2"), "physical", "line 3", "2")


table("no names of demands", "demand_df.csv", cell(1, "inference_component", "component"), "inference_component")


table("no labels of items", "item_df.csv", cell(1, "items", "things"), "items")


table("no labels of activities", "activity_df.csv", cell(1, "activities", "things"), "activities")


table(
    "a demand twice",
    "demand_df.csv",
    cell(3, "inference_component", "object fragility"),
    "line 3|line 2",
    "object_fragility|object fragility",
)


table("truth value yes in the items", "item_df.csv", cell(4, "fragile", "yes"), "fragile", "line 4", "yes")


table("truth value ja in the activities", "activity_df.csv", cell(4, "quiet", "ja"), "quiet", "line 4", "ja")


table("a column that is needed taken out", "variable_df.csv", without_column("guest"), "guest")
