from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from batteries.errors import InputError
from batteries.reading import read_yaml


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
            r"line 2: `widht` is not a field Equipoise knows; the fields here are name, inner, many\. Mend",
        ),
        ("name: a\ninner:\n  width: 3\n", r"line 3: `inner.width` is not a field.*did you mean `width_ms`"),
        (
            "name: a\nmany:\n  - width_ms: 1\n  - width_ms: x\n",
            r"line 4: `many.1.width_ms` must be a whole number \(it is 'x'\); mend it",
        ),
        ("inner: {}\n", r"line 1: `name` is missing; add it"),
        ("name: a\nname: b\n", r"line 2: this is not valid YAML"),
        ("name: [a\n", r"this is not valid YAML"),
        ("- a\n", r"line 1: the file must hold `name: value` lines"),
        ("", r"line 1: the file must hold"),
        ("name: 3\n", r'line 1: `name` must be a text; put it in quotes: "3"\.'),
        ("name:\n", r"line 1: `name` must be a text; it is None; mend it"),
        ("name: a\nmany: {b: 3}\n", r"line 2: `many` must be a list, such as \[{b: 3}\]"),
        ("name: a\nmany: 3\n", r"line 2: `many` must be a list, such as \[3\]"),
        ("name: a\ninner: 3\n", r"line 2: `inner` must hold `name: value` fields \(it is 3\)"),
        ("name: a\nnmae: b\n", r"line 2: `nmae` is not a field Equipoise knows; did you mean `name`\?"),
        ("name: a\nmany:\n  - widthms: 1\n", r"line 3: `many.0.widthms` is not .* did you mean `width_ms`\?"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_mend(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, text)
    assert str(tmp_path / "file.yaml") in str(error.value)


def test_every_mistake_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, "nome: a\ninner: {width: 1}\n")
    assert len(str(error.value).splitlines()) == 3  # the missing name, the unknown nome, the unknown width


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: a\r\ninner: {width_ms: 2}\r\n")
    assert read_yaml(path, Outer).inner.width_ms == 2
