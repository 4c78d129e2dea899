"""`equipoise battery check` on a sound set and with every mistake planted in it; written from the description alone."""

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from equipoise.cli.main import main
from tests.batteries.vignettes import published_format as published

Plant = Callable[[Path], None]


@pytest.fixture(scope="session")
def sound_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published.write_template_set(tmp_path_factory.mktemp("sound") / "templates")


@pytest.fixture
def templates(sound_set: Path, tmp_path: Path) -> Path:
    """A copy of the sound set, to spoil."""
    return published.copy_of(sound_set, tmp_path / "templates")


def check(templates: Path, *options: str | Path) -> Result:
    return CliRunner().invoke(main, ["battery", "check", str(templates), *map(str, options)])


def assert_sound(result: Result) -> None:
    assert result.exit_code == 0, result.output


def complaints(result: Result) -> list[str]:
    """The lines of a refusal; a traceback is none."""
    if result.exit_code == 0:
        pytest.fail(f"nothing was found:\n{result.output}")
    if not isinstance(result.exception, SystemExit):
        raise AssertionError("check ended in a traceback") from result.exception
    return result.stderr.removeprefix("Error: ").strip().splitlines()


MENDS = re.compile(
    r"\b(add|ask|change|check|choose|define|delete|did you mean|drop|empty|export|fill|give|keep|leave|list|loosen"
    r"|make|mark|mean|mend|move|name|need|put|remove|rename|replace|save|set|spell|split|take|use|write)\b"
    r"|there are|the columns are|should|has the texts",
    re.IGNORECASE,
)
"""Words that tell a person what to do, or what could stand there instead."""


# --- every mistake by itself ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    """What is planted, in which file, and the words by which the message must lead a person to the key."""

    name: str
    plant: Plant
    file: str
    key: tuple[str, ...]

    def told_in(self, lines: list[str]) -> list[str]:
        """Return the lines that name file and key."""
        return [line for line in lines if self.file in line and all(_says(word, line) for word in self.key)]


def _says(word: str, line: str) -> bool:
    """Whether a line has a word or one of several (`a|b`), not merely as a part of another word."""
    return any(
        re.search(rf"(?<![A-Za-z0-9]){re.escape(one)}(?![A-Za-z0-9])", line, re.IGNORECASE) for one in word.split("|")
    )


_ALL: list[Mistake] = []


def context(name: str, scenario: str, keys: tuple[str | int, ...], value: Any, *key: str) -> None:
    """Add a mistake in a context template."""
    _ALL.append(
        Mistake(
            name,
            lambda folder: published.edit_json(published.context_path(folder, scenario), keys, value),
            f"{scenario}_context_template.json",
            key or tuple(map(str, keys)),
        )
    )


def question(name: str, qa_id: str, keys: tuple[str | int, ...], value: Any, *key: str) -> None:
    """Add a mistake in a QA template."""
    _ALL.append(
        Mistake(
            name,
            lambda folder: published.edit_json(published.qa_path(folder, qa_id), keys, value),
            published.qa_path(Path(), qa_id).name,
            key or tuple(map(str, keys)),
        )
    )


def table(name: str, file: str, change: Callable[[list[list[str]]], list[list[str]]], *key: str) -> None:
    """Add a mistake in a table."""
    _ALL.append(Mistake(name, lambda folder: published.edit_rows(folder / "tables" / file, change), file, key))


def other(name: str, plant: Plant, file: str, *key: str) -> None:
    """Add a mistake of another kind."""
    _ALL.append(Mistake(name, plant, file, key))


def plus(text: str) -> Callable[[str], str]:
    return lambda old: f"{old} {text}"


def cell(line: int, column: str, value: str) -> Callable[[list[list[str]]], list[list[str]]]:
    """Set a cell; lines are counted from 1, as people and messages do."""

    def change(rows: list[list[str]]) -> list[list[str]]:
        rows[line - 1][rows[0].index(column)] = value
        return rows

    return change


