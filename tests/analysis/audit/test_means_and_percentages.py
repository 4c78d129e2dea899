"""Checks of means, standard deviations and percentages that no responses give."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.audit import audit_table
from tests.analysis.audit.audit_tables import found, sentences, table, wrong


def test_the_example_of_brown_and_heathers():
    audited = audit_table(table("group|N|M|SD\na|28|5.19|1.20\nb|28|5.18|1.19"), whole_numbers=True)
    assert found(audited, "a") == ["impossible"]
    assert "no mean of 28 whole numbers rounds to 5.19; the nearest possible means are 5.18 and 5.21." in sentences(
        audited
    )
    assert found(audited, "b") == ["consistent", "consistent"]


def test_the_parity_of_allard():
    audited = audit_table(table("group|N|Mean (SD)\na|35|5.23 (2.55)\nb|35|5.23 (2.56)"), whole_numbers=True)
    assert found(audited, "a", "SD (GRIMMER)") == ["inconsistent"]
    assert found(audited, "b", "SD (GRIMMER)") == ["consistent"]


def test_means_are_tested_only_for_whole_numbers():
    printed = table("group|Participants|Trials|M|SD\na|28|600|5.19|1.20")
    audited = audit_table(printed, trials=24)
    assert found(audited, check="mean") == ["not checkable"]
    assert wrong(audited).empty


def test_items_make_means_finer():
    printed = table("group|N|M\na|28|5.19")
    assert found(audit_table(printed, items=1), "a") == ["impossible"]
    assert found(audit_table(printed, items=3), "a") == ["consistent"]
    assert found(audit_table(printed.assign(Items="3")), "a") == ["consistent"]


def test_a_mean_beyond_the_scale_is_impossible():
    assert found(audit_table(table("group|N|M\na|20|7.35"), scale=(1, 7)), "a") == ["impossible"]


def test_an_sd_divided_by_n_is_reported_as_such():
    answers = np.array([1, 2, 4, 5])  # 3.00, 1.83 with n - 1, 1.58 with n
    audited = audit_table(table(f"group|N|M|SD\na|4|3.00|{answers.std():.2f}"), whole_numbers=True)
    assert found(audited, "a", "SD (GRIMMER)") == ["inconsistent"]
    assert "unless the sum of squares was divided by 4 instead of 3" in sentences(audited)


def test_a_mean_that_grim_cannot_check_is_not_called_consistent():
    audited = audit_table(table("group|N|M\na|150|5.19\nb|20|5.15"), scale=(1, 7))
    assert found(audited, "a") == ["not checkable"]


def test_one_participant_has_no_sd():
    audited = audit_table(table("group|N|M|SD\na|1|5.00|1.00"), scale=(1, 7))
    assert found(audited, "a", "SD (GRIMMER)") == ["not checkable"]


@settings(deadline=None)
@given(answers=st.lists(st.integers(1, 7), min_size=2, max_size=40), decimals=st.integers(1, 3))
def test_tables_of_real_responses_are_consistent(answers, decimals):
    n, mean, sd = len(answers), np.mean(answers), np.std(answers, ddof=1)
    printed = table(f"group|N|M|SD\na|{n}|{mean:.{decimals}f}|{sd:.{decimals}f}\nb|20|4.00|1.00")
    assert wrong(audit_table(printed, scale=(1, 7))).query("row == 'a'").empty


def test_a_percentage_that_no_count_gives():
    audited = audit_table(table("group|N|Percent\na|40|22.5\nb|40|23.1\nc|40|22%"))
    assert found(audited, "a") == ["consistent"]
    assert found(audited, "b") == ["impossible"]
    assert "no number of right answers in 40 responses gives 23.1: 9 is 22.5, 10 is 25.0" in sentences(audited)
    assert found(audited, "c") == ["consistent"]  # 9 of 40, half way to 23


def test_proportions_are_read_as_such():
    audited = audit_table(table("group|N|Proportion\na|40|0.225\nb|40|0.231"))
    assert [found(audited, row) for row in "ab"] == [["consistent"], ["impossible"]]


def test_a_share_above_one_is_impossible():
    audited = audit_table(table("group|N|Accuracy\na|40|0.95\nb|40|1.05\nc|40|0.90"))
    assert found(audited, "b") == ["impossible"]


def test_a_percentage_beside_its_counts():
    audited = audit_table(table("group|N|Correct|Accuracy\na|40|31|77.5%\nb|40|31|78.5%"))
    assert [found(audited, row) for row in "ab"] == [["consistent"], ["inconsistent"]]
    assert "31 of 40 is 77.5%, but 78.5% is printed." in sentences(audited)


def test_a_percentage_of_several_responses_needs_their_number():
    printed = table("group|N|Accuracy\na|10|0.873\nb|10|0.875\nc|10|0.880")
    audited = audit_table(printed, items=8)
    assert [found(audited, row) for row in "abc"] == [["impossible"], ["consistent"], ["impossible"]]


def test_the_mean_of_unequal_participants_is_not_called_impossible():
    audited = audit_table(table("group|Participants|Trials|Accuracy\na|9|223|0.870\nb|9|200|0.870"), trials=24)
    assert found(audited, "a", "percentage (GRIM)") == ["consistent"]
    audited = audit_table(table("group|Participants|Trials|Accuracy\na|9|203|0.873"), trials=24)
    assert found(audited, "a", "percentage (GRIM)") == ["suspicious"]
