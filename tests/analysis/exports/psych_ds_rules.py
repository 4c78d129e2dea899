"""A check of a folder by the rules of Psych-DS.

The rules are those in the schema of the official validator (https://github.com/psych-ds/psychds-validator, `src/setup/
defaultSchema.json`), written again. The official validator could not be installed from npm or PyPI.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from batteries.files.csv_files import long_cells

SCHEMA_ORG = "http://schema.org/"
IGNORE = ".psychdsignore"
DESCRIPTION = "dataset_description.json"
_DATA_FILE = re.compile(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv")
KEYWORDS = {"study", "site", "subject", "session", "task", "condition", "trial", "stimulus", "description"}
"""The official keywords in names of data files."""
REQUIRED = ("name", "description", "variableMeasured")
FOLDERS = {"data", "analysis", "results", "materials", "documentation", "products"}


def psych_ds_problems(folder: Path) -> list[str]:
    """Return a sentence for each rule of Psych-DS that a folder breaks. Warnings of Psych-DS are included.

    Parameters
    ----------
    folder
        The folder of a dataset.
    """
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"{DESCRIPTION}: missing, or not JSON ({error})."]
    data_files = sorted((folder / "data").rglob("*.csv"))
    problems = [*_missing_places(folder), *_unknown_files(folder)]
    if not data_files:
        problems.append("data: there is no CSV file.")
    for path in data_files:
        problems += [f"{path.relative_to(folder).as_posix()}: {problem}" for problem in _data_file(path, description)]
    return problems


def _missing_places(folder: Path) -> Iterator[str]:
    for names in (("README.md", "README.txt"), ("CHANGES.md", "CHANGES.txt"), (IGNORE,)):
        if not any((folder / name).is_file() for name in names):
            yield f"{names[0]}: recommended, but missing."
    if not (folder / "data").is_dir():
        yield "data: this folder is required."


def _unknown_files(folder: Path) -> Iterator[str]:
    ignore = folder / IGNORE
    ignored = set(ignore.read_text(encoding="utf-8").splitlines()) if ignore.is_file() else set()
    known = {DESCRIPTION, IGNORE, "README.md", "README.txt", "CHANGES.md", "CHANGES.txt", *FOLDERS, *ignored}
    yield from (f"{path.name}: not part of Psych-DS." for path in sorted(folder.iterdir()) if path.name not in known)


def _data_file(path: Path, description: Mapping[str, Any]) -> Iterator[str]:
    if not _DATA_FILE.fullmatch(path.name):
        yield "the name is not made of keywords, with `_data.csv` at the end."
    for part in path.name.split("_")[:-1]:
        if part.split("-")[0] not in KEYWORDS:
            yield f"`{part}` has a keyword that is not official."
    metadata = dict(description)
    for above in (path.with_name("file_metadata.json"), path.with_suffix(".json")):
        if above.is_file():
            metadata |= json.loads(above.read_text(encoding="utf-8"))
    if metadata.get("@type") != "Dataset" or SCHEMA_ORG not in json.dumps(metadata.get("@context", "")):
        yield "the metadata are not a Dataset of schema.org."
    yield from (f"the metadata have no `{name}`." for name in REQUIRED if not metadata.get(name))
    measured = {each["name"] if isinstance(each, dict) else each for each in metadata.get("variableMeasured", [])}
    with path.open(encoding="utf-8", newline="") as file, long_cells():
        reader = csv.reader(file, strict=True)
        header = next(reader, [])
        if not any(header) or len(set(header)) < len(header):
            yield "the header is missing, or has a column twice."
        yield from (f"the column `{name}` is not in `variableMeasured`." for name in header if name not in measured)
        row_ids = set()
        for row in reader:
            if len(row) != len(header):
                yield f"line {reader.line_num} has {len(row)} cells, but the header has {len(header)}."
            elif "row_id" in header:
                row_id = row[header.index("row_id")]
                if row_id in row_ids:
                    yield f"line {reader.line_num}: `row_id` is not unique."
                row_ids.add(row_id)