def _rewrite(path: Path, change: Callable[[str], bytes]) -> None:
    path.write_bytes(change(path.read_text(encoding="utf-8")))


def without_column(column: str) -> Callable[[list[list[str]]], list[list[str]]]:
    def change(rows: list[list[str]]) -> list[list[str]]:
        at = rows[0].index(column)
        return [row[:at] + row[at + 1 :] for row in rows]

    return change


def removed(keys: tuple[str | int, ...], path: Callable[[Path], Path]) -> Plant:
    return lambda folder: published.delete_json(path(folder), keys)


def in_qa(qa_id: str) -> Callable[[Path], Path]:
    return lambda folder: published.qa_path(folder, qa_id)


def in_context(scenario: str) -> Callable[[Path], Path]:
    return lambda folder: published.context_path(folder, scenario)


CUP, STALL, BUS = "cracked_cup", "market_stall", "night_bus"
# Unknown placeholders, wherever a text can stand.
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


def _circle_of_switches(folder: Path) -> None:
    path = published.context_path(folder, STALL)
    published.edit_json(path, ("A", "switches", "switch_2", 0), "{vs[switch_3]}")
    published.edit_json(path, ("A", "switches", "switch_4", 0), "{vs[switch_1]}")


def _circle_through_a_filler(folder: Path) -> None:
    path = published.context_path(folder, BUS)
    published.edit_json(path, ("B", "filler", "3"), "{vs[switch_2]}")
    published.edit_json(path, ("B", "switches", "switch_2", 1), "saw that {vs[filler]}")


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
    "options alike once a and an are mended",
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
question("id with a figure that is no number", "1.1.0.0.a", ("id",), "1.1.0.².a", "id", "1.1.0.².a")
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


def _only_you(folder: Path) -> None:
    path = published.context_path(folder, BUS)
    published.edit_json(path, ("A", "context"), lambda old: old.replace("{vs[pov_5]}", "you"))
    for qa in ("3.1.0.0.a", "3.2.0.0.a"):
        published.edit_json(published.qa_path(folder, qa), ("question", "prompt"), "Why did {vs[name_1]} do that?")
    published.edit_json(published.qa_path(folder, "3.1.0.0.a"), ("question", "options", 2), "To sing.")


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


@pytest.mark.parametrize("mistake", _ALL, ids=lambda mistake: mistake.name)
def test_a_mistake_is_told_with_file_key_and_mend(templates: Path, mistake: Mistake) -> None:
    mistake.plant(templates)
    lines = complaints(check(templates))
    files = mistake.file.split("|")
    told = [
        line for line in lines if any(Mistake("", mistake.plant, file, mistake.key).told_in([line]) for file in files)
    ]
    assert told, f"no line names {mistake.file} and {mistake.key}:\n" + "\n".join(lines)
    assert any(MENDS.search(line.split(": ", 1)[-1]) for line in told), f"no line says what to do: {told}"


def test_names_of_mistakes_are_distinct() -> None:
    names = [mistake.name for mistake in _ALL]
    assert len(set(names)) == len(names)


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


def test_25_mistakes_are_all_told_in_one_run(templates: Path) -> None:
    mistakes = [next(mistake for mistake in _ALL if mistake.name == name) for name in TWENTY_FIVE]
    # Where two mistakes would stand in one file, all but one move to a question or story of their own.
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
    untold = [mistake.name for mistake in mistakes if not mistake.told_in(lines)]
    assert not untold, "\n".join(lines)
    # Each has a line of its own.
    free = list(lines)
    for mistake in sorted(mistakes, key=lambda mistake: len(mistake.told_in(lines))):
        free.remove(mistake.told_in(free)[0])


def test_two_mistakes_in_one_place_are_both_told(templates: Path) -> None:
    path = in_qa("1.2.0.0.a")(templates)
    published.edit_json(path, ("answers", "00"), [0, 0, 0, 0])
    published.edit_json(path, ("answers", "11"), [1, 1, 0, 0])
    published.edit_json(path, ("links", "10"), [1, 0, 0])
    published.edit_json(path, ("question", "prompt"), "{vs[a_1]} {vs[b_1]}?")
    lines = complaints(check(templates))
    for words in (("answers", "00"), ("answers", "11"), ("links", "10"), ("prompt", "a_1"), ("prompt", "b_1")):
        assert any(all(_says(word, line) for word in words) for line in lines), (words, lines)


