import json
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from batteries.errors import InputError
from batteries.files.file_reading import MOST_SENTENCES, describe, parse_json, read_yaml


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    width_ms: int = 1


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    inner: Inner = Inner()
    many: list[Inner] = []


def read(tmp_path: Path, text: str) -> Outer:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml(path, Outer)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: a\nwidht: 3\n",
            r"line 2: `widht` is an unknown field; the known fields are name, inner, many\. Fix: correct",
        ),
        ("name: a\ninner:\n  width: 3\n", r"line 3: `inner.width` is an unknown field.*did you mean `width_ms`"),
        (
            "name: a\nmany:\n  - width_ms: 1\n  - width_ms: x\n",
            r"line 4: `many.1.width_ms` must be a whole number \(it is 'x'\). Fix: correct the number",
        ),
        ("inner: {}\n", r"line 1: `name` is missing. Fix: add it"),
        ("name: a\nname: b\n", r"line 2: this is not valid YAML"),
        ("name: [a\nmany: 3\n", r"line 1: this is not valid YAML \(the list that begins with `\[` has no end\)"),
        ("many: [{a: 3]\n", r"line 1: .*the group that begins with `{` has no end.*Fix: write the missing `}`"),
        ("name: 'a\nmany: 3\n", r"line 1: .*a quotation mark has no partner"),
        ("- a\n", r"line 1: the file must contain `name: value` lines"),
        ("", r"line 1: the file must contain"),
        ("name: 3\n", r'line 1: `name` must be a text. Fix: put it in quotes: "3"\.'),
        ("name:\n", r"line 1: `name` must be a text .it is None.. Fix: write a text"),
        ("name: a\nmany: {b: 3}\n", r"line 2: `many` must be a list\. Fix: write \[{b: 3}\]"),
        ("name: a\nmany: 3\n", r"line 2: `many` must be a list\. Fix: write \[3\]"),
        ("name: a\ninner: 3\n", r"line 2: `inner` must have `name: value` fields \(it is 3\)"),
        ("name: a\nnmae: b\n", r"line 2: `nmae` is an unknown field; did you mean `name`\?"),
        ("name: a\n(: b\n", r"line 2: `\(` is an unknown field; the known fields are"),
        (
            "name: a\nmany:\n  - widthms: 1\n",
            r"line 3: `many.0.widthms` is an unknown field; did you mean `width_ms`\?",
        ),
    ],
)
def test_a_mistake_is_named_with_file_line_and_fix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, text)
    assert str(tmp_path / "file.yaml") in str(error.value)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Limited(BaseModel):
    """A model with a field for each kind of limit."""

    model_config = ConfigDict(extra="forbid")
    over: int = Field(default=1, gt=0)
    least: int = Field(default=1, ge=1)
    under: float = Field(default=0, lt=1)
    most: float = Field(default=0, le=0.5, allow_inf_nan=False)
    code: str = Field(default="ab", pattern="^[a-z]+$", min_length=2, max_length=4)
    mode: Literal["key", "mouse"] = "key"
    size: Literal[8] = 8
    colour: Colour = Colour.RED
    switch: bool = False
    parts: list[int] = Field(default=[1, 2], min_length=2, max_length=3)
    even: int = Field(default=2, multiple_of=2)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("over: 0", "`over` must be greater than 0 (it is 0). Fix: write a larger number."),
        ("least: 0", "`least` must be at least 1 (it is 0). Fix: write a larger number."),
        ("under: 1", "`under` must be less than 1.0 (it is 1). Fix: write a smaller number."),
        ("most: 3", "`most` must be at most 0.5 (it is 3). Fix: write a smaller number."),
        ("most: .nan", "`most` must be a finite number (it is nan). Fix: correct the number."),
        ("under: x", "`under` must be a number (it is 'x'). Fix: correct the number."),
        ("under: []", "`under` must be a number (it is []). Fix: correct the number."),
        ("over: 1.5", "`over` must be a whole number (it is 1.5). Fix: correct the number."),
        ("code: AB", "`code` must match the pattern `^[a-z]+$` (it is 'AB'). Fix: correct the text."),
        ("code: a", "`code` must have at least 2 characters (it is 'a'). Fix: write a longer text."),
        ("code: abcde", "`code` must have at most 4 characters. Fix: write a shorter text."),
        ("mode: eye", "`mode` must be `key` or `mouse` (it is 'eye'). Fix: write an allowed value."),
        ("size: 9", "`size` must be 8 (it is 9). Fix: write an allowed value."),
        ("colour: green", "`colour` must be `red` or `blue` (it is 'green'). Fix: write an allowed value."),
        ("switch: maybe", "`switch` must be true or false (it is 'maybe'). Fix: write true or false."),
        ("switch: []", "`switch` must be true or false (it is []). Fix: write true or false."),
        ("parts: [1]", "`parts` has too few entries. Fix: write 2 or more entries."),
        ("parts: [1, 2, 3, 4]", "`parts` has too many entries. Fix: write at most 3 entries."),
        ("even: 3", "`even`: input should be a multiple of 2 (it is 3). Fix: correct this value."),
    ],
)
def test_a_value_outside_its_limits_is_reported_with_the_limit_and_a_fix(
    tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_yaml(path, Limited)
    assert str(error.value) == f"{path}, line 1: {sentence}"


def test_every_mistake_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, "nome: a\ninner: {width: 1}\n")
    assert len(str(error.value).splitlines()) == 3  # the missing name, the unknown nome, the unknown width


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: a\r\ninner: {width_ms: 2}\r\n")
    assert read_yaml(path, Outer).inner.width_ms == 2


