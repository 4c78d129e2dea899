"""Formulas are read as in R; an invalid formula is refused with a clear sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.mixed_models.design_matrix import design_columns, n_design_columns
from analysis.statistics.mixed_models.formulas import RandomTerm, parse_formula
from batteries.errors import InputError

LEVELS = {"a": ["p", "q", "r"], "b": ["u", "v"]}


def coefficient_names(text):
    formula = parse_formula(text)
    columns = design_columns(formula.intercept, formula.terms, {name: len(levels) for name, levels in LEVELS.items()})
    return [column.name(LEVELS) for column in columns]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("y ~ a + b", ["a", "b"]),
        ("y ~ a * b", ["a", "b", "a:b"]),
        ("y ~ a*b*c", ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]),
        ("y ~ (a + b + c)^2", ["a", "b", "c", "a:b", "a:c", "b:c"]),
        ("y ~ a * b - a", ["b", "a:b"]),
        ("y ~ (a + b) * c", ["a", "b", "c", "a:c", "b:c"]),
        ("y ~ a:b:a", ["a:b"]),
        ("y ~ b:a + a", ["a", "b:a"]),
        ("y ~ a * x + b * x", ["a", "x", "b", "a:x", "x:b"]),
        ("y ~ a + a + b - b", ["a"]),
        ("y ~ a\n  + b", ["a", "b"]),
        ("y ~ 1", []),
    ],
)
def test_terms_are_in_the_order_of_r(text, terms):
    assert [":".join(term) for term in parse_formula(text).terms] == terms


def test_factor_makes_a_factor_of_a_column():
    formula = parse_formula("y ~ factor(a) * x + (1 + factor(b) | g)")
    assert formula.terms == (("a",), ("x",), ("a", "x"))
    assert formula.factors == {"a", "b"}
    assert formula.columns == ("y", "a", "x", "b", "g")
    # A column can have this name.
    assert parse_formula("y ~ factor + (1 | factor)").factors == frozenset()


@pytest.mark.parametrize(
    ("text", "intercept"),
    [("y ~ a", True), ("y ~ 1 + a", True), ("y ~ 0 + a", False), ("y ~ a - 1", False), ("y ~ -1 + a", False),
     ("y ~ a + 0", False), ("y ~ 0 + a + 1", True), ("y ~ a - 0", True)],
)  # fmt: skip
def test_zero_and_minus_one_remove_the_intercept(text, intercept):
    assert parse_formula(text).intercept is intercept


@pytest.mark.parametrize(
    ("bracket", "random"),
    [
        ("(1 | g)", [RandomTerm(True, (), ("g",))]),
        ("(1 || g)", [RandomTerm(True, (), ("g",))]),
        ("(x | g)", [RandomTerm(True, (("x",),), ("g",))]),
        ("(1 + x + z | g)", [RandomTerm(True, (("x",), ("z",)), ("g",))]),
        ("(0 + a | g)", [RandomTerm(False, (("a",),), ("g",))]),
        ("(a - 1 | g)", [RandomTerm(False, (("a",),), ("g",))]),
        ("(1 + a * x | g)", [RandomTerm(True, (("a",), ("x",), ("a", "x")), ("g",))]),
        ("(1 | g:h)", [RandomTerm(True, (), ("g", "h"))]),
        ("(1 | g/h)", [RandomTerm(True, (), ("g",)), RandomTerm(True, (), ("g", "h"))]),
        ("(1 | g) + (1 + x | h)", [RandomTerm(True, (), ("g",)), RandomTerm(True, (("x",),), ("h",))]),
    ],
)
def test_brackets_are_random_effects(bracket, random):
    formula = parse_formula(f"y ~ a + {bracket} + x")
    assert list(formula.random) == random
    assert formula.terms == (("a",), ("x",))


def test_names_in_backticks_may_have_any_characters():
    formula = parse_formula("`reaction time` ~ `a|b` * é.1 + (1 | `who + where`)")
    assert formula.columns == ("reaction time", "a|b", "é.1", "who + where")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y ~ a * b", ["(Intercept)", "aq", "ar", "bv", "aq:bv", "ar:bv"]),
        ("y ~ 0 + a + b", ["ap", "aq", "ar", "bv"]),
        ("y ~ 0 + x + a", ["x", "ap", "aq", "ar"]),
        ("y ~ a:b", ["(Intercept)", "ap:bu", "aq:bu", "ar:bu", "ap:bv", "aq:bv", "ar:bv"]),
        ("y ~ a + a:b", ["(Intercept)", "aq", "ar", "ap:bv", "aq:bv", "ar:bv"]),
        ("y ~ b:a + b", ["(Intercept)", "bv", "bu:aq", "bv:aq", "bu:ar", "bv:ar"]),
        ("y ~ b:x:z + a:b:x", ["(Intercept)", "bu:x:z", "bv:x:z", "bu:x:aq", "bv:x:aq", "bu:x:ar", "bv:x:ar"]),
        ("y ~ a:x + b", ["(Intercept)", "bv", "ap:x", "aq:x", "ar:x"]),
        ("y ~ a:b:x + x", ["(Intercept)", "x", "ap:bu:x", "aq:bu:x", "ar:bu:x", "ap:bv:x", "aq:bv:x", "ar:bv:x"]),
    ],
)
def test_coefficients_are_coded_and_named_as_in_r(text, names):
    assert coefficient_names(text) == names


@given(st.lists(st.sampled_from(["a", "b", "x", "a*b", "a:x", "b:x", "a:b", "(a + x)^2"]), min_size=1), st.booleans())
def test_columns_are_counted_without_making_them(parts, intercept):
    formula = parse_formula("y ~ " + " + ".join(parts) + ("" if intercept else " + 0"))
    n_levels = {name: len(levels) for name, levels in LEVELS.items()}
    columns = design_columns(formula.intercept, formula.terms, n_levels)
    assert len(columns) == n_design_columns(formula.intercept, formula.terms, n_levels)
    assert len(set(columns)) == len(columns)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must begin with the name of the outcome"),
        ("a + b", "needs `~`"),
        ("~ a", "must begin with the name of the outcome"),
        ("y ~", "lacks the name of a column; the formula ends at this position"),
        ("y ~ a +", "lacks the name of a column"),
        ("y ~ a ** b", "; `*` is at this position"),
        ("y ~ log(a)", "calls the function `log()`"),
        ("exp(y) ~ a", "calls the function `exp()`"),
        ("log(y, 2) ~ a", "cannot be read"),
        ("log(y + 1) ~ a", "needs one column in `log()`"),
        ("log(y ~ a", "needs one column in `log()`"),
        ("y ~ factor(a) + a:b", "has both `a` and `factor(a)`"),
        ("y ~ factor()", "lacks the name of a column in `factor()`"),
        ("y ~ factor(a, b)", "is invalid"),
        ("y ~ factor(a + b)", "needs one column in `factor()`"),
        ("cbind(s, f) ~ a", "calls the function"),
        ("y ~ I(x^2)", "calls the function"),
        ("y ~ a + 2", "only the numbers 0 and 1 can be terms"),
        ("y ~ 1 * a", "only the numbers 0 and 1 can be terms"),
        ("y ~ a^0", "a whole number from 1 to 10"),
        ("y ~ a^b", "a whole number from 1 to 10"),
        ("y ~ a/b", "has `/` where"),
        ("y ~ (a + b", "ends before a bracket is closed"),
        ("y ~ a)", "has `)` where"),
        ("y ~ .", "cannot be read; the part that begins with `.`"),
        ("y ~ a %in% b", "cannot be read; the part that begins with `%in% b`"),
        ("y ~ a | g", "outside a bracket"),
        ("y ~ a * (1 | g)", "outside a bracket"),
        ("y ~ a - (1 | g)", "removes a random effect"),
        ("y ~ (0 | g)", "without a term before `|`"),
        ("y ~ (1 | g + h)", "needs the name of a column, `a:b` or `a/b` after `|`"),
        ("y ~ (1 | )", "lacks the grouping column"),
        ("y ~ (1 | g) + (0 + x | g)", "more than one random effect for `g`"),
        ("y ~ (1 | g/h) + (1 | h:g)", "more than one random effect for `g:h`"),
        ("y ~ a + y", "both sides"),
        ("y ~ 0", "no fixed effect"),
        ("y ~ 0 + (1 | g)", "no fixed effect"),
    ],
)  # fmt: skip
def test_an_invalid_formula_is_refused_with_one_sentence_that_quotes_it(text, complaint):
    with pytest.raises(InputError) as error:
        parse_formula(text)
    message = str(error.value)
    assert f"the formula `{text}`" in message
    assert complaint in message
    assert message.endswith(
        "write a formula such as `rt_ms ~ model * prompt + (1 + prompt | participant) + (1 | item)`."
    )


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("y ~ x + (x || g)", "write `(1 + x | g)`, with correlations, or for factors `(1 | g) + (1 | g:x)`"),
        ("y ~ x * z + (1 + x * z || g)",
         "write `(1 + x + z + x:z | g)`, with correlations, or for factors `(1 | g) + (1 | g:x) + (1 | g:z) + "
         "(1 | g:x:z)`"),
    ],
)  # fmt: skip
def test_random_slopes_without_correlations_are_refused_with_formulas_that_can_be_fitted(text, fix):
    with pytest.raises(InputError) as error:
        parse_formula(text)
    message = str(error.value)
    assert message.startswith(f"the formula `{text}` has `||` (random slopes without correlations), which Equipoise")
    assert f"Fix: {fix}" in message
    for formula in fix.split("`")[1::2]:
        parse_formula(f"y ~ x * z + {formula}")


@given(st.text(alphabet="ab1y~+-*:^()|/` .02", max_size=14))
def test_any_text_is_read_or_refused(text):
    try:
        formula = parse_formula(text)
    except InputError:
        return
    assert formula.terms or formula.intercept
