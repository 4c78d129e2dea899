import pytest

from analysis.coding.coders import ALPHA, COHEN, FLEISS, CodersCodes, agreement_by_code, agreement_table, final_codes
from experiment.study.answer_coding import Coding

CODES = [{"name": name, "definition": f"{name.upper()}."} for name in "abc"]


def coding(**changes: object) -> Coding:
    return Coding.model_validate({"codes": CODES, "coders": 2} | changes)


def given(**codes: dict[str, str]) -> CodersCodes:
    """Return the codes of each answer by coder. Several codes are joined with +."""
    of = {answer: {coder: tuple(own.split("+")) for coder, own in by.items()} for answer, by in codes.items()}
    return CodersCodes({(answer, 0): answer for answer in of}, of)


ONE = given(
    agreed={"coder-1": "a", "coder-2": "a"},
    disagreed={"coder-1": "a", "coder-2": "b"},
    alone={"coder-2": "c"},
)


@pytest.mark.parametrize(("resolve", "expected"), [
    ("consensus", {"agreed": ("a",)}),
    ("majority", {"agreed": ("a",)}),
    ("first", {"agreed": ("a",), "disagreed": ("a",)}),
])  # fmt: skip
def test_an_answer_has_a_final_code_by_the_rule_of_the_plan(resolve: str, expected: dict[str, object]) -> None:
    assert final_codes(ONE, coding(resolve=resolve)) == expected


def test_a_resolved_code_comes_first() -> None:
    codes = CodersCodes(ONE.answers, ONE.given, {"disagreed": ("c",), "agreed": ("b",)})
    assert final_codes(codes, coding()) == {"disagreed": ("c",), "agreed": ("b",)}


def test_a_majority_is_more_than_half_of_the_coders() -> None:
    codes = given(two={"x": "a", "y": "a", "z": "b"}, none={"x": "a", "y": "b", "z": "c"}, few={"x": "a", "y": "a"})
    assert final_codes(codes, coding(coders=3, resolve="majority")) == {"two": ("a",)}


def test_several_codes_agree_only_if_all_are_the_same_but_the_agreement_on_each_code_is_reported() -> None:
    codes = given(
        q1={"x": "a+b", "y": "a+b"}, q2={"x": "a+b", "y": "a"}, q3={"x": "c", "y": "c"}, q4={"x": "a", "y": "a"},
        q5={"x": "b", "y": "c"},
    )  # fmt: skip
    assert codes.disagreements() == ["q2", "q5"]
    assert agreement_table(codes, 0.95).set_index("measure").loc["percent agreement", "estimate"] == pytest.approx(0.6)
    by_code = agreement_by_code(codes, coding(several=True), 0.95).set_index("code")
    assert by_code["agreement"].to_dict() == {"a": 1.0, "b": 0.6, "c": 0.8}
    # On b: the first coder gives it to q1, q2, q5, the second to q1. (0.6 - (0.6 * 0.2 + 0.4 * 0.8)) / (1 - 0.44).
    assert by_code.loc["b", "estimate"] == pytest.approx((0.6 - 0.44) / 0.56)
    assert by_code["n_chosen"].to_dict() == {"a": 6, "b": 4, "c": 3}


def test_two_coders_have_cohens_kappa_and_three_coders_with_gaps_have_alpha_for_each_code() -> None:
    two = agreement_table(ONE, 0.95)
    assert two["measure"].tolist() == ["percent agreement", COHEN, ALPHA]
    assert two["n_answers"].tolist() == [2, 2, 2]
    gaps = given(q1={"x": "a", "y": "a", "z": "a"}, q2={"x": "b", "y": "b", "z": "b"}, q3={"x": "a", "z": "b"})
    assert agreement_table(gaps, 0.95).set_index("measure")["n_answers"].to_dict() == {
        "percent agreement": 3, FLEISS: 2, ALPHA: 3,
    }  # fmt: skip
    assert set(agreement_by_code(gaps, coding(), 0.95)["measure"]) == {ALPHA}


def test_one_coder_has_no_agreement() -> None:
    codes = given(q1={"x": "a"}, q2={"x": "b"})
    assert agreement_table(codes, 0.95).empty
    assert agreement_by_code(codes, coding(), 0.95).empty


def test_a_measure_that_is_undefined_has_the_reason() -> None:
    codes = given(**{f"q{n}": {"x": "a", "y": "a"} for n in range(6)})
    table = agreement_table(codes, 0.95).set_index("measure")
    assert table.loc["percent agreement", "estimate"] == 1
    assert "all labels of both raters are the same" in table.loc[COHEN, "note"]
    assert "all codes are the same" in table.loc[ALPHA, "note"]


def test_the_digest_changes_with_a_code() -> None:
    other = given(
        agreed={"coder-1": "a", "coder-2": "a"}, disagreed={"coder-1": "a", "coder-2": "a"}, alone={"coder-2": "c"}
    )
    assert ONE.digest != other.digest
    assert ONE.digest != CodersCodes(ONE.answers, ONE.given, {"disagreed": ("a",)}).digest
