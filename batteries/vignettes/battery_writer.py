"""Writing of a battery item by item, so that a battery of a million items needs little memory."""

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
    """Write a battery as JSON Lines (`.jsonl`), or as CSV with the columns of the published batteries (`.csv`).

    The new file appears only when it is complete. An earlier file with this name is replaced.

    Parameters
    ----------
    header
        Metadata of the battery. A CSV file does not contain metadata.
    items
        The items.
    dimensions
        Dimensions of the demand table, which become columns of the CSV.
    path
        The file, `.jsonl` or `.csv`.
    on_item
        Function that is called after each item, for example for a progress bar.

    Raises
    ------
    InputError
        If the file's name does not end in `.jsonl` or `.csv`, or if the file cannot be written.
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
    """Raise an InputError if a battery cannot be written to `path`. Call this function before the work begins."""
    if path.suffix not in suffixes:
        raise InputError(f"{path}: the file's name must end in {' or '.join(suffixes)}. Fix: correct the file's name.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist. Fix: create this folder.")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder, not a file. Fix: choose the name of a file.")


def _line(item: Item) -> str:
    """Return the canonical JSON of an item, with a line end.

    `json.dumps` is faster than `canonical_json` (`benchmarks/vignettes.py`). For the numbers in these items, both
    functions write the same text.
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
