"""Checks of totals, participants, trials and rows that were counted twice."""

import pytest

from analysis.audit import audit_table
from batteries.errors import InputError
from tests.analysis.audit.audit_tables import found, sentences, table, wrong


def test_a_wrong_total_is_inconsistent():
    audited = audit_table(table("group|n|women\na|20|11\nb|22|9\nTotal|43|20"))
    assert found(audited, "Total", "sum of n") == ["inconsistent"]
    assert "add up to 42, but 43 is printed, which is 1 too many" in sentences(audited)
    assert found(audited, "Total", "sum of women") == ["consistent"]


def test_thousands_are_read():
    assert found(audit_table(table("group|trials\na|1,203\nb|1,100\nTotal|2,303")), "Total") == ["consistent"]


def test_a_total_is_the_sum_of_the_rows_that_begin_with_its_name():
    printed = table("group|n\nSingle-1|20\nSingle-2|22\nNo single|5\nSingle-total|42\nTotal|47")
    assert wrong(audit_table(printed)).empty


def test_a_total_may_be_named():
    printed = table("group|n\na|20\nb|22\nEverybody|41")
    assert found(audit_table(printed, totals=["everybody"]), "Everybody") == ["inconsistent"]


def test_plain_totals_after_each_block_are_sums_of_their_block():
    printed = table("group|n\na|20\nb|22\nTotal|42\nc|5\nd|6\nTotal|11\nGrand total|53")
    audited = audit_table(printed)
    assert wrong(audited).empty
    assert set(audited["expected"]) == {"42", "11", "53"}


def test_a_row_that_only_begins_with_total_is_not_a_total():
    printed = table("measure|n|hours\nBed time|40|9\nTotal sleep time|40|7\nNaps|40|1")
    with pytest.raises(InputError, match="nothing in this table can be checked"):
        audit_table(printed)


def test_the_same_participants_in_every_row_are_not_summed():
    assert found(audit_table(table("condition|n\nA|40\nB|40\nTotal|40")), "Total") == ["consistent"]


def test_an_average_in_an_unknown_column_is_not_a_wrong_sum():
    audited = audit_table(table("group|n|age\na|20|30\nb|22|40\nTotal|42|35"))
    assert found(audited, "Total", "sum of age") == ["not checkable"]


def test_a_row_without_its_number_makes_a_sum_uncheckable():
    audited = audit_table(table("group|n|left\na|20|1\nb|22|-\nTotal|42|1"))
    assert found(audited, "Total", "sum of left") == ["not checkable"]


def test_counts_of_people_are_whole_numbers():
    audited = audit_table(table("group|Participants|Trials\na|9.5|200\nb|< 10|200\nc|-3|0\nd|9.0|216"), trials=24)
    assert found(audited, "a") == ["impossible"]
    assert found(audited, "b") == ["not checkable"]
    assert found(audited, "c") == ["impossible"]
    assert found(audited, "d") == ["consistent"]


def test_final_and_excluded_participants_are_those_recruited():
    printed = table("group|Recruited|Excluded participants|Participants\na|30|2|28\nb|30|2|29")
    audited = audit_table(printed)
    assert found(audited, "a") == ["consistent"]
    assert found(audited, "b") == ["inconsistent"]


def test_a_row_cannot_have_more_participants_than_the_study():
    audited = audit_table(table("group|Participants\na|30\nb|61"), participants=60)
    assert wrong(audited)["row"].tolist() == ["b"]
    assert found(audited, "b") == ["impossible"]


def test_the_same_participants_in_every_row_are_counted_once():
    audited = audit_table(
        table("condition|Participants|Excluded participants|Trials\nA|40|2|9\nB|40|2|9"), participants=42, trials=9
    )
    assert "participants" not in set(wrong(audited)["check"])


def test_an_n_of_participants_is_not_read_as_trials():
    audited = audit_table(table("group|N|accuracy\na|24|0.88\nb|29|0.90"), participants=58, trials=24)
    assert wrong(audited).empty


def test_more_trials_than_all_participants_can_give():
    printed = table("condition|Trials\nA|1300\nB|1400")
    audited = audit_table(printed, participants=58, trials=24)
    assert found(audited, "A") == ["consistent"]
    assert found(audited, "B") == ["impossible"]


def test_uneven_numbers_of_trials_are_not_suspected_to_be_counted_twice():
    audited = audit_table(table("group|Trials|Excluded trials\na|216|0\nb|240|0\nTotal|456|0"), trials=24)
    assert wrong(audited).empty
    assert "give the number of participants" in sentences(audited)


def test_a_number_that_is_not_a_multiple_is_not_called_a_multiple():
    audited = audit_table(table("model|N|Correct|Accuracy\na|350|175|0.5\nb|350|70|0.2"), trials=235)
    assert wrong(audited).empty
    assert "cannot be checked against 235 trials" in sentences(audited)


def test_every_trial_counted_twice_beside_participants():
    audited = audit_table(table("group|Participants|Trials\na|9|432\nb|8|384"), trials=24)
    assert found(audited) == ["impossible", "impossible"]
    assert "432 is exactly 2 times this number, as if every trial were counted 2 times" in sentences(audited)


def test_a_group_without_participants_has_no_trials():
    audited = audit_table(table("group|Participants|Trials\na|0|24\nb|0|0"), trials=24)
    assert found(audited, "a") == ["impossible"]
    assert found(audited, "b") == ["consistent"]


def test_more_right_responses_than_responses():
    assert "impossible" in found(audit_table(table("group|n|Correct\na|20|21")), "a", "correct")


def test_a_few_round_counts_are_not_suspected():
    rows = "\n".join(f"{number}|1000|{number}|{number / 1000}" for number in (200, 400, 600, 800))
    assert wrong(audit_table(table(f"model|N|Correct|Accuracy\n{rows}"))).empty


def test_counts_that_are_half_even_have_no_common_divisor():
    assert found(audit_table(table("model|N|Correct\n" + "\n".join(f"m|470|{k}" for k in range(300, 312))))) == [
        "consistent"
    ]


def test_six_even_counts_may_be_chance():
    rows = "\n".join(f"m|500|{number}|{number / 500:.3f}" for number in (202, 204, 206, 208, 210, 212))
    assert wrong(audit_table(table(f"model|N|Correct|Accuracy\n{rows}"))).empty


def test_odd_counts_have_no_common_divisor():
    rows = "\n".join(f"{number}|470|{number}" for number in range(300, 330))
    assert wrong(audit_table(table(f"model|N|Correct\n{rows}"))).empty
