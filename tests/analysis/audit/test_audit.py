"""The audit finds errors in published tables, and reports cells and tables that it cannot read."""

import pandas as pd
import pytest

from analysis.audit import audit_table
from analysis.audit.headers_and_cells import ROLES, read_number, role_of
from batteries.errors import InputError
from tests.analysis.audit.audit_tables import found, published, sentences, table, wrong

# Table 2 of the vignette study: 58 and 94 participants with 24 trials each.


@pytest.fixture(scope="module", name="audited")
def audited_exclusions():
    return audit_table(published("exclusions"), participants=169, trials=24)


def test_all_totals_are_the_sums_of_their_rows(audited):
    sums = audited[audited["check"].str.startswith("sum of")]
    assert len(sums) == 4 * 3 + 4  # four columns, three totals, and the total of the two totals
    assert set(sums["verdict"]) == {"consistent"}


def test_the_single_half_has_more_trials_than_its_participants_can_give(audited):
    assert found(audited, "Single-total", "trials") == ["impossible"]
    explanations = sentences(audited[(audited["row"] == "Single-total") & (audited["check"] == "trials")])
    assert "53 participants with 24 trials each have at most 1,272 trials, but 1,303 are printed." in explanations
    assert (
        "1,303 + 89 = 1,392 = 58 x 24, so trials of 5 excluded participants may be among the final trials."
        in explanations
    )


def test_the_rows_of_the_single_half_that_are_impossible_are_found_one_by_one(audited):
    rows = audited[(audited["check"] == "trials") & (audited["verdict"] == "impossible")]["row"]
    assert set(rows) == {"Single-1", "Single-2", "Single-4", "Single-5", "Single-6", "Single-total"}
    assert found(audited, "Single-1", "final + excluded trials") == ["inconsistent"]  # 240, neither 216 nor 264
    assert found(audited, "Single-5", "final + excluded trials") == ["impossible"]  # 240 of 9 x 24 = 216
    assert found(audited, "Single-3") == ["consistent", "consistent"]


def test_the_double_half_passes(audited):
    double = audited[audited["row"].str.startswith("Double")]
    assert set(double["verdict"]) == {"consistent"}
    assert "2,131 final and 125 excluded trials are 2,256 = 94 x 24" in sentences(double)


def test_two_ways_of_counting_the_halves_are_found(audited):
    of_table = audited[audited["row"] == "the whole table"]
    assert found(of_table, check="final + excluded trials") == ["suspicious"]
    assert found(of_table, check="participants") == ["consistent"]


def test_a_wrong_number_of_participants_is_found():
    audited = audit_table(published("exclusions"), participants=152, trials=24)
    assert found(audited, "the whole table", "participants") == ["inconsistent"]


def test_the_most_serious_findings_are_first(audited):
    order = ["impossible", "inconsistent", "suspicious", "not checkable", "consistent"]
    positions = [order.index(verdict) for verdict in audited["verdict"]]
    assert positions == sorted(positions)


# Tables 5 and 6 of the preference and route study.


def test_the_p_that_repeats_its_chi_square_is_found_without_degrees_of_freedom():
    audited = wrong(audit_table(published("iip_tests")))
    assert set(audited["row"]) == {"T2I on OS"}
    assert found(audited, check="p value") == ["inconsistent"]
    assert found(audited, check="p like its statistic") == ["suspicious"]
    assert "df = 3 gives p = 0.8544" in sentences(audited)


def test_with_three_degrees_of_freedom_the_real_p_is_named():
    printed = published("iip_tests").iloc[:4].assign(df="3")
    audited = audit_table(printed)
    (finding,) = audited[(audited["row"] == "T2I on OS") & (audited["check"] == "p value")].to_dict("records")
    assert (finding["verdict"], finding["expected"]) == ("inconsistent", "= 0.8544")
    assert finding["explanation"] == "chi2(3) = 0.7795 has p = 0.8544, but p = 0.7795 is printed."
    assert set(audited[(audited["check"] == "p value") & (audited["row"] != "T2I on OS")]["verdict"]) == {"consistent"}


def test_every_other_printed_p_and_conclusion_is_consistent():
    audited = audit_table(published("ir_tests"), participants=74)
    assert wrong(audited).empty
    assert (
        audited[audited["verdict"] == "not checkable"]["explanation"].str.startswith(
            "two degrees of freedom are needed to compute the p value of F"
        )
    ).all()
    (explanation,) = audited[(audited["row"] == "T2I on ZS") & (audited["check"] == "p value")]["explanation"]
    assert (
        explanation == "p = 0.4612 of t = 0.7409 needs 69 to 73 degrees of freedom; no degrees of freedom are printed."
    )


def test_a_test_between_that_should_be_within_shows_in_its_degrees_of_freedom():
    printed = published("ir_tests").set_index("Test").loc[["T2I on ZS", "Z2O on Text"]].reset_index()
    audited = audit_table(printed.assign(Participants=["74", "38"]))
    assert found(audited, "T2I on ZS", "p value") == ["consistent"]
    assert found(audited, "Z2O on Text", "p value") == ["inconsistent"]
    assert "2 x 38 - 2 = 74, which is right only for two groups of 38 participants each" in sentences(wrong(audited))


