"""The five CSV tables of a template set: labels, weights of labels, items, activities, and demands.

The format is that of VIGNET (Prunty et al., 2025). Rows may have different numbers of cells. Truth values are
True/False or 0/1. The first column may contain row numbers, with the name `index` or `Unnamed: 0` or without a name.
Columns and rows whose name begins with `canary` contain only a GUID.
"""

import math
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from batteries.errors import InputError
from batteries.files.csv_files import is_index, parse_csv
from batteries.files.file_reading import read_text
from batteries.vignettes.templates.problems import Problems

VARIABLES, WEIGHTS, ITEMS, ACTIVITIES, DEMANDS = (
    "variable_df.csv",
    "variable_weights_df.csv",
    "item_df.csv",
    "activity_df.csv",
    "demand_df.csv",
)
AttributeValue = bool | str
_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class AttributeTable:
    """Labels of items or activities, with attributes."""

    rows: Mapping[str, Mapping[str, AttributeValue]] = field(default_factory=dict)
    """Attributes of each label, in the order of the file."""
    attributes: frozenset[str] = frozenset()
    """Names of the attributes."""

    def matching(self, wanted: Mapping[str, AttributeValue]) -> list[str]:
        """Return the labels that have every attribute value in `wanted`, in alphabetical order."""
        return sorted(
            label
            for label, has in self.rows.items()
            if all(name in has and has[name] == value for name, value in wanted.items())
        )


