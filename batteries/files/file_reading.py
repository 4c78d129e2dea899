"""Reading of YAML and JSON Lines files into pydantic models. Errors name the file, the line and a fix."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from reprlib import Repr
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from batteries.errors import InputError
from batteries.files.bounded_yaml import UnreadableYAMLError, load_yaml

Model = TypeVar("Model", bound=BaseModel)

MOST_SENTENCES = 5
"""Maximum number of mistakes in one message about a line, an export or a request."""
MOST_SENTENCES_OF_A_FILE = 50
"""Maximum number of mistakes in one message about a file. The author can correct these mistakes together."""
LONGEST_SHOWN = 60
"""Maximum number of characters of a name or value in a message. A longer name or value is truncated."""
DEEPEST_JSON = 100
"""Maximum number of levels of nested lists and objects in JSON. More levels could exhaust Python's stack later."""


def read_text(path: Path, newline: str | None = None) -> str:
    """Return the text of a UTF-8 file. Use `newline=""` for CSV files, so that line ends in cells stay unchanged.

    Raises
    ------
    InputError
        If the file is missing, unreadable or not UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            return file.read()
    except FileNotFoundError:
        raise InputError(f"{path}: this file does not exist. Fix: check the name and the current folder.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8 text. Fix: save the file with the encoding UTF-8."
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have.
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: this file cannot be read ({reason}). Fix: check its name and permissions.") from None


_UNCLOSED = {
    "while parsing a flow sequence": ("the list that begins with `[` has no end", "write the missing `]` or comma"),
    "while parsing a flow mapping": ("the group that begins with `{` has no end", "write the missing `}` or comma"),
    "while scanning a quoted scalar": ("a quotation mark has no partner", "write the missing quotation mark"),
}
"""The problem and the fix for errors that the YAML reader reports far behind the place of the mistake."""


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Read a YAML 1.2 file, check it against a pydantic class, and return an object of this class.

    Raises
    ------
    InputError
        The message has one sentence for each mistake, with the file, the line and a fix.
    """
    return parse_yaml(read_text(path), path, model)


def parse_yaml(text: str, path: Path, model: type[Model]) -> Model:
    """Check a YAML 1.2 text from the file `path` against a pydantic class, and return an object of this class.

    The errors are those of `read_yaml`.
    """
    try:
        document = load_yaml(text)
    except UnreadableYAMLError as error:
        raise InputError(f"{path}, line {error.line}: {error}") from None
    except MarkedYAMLError as error:
        if unclosed := _UNCLOSED.get(str(error.context)):
            mark, (problem, fix) = error.context_mark, unclosed
        else:
            mark, fix = error.problem_mark or error.context_mark, "correct the indentation or the quotes"
            problem = str(error.problem or "it is not well-formed").splitlines()[0]
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}{line}: this is not valid YAML ({problem}). Fix: {fix}.") from None
    except YAMLError as error:
        raise InputError(f"{path}: this is not valid YAML ({error}). Fix: correct the YAML.") from None
    if not isinstance(document, CommentedMap):
        raise InputError(
            f"{path}, line 1: the file must contain `name: value` lines. Fix: run `equipoise new` for an example."
        )
    try:
        return model.model_validate(_plain(document), context={"path": path})
    except ValidationError as error:
        said = []
        found = _mistakes(error)
        for details in found[:MOST_SENTENCES_OF_A_FILE]:
            line_number, details["loc"] = _find(document, details["loc"])
            said.append(f"{path}, line {line_number}: {_sentence(details, model)}")
        if len(found) > len(said):
            said.append(f"{path}: {_more(len(found) - len(said))}")
        raise InputError("\n".join(said)) from None


def line_of(path: Path, location: tuple[int | str, ...]) -> int:
    """Return the line (from 1) of a key, such as `("timeline", "consent")`, in a YAML file without mistakes."""
    return _find(load_yaml(read_text(path)), location)[0]


