import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.text import Text

from analysis.figures import condition_by_subject
from analysis.figures.condition_by_subject import fill_of, ink_on
from analysis.figures.counterbalance import tint
from analysis.figures.drawing.sheet import inline
from tests.analysis.figures.layout import contrast, texts
from tests.analysis.figures.tables import LONG_LEVELS, accuracy_table, hard_table

SHARES = st.floats(0, 1)


def test_every_cell_shows_its_accuracy_and_its_interval(readable):
    table = accuracy_table(("gpt-4o",), condition=("A", "B"))
    words = texts(readable(condition_by_subject(table, "condition", "a", 0.25, 0.95)))
    for row in table.to_dict("records"):
        assert f"{100 * row['accuracy']:.0f}" in words
        assert f"{100 * row['ci_low']:.0f}–{100 * row['ci_high']:.0f}" in words
    assert "95\u00a0% CI" in " ".join(words)


@pytest.mark.parametrize("n_levels", [1, 3, 24])
@pytest.mark.parametrize("chance", [0, 0.25, 1])
def test_hard_tables_can_be_read(n_levels, chance, readable):
    drawing = readable(condition_by_subject(hard_table(level=LONG_LEVELS[:n_levels]), "level", "a", chance, 0.95))
    assert texts(drawing).count("no CI") == -(-12 * n_levels // 3)


def test_an_empty_cell_is_marked_as_empty(readable):
    table = accuracy_table(condition=("A", "B", None)).iloc[:-1]
    table.loc[0, "accuracy"] = np.nan
    assert texts(readable(condition_by_subject(table, "condition", "a", 0.25, 0.95))).count("–") == 2


def test_too_many_levels_are_for_a_table():
    assert condition_by_subject(accuracy_table(level=range(25)), "level", "a", 0.25, 0.95) is None
    assert condition_by_subject(accuracy_table(level=()), "level", "a", 0.25, 0.95) is None


@given(SHARES, SHARES)
def test_numbers_have_enough_contrast_to_every_fill(accuracy, chance):
    fill = fill_of(accuracy, chance)
    assert contrast(ink_on(fill), fill) >= 4.5


@given(st.integers(0, 50))
def test_numbers_have_enough_contrast_to_every_tint(position):
    assert contrast(ink_on(tint(position)), tint(position)) >= 4.5


def test_chance_is_white_and_values_above_and_below_chance_differ():
    assert fill_of(0.25, 0.25) == fill_of(0, 0) == fill_of(1, 1)
    assert len({fill_of(share, 0.25) for share in (0, 0.1, 0.25, 0.5, 1)}) == 5


def test_cells_look_the_same_on_a_dark_page():
    drawing = condition_by_subject(accuracy_table(condition=("A",)), "condition", "a", 0.5, 0.95)
    fills = {fill_of(share, 0.5) for share in accuracy_table(condition=("A",))["accuracy"]}
    page = inline(drawing.svg)
    assert all(fill in page for fill in fills)
    assert all(ink_on(fill) in page for fill in fills)


def test_each_number_is_in_its_row_and_column_on_its_colour(readable):
    table = accuracy_table(("gpt-4o",), condition=("B", "A")).assign(accuracy=[0.11, 0.22, 0.77, 0.88])
    readable(condition_by_subject(table, "condition", "a", 0.5, 0.95))
    figure = readable.figure
    position = {text.get_text(): text.get_transform().transform(text.get_position()) for text in figure.findobj(Text)}
    for row, (subject, condition) in zip(table["accuracy"], table[["subject", "condition"]].to_numpy(), strict=True):
        x, y = position[f"{100 * row:.0f}"]
        assert x == pytest.approx(position[condition][0])
        assert abs(y - position[subject][1]) < 10 * figure.dpi / 72
        (cell,) = [box for box in figure.axes[0].patches if box.get_window_extent().contains(x, y)]
        assert to_hex(cell.get_facecolor()) == fill_of(row, 0.5)