@dataclass(frozen=True)
class Tables:
    """The tables of a template set."""

    folder: Path
    pools: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """For each prefix (`name`, `colour`, ...), the weight of each label."""
    items: AttributeTable = field(default_factory=AttributeTable)
    activities: AttributeTable = field(default_factory=AttributeTable)
    demands: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each demand and dimension (`physical`, ...), 1 if the demand involves the dimension, otherwise 0."""
    dimensions: tuple[str, ...] = ()
    """Dimensions of demands, in the order of the demand table."""
    canary: str | None = None
    missing: frozenset[str] = frozenset()
    """Names of the tables that could not be read."""


def attribute_value(value: object) -> AttributeValue:
    """Return a truth value in any spelling (True, 1, 1.0, ...) as a bool, and all other values as text."""
    text = str(value).strip()
    return _TRUTH.get(text.lower(), text)


def demand_name(name: str) -> str:
    """Return the name of a demand, in which underscores replace the spaces."""
    return name.strip().replace(" ", "_")


def read_tables(folder: Path, problems: Problems, used: Set[str]) -> Tables:
    """Read the five tables.

    Parameters
    ----------
    folder
        The folder with the tables.
    problems
        The list to which mistakes are appended.
    used
        Prefixes of the variables in the templates. Columns with other prefixes are not checked, and need no weights.
    """
    columns: dict[str, dict[str, list[tuple[int, str]]]] = {}
    canaries: set[str] = set()
    for name in (VARIABLES, WEIGHTS, ITEMS, ACTIVITIES, DEMANDS):
        path = folder / name
        try:
            text = read_text(path)
        except InputError as error:
            problems.add(path, "", str(error).removeprefix(f"{path}: "))
            continue
        found = _columns(path, text, problems)
        label_column = {ITEMS: "items", ACTIVITIES: "activities", DEMANDS: "inference_component"}.get(name)
        if label_column and found and label_column not in found:
            problems.add(
                path,
                "line 1",
                (f"the column `{label_column}` is missing. Fix: give the column of labels the name `{label_column}`."),
            )
        elif found:
            columns[name] = found
        canaries |= {guid.lower() for line in text.splitlines() if "canary" in line for guid in GUID.findall(line)}
    pools = _pools(folder, columns.get(VARIABLES, {}), columns.get(WEIGHTS), problems, used)
    demands, dimensions = _demands(folder / DEMANDS, columns.get(DEMANDS), problems)
    return Tables(
        folder=folder,
        pools=pools,
        items=_attribute_table(folder / ITEMS, "items", columns.get(ITEMS), problems),
        activities=_attribute_table(folder / ACTIVITIES, "activities", columns.get(ACTIVITIES), problems),
        demands=demands,
        dimensions=dimensions,
        canary=min(canaries, default=None),
        missing=frozenset({VARIABLES, WEIGHTS, ITEMS, ACTIVITIES, DEMANDS} - columns.keys()),
    )


def _columns(path: Path, text: str, problems: Problems) -> dict[str, list[tuple[int, str]]]:
    """Return the filled cells of each column, with line numbers. Row-number and canary columns are left out."""
    try:
        table = parse_csv(text, path, is_ragged=True)
    except InputError as error:
        where, _, sentence = str(error).removeprefix(str(path)).removeprefix(", ").partition(": ")
        problems.add(path, where, sentence)
        return {}
    # Lines are counted by rows, because a label may contain a line break and two tables are joined by row.
    header = table.header
    rows = [(line, row) for line, row in enumerate(table.rows, start=2) if any(cell.strip() for cell in row)]
    while header and is_index(header[0], (row[0] for _, row in rows if row)):
        header, rows = header[1:], [(line, row[1:]) for line, row in rows]
    columns: dict[str, list[tuple[int, str]]] = {}
    for position, name in enumerate(header):
        cells = [(line, row[position].strip()) for line, row in rows if position < len(row) and row[position].strip()]
        if name.startswith("canary") or (not name and not cells):
            continue
        if not name:
            problems.add(path, "line 1", f"column {position + 1} has no name. Fix: name or delete the column.")
        elif name in columns:
            problems.add(
                path, "line 1", f"two columns have the name `{name}`. Fix: rename or delete one of the columns."
            )
        else:
            columns[name] = cells
    for line, row in rows:
        if any(cell.strip() for cell in row[len(header) :]):
            problems.add(
                path,
                f"line {line}",
                "the line has more cells than the header. Fix: put quotes around each label with a comma.",
            )
    return columns


def _pools(
    folder: Path,
    labels: Mapping[str, list[tuple[int, str]]],
    weights: Mapping[str, list[tuple[int, str]]] | None,
    problems: Problems,
    used: Set[str],
) -> dict[str, dict[str, float]]:
    pools: dict[str, dict[str, float]] = {}
    for prefix, cells in labels.items():
        if prefix not in used:
            pools[prefix] = {label: 1.0 for _, label in cells}
            continue
        _check_labels(folder / VARIABLES, prefix, cells, problems)
        if weights is None:  # The missing file is reported already.
            pools[prefix] = {label: 1.0 for _, label in cells}
        elif prefix not in weights:
            problems.add(
                folder / WEIGHTS,
                prefix,
                f"the column is missing, but {VARIABLES} has this column. Fix: add the column with weights.",
            )
            pools[prefix] = {label: 1.0 for _, label in cells}
        else:
            weight_on = dict(weights[prefix])
            path = folder / WEIGHTS
            for line, label in cells:
                if line not in weight_on:
                    problems.add(
                        path, f"{prefix}, line {line}", (f"`{label}` has no weight. Fix: add the weight in this line.")
                    )
            for line in weight_on.keys() - dict(cells).keys():
                problems.add(
                    path,
                    f"{prefix}, line {line}",
                    (f"{VARIABLES} has no label in this line. Fix: delete the weight in this line."),
                )
            pools[prefix] = {
                label: _weight(path, prefix, line, weight_on.get(line, "1"), problems) for line, label in cells
            }
    for prefix in used & ((weights or {}).keys() - labels.keys()) if labels else ():
        problems.add(
            folder / WEIGHTS,
            prefix,
            f"{VARIABLES} has no column with this name. Fix: delete the column, or correct its name.",
        )
    return pools


def _weight(path: Path, prefix: str, line: int, text: str, problems: Problems) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not (0 < weight < math.inf):
        fix = f"write {text.replace(',', '.')}" if "," in text else "correct the weight"
        problems.add(path, f"{prefix}, line {line}", f"the weight `{text}` is not a number greater than 0. Fix: {fix}.")
        return 1.0
    return weight


def _check_labels(path: Path, column: str, cells: list[tuple[int, str]], problems: Problems) -> None:
    seen: dict[str, int] = {}
    for line, label in cells:
        if label.casefold() in seen:
            sentence = (
                f"the label `{label}` is also in line {seen[label.casefold()]}. Fix: delete one of the two labels."
            )
            problems.add(path, f"{column}, line {line}", sentence)
        seen.setdefault(label.casefold(), line)
        if "{" in label or "}" in label:
            problems.add(
                path, f"{column}, line {line}", f"the label `{label}` contains a brace. Fix: delete the brace."
            )


def _attribute_table(
    path: Path, first: str, columns: Mapping[str, list[tuple[int, str]]] | None, problems: Problems
) -> AttributeTable:
    if columns is None:  # The missing table is reported already.
        return AttributeTable()
    _check_labels(path, first, columns[first], problems)
    label_on = dict(columns[first])
    rows: dict[str, dict[str, AttributeValue]] = {label: {} for label in label_on.values()}
    for attribute, cells in columns.items():
        if attribute == first:
            continue
        has_truth = any(text.lower() in {"true", "false"} for _, text in cells)
        has_truth |= any(isinstance(attribute_value(text), bool) for _, text in cells) and not all(
            text.replace(".", "", 1).isdigit() for _, text in cells
        )
        for line, text in cells:
            if has_truth and not isinstance(attribute_value(text), bool):
                problems.add(
                    path, f"{attribute}, line {line}", f"`{text}` is not True, False, 0 or 1. Fix: correct the cell."
                )
            if line in label_on:
                rows[label_on[line]][attribute] = attribute_value(text)
            else:
                problems.add(
                    path, f"{attribute}, line {line}", ("the line has attributes but no label. Fix: add a label.")
                )
    return AttributeTable(rows, frozenset(columns.keys() - {first}))


def _demands(
    path: Path, columns: Mapping[str, list[tuple[int, str]]] | None, problems: Problems
) -> tuple[dict[str, dict[str, int]], tuple[str, ...]]:
    if columns is None:  # The missing table is reported already.
        return {}, ()
    name_on = {
        line: demand_name(name) for line, name in columns["inference_component"] if not name.startswith("canary")
    }
    for line, name in name_on.items():
        if list(name_on.values()).index(name) != list(name_on).index(line):
            problems.add(path, f"line {line}", f"two rows have the demand `{name}`. Fix: delete one of the rows.")
    dimensions = tuple(name for name in columns if name != "inference_component")
    demands = {name: dict.fromkeys(dimensions, 0) for name in name_on.values()}
    for line, dimension, text in _cells(columns, dimensions):
        value = attribute_value(text)
        if line in name_on and isinstance(value, bool):
            demands[name_on[line]][dimension] = int(value)
        elif line in name_on:
            problems.add(path, f"{dimension}, line {line}", f"`{text}` is not 0 or 1. Fix: correct the cell.")
    return demands, dimensions


def _cells(columns: Mapping[str, list[tuple[int, str]]], names: tuple[str, ...]) -> Iterator[tuple[int, str, str]]:
    return ((line, name, text) for name in names for line, text in columns[name])
