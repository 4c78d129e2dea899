"""The data that a mixed model uses, the data that it refuses, and its warnings."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.mixed_models.contrasts import pairwise_contrasts
from analysis.statistics.mixed_models.fit import fit_mixed_model, standardized_coefficients
from analysis.statistics.mixed_models.marginal_means import marginal_means
from analysis.statistics.mixed_models.ratios import odds_ratios
from batteries.errors import InputError


@pytest.fixture
def rows():
    """Return 90 simulated trials of 10 people; a third of the people respond by touch."""
    generator = np.random.default_rng(5)
    n = 90
    person = np.arange(n) % 10
    table = pd.DataFrame(
        {
            "person": [f"p{number}" for number in person],
            "touch": person < 3,
            "model": generator.choice(["m2", "m10", "m1"], n),
            "load": generator.normal(size=n),
            "day": generator.integers(1, 4, n),
        }
    )
    table["rt"] = table["load"] + generator.normal(size=10)[person] + generator.normal(size=n)
    table["right"] = (table["rt"] + generator.normal(size=n) > 0).astype(int)
    return table


def refused(data, formula, **options):
    with pytest.raises(InputError) as error:
        fit_mixed_model(data, formula, **options)
    return str(error.value)


def warned(data, formula, **options):
    return " ".join(fit_mixed_model(data, formula, **options).warnings)


def test_levels_are_in_natural_order(rows):
    model = fit_mixed_model(rows, "rt ~ model + touch")
    assert model.levels == {"model": ("m1", "m2", "m10"), "touch": (False, True)}
    assert model.coefficients["term"].tolist() == ["(Intercept)", "modelm2", "modelm10", "touchTrue"]


@pytest.mark.parametrize("dtype", ["object", "category", "str"])
def test_text_of_any_storage_type_is_a_factor(rows, dtype):
    expected = fit_mixed_model(rows, "rt ~ model + (1 | person)").coefficients
    stored = rows.astype({"model": dtype, "person": dtype})
    pd.testing.assert_frame_equal(fit_mixed_model(stored, "rt ~ model + (1 | person)").coefficients, expected)


def test_yes_and_no_are_a_factor_and_numbers_a_covariate_for_any_storage_type(rows):
    formula = "right ~ touch + day + (1 | person)"
    expected = fit_mixed_model(rows, formula, family="binomial").coefficients
    for types in ({"touch": "boolean", "day": "Int64", "right": "boolean"}, {"touch": object, "right": bool},
                  {"day": "float32", "right": "Float64"}):  # fmt: skip
        found = fit_mixed_model(rows.astype(types), formula, family="binomial").coefficients
        pd.testing.assert_frame_equal(found, expected)


def test_names_and_levels_may_have_any_characters(rows):
    names = {"rt": "log(rt) ~", "model": "a|b", "load": "größe & 'so'", "person": "1 who", "day": "x1"}
    plain = fit_mixed_model(rows, "rt ~ model * load + day + (1 + load | person)")
    texts = {"m1": "", "m2": 'x1:"g0"|\n', "m10": "y ~ 0"}
    strange = rows.assign(model=rows["model"].map(texts)).rename(columns=names)
    formula = "`log(rt) ~` ~ `a|b` * `größe & 'so'` + x1 + (1 + `größe & 'so'` | `1 who`)"
    model = fit_mixed_model(strange, formula, reference={"a|b": ""})
    assert model.coefficients["term"].tolist()[1:3] == ['a|bx1:"g0"|\n', "a|by ~ 0"]
    pd.testing.assert_frame_equal(model.coefficients.drop(columns="term"), plain.coefficients.drop(columns="term"))
    assert model.random["term"].tolist() == ["(Intercept)", "größe & 'so'", ""]
    means = marginal_means(model, ["a|b"])
    assert means["a|b"].tolist() == ["", 'x1:"g0"|\n', "y ~ 0"]


def test_duplicate_names_of_coefficients_give_a_warning(rows):
    twins = rows.assign(
        ab=rows["model"].map({"m1": "0", "m2": "1", "m10": "2"}), a=rows["touch"].map({True: "b1", False: "b0"})
    )
    model = fit_mixed_model(twins, "rt ~ ab + a")
    assert model.coefficients["term"].tolist() == ["(Intercept)", "ab1", "ab2", "ab1"]
    assert "Several coefficients have the same name: `ab1`" in " ".join(model.warnings)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=6), min_size=3, max_size=3, unique=True), st.text(min_size=1, max_size=6))
def test_all_levels_and_names_give_the_same_numbers(levels, name):
    generator = np.random.default_rng(1)
    codes = np.arange(36) % 3
    y = codes + generator.normal(size=36)
    name = name.replace("`", "'") + "?"
    ordered = pd.DataFrame({"y": y, "f": np.array(["a", "b", "c"])[codes]})
    named = pd.DataFrame({"y": y, name: np.array(levels, dtype=object)[codes]})
    expected = marginal_means(fit_mixed_model(ordered, "y ~ f"), "f")
    found = marginal_means(fit_mixed_model(named, f"y ~ `{name}`"), name).set_index(name).loc[levels]
    np.testing.assert_allclose(found["estimate"], expected["estimate"])


def test_rows_with_a_missing_value_are_left_out_and_counted(rows):
    holes = rows.copy()
    holes.loc[:3, "load"] = np.nan
    holes.loc[3:5, "person"] = None
    holes["day"] = holes["day"].where(holes["day"] > 5)
    model = fit_mixed_model(holes, "rt ~ load + (1 | person)")
    assert model.warnings == ("6 of 90 rows were left out because a value is missing (4 in `load`, 3 in `person`).",)
    assert model.fit["n"][0] == 84
    complete = fit_mixed_model(rows.iloc[6:], "rt ~ load + (1 | person)")
    pd.testing.assert_frame_equal(model.coefficients, complete.coefficients)


def test_levels_without_rows_give_a_warning(rows):
    gone = rows.assign(rt=rows["rt"].where(rows["model"] != "m2"), touch=rows["touch"].astype("category"))
    gone["touch"] = gone["touch"].cat.add_categories("eyes")
    message = warned(gone, "rt ~ model + touch")
    assert "These levels of `model` were left out, because no fitted row has them: `m2`." in message
    assert "These levels of `touch` were left out, because no fitted row has them: `eyes`." in message
    assert "`m2` is not a level of `model`. Fix: choose the reference level from `m1`, `m10`" in refused(
        gone, "rt ~ model", reference={"model": "m2"}
    )


def test_redundant_columns_are_left_out_with_a_warning(rows):
    doubled = rows.assign(twice=2 * rows["load"] + 1, same=1.0)
    model = fit_mixed_model(doubled, "rt ~ load + twice + same + (1 | person)")
    assert model.coefficients["term"].tolist() == ["(Intercept)", "load"]
    assert "These coefficients are redundant and were left out: `twice`, `same`." in " ".join(model.warnings)
    pd.testing.assert_frame_equal(
        model.coefficients, fit_mixed_model(rows, "rt ~ load + (1 | person)").coefficients, rtol=1e-6
    )
    assert "combination of other coefficients" in refused(doubled, "rt ~ load + twice + (1 + twice | person)")


def test_a_covariate_too_far_from_zero_gives_a_warning(rows):
    message = warned(rows.assign(clock=1e12 + rows["load"]), "rt ~ clock")
    assert (
        "These covariates are too far from 0, compared with their variation: `clock`. Fix: subtract the mean of each "
        "of these covariates before the fit." in message
    )


def test_duplicate_rows_give_a_warning(rows):
    message = warned(pd.concat([rows, rows.iloc[:2]]), "rt ~ load + (1 | person)")
    assert (
        message
        == "2 of 92 rows are equal to an earlier row in every column. Fix: remove these rows if they are copies."
    )


def test_equal_rows_are_not_duplicates_if_another_column_differs_or_the_outcome_has_few_values(rows):
    twice = pd.concat([rows, rows], ignore_index=True)
    assert warned(twice.assign(trial=range(180)), "rt ~ load + (1 | person)") == ""
    assert warned(twice[["right", "touch", "person"]], "right ~ touch + (1 | person)", family="binomial") == ""
    message = warned(twice.assign(answer=[{"a": 1}] * 180), "rt ~ load + (1 | person)")
    assert message.startswith("90 of 180 rows are equal")


def test_columns_that_are_not_in_the_formula_may_have_any_values(rows):
    more = pd.concat([rows.assign(when=pd.Timestamp("2026-01-01"), answer=[[1]] * 90), rows[["day"]]], axis=1)
    again = pd.concat([more, more.head(1)])
    assert warned(again, "rt ~ load").startswith("1 of 91 rows are equal")


def test_a_random_effect_of_zero_makes_the_fit_singular_with_a_warning(rows):
    flat = rows.assign(rt=np.random.default_rng(0).normal(size=90))
    flat["rt"] -= flat.groupby("person")["rt"].transform("mean")
    model = fit_mixed_model(flat, "rt ~ load + (1 | person)")
    assert model.fit["singular"][0]
    assert model.random["sd"][0] == 0
    assert model.fit["icc_adjusted"][0] == 0
    assert "The fit is singular" in model.warnings[0]
    assert model.warnings[1] == "The random effect `(Intercept)` of `person` is estimated as zero."


def test_correlations_of_a_random_effect_of_zero_are_missing_without_a_numpy_warning(rows):
    flat = rows.assign(rt=np.random.default_rng(0).normal(size=90))
    flat["rt"] -= flat.groupby("person")["rt"].transform("mean")
    model = fit_mixed_model(flat, "rt ~ load + (1 + load | person)")
    assert model.fit["singular"][0]
    assert len(model.correlations) == 1


def test_an_outcome_without_error_gives_a_flagged_fit_or_is_refused(rows):
    exact = rows.assign(rt=2 * rows["load"] + 1)
    assert "predicts `rt` exactly" in refused(exact, "rt ~ load")
    model = fit_mixed_model(exact, "rt ~ load + (1 | person)")
    assert not model.fit["converged"][0]
    assert "The fit failed and has no estimates" in model.warnings[0]
    assert model.coefficients["p_value"].isna().all()


def test_a_cell_with_only_one_outcome_is_reported_as_separation(rows):
    ceiling = rows.assign(right=rows["right"].where(rows["model"] != "m10", 1))
    model = fit_mixed_model(ceiling, "right ~ model * touch + load + (1 | person)", family="binomial")
    assert "Every outcome is 1 at `model` m10 (separation)" in model.warnings[0]
    assert not any("`touch`" in warning for warning in model.warnings)
    assert len(odds_ratios(model)) == len(model.coefficients)
    assert len(pairwise_contrasts(model, ["model"], adjust="tukey")) == 3
    rest = fit_mixed_model(ceiling[ceiling["model"] != "m10"], "right ~ model + load", family="binomial")
    assert rest.warnings == ()


def test_an_interaction_cell_with_only_one_outcome_is_reported_as_separation(rows):
    both = (rows["model"] == "m1") & rows["touch"]
    message = warned(rows.assign(right=rows["right"].where(~both, 0)), "right ~ model * touch", family="binomial")
    assert "Every outcome is 0 at `model` m1 and `touch` True (separation)" in message


def test_a_covariate_that_predicts_the_outcome_is_reported_as_separation(rows):
    for scale in (1, 1000, 0.001):
        separated = rows.assign(right=(rows["load"] > 0).astype(int), load=scale * rows["load"])
        assert "(separation)" in warned(separated, "right ~ load", family="binomial")
        assert "(separation)" not in warned(rows.assign(load=scale * rows["load"]), "right ~ load", family="binomial")


def test_a_covariate_far_from_zero_is_not_reported_as_separation(rows):
    late = rows.assign(load=rows["load"] + 200)
    assert warned(late, "right ~ touch * load", family="binomial") == ""


@pytest.mark.parametrize(
    ("formula", "options", "complaint"),
    [
        ("rt ~ nope", {}, "has the column `nope`, which is not in the data. Fix: use one of the columns `person`"),
        ("rt ~ load + (1 | nope)", {}, "has the column `nope`"),
        ("rt ~ load", {"reference": {"nope": 1}}, "the list of reference levels has the column `nope`"),
        ("rt ~ model", {"reference": {"model": "m3"}}, "Fix: choose the reference level from `m1`, `m2`, `m10`"),
        ("rt ~ load", {"reference": {"load": 1}}, "`load` is a column of numbers, so it is a covariate"),
        ("rt ~ load", {"family": "poisson"}, "the family `poisson` is unknown. Fix: write one of `gaussian`"),
        ("rt ~ load", {"confidence": 95}, "the confidence is 95"),
        ("rt ~ load", {"family": "binomial"}, "use 0 and 1 only"),
        ("model ~ load", {}, "has values of the type string, but it must have numbers. Fix: give numbers"),
        ("model ~ load", {"family": "binomial"}, "must have the values 0 and 1, or no and yes"),
        ("touch ~ load", {}, "use the family `binomial` for an outcome of yes and no"),
        ("rt ~ touch + (1 + touch | person)", {}, "`touch` does not vary within any level of `person`"),
        ("rt ~ model + (1 + load | person)", {}, "random slopes of `load`, but this term is not a fixed effect"),
        ("rt ~ load + (0 + load | person)", {}, "random slopes without a random intercept for `person`"),
        ("rt ~ load + (1 | rt)", {}, "`rt` has 90 levels and 90 random effects, but the model has only 90 rows"),
        ("rt ~ load + (1 | person) + (1 | person:touch)", {}, "`person:touch` divide the rows into the same groups"),
        ("rt ~ load * model + (1 + load * model | person:day)", {}, "but the model has only 90 rows"),
    ],
)  # fmt: skip
def test_a_model_that_the_data_do_not_allow_is_refused_with_one_sentence(rows, formula, options, complaint):
    assert complaint in refused(rows, formula, **options)


def test_columns_that_cannot_be_used_are_refused(rows):
    assert "the data have no rows" in refused(rows.head(0), "rt ~ load")
    assert "every row lacks a value that `rt ~ load` needs (missing values: 90 in `load`)" in refused(
        rows.assign(load=None), "rt ~ load"
    )
    assert "the outcome `rt` is 3 in every row" in refused(rows.assign(rt=3), "rt ~ load")
    assert "the outcome `right` is 1 in every row" in refused(rows.assign(right=1), "right ~ load", family="binomial")
    assert "`load` has infinite values" in refused(rows.assign(load=np.inf), "rt ~ load")
    assert "the largest absolute value of `load` is 1e+200, which is too large or too small" in refused(
        rows.assign(load=1e200), "rt ~ load"
    )
    assert "`model` has only one level, `m1`" in refused(rows[rows["model"] == "m1"], "rt ~ model")
    assert "`person` has only one level" in refused(rows[rows["person"] == "p1"], "rt ~ load + (1 | person)")
    assert "has 12 coefficients, which are too many for 11 rows" in refused(rows.head(11), "rt ~ model * touch * load")
    dates = rows.assign(load=pd.Timestamp("2026-01-01"))
    assert "`load` has values of the type datetime64" in refused(dates, "rt ~ load")
    assert "contain a list or another collection" in refused(rows.assign(model=[[1]] * 90), "rt ~ model")
    odd = rows.assign(model=pd.Series([(1,), (2,)] * 45))
    assert "neither text nor numbers" in refused(odd, "rt ~ model")
    mixed = rows.assign(model=pd.Series([1, "1"] * 45, dtype=object))
    assert "has `1` as a text, and also as another type" in refused(mixed, "rt ~ model")
    twins = pd.concat([rows, rows[["load"]]], axis=1)
    assert "more than one column `load`" in refused(twins, "rt ~ load")


def test_standardized_coefficients_refuse_the_same_models(rows):
    with pytest.raises(InputError, match="has the column `nope`"):
        standardized_coefficients(rows, "rt ~ nope")


def test_numbers_in_factor_are_levels(rows):
    """As in the main model of a study with the inference levels 0, 2 and 3, and the reference level 2."""
    numbers = rows.assign(level=np.resize([0, 2, 3], len(rows)))
    formula = "rt ~ factor(level) * touch + (1 | person)"
    model = fit_mixed_model(numbers, formula, reference={"level": 2})
    texts = numbers.assign(level=numbers["level"].astype(str))
    of_texts = fit_mixed_model(texts, formula.replace("factor(level)", "level"), reference={"level": "2"})
    assert model.levels["level"] == (2, 0, 3)
    pd.testing.assert_frame_equal(model.coefficients, of_texts.coefficients)
    pd.testing.assert_frame_equal(model.anova, of_texts.anova)
    # A missing cell makes a column of decimal numbers, but the levels are whole numbers.
    with_gap = numbers.assign(level=numbers["level"].astype(float).where(numbers.index > 0))
    assert fit_mixed_model(with_gap, formula).coefficients["term"].tolist()[1:3] == ["level2", "level3"]
    assert "level" in fit_mixed_model(numbers, "rt ~ level").covariates


def test_a_reference_level_of_a_covariate_is_refused_with_the_way_to_make_it_a_factor(rows):
    with pytest.raises(InputError, match=r"write `factor\(load\)` in the formula"):
        fit_mixed_model(rows, "rt ~ load", reference={"load": 1})


@pytest.mark.parametrize(("n_rows", "n_levels"), [(45_000, 20_000), (1_000_000, 600)])
def test_a_design_that_needs_too_much_memory_is_refused(n_rows, n_levels):
    many = pd.DataFrame({"y": np.arange(n_rows, dtype=float), "unit": np.arange(n_rows) % n_levels})
    message = refused(many, "y ~ factor(unit)")
    assert f"has {n_levels:,} coefficients for {n_rows:,} rows, which need too much memory" in message
    assert "use fewer terms, or a random effect" in message
