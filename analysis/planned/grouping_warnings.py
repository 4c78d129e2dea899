"""Warnings about a formula without random effects for participants or items, and about tests of dependent rows."""

import pandas as pd

from analysis.planned.run_groups import run_groups_of, run_warnings
from analysis.sentences import count
from analysis.statistics.mixed_models.formulas import Formula, parse_formula
from experiment.study.planned_analyses import PlannedTest

GROUPINGS = {"participant": "of the same participant", "item_id": "to the same item"}
"""Columns with groups of related responses, and the words for these responses in a warning."""


def grouping_warnings(rows: pd.DataFrame, formula: str, family: str = "gaussian") -> tuple[str, ...]:
    """Return a sentence for each missing random effect of participants or items, and one for missing random slopes.

    Parameters
    ----------
    rows
        The rows that the statistical model uses. Columns of `GROUPINGS` that the rows lack are not checked. Rows whose
        `kind` is `model` are responses of language models; `run_warnings` checks them.
    formula
        The formula of the statistical model, such as `correct ~ condition + (1 | participant) + (1 | item_id)`.
    family
        The family of the statistical model. There is no warning on random slopes for an ordinal model, which cannot
        have them.

    Notes
    -----
    Responses of the same participant, and responses to the same item, are related. Without a random effect, the model
    treats them as independent. Without a random slope, the model assumes that an effect is equal in all participants
    or items (Barr et al., 2013). A random effect of the interaction, such as `(1 | participant:condition)`, also lets
    the effect vary.

    References
    ----------
    Barr, D. J., Levy, R., Scheepers, C., & Tily, H. J. (2013). Random effects structure for confirmatory hypothesis
    testing: Keep it maximal. Journal of Memory and Language, 68, 255-278.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"participant": ["a", "a", "b", "b"], "condition": ["x", "y", "x", "y"], "correct": 1})
    >>> grouping_warnings(rows, "correct ~ condition")[0].partition(",")[0]
    'The formula has no random effect for `participant`'
    >>> grouping_warnings(rows, "correct ~ condition + (1 + condition | participant)")
    ()
    >>> grouping_warnings(rows, "correct ~ condition + (1 | participant) + (1 | participant:condition)")
    ()
    """
    model = parse_formula(formula)
    used = rows.dropna(subset=[column for column in model.columns if column in rows])
    has_kinds = {"kind", "participant"}.issubset(used.columns)
    modelled = {*model.predictors, *(column for random in model.random for column in random.group)}
    modelled |= {"participant"} if has_kinds and run_groups_of(model) else set()
    said, constant = [], []
    for grouping, related in GROUPINGS.items():
        groups = used[grouping] if grouping in used else pd.Series()
        if has_kinds and grouping == "participant":
            groups = groups[used["kind"] != "model"]
        if grouping not in modelled and _is_grouping(groups):
            said.append(
                f"The formula has no random effect for `{grouping}`, but treats the responses {related} as "
                f"independent, so p values can be far too small. Fix: add `(1 | {grouping})`."
            )
    grouped_by = {frozenset(random.group) for random in model.random}
    for random in model.random:
        if len(random.group) == 1:
            slopes = {variable for slope in random.slopes for variable in slope}
            varying = _varying(used, random.group_name, model)
            constant += [
                (name, random.group_name)
                for name in varying
                if name not in slopes and frozenset((random.group_name, name)) not in grouped_by
            ]
    if has_kinds and not any("`participant`" in sentence for sentence in said):
        said += run_warnings(used, model)
    if constant:
        name, grouping = constant[0]
        said.append(
            f"Effects without a random slope: {', '.join(f'`{name}` in `{group}`' for name, group in constant)}. The "
            "model treats these effects as equal in all groups. If they differ between the groups, p values are too "
            f"small. Fix: consider {_varying_effect(name, grouping, family)}."
        )
    return tuple(said)


def dependence_warnings(
    rows: pd.DataFrame, planned: PlannedTest, n: int, item_cluster: str | None = None
) -> tuple[str, ...]:
    """Return a sentence if a test treats related values as independent.

    Parameters
    ----------
    rows
        The rows that the test uses.
    planned
        The test, as written in the plan. A chi-square test between units counts rows, so several rows of the same
        participant or item are related. In a test with one value per item, the items of one cluster are related.
    n
        The number of units in the result of the test. It is smaller than the number of items if the test excludes items
        that lack a value at a level.
    item_cluster
        The column with the clusters of items, if the plan has such clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"participant": ["a", "a", "b", "b"], "side": ["x", "y", "x", "y"], "correct": 1})
    >>> planned = PlannedTest(test="chi_square", of="correct", between="side")
    >>> dependence_warnings(rows, planned, 4)[0].partition(". So")[0].partition("several of them have ")[2]
    'the same level of `participant` (2 levels)'
    """
    used = rows.dropna(subset=[planned.of, *(["chance"] if planned.against == "chance" else [])])
    if planned.test == "chi_square" and planned.within is None:
        columns = dict.fromkeys([planned.per or "participant", *GROUPINGS, *([item_cluster] if item_cluster else [])])
        groups = {name: used[name] for name in columns if name in used and _is_grouping(used[name])}
        units = count(len(used), "row")
    elif planned.per == "item_id" and item_cluster is not None and item_cluster in used:
        items = used.drop_duplicates("item_id")
        if n < len(items):
            n_levels = used.drop_duplicates(["item_id", *planned.factors])["item_id"].value_counts()
            items = items[items["item_id"].map(n_levels) == n_levels.max()]
        groups = {item_cluster: items[item_cluster]} if _is_grouping(items[item_cluster]) else {}
        units = count(len(items), "item")
    else:
        return ()
    if not groups:
        return ()
    sizes = ", ".join(f"`{name}` ({values.nunique():,} levels)" for name, values in groups.items())
    fix = f"fit a mixed model with random effects, such as `(1 | {next(iter(groups))})`"
    if planned.test != "chi_square" and planned.between is None:
        fix += f", or use `per: {item_cluster}`"
    return (
        f"The test treats the {units} as independent, but several of them have the same level of {sizes}. So p can be "
        f"far too small. Fix: {fix}.",
    )


def _varying_effect(name: str, grouping: str, family: str) -> str:
    """Return the random effect, as text, with which an effect can differ between groups.

    In ordinal models, it has only intercepts.
    """
    if family == "ordinal":
        return f"a further random intercept, such as `(1 | {grouping}:{name})`"
    return f"random slopes, such as `(1 + {name} | {grouping})`"


def _is_grouping(values: "pd.Series[str]") -> bool:
    """Return True if there are several groups, and the median group has several rows."""
    sizes = values.value_counts()
    return len(sizes) > 1 and sizes.median() > 1


def _varying(rows: pd.DataFrame, grouping: str, model: Formula) -> list[str]:
    """Return the predictors of the fixed effects that have different values in the same group."""
    predictors = list(dict.fromkeys(variable for term in model.terms for variable in term))
    counts = rows.groupby(grouping, observed=True)[predictors].nunique()
    return [name for name in predictors if (counts[name] > 1).any()]