def test_a_mistake_of_form_hides_none_in_other_files(templates: Path) -> None:
    published.edit_json(in_context(CUP)(templates), ("A", "variables"), "name_1")
    (templates / "tables" / "demand_df.csv").unlink()
    published.edit_json(in_context(CUP)(templates), ("B", "filler", "0"), "{vs[nobody_1]}")
    published.edit_json(in_qa("1.1.0.0.a")(templates), ("answers", "0"), [0, 0, 0, 0])
    published.edit_json(in_qa("1.0.0.0.a")(templates), ("question", "prompt"), "")
    lines = complaints(check(templates))
    for words in (("A", "variables"), ("demand_df.csv",), ("B", "nobody_1"), ("answers", "0"), ("prompt",)):
        assert any(all(_says(word, line) for word in words) for line in lines), (words, lines)


def test_a_mistake_of_the_story_hides_no_options_that_are_alike(templates: Path) -> None:
    published.delete_json(in_context(CUP)(templates), ("A", "filler", "3"))
    published.edit_json(in_qa("1.0.1.0.a")(templates), ("question", "options", 0), "It floats.")
    lines = complaints(check(templates))
    assert any("1.0.1.0.a" in line and "options" in line for line in lines), lines


def test_a_mistake_is_told_once(templates: Path) -> None:
    published.edit_json(in_qa("1.1.0.0.a")(templates), ("answers", "0"), [0, 0, 0, 0])
    assert len(complaints(check(templates))) == 1


def test_nothing_is_said_twice(templates: Path) -> None:
    _circle_of_switches(templates)
    published.edit_json(in_context(BUS)(templates), ("A", "filler", "1"), "{vs[a_1]} and {vs[a_1]}")
    lines = complaints(check(templates))
    assert len(set(lines)) == len(lines)


# --- what is no mistake -----------------------------------------------------------------------------------------------


def test_a_sound_set(sound_set: Path) -> None:
    result = check(sound_set)
    assert_sound(result)
    assert "30" in result.stdout  # questions
    assert result.stderr == ""


def test_files_that_systems_leave_are_passed_over(templates: Path) -> None:
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


def test_tables_elsewhere(templates: Path, tmp_path: Path) -> None:
    (templates / "tables").rename(tmp_path / "elsewhere")
    assert_sound(check(templates, "--tables", tmp_path / "elsewhere"))
    for line in complaints(check(templates)):
        assert "tables" in line


def _bom_and_crlf(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))


def _counted_wheels(folder: Path) -> None:
    """Attributes are equal-to: a column may hold numbers of things, 0 and 1 among them."""
    path = folder / "tables" / "item_df.csv"
    published.edit_rows(path, lambda rows: [[*row, "wheels" if n == 0 else str(n % 5)] for n, row in enumerate(rows)])
    published.edit_json(in_context(BUS)(folder), ("A", "items", "item_1"), {"wheels": 2})


def _with_empty_row_and_column(rows: list[list[str]]) -> list[list[str]]:
    return [[*row, ""] for row in [*rows, [""] * len(rows[0])]]


def _with_index(name: str) -> Callable[[list[list[str]]], list[list[str]]]:
    return lambda rows: [[name, *rows[0]], *([str(n), *row] for n, row in enumerate(rows[1:]))]


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
def test_no_mistake(templates: Path, change: Callable[[Path], object]) -> None:
    change(templates)
    assert_sound(check(templates))