# Table 11 of the Black Box study: every prediction counted twice.


def test_every_n_is_twice_the_number_of_the_design():
    audited = wrong(audit_table(published("predictions"), trials=235))
    assert set(audited["check"]) == {"counted twice"}
    assert "all 24 numbers in `N` are exactly 2 x 235, but one participant or run can give" in sentences(audited)
    assert set(audited["verdict"]) == {"suspicious"}  # nothing says that a row is one run


def test_with_one_run_in_each_row_every_n_is_impossible():
    audited = audit_table(published("predictions"), trials=235, participants=1)
    assert (audited["verdict"] == "impossible").sum() == 24 + 1


def test_even_counts_are_found_without_the_design():
    audited = wrong(audit_table(published("predictions")))
    assert sentences(audited).startswith("all 19 different numbers in `Correct` are divisible by 2")
    assert set(audited["verdict"]) == {"suspicious"}


def test_the_accuracies_themselves_are_right():
    audited = audit_table(published("predictions"))
    assert set(audited[audited["check"] == "percentage"]["verdict"]) == {"consistent"}


def test_the_right_numbers_pass():
    right = published("predictions").assign(
        N="235", Correct=lambda printed: (printed["Correct"].astype(int) // 2).astype(str)
    )
    assert wrong(audit_table(right, trials=235, participants=1)).empty


def test_no_header_has_two_roles():
    headers = [header for role in ROLES.values() for header in role.headers]
    assert len(headers) == len(set(headers))


@pytest.mark.parametrize("role", [role for role, known in ROLES.items() if known.headers])
def test_every_header_is_known_in_any_typography(role):
    for header in ROLES[role].headers:
        assert role_of(header) == role
        assert role_of(f"<b>{header.upper()}</b>") == role
        assert role_of(f"*{header.replace(' ', '_')}*".strip("*")) == role


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        ("0.50", "0.50"), ("1,303", "1303"), ("−0.28", "-0.28"), (".05*", "0.05"), ("85.1 %", "85.1%"),
        ("1.8 ± 0.2", "1.8"), ("0.863***", "0.863"), ("p<.001", "< 0.001"), ("0,50", "None"), ("12-14", "None"),
        ("<b>147</b>", "147"), ("$-0.3$", "-0.3"), ("", "None"), ("ns", "> 0.05"), ("M = 5.19", "5.19"),
    ],
)  # fmt: skip
def test_numbers_are_read_as_printed(cell, read):
    assert str(read_number(cell)) == read


def test_columns_can_be_named():
    printed = table("who|people|answers\na|9|217")
    audited = audit_table(printed, trials=24, columns={"participants": "people", "trials": "answers"})
    assert found(audited, "a") == ["impossible"]


def test_a_named_column_wins_over_a_known_header():
    printed = table("who|Participants|Left over|Trials\na|9|8|216")
    audited = audit_table(printed, trials=24, columns={"participants": "Left over"})
    assert found(audited, "a") == ["impossible"]


def test_a_cell_that_cannot_be_read_is_reported():
    audited = audit_table(table("group|N|M\na|20|5,15\nb|20|5.15"), scale=(1, 7))
    assert found(audited, "a", "cell") == ["not checkable"]
    assert "`5,15` in `M` cannot be read as mean. Fix: write a number, with a point" in sentences(audited)


def test_rows_with_the_same_label_have_numbers():
    assert audit_table(published("predictions"))["row"].str.contains(r"Haiku 4\.5 \(row 2\)").any()


def test_a_table_without_labels_has_numbered_rows():
    assert found(audit_table(table("n|mean\n28|5.19"), scale=(1, 7)), "row 1") == ["impossible"]


def test_missing_cells_and_numbers_in_a_frame_are_read_as_printed():
    printed = pd.DataFrame({"group": ["a", "b"], "n": [28, 28], "M": ["5.19", None]})
    assert found(audit_table(printed, whole_numbers=True)) == ["impossible"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("group|n", {}, "has no rows"),
        ("group|n|n\na|1|2", {}, "duplicate column `n`"),
        (
            "group|M|Mean\na|1|2",
            {},
            "`M`, `Mean` could all have the meaning `mean`. Fix: choose one column with --column mean='M'",
        ),
        ("group|n\na|1", {"columns": {"trails": "n"}}, "Fix: write `trials`"),
        ("group|n\na|1", {"columns": {"trials": "m"}}, "the table has no column `m`. Fix: choose one of `group`, `n`"),
        ("group|n\na|1", {"totals": ["All"]}, "the table has no row `All`. Fix: choose one of `a`"),
        ("group|n\na|1", {"participants": 0}, "participants is 0"),
        ("group|n\na|1", {"scale": (7, 1)}, "give the lowest response first"),
        (
            "group|n\na|1",
            {},
            "nothing in this table can be checked. The audit recognizes columns with the meanings label, part",
        ),
        ("group|n|M\na|9|1.5", {}, "can be checked .GRIM, GRIMMER. only if the responses are whole numbers"),
    ],
)
def test_a_table_that_cannot_be_audited_is_refused_with_one_sentence(text, options, message):
    with pytest.raises(InputError, match=message):
        audit_table(table(text), **options)
