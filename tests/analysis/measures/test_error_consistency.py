import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures import error_consistency as module
from analysis.measures.error_consistency import CONSISTENCY_COLUMNS, error_agreement
from analysis.statistics.agreement_measures import error_consistency
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=1_000)


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def answers(row, right, **who):
    return [
        row(trial_index=n, item_id=f"i{n}", response=1 if each else 2, **who)
        for n, each in enumerate(right)
        if each is not None
    ]


def matrix_of(seed, participants=7, items=16, shift=0.0):
    """Return each subject's correctness at each item; `shift` is how much the difficulty of items is shared."""
    rng = np.random.default_rng(seed)
    ease = np.clip(0.65 + shift * np.linspace(-1, 1, items), 0.02, 0.98)
    return rng.random((participants, items)) < ease


@pytest.fixture
def study(view, row):
    right, model = matrix_of(1), matrix_of(2, participants=1)[0]
    people = [answers(row, each, participant=f"P{n}") for n, each in enumerate(right)]
    return view(people, answers(row, model, kind="model", run="M")), right, model


COUNTS = ["n_participants", "n_pairs", "n_pairs_few_items", "n_pairs_always_right_or_wrong"]


def test_a_models_kappa_is_the_mean_over_participants(study):
    rows, right, model = study
    table = error_agreement(marked(rows), PLAN)
    assert table.columns.tolist() == CONSISTENCY_COLUMNS
    table = table.set_index("compared_with")
    each = [error_consistency(one, model) for one in right]
    line = table.loc["M"]
    assert line["kappa"] == pytest.approx(np.mean([one.kappa for one in each]))
    assert line["observed"] == pytest.approx(np.mean([one.observed for one in each]))
    assert line["expected"] == pytest.approx(np.mean([one.expected for one in each]))
    assert line["ci_low"] < line["kappa"] < line["ci_high"]
    assert line["n_items"] == 16
    assert line[COUNTS].tolist() == [7, 7, 0, 0]


def test_people_are_compared_with_each_other_in_pairs(study):
    rows, right, _ = study
    line = error_agreement(marked(rows), PLAN).set_index("compared_with").loc["each other"]
    pairs = [error_consistency(right[i], right[j]).kappa for i in range(7) for j in range(i)]
    assert line["kappa"] == pytest.approx(np.mean(pairs))
    assert line["n_pairs"] == 21
    assert line["ci_low"] < line["kappa"] < line["ci_high"]


def test_only_items_with_responses_of_both_count_and_other_items_are_reported(view, row):
    right, model = matrix_of(3), matrix_of(4, participants=1)[0].tolist()
    people = [answers(row, [*each[:14], None, each[15]], participant=f"P{n}") for n, each in enumerate(right)]
    rows = view(people, answers(row, [*model[:15], None], kind="model", run="M"))
    line = error_agreement(marked(rows), PLAN).iloc[1]
    assert (line["n_items"], line["n_items_only_model"], line["n_items_only_people"]) == (14, 1, 1)
    expected = [error_consistency(each[:14], model[:14]).kappa for each in right]
    assert line["kappa"] == pytest.approx(np.mean(expected))


def test_pairs_without_a_kappa_are_left_out_and_counted(view, row):
    """One participant responded to too few items; one made no error on items where the model made no error."""
    model = [1] * 12 + [0] * 4
    people = [
        answers(row, [1] * 5 + [None] * 11, participant="few"),
        answers(row, [1] * 12 + [None] * 4, participant="perfect"),
        *[answers(row, each, participant=f"P{n}") for n, each in enumerate(matrix_of(6, participants=4))],
    ]
    table = error_agreement(marked(view(people, answers(row, model, kind="model", run="M"))), PLAN)
    line = table.set_index("compared_with").loc["M"]
    assert line[COUNTS].tolist() == [4, 4, 1, 1]
    among_people = table.set_index("compared_with").loc["each other"]
    # `few` and `perfect` are in no pair with a kappa. Of the 15 pairs, 5 share too few items.
    assert among_people[COUNTS].tolist() == [4, 6, 5, 4]


def test_a_missing_kappa_has_a_reason(view, row):
    people = [answers(row, [1, 0, 1], participant=f"P{n}") for n in range(3)]
    table = error_agreement(marked(view(people, answers(row, [1, 0, 0], kind="model", run="M"))), PLAN)
    assert table["kappa"].isna().all()
    assert table["reason"].str.startswith("no pair shares 10 items").all()
    alike = [answers(row, [1] * 8 + [0] * 4, participant=f"P{n}") for n in range(3)]
    table = error_agreement(marked(view(alike, answers(row, [1] * 8 + [0] * 4, kind="model", run="M"))), PLAN)
    assert table["kappa"].tolist() == [pytest.approx(1), pytest.approx(1)]
    assert table["ci_low"].isna().all()
    assert table["reason"].str.endswith("too few participants, or their kappas do not differ").all()