def test_only_what_the_spec_asks_for_must_be_there(templates: Path, tmp_path: Path) -> None:
    """A lab that has no hints written yet, and asks for the first person, can build the rest."""
    published.delete_json(in_context(CUP)(templates), ("A", "filler", "1"))
    _only_you(templates)
    spec = tmp_path / "spec.yaml"
    spec.write_text("inference_levels: [0, 2, 3]\npov: [first]\n", encoding="utf-8")
    assert_sound(check(templates, "--spec", spec))
    spec.write_text("inference_levels: [0, 1]\npov: [first]\n", encoding="utf-8")
    assert any("filler" in line for line in complaints(check(templates, "--spec", spec)))


def leather(folder: Path, **story: Any) -> Path:
    """A story that differs between variants by its item alone, of which there are two."""
    return published.write_one_story(
        folder,
        "A {vs[item_1]} {vs[switch_1]}.{vs[filler]}",
        **{"variables": [], "items": {"item_1": {"material": "leather", "edible": False}}} | story,
    )


@pytest.mark.parametrize("pov", ["[first]", "[third]", "[first, third]"])
def test_a_pool_too_small_for_the_variants_asked_for(tmp_path: Path, pov: str) -> None:
    folder = leather(tmp_path / "templates")
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"variants: 2\npov: {pov}\n", encoding="utf-8")
    assert_sound(check(folder, "--spec", spec))
    spec.write_text(f"variants: 3\npov: {pov}\n", encoding="utf-8")
    lines = complaints(check(folder, "--spec", spec))
    assert all("only_story_context_template.json" in line and _says("item_1", line) for line in lines), lines
    assert all(_says("3", line) and _says("2", line) and MENDS.search(line) for line in lines), lines


def test_a_pool_too_small_for_five_variants_without_a_spec(tmp_path: Path) -> None:
    """What `build` without a spec would refuse, `check` without a spec must refuse."""
    folder = leather(tmp_path / "templates")
    arguments = ["battery", "build", str(folder), "-o", str(tmp_path / "battery.jsonl")]
    assert CliRunner().invoke(main, arguments).exit_code != 0
    assert any(_says("5", line) and _says("item_1", line) for line in complaints(check(folder)))


def test_a_variable_that_no_text_shows_makes_no_variants(tmp_path: Path) -> None:
    folder = leather(tmp_path / "templates", variables=["place_1"])
    spec = tmp_path / "spec.yaml"
    spec.write_text("variants: 3\npov: [first]\n", encoding="utf-8")
    assert any(_says("item_1", line) for line in complaints(check(folder, "--spec", spec)))


def test_a_pool_without_labels_enough_for_one_story(tmp_path: Path) -> None:
    """Three slots of a pool of two: no label comes twice in a story."""
    wanted = {"material": "leather", "edible": False}
    folder = published.write_one_story(
        tmp_path / "templates",
        "A {vs[item_1]}, a {vs[item_2]} and a {vs[item_3]} {vs[switch_1]}.{vs[filler]}",
        items={"item_1": wanted, "item_2": wanted, "item_3": wanted},
    )
    spec = tmp_path / "spec.yaml"
    spec.write_text("variants: 1\n", encoding="utf-8")
    assert any("items" in line and MENDS.search(line) for line in complaints(check(folder, "--spec", spec)))


@pytest.mark.parametrize("spec", ["variants: 1", "variants: 7", "variants: 8", "pov: [third]", "matched: false"])
def test_what_passes_the_check_can_be_built(sound_set: Path, tmp_path: Path, spec: str) -> None:
    """Exit 0 only when a battery built from it cannot fail, and no refusal where none is needed."""
    path = tmp_path / "spec.yaml"
    path.write_text(f"{spec}\ncapability_types: [single]\n", encoding="utf-8")
    passed = check(sound_set, "--spec", path).exit_code == 0
    for seed in (1, 2, 3):
        arguments = ["battery", "build", sound_set, "--spec", path, "--seed", seed, "-o", tmp_path / "out.jsonl"]
        assert (CliRunner().invoke(main, list(map(str, arguments))).exit_code == 0) == passed


# --- what is no mistake, but worth a look -----------------------------------------------------------------------------


