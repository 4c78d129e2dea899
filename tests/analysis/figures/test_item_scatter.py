import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy.stats import pearsonr

from analysis.figures import item_scatter
from analysis.figures.drawing.subject_styles import looks
from analysis.statistics.agreement_measures import pearson
from analysis.statistics.intervals import wilson
from tests.analysis.figures.layout import segments, texts
from tests.analysis.figures.tables import LONG_NAMES


def items(n, n_people=9, n_model=5, people="people", model="gpt-4o"):
    names = {"people": people, "model": model}
    rng = np.random.default_rng(4)
    of_people = rng.binomial(n_people, rng.beta(3, 1.5, n)) / n_people
    of_model = rng.binomial(n_model, np.clip(of_people + rng.normal(0, 0.1, n), 0, 1)) / n_model
    return pd.DataFrame({"item_id": [f"i{position}" for position in range(n)], **names, "accuracy_people": of_people,
                         "n_people": n_people, "accuracy_model": of_model, "n_model": n_model})  # fmt: skip


def test_the_correlation_and_its_interval_are_those_of_the_table(readable):
    table = items(24)
    drawing = readable(item_scatter(table, "a"))
    found = pearson(table["accuracy_people"].to_numpy(), table["accuracy_model"].to_numpy(), 0.95)
    assert found.value == pytest.approx(pearsonr(table["accuracy_people"], table["accuracy_model"]).statistic)
    low, high = found.interval
    sentence = f"Pearson's r = {found.value:.2f}, 95\u00a0% CI [{low:.2f}, {high:.2f}]"
    assert sentence in drawing.description
    assert f"r = {found.value:.2f} [{low:.2f}, {high:.2f}]" in texts(drawing)
    assert {"people:", "percent correct", "model: percent correct", "gpt-4o"} <= set(texts(drawing))


def test_the_data_contain_wilsons_intervals(readable):
    drawing = readable(item_scatter(items(5), "a"))
    row = drawing.data.iloc[0]
    assert (row["ci_low_people"], row["ci_high_people"]) == pytest.approx(wilson(row["accuracy_people"] * 9, 9))


def test_the_description_counts_items_by_the_higher_accuracy(readable):
    table = items(4).assign(accuracy_people=[1, 0.5, 0.5, 0.2], accuracy_model=[0, 0.5, 1, 1])
    drawing = readable(item_scatter(table, "a"))
    assert "Items with a higher accuracy of people: 1; of gpt-4o: 2; with equal accuracies: 1." in drawing.description


def test_items_at_the_same_position_are_one_disc_without_jitter(readable):
    table = items(6).assign(accuracy_people=0.5, accuracy_model=[0, 0, 0, 1, 1, 1])
    drawing = readable(item_scatter(table, "a"))
    assert "number of items at the same position" in " ".join(texts(drawing))
    assert "no correlation, because one accuracy is constant" in drawing.description
    both = readable(item_scatter(table.assign(accuracy_model=1.0), "a"))
    assert "no correlation, because both accuracies are constant" in both.description


@pytest.mark.parametrize("n", [1, 3, 144, 2000])
@pytest.mark.parametrize("n_model", [1, 7])
def test_any_number_of_items_can_be_read(n, n_model, readable):
    readable(item_scatter(items(n, n_model=n_model, people=LONG_NAMES[3], model=LONG_NAMES[2] * 2), "a"))


def test_a_perfect_correlation_is_drawn(readable):
    table = items(30).assign(accuracy_model=lambda rows: rows["accuracy_people"])
    assert "Pearson's r = 1.00" in readable(item_scatter(table, "a")).description


def test_a_correlation_that_rounds_to_zero_has_no_sign(readable):
    table = items(6).assign(accuracy_people=[0, 1, 0, 1, 0, 1], accuracy_model=[0, 0, 0.5, 0.5, 1, 0.99])
    assert "Pearson's r = 0.00" in readable(item_scatter(table, "a")).description