@pytest.mark.parametrize(("response", "always"), [(1, "right"), (0, "wrong")])
def test_kappa_with_a_model_that_never_varies_is_not_defined(view, row, response, always):
    people = [answers(row, each, participant=f"P{n}") for n, each in enumerate(matrix_of(5))]
    rows = view(people, answers(row, [response] * 16, kind="model", run="M"))
    line = error_agreement(marked(rows), PLAN).set_index("compared_with").loc["M"]
    assert line[["observed", "expected", "kappa", "ci_low", "ci_high"]].isna().all()
    assert line[COUNTS].tolist() == [0, 0, 0, 7]
    assert line["reason"] == f"kappa is not defined, because the model is always {always}"


def test_a_participant_without_errors_has_no_kappa(view, row):
    right = matrix_of(5)
    right[0] = True
    model = matrix_of(2, participants=1)[0]
    rows = view([answers(row, each, participant=f"P{n}") for n, each in enumerate(right)],
                answers(row, model, kind="model", run="M"))  # fmt: skip
    table = error_agreement(marked(rows), PLAN).set_index("compared_with")
    assert table["n_pairs"].tolist() == [15, 6]
    assert table.loc["M", "kappa"] == pytest.approx(
        np.mean([error_consistency(each, model).kappa for each in right[1:]])
    )


def test_few_errors_give_a_kappa_without_an_interval(view, row):
    right = np.ones((5, 24))
    right[np.arange(5), [0, 1, 5, 9, 9]] = 0
    model = [0, 0, *[1] * 22]
    rows = view([answers(row, each, participant=f"P{n}") for n, each in enumerate(right)],
                answers(row, model, kind="model", run="M"))  # fmt: skip
    table = error_agreement(marked(rows), PLAN)
    assert table["kappa"].notna().all()
    assert table["ci_low"].isna().all()
    assert (table["reason"] == "no interval, because there are too few right or too few wrong responses").all()


def test_the_interval_of_a_models_kappa_is_that_of_a_mean(study):
    rows, right, model = study
    line = error_agreement(marked(rows), PLAN).set_index("compared_with").loc["M"]
    kappas = [error_consistency(one, model).kappa for one in right]
    expected = stats.ttest_1samp(kappas, 0).confidence_interval(0.95)
    assert (line["ci_low"], line["ci_high"]) == pytest.approx((expected.low, expected.high))


def test_the_interval_among_people_comes_from_the_jackknife(study):
    rows, right, _ = study
    line = error_agreement(marked(rows), PLAN).set_index("compared_with").loc["each other"]

    def mean_without(left_out):
        some = [i for i in range(7) if i != left_out]
        return np.mean([error_consistency(right[i], right[j]).kappa for i in some for j in some if i < j])

    without = np.array([mean_without(i) for i in range(7)])
    half = stats.t.ppf(0.975, 6) * np.sqrt(6 / 7 * ((without - without.mean()) ** 2).sum())
    assert (line["ci_low"], line["ci_high"]) == pytest.approx((line["kappa"] - half, line["kappa"] + half))


def test_people_with_the_same_hard_items_are_more_consistent_than_a_stranger(view, row):
    rng = np.random.default_rng(9)
    people = [answers(row, each, participant=f"P{n}") for n, each in enumerate(matrix_of(5, 20, 24, shift=0.34))]
    stranger = answers(row, rng.random(24) < 0.65, kind="model", run="stranger")
    alike = answers(row, np.linspace(-1, 1, 24) > -0.3, kind="model", run="alike")
    table = error_agreement(marked(view(people, stranger, alike)), PLAN).set_index("compared_with")
    assert table.index.tolist() == ["each other", "alike", "stranger"]
    assert table.loc["each other", "ci_low"] > 0
    assert table.loc["alike", "kappa"] > table.loc["each other", "kappa"]
    assert table.loc["stranger", "ci_low"] < 0.1


def test_from_many_participants_some_are_compared_with_each_other(study, monkeypatch):
    rows, _, _ = study
    whole = error_agreement(marked(rows), PLAN)
    monkeypatch.setattr(module, "MOST_PAIRED", 5)
    part = error_agreement(marked(rows), PLAN)
    assert part["n_participants"].tolist() == [5, 7]
    assert part.loc[0, "n_pairs"] == 10
    pd.testing.assert_series_equal(part.loc[1], whole.loc[1])


def test_kinds_of_people_are_compared_separately_and_without_models_people_with_each_other(view, row):
    fakes = [answers(row, each, participant=f"S{n}", kind="simulated") for n, each in enumerate(matrix_of(7))]
    people = [answers(row, each, participant=f"P{n}") for n, each in enumerate(matrix_of(8))]
    table = error_agreement(marked(view(fakes, people)), PLAN)
    assert table[["people", "compared_with"]].to_numpy().tolist() == [
        ["people", "each other"], ["simulated participants", "each other"]
    ]  # fmt: skip
    assert error_agreement(marked(view(answers(row, [1, 0], kind="model", run="M"))), PLAN).empty
