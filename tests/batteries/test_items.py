import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from batteries.items import Battery, Item, load_battery, save_battery
from experiment.study.definition import Study

HEADER = {"battery": "test", "version": "1.0"}
ITEM = {
    "item_id": "one",
    "task": "multiple_choice",
    "content": {"text": "", "prompt": "Which?", "options": ["a", "b"]},
    "key": 1,
}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in ITEM.items() if name != field}


def test_the_sample_battery_has_the_published_items(sample_study: Study) -> None:
    # Fixed: the digest names exactly these items on every machine. A new digest means a new battery version.
    assert len(sample_study.test_items) == 235
    assert len(sample_study.battery.items) == 237
    assert sample_study.battery.digest == "22a465f6600f8d622a5c8a58fa82871923a09936ac74541f99a288920f487b8b"


@given(st.permutations(range(4)), st.randoms())
def test_the_digest_depends_on_content_alone(order: list[int], rng: Any) -> None:
    items = [Item(**ITEM | {"item_id": f"item-{n}", "factors": {"a": n, "b": "x", "c": True}}) for n in range(4)]
    battery = Battery(**HEADER, items=tuple(items))
    shuffled = []
    for n in order:
        fields = list(items[n].model_dump().items())
        rng.shuffle(fields)
        shuffled.append(Item.model_validate(dict(fields)))
    assert Battery(**HEADER, items=tuple(shuffled)).digest == battery.digest


def test_the_digest_changes_with_text_key_and_level_type() -> None:
    def digest(**changes: Any) -> str:
        return Battery(**HEADER, items=(Item(**ITEM | changes),)).digest

    digests = {
        digest(),
        digest(key=2),
        digest(content=ITEM["content"] | {"prompt": "Which one?"}),
        digest(factors={"condition": "01"}),
        digest(factors={"condition": 1}),
        digest(factors={"condition": "1"}),
    }
    assert len(digests) == 6


def test_a_battery_is_read_as_it_was_written(tmp_path: Path, sample_study: Study) -> None:
    save_battery(sample_study.battery, tmp_path / "copy.jsonl")
    assert load_battery(tmp_path / "copy.jsonl") == sample_study.battery


def test_a_battery_that_cannot_be_saved_leaves_the_earlier_file(tmp_path: Path, sample_study: Study) -> None:
    path = tmp_path / "battery.jsonl"
    save_battery(sample_study.battery, path)
    earlier = path.read_bytes()
    *items, last = sample_study.battery.items
    wrong = last.model_copy(update={"factors": {"score": float("nan")}})
    with pytest.raises(InputError):
        save_battery(sample_study.battery.model_copy(update={"items": (*items, wrong)}), path)
    assert path.read_bytes() == earlier
    assert [file.name for file in tmp_path.iterdir()] == ["battery.jsonl"]
    with pytest.raises(InputError, match=r"cannot be written .*Fix: "):
        save_battery(sample_study.battery, tmp_path / "missing" / "battery.jsonl")


def test_a_battery_can_be_written_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "battery.yaml"
    path.write_text(
        """
battery: test
version: "1.0"
items:
  - item_id: one
    task: multiple_choice
    factors: {condition: "01", negated: no}
    content: {prompt: Which?, options: ["yes", "no"]}
    key: 1
""",
        encoding="utf-8",
    )
    (item,) = load_battery(path).items
    assert item.factors == {"condition": "01", "negated": "no"}  # YAML 1.2: a bare no is a text


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the file is empty"),
        ([HEADER], "has no items"),
        ([{"battery": "test"}, ITEM], "line 1: `version` is missing"),
        ([HEADER, ITEM, ITEM], "duplicate item id `one` .2 times."),
        ([HEADER, without("key")], "line 2: `key` is missing. Fix: add it"),
        (
            [
                HEADER,
                ITEM | {"task": "blackbox_predict", "content": {"atoms": [[1, 1]], "entry": "east-4"}, "key": None},
            ],
            "line 2, item `one`: the key is null",
        ),
        ([HEADER, ITEM | {"key": 3}], "line 2, item `one`: the answer key is not a possible response"),
        ([HEADER, ITEM | {"colour": "red"}], "line 2: `colour` is an unknown field"),
        ([HEADER, ITEM | {"factors": {"group": "a"}}], "line 2: .*the factor `group` has the same name as a column"),
        (
            [HEADER, ITEM | {"content": {"prompt": "?", "options": [1, 2]}}],
            'must be a text. Fix: put it in quotes: "1"',
        ),
        ([HEADER, ITEM | {"task": "dance"}], "line 2, item `one`: unknown task `dance`"),
        ([HEADER, ITEM | {"content": {"options": ["a", "b"]}}], "line 2, item `one`: `prompt` is missing"),
        ([HEADER, ITEM | {"content": {"prompt": "?", "options": ["a", "a"]}}], "two options have the same text"),
        ([HEADER, ITEM | {"content": {"prompt": "?", "options": ["a"]}}], "`options`"),
        (
            [HEADER, ITEM | {"task": "blackbox_predict", "content": {"atoms": [[9, 1]], "entry": "north-1"}}],
            "the atom .9, 1. is off the board",
        ),
        (
            [HEADER, ITEM | {"task": "blackbox_predict", "content": {"atoms": [[1, 1]], "entry": "up-1"}}],
            "'up-1' is not a port",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line_and_fix(tmp_path: Path, rows: list[Any], message: str) -> None:
    path = write(tmp_path / "battery.jsonl", *rows)
    with pytest.raises(InputError, match=message) as error:
        load_battery(path)
    assert str(path) in str(error.value)


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "battery.jsonl", HEADER, ITEM | {"key": 7}, ITEM | {"item_id": "two", "key": 8}, ITEM)
    with pytest.raises(InputError) as error:
        load_battery(path)
    assert len(str(error.value).splitlines()) == 3


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "battery.jsonl", HEADER, ITEM)
    path.write_text(path.read_text(encoding="utf-8") + "{oops\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 3: this is not JSON"):
        load_battery(path)


@pytest.mark.parametrize("name", ["missing.jsonl", "battery.csv"])
def test_a_file_that_is_not_a_battery_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=name):
        load_battery(tmp_path / name)


def test_text_in_a_wrong_encoding_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "battery.jsonl"
    path.write_bytes('{"battery": "Gefühl"}'.encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        load_battery(path)
