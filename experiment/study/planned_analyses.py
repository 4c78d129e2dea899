"""Tables, statistical models, tests and comparisons of an analysis plan. All columns are from the analysed data."""

from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from experiment.study.former_names import with_present_keys

Level = bool | int | float | str


def _levels(where: Any) -> Any:
    for column, asked in where.items() if isinstance(where, dict) else ():
        for level in asked if isinstance(asked, (list, tuple)) else (asked,):
            if not isinstance(level, (bool, int, float, str)) or (isinstance(level, float) and not isfinite(level)):
                shown = "nothing" if level is None else repr(level)
                raise ValueError(
                    f"`where` compares `{column}` with {shown}, which cannot be a level. Fix: write a number, "
                    "a text, true or false, or a list of these."
                )
    return where


def _number_or_chance(against: Any) -> Any:
    is_number = isinstance(against, (int, float)) and not isinstance(against, bool) and isfinite(against)
    if is_number or against in ("chance", None):
        return against
    raise ValueError(f"the value is {against!r}, which is not a number. Fix: write a number or `chance`.")


def _factors(written: Any) -> Any:
    if isinstance(written, str) or written is None:
        return written
    if not isinstance(written, (list, tuple)) or not written or not all(isinstance(name, str) for name in written):
        raise ValueError(
            f"{written!r} is not a factor. Fix: write the name of a column, or a list of names such as [a, b]."
        )
    return written[0] if len(written) == 1 else tuple(written)


Factors = Annotated[str | tuple[str, ...] | None, BeforeValidator(_factors)]
"""One factor or several factors. A list with only one factor is converted to the factor."""
Against = Annotated[float | Literal["chance"] | None, BeforeValidator(_number_or_chance)]
Where = Annotated[dict[str, Level | tuple[Level, ...]], BeforeValidator(_levels)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=64)]
"""Name of a planned analysis, which is also the name of its file."""
Who = Literal["people", "models", "everyone"]

_WHERE: Any = Field(
    default_factory=dict,
    description="Use only rows with these levels. The keys are columns, and a value is a level or a list of levels.",
)
_EXPLORATORY: Any = Field(
    default=False,
    description="true: not part of the confirmatory analysis; the report marks this result as exploratory.",
)
_WHO = "Use the trials of people, of models, or of both. This key is only for the data of a study."


