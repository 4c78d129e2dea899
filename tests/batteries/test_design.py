from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.design import Deal, LatinSquare, assign_groups
from batteries.errors import InputError
from batteries.items import Item
from experiment.study.definition import Study


def item(item_id: str, **factors: str | int) -> Item:
    return Item(item_id=item_id, task="multiple_choice", factors=factors, content={}, key=1)


def square(n_rows: int, n_conditions: int, n_levels: int) -> list[Item]:
    return [
        item(f"{row}-{condition}-{level}", scenario=row, condition=condition, level=level)
        for row, condition, level in product(range(n_rows), range(n_conditions), range(n_levels))
    ]


@given(st.integers(1, 24), st.integers(1, 4), st.integers(1, 4), st.randoms())
def test_a_latin_square_gives_each_row_once_to_each_group_and_balances_the_cells(
    n_rows: int, n_conditions: int, n_levels: int, rng: object
) -> None:
    items = square(n_rows, n_conditions, n_levels)
    n_cells = n_conditions * n_levels
    if len(items) < n_cells:
        return
    rng.shuffle(items)  # type: ignore[attr-defined]
    design = LatinSquare(method="latin_square", groups=n_cells, rows=("scenario",), cells=("condition", "level"))
    groups = assign_groups(items, design)

    assert groups.keys() == {item.item_id for item in items}  # every cell in exactly one group
    in_group_and_row = Counter((groups[i.item_id], i.factors["scenario"]) for i in items)
    assert set(in_group_and_row.values()) == {1}
    assert len(in_group_and_row) == n_rows * n_cells
    cells = Counter((groups[i.item_id], i.factors["condition"], i.factors["level"]) for i in items)
    per_cell = [cells[g, c, v] for g in range(1, n_cells + 1) for c in range(n_conditions) for v in range(n_levels)]
    assert max(per_cell) - min(per_cell) <= 1  # within a group; equal when the rows are a multiple of the cells
    if n_rows % n_cells == 0:
        assert len(set(per_cell)) == 1


def test_group_g_sees_cell_g_minus_1_minus_s() -> None:
    design = LatinSquare(method="latin_square", groups=6, rows=("scenario",), cells=("condition", "level"))
    items = square(12, 2, 3)
    groups = assign_groups(items, design)
    for one in items:
        scenario, condition, level = one.factors["scenario"], one.factors["condition"], one.factors["level"]
        assert isinstance(scenario, int)
        assert isinstance(condition, int)
        assert isinstance(level, int)
        assert condition * 3 + level == (groups[one.item_id] - 1 - scenario) % 6


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=120), st.integers(1, 15))
def test_a_deal_balances_group_sizes_and_the_first_factor_to_one_item(
    levels: list[tuple[int, int]], n_groups: int
) -> None:
    items = [item(f"item-{n}", first=first, second=second) for n, (first, second) in enumerate(levels)]
    if len(items) < n_groups:
        return
    groups = assign_groups(items, Deal(method="deal", groups=n_groups, balance=("first", "second")))
    assert groups.keys() == {item.item_id for item in items}
    sizes = Counter(groups.values())
    assert max(sizes.values()) - min(sizes[g] for g in range(1, n_groups + 1)) <= 1
    for level in range(5):
        shares = Counter(groups[i.item_id] for i in items if i.factors["first"] == level)
        counts = [shares[g] for g in range(1, n_groups + 1)]
        assert max(counts) - min(counts) <= 1


def test_the_order_of_the_items_does_not_matter(sample_study: Study) -> None:
    items = sample_study.test_items
    assert assign_groups(reversed(items), sample_study.definition.design) == sample_study.groups


def test_the_sample_study_has_ten_balanced_groups(sample_study: Study) -> None:
    assert sorted(Counter(sample_study.groups.values()).values()) == [23] * 5 + [24] * 5
    for factor, most_apart in {"outcome": 1, "configuration": 2, "entry_side": 4}.items():
        shares = Counter((sample_study.groups[i.item_id], i.factors[factor]) for i in sample_study.test_items)
        for level in {i.factors[factor] for i in sample_study.test_items}:
            counts = [shares[group, level] for group in range(1, 11)]
            assert max(counts) - min(counts) <= most_apart, (factor, level, counts)


