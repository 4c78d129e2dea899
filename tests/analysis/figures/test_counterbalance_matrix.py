import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from analysis.figures import counterbalance_counts, counterbalance_matrix
from batteries.errors import InputError
from tests.analysis.figures.layout import texts
from tests.analysis.figures.tables import LONG_LEVELS

CELLS = [(condition, level) for condition in "AB" for level in (0, 2, 3)]


def square(n_rows=12, n_groups=6, cells=CELLS, per_group=9, versions=1, kind="human", rows=None):
    """Return the trials of a cyclic Latin square; one participant of group 1 is excluded."""
    trials = [
        (kind, f"{group}-{person}", "test", group, f"i{row}-{cell}", rows[row] if rows else row + 1, *cells[cell],
         "median_rt" if (group, person) == (1, 0) else None)
        for group in range(1, n_groups + 1) for person in range(per_group) for row in range(n_rows)
        for version in range(versions)
        for cell in [(group - 1 - row + version * len(cells) // versions) % len(cells)]
    ]  # fmt: skip
    columns = ["kind", "participant", "phase", "group", "item_id", "scenario", "condition", "level", "excluded_by"]
    return pd.DataFrame(trials, columns=columns)


def matrix(trials, factors=("scenario", "condition", "level")):
    return counterbalance_matrix(counterbalance_counts(trials, list(factors)), "a")


def test_each_group_has_each_row_in_one_condition(readable):
    drawing = readable(matrix(square()))
    counts = drawing.data
    assert len(counts) == 12 * 6
    assert (counts.groupby(["scenario", "condition", "level"])["group"].nunique() == 1).all(), "a Latin square"
    assert counts.query("group == 1")["n_trials"].eq(8).all(), "one participant of group 1 was left out"
    assert counts.query("group != 1")["n_trials"].eq(9).all()
    words = texts(drawing)
    assert words.count("A·0") == 12
    assert words.count("8") >= 12


def test_the_numbers_of_participants_in_the_analysis_are_above_the_groups(readable):
    description = readable(matrix(square())).description
    assert "53\u00a0participants in the analysis (group 1: 8, group 2: 9," in description
    assert "has 8 to 9 responses over all groups" in description


def test_a_participant_in_two_groups_is_counted_in_both_and_is_one_participant(readable):
    trials = square(per_group=2).assign(excluded_by=None)
    trials["participant"] = trials["participant"].replace({"1-0": "again", "2-0": "again"})
    description = readable(matrix(trials)).description
    assert "11\u00a0participants in the analysis (group 1: 2, group 2: 2," in description
    assert "group 6: 2; a participant in several groups is counted in each group)" in description


def test_two_versions_share_a_cell(readable):
    words = texts(readable(matrix(square(versions=2))))
    assert words.count("A·0") == 24


def test_a_condition_that_lost_all_its_responses_is_described(readable):
    trials = square()
    trials.loc[trials["group"] == 2, "excluded_by"] = "median_rt"
    drawing = readable(matrix(trials))
    assert drawing.data.query("group == 2")["n_trials"].eq(0).all()
    assert "group 2: 0" in drawing.description
    assert "12\u00a0assigned cells have no response" in drawing.description


def test_names_that_do_not_fit_are_letters_with_a_key(readable):
    cells = [
        (f"{which} question", f"{text} text") for which in ("control", "inference") for text in ("explanatory", "no")
    ]
    drawing = readable(matrix(square(12, 4, cells, rows=LONG_LEVELS[:12])))
    assert "a: control question·explanatory text" in " ".join(texts(drawing))


@pytest.mark.parametrize(("n_rows", "n_groups"), [(1, 1), (36, 6), (6, 24)])
def test_small_and_large_squares_can_be_read(n_rows, n_groups, readable):
    readable(matrix(square(n_rows, n_groups, [(c, n) for c in "ABCD" for n in range(3)], per_group=2)))


def test_conditions_that_do_not_fit_are_counted_together(readable):
    trials = square(12, 24, [(c, n) for c in "ABCD" for n in (1, 2, 3)], per_group=120)
    words = texts(readable(matrix(trials, ["condition", "scenario", "level"])))
    assert "×3" in words


def test_without_two_factors_only_numbers_are_shown(readable):
    assert set(readable(matrix(square(), ["condition"])).data.columns) == {
        "condition", "group", "n_participants", "n_trials",
    }  # fmt: skip
    words = texts(readable(matrix(square(3, 2, CELLS[:2]), [])))
    assert words.count("–") == 6, "an item that a group did not see"


def test_an_item_without_a_level_is_in_a_separate_row(readable):
    trials = square(4, 2, CELLS[:2])
    trials.loc[trials["scenario"] == 2, ["scenario", "level"]] = np.nan
    assert "(not set)" in texts(readable(matrix(trials)))


def test_people_and_simulated_participants_are_never_combined(readable):
    both = pd.concat([square(), square(kind="simulated", n_groups=3)])
    drawing = readable(matrix(both))
    assert drawing.title.endswith("(people)")
    assert drawing.data["n_trials"].max() == 9
    assert readable(matrix(square(kind="simulated"))).title.endswith("(simulated participants)")


def test_without_groups_or_with_too_many_there_is_no_figure():
    assert matrix(square().assign(group=np.nan)) is None
    assert matrix(square(kind="model")) is None
    assert matrix(square(37, 2, CELLS[:2])) is None
    assert matrix(square(1, 25)) is None


def test_trials_before_the_exclusions_are_refused():
    with pytest.raises(InputError, match="excluded_by"):
        matrix(square().drop(columns="excluded_by"))


def test_each_condition_is_in_the_row_and_column_of_its_group(readable):
    drawing = readable(matrix(square(3, 2, [("P", 1), ("Q", 1)]), ["scenario", "condition"]))
    figure = readable.figure
    placed = [
        (text.get_text(), *text.get_transform().transform(text.get_position()).round(3))
        for text in figure.findobj(Text)
    ]
    numbers = [(word, x, y) for word, x, y in placed if word in {"1", "2"}]
    group_of = {x: int(word) for word, x, y in numbers if y == max(y for _, _, y in numbers)}
    rows = sorted({y for word, _, y in placed if word in {"P", "Q"}}, reverse=True)
    seen = {(rows.index(y) + 1, group_of[x], word) for word, x, y in placed if word in {"P", "Q"}}
    assert seen == set(drawing.data[["scenario", "group", "condition"]].itertuples(index=False, name=None))