def test_items_without_responses_of_both_subjects_are_counted_and_not_drawn(readable):
    table = items(10)
    table.loc[:2, "accuracy_model"] = np.nan
    drawing = readable(item_scatter(table, "a"))
    assert "Not drawn: 3\u00a0items that lack the accuracy of one or both subjects." in drawing.description
    assert len(drawing.data) == 7
    assert item_scatter(table.assign(accuracy_model=np.nan), "a") is None


def test_discs_lie_at_the_accuracies_and_their_areas_are_the_numbers_of_items(readable):
    table = items(5).assign(accuracy_people=[0.2, 0.2, 0.2, 0.9, 0.9], accuracy_model=[0.4, 0.4, 0.4, 0.1, 0.8])
    readable(item_scatter(table, "a"))
    (axes,) = readable.figure.axes
    (discs,) = axes.collections
    sizes = {
        tuple(position): size for position, size in zip(discs.get_offsets().tolist(), discs.get_sizes(), strict=True)
    }
    assert set(sizes) == {(0.2, 0.4), (0.9, 0.1), (0.9, 0.8)}
    assert sizes[0.2, 0.4] == 3 * sizes[0.9, 0.1]
    assert (0, 0, 1, 1) in segments(axes), "the line on which both are the same"
    low, high = wilson(0.9 * 9, 9)
    assert (round(low, 6), 0.1, round(high, 6), 0.1) in segments(axes)


def of_runs(n_runs, n_items=40):
    """Return items at which people are at 20 % if the model is wrong, and at 80 % if the model is right."""
    is_right = np.arange(n_items) % 2 == 0
    return items(n_items, n_people=5, n_model=n_runs).assign(
        accuracy_model=is_right.astype(float), accuracy_people=np.where(is_right, 0.8, 0.2)
    )


@pytest.mark.parametrize("n_runs", [1, 2, 3])
def test_the_items_of_few_runs_are_bars_in_a_row_for_each_accuracy_of_the_model(n_runs, readable):
    drawing = readable(item_scatter(of_runs(n_runs), "a"))
    (axes,) = readable.figure.axes
    bars = {(round(bar.get_x(), 6), bar.get_y()) for bar in axes.patches if bar.get_width() < 1}
    assert bars == {(0.2, 0), (0.8, 1)}, "people at 20 % where the model is wrong, and at 80 % where it is right"
    means = {(x, y) for x, y, right, top in segments(axes) if x == right}
    assert means == {(0.2, 0), (0.8, 1)}
    assert texts(drawing).count("20") == 2, "the number of items in each row"
    assert "Vertical line: mean." in " ".join(texts(drawing))
    assert not axes.collections, "no discs on two lines"


def test_the_items_of_many_runs_are_discs(readable):
    readable(item_scatter(of_runs(4), "a"))
    (axes,) = readable.figure.axes
    assert len(axes.collections) == 1


def test_each_model_has_a_panel_in_its_own_colour(readable):
    names = ["gpt-4o, temperature 0", "gpt-4o, temperature 1", "o3-mini"]
    table = pd.concat([items(20, n_model=runs, model=name) for name, runs in zip(names, (1, 9, 2), strict=True)])
    styles = looks([("model", name) for name in names])
    drawing = readable(item_scatter(table, "a", styles=styles))
    words = texts(drawing)
    assert words.count("gpt-4o") == 2
    assert {"temperature 0", "temperature 1", "o3-mini"} <= set(words)
    rows, discs, others = readable.figure.axes
    colours = [to_hex(rows.patches[0].get_facecolor()), to_hex(discs.collections[0].get_facecolor()[0]),
               to_hex(others.patches[0].get_facecolor())]  # fmt: skip
    assert colours == [styles["model", name].colour.lower() for name in names]
    assert len(drawing.data) == 60


def test_thirteen_models_have_twelve_panels(readable):
    table = pd.concat([items(9, n_model=1, model=f"model {n}") for n in range(13)])
    drawing = readable(item_scatter(table, "a"))
    assert len(readable.figure.axes) == 12
    assert len(drawing.data) == 12 * 9