class Requested(BaseModel):
    """A request body."""

    model_config = ConfigDict(extra="forbid")
    name: str
    number: int = 0
    many: tuple[Inner, ...] = Field(default=(), min_length=1)
    anything: JsonValue = None


def work_to_describe(body: str) -> tuple[str, Counter[str]]:
    """Return the message about an invalid request body, and the number of calls of each of our functions."""
    with pytest.raises(ValidationError) as error:
        Requested.model_validate_json(body, strict=True)
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        said = describe(error.value, Requested)
    finally:
        sys.setprofile(None)
    return said, calls


def lines_run(body: str) -> int:
    """Return the number of our Python lines that run to describe an invalid request body."""
    with pytest.raises(ValidationError) as error:
        Requested.model_validate_json(body, strict=True)
    n = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal n
        n += event == "line" and frame.f_code.co_filename != __file__
        return count

    sys.settrace(count)
    try:
        describe(error.value, Requested)
    finally:
        sys.settrace(None)
    return n


def test_of_thousands_of_unknown_fields_five_are_described_and_the_others_counted() -> None:
    for n in (8_100, 16_200):
        said, calls = work_to_describe(json.dumps({"name": "a"} | {f"x{number}": number for number in range(n)}))
        assert calls["_sentence"] == MOST_SENTENCES
        assert calls["get_close_matches"] <= MOST_SENTENCES
        assert said.endswith(f"Number of mistakes that are not listed: {n - MOST_SENTENCES}.")


@pytest.mark.parametrize(
    "body",
    [
        lambda n: json.dumps({f"x{number}": number for number in range(n)}),
        lambda n: json.dumps({"name": "a", "many": [{"width_ms": "x"}] * n}),
        lambda n: json.dumps({"name": "a", "many": [{f"x{number}": 1} for number in range(n)]}),
        lambda n: json.dumps({"name": list(range(n))}),
        lambda n: json.dumps({"name": {str(number): 1 for number in range(n)}}),
        lambda n: json.dumps({"name": "a", "many": {str(number): 1 for number in range(n)}}),
        lambda n: json.dumps({"name" * n: 1}),
        lambda n: '{"name": 1' + "0" * min(n, 4_000) + "}",
    ],
)
def test_the_work_for_a_message_grows_at_most_with_the_size_of_the_mistake(body: Callable[[int], str]) -> None:
    assert lines_run(body(4_000)) <= 2.2 * lines_run(body(2_000)) + 100


@pytest.mark.parametrize(
    "body",
    [
        "[" * 65_000,
        '{"name": ' + "[" * 150 + "]" * 150 + "}",
        '{"anything": ' + "[" * 150 + "]" * 150 + "}",
        '{"name": 1e999}',
        '{"name": ' + "9" * 4_000 + "}",
        '{"name": ' + "9" * 60_000 + "}",
        '{"number": ' + "9" * 4_000 + "}",
        '{"number": "' + "9" * 60_000 + '"}',
        '{"name": "a\\u0000", "x\\u0000": 1}',
        '{"name": "\\ud800"}',
        '{"na\\ud800me": 1}',
        json.dumps({"x" * 60_000: "y" * 60_000}),
        json.dumps({"name": {"y" * 60_000: 1}}),
        json.dumps({"many": "y" * 60_000}),
        json.dumps({"many": {"y" * 60_000: "z" * 60_000}}),
    ],
)
def test_the_message_about_any_request_body_is_short(body: str) -> None:
    said, _ = work_to_describe(body)
    assert 0 < len(said) < 1_000