def remarks(result: Result) -> list[str]:
    assert_sound(result)
    assert "Worth a look:" in result.stdout
    return result.stdout.split("Worth a look:\n")[1].splitlines()


@pytest.mark.parametrize(
    ("story", "said"),
    [
        ("Then you and {vs[pov_1]} saw {vs[name_1]} {vs[switch_1]}.{vs[filler]}", "third person"),
        ("{vs[name_1]} {vs[switch_1]}.{vs[filler]}", "no space"),
    ],
)
def test_a_story_that_is_worth_a_look(tmp_path: Path, story: str, said: str) -> None:
    folder = published.write_one_story(
        tmp_path / "templates", story, filler={"0": "It was.", "1": " a", "2": "", "3": " b"}
    )
    found = remarks(check(folder))
    assert any(said in line and "only_story_context_template.json" in line for line in found), found


def test_levels_that_read_the_same_are_worth_a_look(templates: Path) -> None:
    published.edit_json(in_context(CUP)(templates), ("A", "filler", "0"), "")
    (line,) = remarks(check(templates))
    assert "A.filler.2" in line and "0 and 2" in line


def test_a_control_like_its_test_is_worth_a_look(templates: Path) -> None:
    path = in_qa("1.1.0.0.a")(templates)
    answers = json.loads(path.read_text(encoding="utf-8"))["answers"]["0"]
    published.edit_json(path, ("answers", "1"), answers)
    (line,) = remarks(check(templates))
    assert "1.1.0.0.a" in line and "answers" in line


def test_nothing_is_worth_a_look_in_a_sound_set(sound_set: Path) -> None:
    assert "Worth a look" not in check(sound_set).stdout


# --- wrong places -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["nowhere", "empty", "file.json"])
def test_no_templates_there(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.json").write_text("{}", encoding="utf-8")
    lines = complaints(check(tmp_path / place))
    assert any(place in line for line in lines)
    assert all(MENDS.search(line) for line in lines)


def test_the_folder_of_one_scenario(sound_set: Path) -> None:
    """The folder one deeper than it should be: the message says which folder is wanted."""
    lines = complaints(check(sound_set / CUP, "--tables", sound_set / "tables"))
    assert any("folder" in line and CUP in line for line in lines), lines


# --- the published generator's known failures that a check must catch -------------------------------------------------


def test_a_missing_key_is_told_by_file_and_id_and_not_as_a_key_error(templates: Path) -> None:
    published.edit_json(in_qa("2.1.0.0.a")(templates), ("question", "prompt"), "What about {vs[food_1]}?")
    result = check(templates)
    (line,) = complaints(result)
    assert "2.1.0.0.a_qa_template.json" in line and "food_1" in line and "KeyError" not in line


def test_exhausted_variants_are_told_beforehand(tmp_path: Path) -> None:
    folder = leather(tmp_path / "templates")
    (line,) = complaints(check(folder))
    assert _says("variants", line) and _says("labels", line)
    assert "nan" not in line.casefold().split()


def test_a_template_with_two_right_answers_is_refused(templates: Path) -> None:
    published.edit_json(in_qa("2.2.0.0.b")(templates), ("answers", "01"), [1, 0, 0, 1])
    (line,) = complaints(check(templates))
    assert _says("01", line) and _says("answers", line)


def test_circular_fillers_are_refused(templates: Path) -> None:
    _circle_through_a_filler(templates)
    assert all("B" in line and "filler" in line for line in complaints(check(templates)))


# --- reading the messages aloud: `python -m tests.batteries.vignettes.test_check` -------------------------------------


def _aloud() -> Iterator[str]:
    import tempfile

    for mistake in _ALL:
        with tempfile.TemporaryDirectory() as folder:
            templates = published.write_template_set(Path(folder) / "templates")
            mistake.plant(templates)
            result = check(templates)
            yield f"## {mistake.name}\n{result.stderr.replace(folder + '/', '')}{result.stdout}{result.exception!r}"


if __name__ == "__main__":
    print("\n".join(_aloud()))  # noqa: T201
