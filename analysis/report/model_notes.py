"""The notes below the tables of a statistical model. A note describes only what a model of its kind has."""

from analysis.planned.models import FittedModel, has_f_tests, has_random_effects

NOTES = {
    "odds_ratios": "Odds ratios and their CIs are exponentiated coefficients and CIs.",
    "thresholds": "Log-odds of a category up to the threshold, at the reference levels and where covariates and random "
    "effects are 0.",
    "correlations": "",
    "fit": "R² follows Nakagawa et al. (2017).",
}
"""The note of each table whose note is the same for all models that have this table."""


def model_note(fitted: FittedModel, kind: str) -> str:
    """Return the note below a table of a statistical model. `kind` is the kind of table, such as `coefficients`."""
    notes = {
        "anova": _terms_note,
        "effect_sizes": _effect_sizes_note,
        "means": _means_note,
        "coefficients": _coefficients_note,
        "ratios": _ratios_note,
        "standardized": _standardized_note,
        "random": _random_note,
    }
    return notes[kind](fitted) if kind in notes else NOTES[kind]


def _terms_note(fitted: FittedModel) -> str:
    if fitted.planned.term_tests == "treatment":
        return (
            "Type III Wald χ² tests with treatment contrasts. The main effect of a factor is its effect at the "
            "reference levels of the other factors that interact with this factor."
        )
    words = "Joint tests (type III): each term is tested over all levels of the other factors, with equal weights."
    if not has_f_tests(fitted):
        return f"{words} The tests are Wald χ² tests."
    how = "Satterthwaite's degrees of freedom" if has_random_effects(fitted) else "the residual degrees of freedom"
    return f"{words} F tests have {how}."


def _effect_sizes_note(fitted: FittedModel) -> str:
    mixed = " In a mixed model, this is an approximation." if has_random_effects(fitted) else ""
    return (
        f"Effect sizes are computed from F and its degrees of freedom, as in R's effectsize.{mixed} The CIs are "
        "two-sided. The F test is one-sided, so a CI can include 0 although the term is significant. There is no CI if "
        "F is so near 0 that both bounds would be 0."
    )


def _means_note(fitted: FittedModel) -> str:
    words = "Each mean is averaged over the other factors with equal weights. Covariates are set to their means"
    words += ", and random effects to 0." if has_random_effects(fitted) else "."
    family = fitted.planned.family
    if family == "ordinal":
        return f"{words} Means are log-odds of higher categories, relative to the mean of the thresholds."
    if family == "gaussian" or not has_random_effects(fitted):
        return words
    what = "probability" if family == "binomial" else "mean"
    groups = " and ".join(str(group) for group in fitted.model.random["group"].drop_duplicates() if group != "Residual")
    return (
        f"{words} So the {what} is that of an average level of the random effects ({groups}). It is not an average "
        "over these levels."
    )


def _coefficients_note(fitted: FittedModel) -> str:
    table = fitted.model.coefficients
    if "df" not in table or table["df"].isna().all():
        return "Tests are Wald's z."
    how = "Satterthwaite's" if has_random_effects(fitted) else "the residual ones"
    return f"Degrees of freedom are {how}."


def _ratios_note(fitted: FittedModel) -> str:
    means = "geometric means, because the outcome is a logarithm" if fitted.model.log_outcome else "means"
    has_interaction = fitted.model.coefficients["term"].str.contains(":").any()
    interaction = " The row of an interaction has a ratio of ratios." if has_interaction else ""
    return (
        f"Exponentiated coefficients and CIs: ratios of {means}.{interaction} The row of the intercept has the mean "
        "itself, at the reference levels and where covariates and random effects are 0."
    )


def _standardized_note(fitted: FittedModel) -> str:
    what = "covariates and the outcome" if fitted.planned.family == "gaussian" else "covariates"
    return f"The model was fitted again with {what} in standard deviations."


def _random_note(fitted: FittedModel) -> str:
    has_residual = (fitted.model.random["group"] == "Residual").any()
    return f"Values are standard deviations.{' The row Residual is the residual error.' if has_residual else ''}"
