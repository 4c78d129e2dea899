import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from analysis.figures import item_scatter
from analysis.statistics.agreement_measures import pearson
from analysis.statistics.intervals import wilson
from tests.analysis.figures.layout import segments, texts
from tests.analysis.figures.tables import LONG_NAMES


def items(n, n_people=9, n_model=5):
    rng = np.random.default_rng(4)
    people = rng.binomial(n_people, rng.beta(3, 1.5, n)) / n_people
    model = rng.binomial(n_model, np.clip(people + rng.normal(0, 0.1, n), 0, 1)) / n_model
    return pd.DataFrame({"item_id": [f"i{position}" for position in range(n)], "accuracy_people": people,
                         "n_people": n_people, "accuracy_model": model, "n_model": n_model})  # fmt: skip


def test_the_correlation_and_its_interval_are_those_of_the_table(readable):
    table = items(24)
    drawing = readable(item_scatter(table, "a", "people", "gpt-4o"))
    found = pearson(table["accuracy_people"].to_numpy(), table["accuracy_model"].to_numpy(), 0.95)
    assert found.value == pytest.approx(pearsonr(table["accuracy_people"], table["accuracy_model"]).statistic)
    low, high = found.interval
    sentence = f"Pearson's r = {found.value:.2f}, 95\u00a0% CI [{low:.2f}, {high:.2f}]"
    assert sentence in drawing.description
    assert sentence.split(",", maxsplit=1)[0] in " ".join(texts(drawing))
    assert {"people: percent correct", "gpt-4o: percent correct"} <= set(texts(drawing))


def test_the_data_contain_wilsons_intervals(readable):
    drawing = readable(item_scatter(items(5), "a", "people", "gpt-4o"))
    row = drawing.data.iloc[0]
    assert (row["ci_low_people"], row["ci_high_people"]) == pytest.approx(wilson(row["accuracy_people"] * 9, 9))


def test_the_description_counts_items_by_the_higher_accuracy(readable):
    table = items(4).assign(accuracy_people=[1, 0.5, 0.5, 0.2], accuracy_model=[0, 0.5, 1, 1])
    drawing = readable(item_scatter(table, "a", "people", "gpt-4o"))
    assert "Items with a higher accuracy of people: 1; of gpt-4o: 2; with equal accuracies: 1." in drawing.description


def test_items_at_the_same_position_are_one_disc_without_jitter(readable):
    table = items(6).assign(accuracy_people=0.5, accuracy_model=[0, 0, 0, 1, 1, 1])
    drawing = readable(item_scatter(table, "a", "people", "gpt-4o"))
    assert "number of items at the same position" in " ".join(texts(drawing))
    assert "no correlation, because one accuracy is constant" in drawing.description
    both = readable(item_scatter(table.assign(accuracy_model=1.0), "a", "people", "gpt-4o"))
    assert "no correlation, because both accuracies are constant" in both.description


@pytest.mark.parametrize("n", [1, 3, 144, 2000])
@pytest.mark.parametrize("n_model", [1, 7])
def test_any_number_of_items_can_be_read(n, n_model, readable):
    readable(item_scatter(items(n, n_model=n_model), "a", LONG_NAMES[3], LONG_NAMES[2] * 2))


def test_a_perfect_correlation_is_drawn(readable):
    table = items(30).assign(accuracy_model=lambda rows: rows["accuracy_people"])
    assert "r = 1.00" in readable(item_scatter(table, "a", "people", "gpt-4o")).description


def test_items_without_responses_of_both_subjects_are_counted_and_not_drawn(readable):
    table = items(10)
    table.loc[:2, "accuracy_model"] = np.nan
    drawing = readable(item_scatter(table, "a", "people", "gpt-4o"))
    assert "Not drawn: 3\u00a0items that lack the accuracy of one or both subjects." in drawing.description
    assert len(drawing.data) == 7
    assert item_scatter(table.assign(accuracy_model=np.nan), "a", "people", "gpt-4o") is None


def test_discs_lie_at_the_accuracies_and_their_areas_are_the_numbers_of_items(readable):
    table = items(5).assign(accuracy_people=[0.2, 0.2, 0.2, 0.9, 0.9], accuracy_model=[0.4, 0.4, 0.4, 0.1, 0.8])
    readable(item_scatter(table, "a", "people", "gpt-4o"))
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
