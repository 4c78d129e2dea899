"""The test items of a study, found by a request's id, an item's id, factors, or the text of a vignette."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from batteries.errors import InputError
from batteries.items import Item
from batteries.vignettes.published_csv import vignette_text
from experiment.models.imports.replies import Problem, ProblemKind
from experiment.models.request_ids import RequestId
from experiment.study.definition import Study


@dataclass(frozen=True)
class FoundItem:
    """The item of the study that belongs to a reply."""

    position: int
    """Position in `StudyItems.items`."""
    request: RequestId | None
    """The parts of the request's id; None if the file contains only the id of the item."""


class StudyItems:
    """The test items of a study, with indexes to find an item."""

    def __init__(self, study: Study) -> None:
        self.items: list[Item] = study.test_items
        self.battery = study.battery
        self.study = study
        self._position = {item.item_id: position for position, item in enumerate(self.items)}
        self._prefix = study.battery.digest[:8]
        self._by_factors: dict[tuple[str, ...], dict[tuple[str, ...], list[str]]] = {}
        self._by_vignette: dict[str, list[str]] | None = None

    def find(self, line: int, request: str) -> FoundItem | Problem:
        """Return the item of a request, or a problem with the file's line `line`.

        `request` is the id of request or item.
        """
        position = self._position.get(request)
        if position is not None:
            return FoundItem(position, None)
        try:
            parts = RequestId.parse(request)
        except InputError:
            return Problem(line, ProblemKind.FOREIGN, "this study has no such request or item", request)
        if parts.battery != self._prefix:
            detail = f"digest {parts.battery}..."
            return Problem(line, ProblemKind.OTHER_BATTERY, detail, request, parts.battery)
        if parts.item_index >= len(self.battery.items):
            n = len(self.battery.items)
            return Problem(line, ProblemKind.UNKNOWN_ITEM, f"the battery has only {n} items", request)
        item_id = self.battery.items[parts.item_index].item_id
        if item_id not in self._position:
            return Problem(line, ProblemKind.UNKNOWN_ITEM, f"`{item_id}` is not a test item", request)
        return FoundItem(self._position[item_id], parts)

    def id_by_factors(self, levels: Mapping[str, str]) -> str | None:
        """Return the id of the only test item with these levels; None if none or several items have these levels."""
        names = tuple(sorted(levels))
        if names not in self._by_factors:
            index: dict[tuple[str, ...], list[str]] = defaultdict(list)
            for item in self.items:
                index[tuple(_level_text(item.factors.get(name, "")) for name in names)].append(item.item_id)
            self._by_factors[names] = index
        return _only(self._by_factors[names].get(tuple(_level_text(levels[name]) for name in names), []))

    def id_by_vignette(self, text: str) -> str | None:
        """Return the id of the only test item with this text, question and options; None if there is no such item."""
        if self._by_vignette is None:
            self._by_vignette = defaultdict(list)
            for item in self.items:
                if item.task == "multiple_choice":
                    self._by_vignette[_plain(vignette_text(item.content))].append(item.item_id)
        return _only(self._by_vignette.get(_plain(text), []))

    def has_vignette(self, item_id: str, text: str) -> bool:
        """Return True if an item of the battery has this text, question and options."""
        item = self.battery.by_id.get(item_id)
        return (
            item is not None and item.task == "multiple_choice" and _plain(vignette_text(item.content)) == _plain(text)
        )

    def unknown_factors(self, names: Iterable[str]) -> list[str]:
        """Return those names that are not factors of any test item."""
        known = {name for item in self.items for name in item.factors}
        return [name for name in names if name not in known]


def _only(ids: list[str]) -> str | None:
    return ids[0] if len(ids) == 1 else None


def _level_text(level: object) -> str:
    """Return a level as text. True, `true` and `TRUE` are the same level."""
    text = str(level).strip()
    return text.lower() if text.lower() in {"true", "false"} else text


def _plain(text: str) -> str:
    """Return a text without white space at line ends and around the text.

    Spreadsheet programs may change this space.
    """
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