def test_a_list_is_not_called_too_short_when_its_entries_are_wrong() -> None:
    said, _ = work_to_describe('{"name": "a", "many": [{"width_ms": "x"}]}')
    assert "many.0.width_ms" in said and "at least" not in said
    said, _ = work_to_describe('{"name": "a", "many": []}')
    assert said == "`many` has too few entries. Fix: write 1 or more entries."


def test_a_duplicate_json_name_is_found_in_one_pass() -> None:
    names = [f"x{number}" for number in range(20_000)]
    text = "{" + ",".join(f'"{name}": 1' for name in [*names, names[-1]]) + "}"
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "c_call"

    sys.setprofile(count)
    try:
        with pytest.raises(InputError, match="the name `x19999` appears twice"):
            parse_json(text, "file")
    finally:
        sys.setprofile(None)
    assert calls < 1_000, "a count for each name would be 20,000"


@pytest.mark.parametrize("text", ["[" * 500 + "]" * 500, '{"a": ' * 150 + "1" + "}" * 150, "[" * 100_000])
def test_json_that_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="file: there are too many levels of lists and objects inside each other"):
        parse_json(text, "file")


def test_json_with_a_too_long_number_is_refused() -> None:
    with pytest.raises(InputError, match="file: a number has too many digits"):
        parse_json("9" * 9_999, "file")


class Anything(BaseModel):
    a: JsonValue = None
    b: JsonValue = None


def read_anything(tmp_path: Path, text: str) -> Anything:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml(path, Anything)


LAUGHS = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            LAUGHS,
            r"line 6: the references in this file \(such as `\*a4`\) repeat more than 1,000,000 .*\. Fix: ",
        ),
        (LAUGHS.replace("[", "{<<: [").replace("]", "]}"), r"line \d+: .* Fix: "),
        (
            f"a: &a {'x' * 200_000}\nb: [*a, *a, *a, *a, *a, *a]\n",
            r"line 2: the references in this file \(such as `\*a`\) repeat .* Fix: ",
        ),
        ("a: &a [1, *a]\n", r"line 1: the value with the name `&a` contains a reference to itself \(`\*a`\)\. Fix: "),
        ("a: " + "[" * 60_000, r"line 1: the file has more than 50 levels of nesting\. Fix: "),
        ("a: " + "{a: " * 60_000, r"line 1: the file has more than 50 levels of nesting\. Fix: "),
        (
            "a:\n" + "".join(f"{' ' * depth}a:\n" for depth in range(1, 300)),
            r"line 50: the file has more than 50 levels",
        ),
        ("- " * 60_000, r"line 1: the file has more than 50 levels"),
        ("? " * 60_000, r"line 1: the file has more than 50 levels"),
        ("a: 1\nb: " + "9" * 60_000, r"line 2: the value cannot be read .* Fix: "),
        ("a: 1\nb: 0x" + "f" * 60_000, r"line 2: the value cannot be read .* Fix: "),
        ("a: 1\nb: 2024-13-45", r"line 2: the value cannot be read \(month must be in 1\.\.12\)\. Fix: "),
        ("a: 1\n[[a]]: 2", r"line 2: a list or a group of fields is used as the name of a field\. Fix: "),
        ("a: !!bool x", r"line 1: the value cannot be read .* Fix: "),
        ("a: '" + "x" * 20_000_000 + "'", r"line 1: the file has more than 20,000,000 characters\. Fix: "),
    ],
)
def test_a_yaml_file_that_would_expand_too_much_is_refused_before_it_is_expanded(
    tmp_path: Path, text: str, message: str
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=message) as error:
            read_anything(tmp_path, text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(error.value).startswith(f"{tmp_path / 'file.yaml'}, line")
    assert peak < 200_000_000


def test_ordinary_aliases_and_merges_are_read_as_their_values(tmp_path: Path) -> None:
    text = "a: &limits {low: 1, high: [2, 3]}\nb: {one: *limits, two: {<<: *limits, high: 4}, three: *limits}\n"
    limits = {"low": 1, "high": [2, 3]}
    read_in = read_anything(tmp_path, text)
    assert read_in.a == limits
    assert read_in.b == {"one": limits, "two": {"low": 1, "high": 4}, "three": limits}


def test_the_first_fifty_mistakes_of_a_file_are_named_and_the_others_counted(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, "name: a\n" + "".join(f"x{number}: 1\n" for number in range(80)))
    *named, last = str(error.value).splitlines()
    assert len(named) == 50
    assert last == f"{tmp_path / 'file.yaml'}: Number of mistakes that are not listed: 30."
