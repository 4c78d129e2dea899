"""Writing a battery's file item by item, so that a million instances need no more memory than one."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from batteries.canonical_json import canonical_json
from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.items import BatteryHeader, Item
from batteries.vignettes.published_csv import write_published_csv

SUFFIXES = (".jsonl", ".csv")


def write_battery(
    header: BatteryHeader,
    items: Iterable[Item],
    dimensions: Iterable[str],
    path: Path,
    on_item: Callable[[], None] = lambda: None,
) -> None:
    """Write a battery as JSON Lines, or as CSV with the published columns, depending on the file's suffix.

    The file is complete or absent; a file of the same name is replaced.

    Parameters
    ----------
    header
        Metadata of the battery. CSV has no field for metadata.
    items
        The items.
    dimensions
        Dimensions of the demand table, columns of the CSV.
    path
        The file, `.jsonl` or `.csv`.
    on_item
        Called after each item, for a progress bar.

    Raises
    ------
    InputError
        If the file has another suffix, or cannot be written.
    """
    check_output(path)

    def counted() -> Iterator[Item]:
        for item in items:
            yield item
            on_item()

    with atomic_write(path) as file:
        if path.suffix == ".csv":
            write_published_csv(counted(), dimensions, file)
        else:
            fields = header.model_dump(mode="json", include=set(BatteryHeader.model_fields))
            file.write(canonical_json(fields).decode() + "\n")
            file.writelines(_line(item) for item in counted())


def check_output(path: Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Raise an InputError before any work is done, if the file cannot be written."""
    if path.suffix not in suffixes:
        raise InputError(
            f"{path}: batteries are written as {' or '.join(suffixes)}. Fix: give the file one of these suffixes."
        )
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist. Fix: make the folder.")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder. Fix: name a file.")


def _line(item: Item) -> str:
    """Return the canonical JSON of an item, with a line end.

    For the numbers of an item, `json.dumps` also writes canonical JSON, and is faster (`benchmarks/vignettes.py`).
    """
    fields = {
        "content": item.content,
        "factors": item.factors,
        "item_id": item.item_id,
        "key": item.key,
        "task": item.task,
    }
    if item.clean is not None:
        fields["clean"] = item.clean
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n"