class _Planned(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    where: Where = _WHERE
    exploratory: bool = _EXPLORATORY


class PlannedTable(_Planned):
    """Number, mean, standard deviation, standard error and interval of columns, for each combination of levels."""

    by: tuple[str, ...] = Field(
        min_length=1, description="Factors. There is one mean for each combination of levels in the data."
    )
    of: tuple[str, ...] = Field(min_length=1, description="Numeric or yes-no columns to average.")
    order_by: tuple[str, ...] = Field(
        default=(), description="Columns of the table to sort by; `-` before a name sorts from high to low."
    )
    first: int | None = Field(
        default=None, ge=1, description="Number of rows to keep from the top, as in a leaderboard; all rows if omitted."
    )
    who: Who = Field(default="everyone", description=_WHO)


class PlannedContrasts(BaseModel):
    """Estimated marginal means and their differences."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: tuple[str, ...] = Field(
        min_length=1,
        description="Factors whose levels, or combinations of levels, are compared.",
    )
    by: tuple[str, ...] = Field(
        default=(),
        description="Factors that divide the comparisons: the levels of `of` are compared within each level of `by`.",
    )
    adjust: Literal["tukey", "holm", "bh", "none"] = Field(
        default="holm",
        description=(
            "Correction of p values for the number of comparisons, separately for each entry and each level of `by`. "
            "The confidence intervals are not corrected."
        ),
    )


class PlannedModel(_Planned):
    """A linear, logistic, gamma or ordinal mixed model."""

    formula: str = Field(
        min_length=3,
        description=(
            "Formula as in R's lme4, such as `correct ~ subject * condition + (1 | participant) + (1 | item_id)`. "
            "`log(rt_ms) ~ ...` is a linear model of the natural logarithm of the outcome."
        ),
    )
    family: Literal["gaussian", "binomial", "gamma", "ordinal"] = Field(
        default="gaussian",
        description=(
            "`gaussian` for a linear model, `binomial` for a logistic model of 0 and 1, `gamma` for a gamma model with "
            "a log link, for an outcome above 0 such as response times, `ordinal` for a cumulative logit model "
            "(proportional odds), for ordered numbers such as ratings from 1 to 5."
        ),
    )
    reference: dict[str, Level] = Field(
        default_factory=dict, description="Reference level of each factor; if omitted, the first level in order."
    )
    term_tests: Literal["joint", "treatment"] = Field(
        default="joint",
        description=(
            "`joint`: test each term over all levels of the other factors, with equal weights. Linear models have F "
            "tests with Satterthwaite's degrees of freedom, other mixed models have χ² tests. `treatment`: Wald χ² "
            "tests of treatment contrasts. A factor that is part of an interaction is then tested only at the "
            "reference levels of the other factors in the interaction."
        ),
    )
    contrasts: tuple[PlannedContrasts, ...] = Field(
        default=(), description="Estimated marginal means and pairwise contrasts."
    )
    who: Who = Field(default="everyone", description=_WHO)


COMPARISONS = {
    "t": ("between", "within", "against"),
    "welch_t": ("between", "within"),
    "anova": ("between", "within"),
    "chi_square": ("between", "within"),
    "wilcoxon": ("within", "against"),
    "mann_whitney": ("between",),
    "permutation": ("between", "within", "against"),
}
"""For each test, the keys of a plan that can name the levels or the value to compare."""


class PlannedTest(_Planned):
    """A t test, analysis of variance, chi-square test, rank test or permutation test."""

    test: Literal["t", "welch_t", "anova", "chi_square", "wilcoxon", "mann_whitney", "permutation"] = Field(
        description=(
            "`t`: Student's t test, which assumes equal variances. `welch_t`: Welch's t test, which allows unequal "
            "variances. With `within`, both are the paired t test, and the report says so. With `against`, `t` is the "
            "one-sample t test. `anova`: analysis of variance, with one or several factors. `wilcoxon`: Wilcoxon's "
            "signed-rank test, with `within` or `against`. `mann_whitney`: Mann-Whitney U test of two levels, with "
            "`between`. `permutation`: permutation test of a difference of means."
        )
    )
    of: str = Field(description="The tested column.")
    per: str | None = Field(
        default=None,
        description="Column of the unit, such as `participant`. `summary` makes one value for each unit and level.",
    )
    between: Factors = Field(
        default=None,
        description="Factor for a comparison between units: each unit has one level. For `anova`: a factor, or a list.",
    )
    within: Factors = Field(
        default=None,
        description=(
            "Factor for a comparison within units: each unit has every level. For `anova`: a factor, or a list, also "
            "beside `between`."
        ),
    )
    against: Against = Field(
        default=None,
        description=(
            "A number, instead of `between` or `within`: the test compares the values of the units with this number. "
            "`chance`: the test compares each unit's accuracy with the mean chance level of the same rows."
        ),
    )
    levels: tuple[Level, ...] = Field(
        default=(), description="The factor's levels, in order. A difference is the first level minus the second level."
    )
    summary: Literal["mean", "sum"] = Field(
        default="mean", description="Function that turns a unit's rows into one value."
    )
    equivalence_margin: float | None = Field(
        default=None,
        gt=0,
        description=(
            "Largest difference that counts as no difference. If given, an equivalence test is made (t tests only)."
        ),
    )
    bayes_factor: bool = Field(
        default=False,
        description=(
            "true: report a Bayes factor for a difference (t tests only). A value below 1 favours no difference."
        ),
    )
    family: str = Field(
        default="tests",
        description="Name of a family of tests, whose p values are corrected together.",
    )
    who: Who = Field(default="people", description=_WHO)

    @model_validator(mode="after")
    def _is_complete(self) -> "PlannedTest":
        given = [key for key in ("between", "within", "against") if getattr(self, key) is not None]
        if len(given) != 1 and (self.test != "anova" or given != ["between", "within"]):
            raise ValueError(
                "a test needs exactly one of `between`, `within` and `against`; only `anova` can have `between` and "
                "`within`. Fix: write one of the three."
            )
        for compared in given:
            if compared not in COMPARISONS[self.test]:
                tests = ", ".join(f"`{test}`" for test, keys in COMPARISONS.items() if compared in keys)
                keys = " or ".join(f"`{key}`" for key in COMPARISONS[self.test])
                raise ValueError(
                    f"the test `{self.test}` cannot have `{compared}`. Fix: choose one of the tests {tests}, or write "
                    f"{keys} instead of `{compared}`."
                )
        self._check_factors()
        if self.against is not None and self.levels:
            raise ValueError(
                "a test with `against` compares a mean with a fixed value. It has no factor, so it cannot have "
                "`levels`. Fix: delete `levels`, and select rows with `where`."
            )
        if self.within is not None and self.per is None:
            raise ValueError("a test `within` units lacks `per`. Fix: name the column of the unit.")
        if self.test != "chi_square" and self.per is None:
            raise ValueError("the test lacks `per`. Fix: name the column of the unit, such as `participant`.")
        if self.compares_two_levels and self.levels and len(self.levels) != 2:
            raise ValueError(f"the test `{self.test}` compares two levels. Fix: name two levels in `levels`.")
        if self.test not in {"t", "welch_t"} and (self.equivalence_margin is not None or self.bayes_factor):
            raise ValueError(
                "`equivalence_margin` and `bayes_factor` are for t tests only. Fix: delete these "
                "keys, or set `test: t`."
            )
        return self

    def _check_factors(self) -> None:
        if len(self.factors) < 2:
            return
        if self.test != "anova":
            raise ValueError(
                f"the test `{self.test}` has the factors {', '.join(self.factors)}, but it compares the levels of one "
                "factor. Fix: name one factor, or write `test: anova`."
            )
        if self.levels:
            raise ValueError(
                "`levels` are levels of one factor, but this test has several factors. Fix: delete `levels`, and "
                "select levels with `where`."
            )
        columns = (self.of, self.per, *self.factors)
        for column in self.factors:
            if columns.count(column) > 1:
                raise ValueError(
                    f"`{column}` is named more than once in `of`, `per`, `between` and `within`. Fix: name each column "
                    "once."
                )

    @property
    def between_factors(self) -> tuple[str, ...]:
        """The factors of `between`."""
        return _as_tuple(self.between)

    @property
    def within_factors(self) -> tuple[str, ...]:
        """The factors of `within`."""
        return _as_tuple(self.within)

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors whose levels are compared; empty for a test `against` a value."""
        return (*self.between_factors, *self.within_factors)

    @property
    def factor(self) -> str:
        """The only factor; empty for a test `against` a value, and for an analysis of variance with several factors."""
        return self.factors[0] if len(self.factors) == 1 else ""

    @property
    def n_effects(self) -> int:
        """Number of tested effects: main effects and interactions of an analysis of variance, otherwise 1."""
        return max(1, (1 << len(self.factors)) - 1)

    @property
    def compares_two_levels(self) -> bool:
        """True if the test can compare only two levels of the factor."""
        return self.test not in {"anova", "chi_square"}


def _as_tuple(factors: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if factors is None else (factors,) if isinstance(factors, str) else factors


class PlannedComparison(BaseModel):
    """Comparison of people's accuracy with each model's accuracy, over the items that were given to both."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    by: tuple[str, ...] = Field(
        default=(),
        description=(
            "Factors. There is one comparison for each model and each combination of levels. If omitted, there is one "
            "comparison for each model."
        ),
    )
    equivalence_margin: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Largest difference in accuracy that counts as no difference, such as 0.1.",
    )
    exploratory: bool = _EXPLORATORY


class PlannedSignal(BaseModel):
    """Hits and false alarms of an option, such as "there is not enough information".

    A participant's choice of this option is a hit if the option is right for the item, and otherwise a false alarm.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    signal: Where = Field(min_length=1, description="Levels of the items for which `response` is the right answer.")
    noise: Where = Field(
        default_factory=dict, description="Levels of the items for comparison; if omitted, all other items."
    )
    response: str | tuple[str, ...] = Field(description="Text of the option, or a list of texts.")
    exploratory: bool = _EXPLORATORY


class PlannedConfidence(_Planned):
    """Confidence ratings against accuracy: over-confidence, Brier score and expected calibration error."""

    of: str = Field(default="correct", description="Yes-no column with the correctness of the response.")
    rating: str = Field(description="Numeric column with the confidence that the response is correct.")
    scale: Literal["share", "percent"] = Field(
        default="share", description="`share`: confidence is from 0 to 1. `percent`: confidence is from 0 to 100."
    )
    by: tuple[str, ...] = Field(
        default=(), description="Factors. There is one row for each subject and each combination of levels."
    )
    bins: int = Field(
        default=10, ge=2, le=100, description="Number of bins of confidence, which have equal widths from 0 to 1."
    )
    who: Who = Field(default="everyone", description=_WHO)


class PlannedAnalyses(BaseModel):
    """The analyses of a tidy table, with any columns."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    subject: str | None = Field(
        default=None,
        description=(
            "Column of the respondent. In a study: `subject`, with a level for people and a level for each model."
        ),
    )
    flags: dict[Name, Where] = Field(
        default_factory=dict,
        description="New yes-no columns, by name. The value is true in rows with the given levels.",
    )
    tables: dict[Name, PlannedTable] = Field(default_factory=dict, description="Tables of means, by name.")
    models: dict[Name, PlannedModel] = Field(default_factory=dict, description="Mixed models, by name.")
    tests: dict[Name, PlannedTest] = Field(default_factory=dict, description="Hypothesis tests, by name.")
    confidence_ratings: dict[Name, PlannedConfidence] = Field(
        default_factory=dict, description="Analyses of confidence ratings, by name."
    )
    correction: Literal["holm", "bh", "none"] = Field(
        default="holm",
        description=(
            "Correction of p values for the report's conclusions. The table of tests has the p values of both "
            "corrections."
        ),
    )
    confidence: float = Field(default=0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    resamples: int = Field(
        default=10_000,
        ge=1_000,
        le=1_000_000,
        description="Number of random permutations of a permutation test that is not exact.",
    )
    seed: int = Field(
        default=1,
        ge=0,
        le=2**31 - 1,
        description=(
            "Seed of all random choices of the analysis, such as random permutations. The same data and seed give the "
            "same results."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _rename_former_keys(cls, plan: Any, info: ValidationInfo) -> Any:
        return with_present_keys(plan, None if info.context is None else info.context["path"])