def lines_of_empty_fields(path: Path, entries: str, field: str) -> list[int]:
    """Return the lines of a YAML file on which an entry of a list has an empty field, such as `key:`.

    For YAML, an empty field has the value null. An author may have forgotten the value, so a caller can require that
    null is written.

    Parameters
    ----------
    path
        A YAML file without mistakes.
    entries
        The name of the list at the top of the document, such as `items`.
    field
        The name of the field.
    """
    text = read_text(path)
    lines, found = text.split("\n"), []
    for entry in load_yaml(text)[entries]:
        if entry[field] is None and field in entry.lc.data:
            line, column = entry.lc.value(field)
            if not lines[line][column:].startswith(("null", "Null", "NULL", "~", "*", "&", "!")):
                found.append(entry.lc.key(field)[0] + 1)
    return found


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the line number (from 1) and the value of each line of a JSON Lines file. Empty lines are skipped.

    Raises
    ------
    InputError
        If a line is not JSON.
    """
    # Split at line feeds only: str.splitlines would also split at U+2028, which JSON allows inside a string.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, f"{path}, line {number}")


def parse_json(text: str, place: str) -> Any:
    """Return the value of a JSON text. The message of an InputError begins with `place`."""
    try:
        value = json.loads(text, object_pairs_hook=_each_name_once)
        _refuse_deep(value)
    except json.JSONDecodeError as error:
        # In a text of many lines the parser's line is more useful than `place` alone.
        line = f", line {error.lineno}" if "\n" in text else ""
        raise InputError(
            f"{place}{line}: this is not JSON ({error.msg} at column {error.colno}). Fix: correct "
            "the text at this column."
        ) from None
    except _NameTwiceError as error:
        raise InputError(
            f"{place}: the name `{error}` appears twice in one object. Fix: keep one of the two fields."
        ) from None
    except RecursionError:
        raise InputError(
            f"{place}: there are too many levels of lists and objects inside each other. Fix: use fewer levels."
        ) from None
    except ValueError:
        raise InputError(f"{place}: a number has too many digits. Fix: write a shorter number.") from None
    return value


def _refuse_deep(value: Any) -> None:
    """Raise RecursionError if a value has too many levels of lists and objects."""
    level = [value]
    for _ in range(DEEPEST_JSON):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise RecursionError(f"more than {DEEPEST_JSON} levels")


class _NameTwiceError(Exception):
    """A JSON object has two fields with the same name. json.loads would silently keep the last field."""


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _NameTwiceError(_shorter(next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)))
    return fields


def validate_line(path: Path, number: int, value: Any, model: type[Model]) -> Model:
    """Check one line of a JSON Lines file against a pydantic class, and return an object of this class.

    An InputError names the file and the line.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{path}, line {number}: {describe(error, model)}") from None


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """Return one text with a sentence for each mistake that pydantic found (at most `MOST_SENTENCES` mistakes)."""
    return " ".join(sentences(error, model, MOST_SENTENCES))


def sentences(error: ValidationError, model: type[BaseModel], most: int = MOST_SENTENCES_OF_A_FILE) -> list[str]:
    """Return a sentence for each mistake that pydantic found.

    If there are more than `most` mistakes, the last sentence counts the other mistakes.
    """
    found = _mistakes(error)
    said = [_sentence(details, model) for details in found[:most]]
    return said if len(found) <= most else [*said, _more(len(found) - most)]


def _more(n: int) -> str:
    return f"Number of mistakes that are not listed: {n}."


def _plain(node: Any) -> Any:
    """Return the value of a YAML node as plain Python objects, without objects of the library ruamel."""
    if isinstance(node, Mapping):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, Sequence) and not isinstance(node, str):
        return [_plain(value) for value in node]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _find(document: CommentedMap, location: tuple[int | str, ...]) -> tuple[int, tuple[int | str, ...]]:
    """Return the line (from 1) of a field in the YAML document, and its keys from the top of the document.

    `location` contains the keys as pydantic reports them. For a union type, pydantic adds the name of a type, which is
    left out of the result. If the document lacks the field, the line is that of the nearest enclosing field.
    """
    node: Any = document
    line: int = document.lc.line
    place: list[int | str] = []
    for step in location:
        if isinstance(node, CommentedMap) and step in node:
            line = node.lc.key(step)[0]
        elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
            line = node.lc.item(step)[0]
        elif step is location[-1]:
            place.append(step)  # A missing field.
            break
        else:
            continue  # pydantic names the alternative that it tried, such as `deal`. The document does not name it.
        place.append(step)
        node = node[step]
    return line + 1, tuple(place)


_WHOLE_NUMBER = "must be a whole number (it is {given}). Fix: correct the number."
_FIELDS = "must have `name: value` fields (it is {given}). Fix: write these fields."
_LIMIT_SENTENCES = {
    "int_type": _WHOLE_NUMBER,
    "int_parsing": _WHOLE_NUMBER,
    "int_parsing_size": _WHOLE_NUMBER,
    "int_from_float": _WHOLE_NUMBER,
    "float_type": "must be a number (it is {given}). Fix: correct the number.",
    "float_parsing": "must be a number (it is {given}). Fix: correct the number.",
    "finite_number": "must be a finite number (it is {given}). Fix: correct the number.",
    "bool_type": "must be true or false (it is {given}). Fix: write true or false.",
    "bool_parsing": "must be true or false (it is {given}). Fix: write true or false.",
    "model_type": _FIELDS,
    "model_attributes_type": _FIELDS,
    "dict_type": _FIELDS,
    "greater_than": "must be greater than {gt} (it is {given}). Fix: write a larger number.",
    "greater_than_equal": "must be at least {ge} (it is {given}). Fix: write a larger number.",
    "less_than": "must be less than {lt} (it is {given}). Fix: write a smaller number.",
    "less_than_equal": "must be at most {le} (it is {given}). Fix: write a smaller number.",
    "literal_error": "must be {expected} (it is {given}). Fix: write an allowed value.",
    "enum": "must be {expected} (it is {given}). Fix: write an allowed value.",
    "string_pattern_mismatch": "must match the pattern `{pattern}` (it is {given}). Fix: correct the text.",
    "string_too_short": "must have at least {min_length} characters (it is {given}). Fix: write a longer text.",
    "string_too_long": "must have at most {max_length} characters. Fix: write a shorter text.",
    "too_short": "has too few entries. Fix: write {min_length} or more entries.",
    "too_long": "has too many entries. Fix: write at most {max_length} entries.",
}
"""End of the error sentence for each of pydantic's error types. A sentence begins with the name of the field."""


