"""The design: the rules that assign each item to exactly one counterbalance group.

`latin_square` is for batteries in which every scenario has one item in every cell. `deal` is for all other batteries.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from batteries.errors import InputError
from batteries.items import Item, Level


class _Design(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: int = Field(ge=1, le=1000, description="Number of counterbalance groups.")


def _refuse_twice(factors: tuple[str, ...]) -> None:
    for factor, count in Counter(factors).items():
        if count > 1:
            raise ValueError(f"the factor {factor} appears {count} times. Fix: name each factor once.")


class LatinSquare(_Design):
    """Cyclic Latin square: each group sees each row once, and sees the cells equally often.

    A row is, for example, a scenario. A cell is a combination of levels, such as condition B with inference level 2.
    Let K be the number of groups. Every row must have exactly one item in each of K cells. Rows and cells are numbered
    from 0, and groups from 1. In row r, group g sees cell (g - 1 - r) mod K. So each item is in exactly one group. In
    any K consecutive rows, a group sees each cell once.

    If rows have V versions, each group sees all versions of each row. Let s be K / V, rounded down. For version v (from
    0), v times s is added to the number of the cell, modulo K. So no participant sees two versions of a row in the same
    cell. With `offset_versions: false`, s is 0. Then a group sees all versions of a row in the same cell, as in the
    published vignette experiments (Prunty et al., 2025).
    """

    method: Literal["latin_square"]
    rows: tuple[str, ...] = Field(min_length=1, description="Factors whose levels are the rows, such as [scenario].")
    cells: tuple[str, ...] = Field(
        min_length=1, description="Factors whose combined levels are the cells, such as [condition, inference_level]."
    )
    versions: str | None = Field(
        default=None,
        description="Factor whose levels are the versions of a row, such as `version`. Each group sees all versions.",
    )
    offset_versions: bool = Field(
        default=True,
        description=(
            "If true, a group sees the versions of a row in different cells. If false, a group sees the versions of a "
            "row in the same cell."
        ),
    )

    @model_validator(mode="after")
    def _each_factor_once(self) -> "LatinSquare":
        _refuse_twice(self.rows + self.cells + ((self.versions,) if self.versions else ()))
        return self


class Deal(_Design):
    """Design that assigns the items in rounds, so that the groups are as similar as possible.

    In every round, each group gets one item. Within a round, an item goes to the group that has the fewest items with
    the same levels of the factors in `balance`. The first factor of `balance` counts most. The sizes of two groups
    differ by at most one item. For each level of the first factor, the numbers of items in two groups also differ by at
    most one. The other factors are balanced as far as the rounds permit. Use this design if the scenarios have
    different numbers of items, so that a Latin square is not possible.
    """

    method: Literal["deal"]
    balance: tuple[str, ...] = Field(
        min_length=1, description="Factors whose levels are spread evenly over the groups, most important first."
    )

    @model_validator(mode="after")
    def _each_factor_once(self) -> "Deal":
        _refuse_twice(self.balance)
        return self


Design = Annotated[LatinSquare | Deal, Field(discriminator="method")]


def assign_groups(items: Iterable[Item], design: LatinSquare | Deal) -> dict[str, int]:
    """Return the group (from 1) of every item, by item id. The order of `items` does not matter.

    Raises
    ------
    InputError
        If an item lacks a factor of the design, or if there are fewer items than groups. Also if a row of a Latin
        square does not have exactly one item in each cell.
    """
    items = sorted(items, key=lambda item: item.item_id)
    if len(items) < design.groups:
        raise InputError(
            f"the design has {design.groups} groups but only {len(items)} test items. Fix: use fewer groups."
        )
    return _latin_square(items, design) if isinstance(design, LatinSquare) else _deal(items, design)


def levels_of(item: Item, factors: Iterable[str]) -> tuple[Level, ...]:
    """Return the item's levels of `factors`. Raise an InputError if the item lacks one of these factors."""
    try:
        return tuple(item.factors[factor] for factor in factors)
    except KeyError as error:
        known = ", ".join(sorted(item.factors)) or "none"
        raise InputError(
            f"the item `{item.item_id}` lacks the factor {error}, which the study uses for the groups or the order of "
            f"trials. The item's factors: {known}. Fix: add the factor to the item, or correct the factor's name."
        ) from None


def _strata(items: Iterable[Item], factors: tuple[str, ...]) -> dict[tuple[Level, ...], list[Item]]:
    """Return the items of each combination of levels of `factors`. The combinations are sorted by level."""
    strata = defaultdict(list)
    for item in items:
        strata[levels_of(item, factors)].append(item)
    return dict(sorted(strata.items(), key=lambda stratum: [natural_order(level) for level in stratum[0]]))


def natural_order(level: Level) -> tuple[bool, float, str]:
    """Return a sort key for levels: first numbers by value, then texts by Unicode code point."""
    return (True, 0.0, level) if isinstance(level, str) else (False, float(level), "")


def _latin_square(items: list[Item], design: LatinSquare) -> dict[str, int]:
    cells = list(_strata(items, design.cells))
    if len(cells) != design.groups:
        raise InputError(
            f"the Latin square has {design.groups} groups but {len(cells)} cells ({' x '.join(design.cells)}). Fix: "
            f"write `groups: {len(cells)}`."
        )
    version_factor = (design.versions,) if design.versions else ()
    versions = list(_strata(items, version_factor))
    if design.offset_versions and len(versions) > design.groups:
        raise InputError(
            f"the factor {design.versions} has {len(versions)} levels, but there are only {design.groups} cells. So "
            "the versions of a row cannot all be in different cells. Fix: write `offset_versions: false`."
        )
    further = design.groups // len(versions) if design.offset_versions else 0
    groups = {}
    for row, (levels, in_row) in enumerate(_strata(items, design.rows).items()):
        by_version = _strata(in_row, version_factor)
        for version, version_levels in enumerate(versions):
            in_version = by_version.get(version_levels, [])
            by_cell = {levels_of(item, design.cells): item for item in in_version}
            if len(in_version) != len(cells) or len(by_cell) != len(cells):
                factors = zip(design.rows + version_factor, levels + version_levels, strict=True)
                name = ", ".join(f"{factor} {level}" for factor, level in factors)
                raise InputError(
                    f"the Latin square's row `{name}` has {len(in_version)} items in {len(by_cell)} different cells. "
                    f"Fix: give this row exactly one item in each of the {len(cells)} cells."
                )
            for cell, cell_levels in enumerate(cells):
                groups[by_cell[cell_levels].item_id] = (cell + row - version * further) % design.groups + 1
    return groups


def _deal(items: list[Item], design: Deal) -> dict[str, int]:
    groups: dict[str, int] = {}
    # For each group, from the first to the last: the number of items, and the number of items with a level.
    sizes = [0] * design.groups
    seen: defaultdict[tuple[str, Level], list[int]] = defaultdict(lambda: [0] * design.groups)
    for item in (item for stratum in _strata(items, design.balance).values() for item in stratum):
        counts = [sizes, *(seen[level] for level in zip(design.balance, levels_of(item, design.balance), strict=True))]
        *_, index = min(zip(*counts, range(design.groups), strict=True))
        groups[item.item_id] = index + 1
        for count in counts:
            count[index] += 1
    return groups