@pytest.mark.parametrize(
    ("items", "design", "message"),
    [
        (square(2, 2, 1)[:-1], {"cells": ["condition"], "groups": 2}, "row `scenario 1` has 1 items"),
        (square(2, 2, 1), {"cells": ["condition"], "groups": 3}, "3 groups but 2 cells"),
        (
            square(2, 2, 1),
            {"cells": ["colour"], "groups": 2},
            "lacks the factor 'colour'.*The item's factors: condition, level",
        ),
        (square(1, 1, 1), {"cells": ["condition"], "groups": 2}, "2 groups but only 1 test items"),
    ],
)
def test_a_design_that_does_not_fit_is_refused(items: list[Item], design: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        assign_groups(items, LatinSquare.model_validate({"method": "latin_square", "rows": ["scenario"], **design}))


def human_battery(n_conditions: int, levels: tuple[int, ...]) -> list[Item]:
    """Return the items of the published human experiments: 12 scenarios in two versions, in every cell once."""
    return [
        item(
            f"{scenario}{version}-{condition}-{level}",
            scenario=scenario,
            version=version,
            condition=condition,
            level=level,
        )
        for scenario, version, condition, level in product(range(12), "AB", "ABCD"[:n_conditions], levels)
    ]


HUMAN_DESIGNS = [
    pytest.param(2, (0, 2, 3), True, id="single, versions offset"),
    pytest.param(2, (0, 2, 3), False, id="single, as published"),
    pytest.param(4, (1, 2, 3), True, id="double, versions offset"),
    pytest.param(4, (1, 2, 3), False, id="double, as published"),
]


@pytest.mark.parametrize(("n_conditions", "levels", "offset"), HUMAN_DESIGNS)
def test_the_human_designs_keep_every_balance_that_was_published(
    n_conditions: int, levels: tuple[int, ...], offset: bool
) -> None:
    items = human_battery(n_conditions, levels)
    n_groups = n_conditions * len(levels)
    design = LatinSquare(
        method="latin_square",
        groups=n_groups,
        rows=("scenario",),
        versions="version",
        offset_versions=offset,
        cells=("condition", "level"),
    )
    groups = assign_groups(items, design)
    assert (
        sorted(set(groups.values())) == list(range(1, n_groups + 1)) == list(range(1, (6, 12)[n_conditions == 4] + 1))
    )
    assert groups.keys() == {one.item_id for one in items}  # every story in every cell is seen by exactly one group
    for group in range(1, n_groups + 1):
        seen = [one for one in items if groups[one.item_id] == group]
        assert len(seen) == 24
        stories = Counter((one.factors["scenario"], one.factors["version"]) for one in seen)
        assert len(stories) == 24  # each story once
        # Conditions and levels are balanced within the group, in all their combinations and within each version.
        for factors, times in ((("condition", "level"), 24), (("version", "condition", "level"), 12)):
            counts = Counter(tuple(one.factors[factor] for factor in factors) for one in seen)
            assert set(counts.values()) == {times // n_groups}
        pairs = {
            scenario: [one.factors["condition"] for one in seen if one.factors["scenario"] == scenario]
            for scenario in range(12)
        }
        same = sum(one == other for one, other in pairs.values())
        assert same == (0 if offset else 12)  # offset: no participant sees a scenario twice in one condition


def test_the_published_design_gives_both_versions_cell_g_minus_1_minus_s() -> None:
    design = LatinSquare(
        method="latin_square",
        groups=12,
        rows=("scenario",),
        versions="version",
        offset_versions=False,
        cells=("condition", "level"),
    )
    items = human_battery(4, (1, 2, 3))
    groups = assign_groups(items, design)
    for one in items:
        cell = "ABCD".index(str(one.factors["condition"])) * 3 + (1, 2, 3).index(int(one.factors["level"]))
        scenario = one.factors["scenario"]
        assert isinstance(scenario, int)
        assert cell == (groups[one.item_id] - 1 - scenario) % 12


def test_a_missing_version_is_named() -> None:
    items = [one for one in human_battery(2, (0, 2, 3)) if one.item_id != "3B-A-2"]
    design = LatinSquare(
        method="latin_square", groups=6, rows=("scenario",), versions="version", cells=("condition", "level")
    )
    with pytest.raises(InputError, match="row `scenario 3, version B` has 5 items in 5 different cells"):
        assign_groups(items, design)