def _sentence(details: ErrorDetails, model: type[BaseModel]) -> str:
    # pydantic adds the tag of an alternative that it tried, such as `(image)`. The file does not contain the tag.
    # But the last step to an unknown field is the name of this field, which can be any text.
    n_tags_until = len(details["loc"]) - (details["type"] == "extra_forbidden")
    location = tuple(
        step for index, step in enumerate(details["loc"]) if index >= n_tags_until or not str(step).startswith("(")
    )
    place = ".".join(_shorter(str(step)) for step in location) or "the whole"
    given = _given(details["input"])
    match details["type"]:
        case "extra_forbidden":
            known = _siblings(model, location)
            name = str(location[-1])
            near = get_close_matches(name, known, n=1) if len(name) <= LONGEST_SHOWN else []
            listed = f"; the known fields are {', '.join(known)}." if known else "."
            hint = f"; did you mean `{near[0]}`?" if near else listed
            return f"`{place}` is an unknown field{hint} Fix: correct the spelling, or delete the field."
        case "missing":
            return f"`{place}` is missing. Fix: add it."
        case "string_type":
            is_number = isinstance(details["input"], int | float)
            quoted = f'. Fix: put it in quotes: "{given}".' if is_number else f" (it is {given}). Fix: write a text."
            return f"`{place}` must be a text{quoted}"
        case "tuple_type" | "list_type":
            return f"`{place}` must be a list. Fix: write [{_shown_in_list(details['input'])}]."
        case "string_too_short" if details["ctx"]["min_length"] == 1:
            return f"`{place}` is empty. Fix: write a text."
        case "value_error":
            return f"`{place}`: {details['ctx']['error']}" if location else str(details["ctx"]["error"])
        case "union_tag_invalid":
            expected = details["ctx"]["expected_tags"].replace("'", "`")
            return f"`{place}`: {_given(details['ctx']['tag'])} is unknown. Fix: write one of {expected}."
        case "union_tag_not_found":
            return f"`{place}` lacks the field {details['ctx']['discriminator']}. Fix: add this field."
        case kind if kind in _LIMIT_SENTENCES:
            limits = {name: str(limit).replace("'", "`") for name, limit in details.get("ctx", {}).items()}
            return f"`{place}` {_LIMIT_SENTENCES[kind].format(given=given, **limits)}"
        case _:
            message = details["msg"][0].lower() + details["msg"][1:]
            return f"`{place}`: {message} (it is {given}). Fix: correct this value."


class _Bounded(Repr):
    """A `repr` whose running time does not grow with the size of the value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxstring = self.maxother = LONGEST_SHOWN

    def repr_int(self, x: int, level: int) -> str:
        # Python itself refuses to write the digits of a number with thousands of them.
        return repr(x) if x.bit_length() <= 128 else f"a number of {x.bit_length()} bits"


_REPR = _Bounded()


def _given(value: object) -> str:
    """Return a value as Python writes it, truncated if it is long."""
    return _shorter(_REPR.repr(value))


def _shorter(text: str) -> str:
    """Return a text, truncated if it is long."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def _shown_in_list(value: object) -> str:
    """Return a value as an author would write it in a YAML list."""
    if isinstance(value, Mapping):
        first = islice(value.items(), _REPR.maxdict)
        return _shorter(f"{{{', '.join(f'{name}: {_given(inner)}' for name, inner in first)}}}")
    return _shorter(value) if isinstance(value, str) else _given(value)


def _mistakes(error: ValidationError) -> list[ErrorDetails]:
    """Return the mistakes that pydantic found, without "list too short" if entries of the list have mistakes."""
    found = error.errors(include_url=False)
    # For each list that is called too short: True if it also has other mistakes. Counted once for all lists.
    depths = {len(details["loc"]) for details in found if details["type"] == "too_short"}
    n_inside = Counter(details["loc"][:depth] for depth in depths for details in found)
    return [details for details in found if details["type"] != "too_short" or n_inside[details["loc"]] == 1]


def _siblings(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the names of the fields that are allowed at the position of an unknown field."""
    is_name = False  # An entry in a mapping of names to models is not a field.
    for step in location[:-1]:
        if isinstance(step, int) or is_name:
            is_name = False
            continue
        field = model.model_fields.get(step)
        annotation = field.annotation if field else None
        inner = [one for one in (annotation, *get_args(annotation)) if isinstance(one, type)]
        models = [one for one in inner if issubclass(one, BaseModel)]
        if not models:
            return []
        model, is_name = models[0], get_origin(annotation) is dict
    return list(model.model_fields)
