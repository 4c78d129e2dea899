"""Table 5 of the published human study of preferences read from a path (IR), from its data, row by row.

Every value in a test is one participant's mean of the strict score over the participant's trials in a cell. Only the
row "T2I on ZS" was printed from sums. The study tested three comparisons as if different people had responded, although
the same people did: zero-shot with one-shot, the three scene types, and the halves of the zero-shot questions.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.statistics.anova import one_way_anova
from analysis.statistics.corrections import benjamini_hochberg, holm
from analysis.statistics.t_tests import independent_t, paired_t

TYPES = {"Intermediate": "DIRECT", "Last": "FINAL", "Previsited": "TURN"}
ZERO, ONE = {"one_shot": 0}, {"one_shot": 1}
TEXT, IMAGE = {"text_or_image": "text"}, {"text_or_image": "image"}
INTERMEDIATE, LAST, PREVISITED = ({"scene_type": code} for code in TYPES.values())

T_TESTS = [
    # row, where, the column whose two levels are compared, t, p
    ("T2I on OS", ONE, "text_or_image", -0.2840, 0.7772),
    ("T2I on ZS and Intermediate", ZERO | INTERMEDIATE, "text_or_image", 1.4671, 0.1467),
    ("T2I on ZS and Last", ZERO | LAST, "text_or_image", 0.4507, 0.6536),
    ("T2I on ZS and Previsited", ZERO | PREVISITED, "text_or_image", -0.1441, 0.8858),
    ("T2I on OS and Intermediate", ONE | INTERMEDIATE, "text_or_image", -0.3633, 0.7182),
    ("T2I on OS and Last", ONE | LAST, "text_or_image", 0.5753, 0.5679),
    ("T2I on OS and Previsited", ONE | PREVISITED, "text_or_image", -0.8751, 0.3875),
    ("Z2O on Text", TEXT, "one_shot", -1.8633, 0.0664),
    ("Z2O on Text and Intermediate", TEXT | INTERMEDIATE, "one_shot", -0.6162, 0.5401),
    ("Z2O on Text and Last", TEXT | LAST, "one_shot", -1.5737, 0.1208),
    ("Z2O on Text and Previsited", TEXT | PREVISITED, "one_shot", -2.5089, 0.0150),
    ("Z2O on Image", IMAGE, "one_shot", -2.7387, 0.0078),
    ("Z2O on Image and Intermediate", IMAGE | INTERMEDIATE, "one_shot", -2.0984, 0.0407),
    ("Z2O on Image and Last", IMAGE | LAST, "one_shot", -1.2466, 0.2176),
    ("Z2O on Image and Previsited", IMAGE | PREVISITED, "one_shot", -3.1492, 0.0027),
    ("Warmup on ZS and Text", ZERO | TEXT, "question_index", -0.5853, 0.5601),
    ("Warmup on ZS and Image", ZERO | IMAGE, "question_index", -0.4107, 0.6825),
]
ANALYSES_OF_VARIANCE = [
    ("Types on Text and ZS", TEXT | ZERO, 6.8661, 0.0015),
    ("Types on Image and ZS", IMAGE | ZERO, 5.5072, 0.0053),
    ("Types on Text and OS", TEXT | ONE, 4.2459, 0.0184),
    ("Types on Image and OS", IMAGE | ONE, 9.9272, 0.0002),
]
LEVELS = {"text_or_image": ("text", "image"), "one_shot": (0, 1), "question_index": (0, 1)}
"""The mean of the first level minus the mean of the second level."""


@pytest.fixture(scope="module")
def answers(test_data: Path) -> pd.DataFrame:
    return pd.read_csv(test_data / "ir" / "human_answers.csv")


def per_participant(answers, where, summary="mean"):
    kept = answers
    for column, level in where.items():
        kept = kept[kept[column] == level]
    return kept.groupby("participant")["strict"].agg(summary).astype(float)


def compared(answers, where, factor, summary="mean"):
    return [per_participant(answers, where | {factor: level}, summary) for level in LEVELS[factor]]


def students_t(answers, where, factor, summary="mean"):
    first, second = compared(answers, where, factor, summary)
    return independent_t(first.to_numpy(), second.to_numpy(), equal_variances=True)


def types(answers, where):
    return one_way_anova(
        {name: per_participant(answers, where | {"scene_type": code}).to_numpy() for name, code in TYPES.items()}
    )


@pytest.mark.parametrize(("row", "where", "factor", "t", "p"), T_TESTS, ids=[row[0] for row in T_TESTS])
def test_a_published_t_test_is_reproduced(answers, row, where, factor, t, p):
    result = students_t(answers, where, factor)
    assert (round(result.statistic, 4), round(result.p_value, 4)) == (t, p)


def test_text_against_image_on_zero_shot_was_printed_from_sums(answers):
    sums = students_t(answers, ZERO, "text_or_image", "sum")
    assert (round(sums.statistic, 4), round(sums.p_value, 4)) == (0.7409, 0.4612)
    means = students_t(answers, ZERO, "text_or_image")
    assert (round(means.statistic, 4), round(means.p_value, 4)) == (0.6928, 0.4906)
    assert means.n == 74


@pytest.mark.parametrize(("row", "where", "f", "p"), ANALYSES_OF_VARIANCE, ids=[row[0] for row in ANALYSES_OF_VARIANCE])
def test_a_published_analysis_of_variance_is_reproduced(answers, row, where, f, p):
    result = types(answers, where)
    assert (round(result.statistic, 4), round(result.p_value, 4)) == (f, p)


@pytest.mark.parametrize(
    ("where", "n", "t", "p"), [(TEXT, 38, -2.8254, 0.0076), (IMAGE, 35, -4.0349, 0.0003)], ids=["text", "image"]
)
def test_zero_shot_against_one_shot_is_a_stronger_result_when_pairs_are_tested_as_pairs(answers, where, n, t, p):
    pairs = pd.concat(compared(answers, where, "one_shot"), axis="columns", join="inner").to_numpy()
    result = paired_t(pairs[:, 0], pairs[:, 1])
    assert (result.n, round(result.statistic, 4), round(result.p_value, 4)) == (n, t, p)


def test_of_the_eight_rejections_among_the_22_tests_holm_leaves_two_and_benjamini_hochberg_five(answers):
    tests = [students_t(answers, ZERO, "text_or_image", "sum")]
    tests += [students_t(answers, where, factor) for _, where, factor, _, _ in T_TESTS]
    tests += [types(answers, where) for _, where, _, _ in ANALYSES_OF_VARIANCE]
    p = np.array([test.p_value for test in tests])
    assert len(p) == 22
    assert [int((values <= 0.05).sum()) for values in (p, holm(p), benjamini_hochberg(p))] == [8, 2, 5]
