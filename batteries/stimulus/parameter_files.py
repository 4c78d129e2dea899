"""The files that the parameters of a jsPsych plugin name, such as `stimulus: assets/face.png`.

A text names a file if the whole text is a path in the folder `assets`, or if an attribute in its HTML is such a path in
quotes, such as `<img src="assets/face.png">`. The texts can be at any depth in lists and objects.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from pydantic import JsonValue

from batteries.errors import InputError
from batteries.stimulus.parts import FOLDER, MEDIA_TYPES, checked_path, kind_of_file

_PREFIX = f"{FOLDER}/"
_ATTRIBUTE = re.compile(rf"""(=\s*)(["'])({_PREFIX}(?:(?!\2).)*)\2""")
_SUFFIXES = [suffix for types in MEDIA_TYPES.values() for suffix in types]
_MENTION = re.compile(rf"""\b{_PREFIX}[^\s"'<>()\\]*(?:{"|".join(map(re.escape, _SUFFIXES))})\b""", re.IGNORECASE)
"""A path of a file at any other place of a text."""


def paths_in(parameters: JsonValue) -> list[str]:
    """Return the paths of all files that a JSON value names, sorted.

    Raises
    ------
    InputError
        If a text contains a path at a place where the path would not be replaced by the address of the file.
    """
    found: set[str] = set()

    def note(path: str) -> str:
        found.add(path)
        return ""

    rest = with_paths_replaced(parameters, note)
    if mention := _MENTION.search(json.dumps(rest, ensure_ascii=False)):
        raise InputError(
            f"`{mention[0]}` is part of a longer text, where Equipoise cannot replace it. Fix: in HTML, write the path "
            f'in quotes as an attribute, such as `src="{mention[0]}"`.'
        )
    for path in found:
        _check(path)
    return sorted(found)


def with_paths_replaced(parameters: JsonValue, replace: Callable[[str], str]) -> JsonValue:
    """Return a JSON value with the result of `replace` in place of each path of a file."""
    if isinstance(parameters, str):
        if parameters.startswith(_PREFIX):
            return replace(parameters)
        return _ATTRIBUTE.sub(lambda found: f"{found[1]}{found[2]}{replace(found[3])}{found[2]}", parameters)
    if isinstance(parameters, list | tuple):
        return [with_paths_replaced(entry, replace) for entry in parameters]
    if isinstance(parameters, Mapping):
        return {name: with_paths_replaced(value, replace) for name, value in parameters.items()}
    return parameters


def with_addresses_replaced(value: JsonValue, paths: Mapping[str, str]) -> JsonValue:
    """Return a JSON value with a path in place of each address of a file. `paths` has the path of each address."""
    if isinstance(value, str):
        for address, path in paths.items():
            value = value.replace(address, path)
        return value
    if isinstance(value, list):
        return [with_addresses_replaced(entry, paths) for entry in value]
    if isinstance(value, dict):
        return {
            str(with_addresses_replaced(name, paths)): with_addresses_replaced(entry, paths)
            for name, entry in value.items()
        }
    return value


def _check(path: str) -> None:
    try:
        checked_path(path)
    except ValueError as error:
        raise InputError(str(error)) from None
    if kind_of_file(path) is None:
        raise InputError(
            f"{path}: the suffix `{PurePosixPath(path).suffix}` is not known. Fix: use a file with one of the suffixes "
            f"{', '.join(f'`{suffix}`' for suffix in _SUFFIXES)}."
        )
