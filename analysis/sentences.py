"""Numbers in words, for the report and the figures. The tables keep every digit."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedComparison


def percent(share: float, digits: int = 1) -> str:
    r"""Return a share as a percentage.

    Examples
    --------
    >>> percent(0.8125), percent(0.95, 0), percent(-0.031)
    ('81.2\xa0%', '95\xa0%', '−3.1\xa0%')
    """
    rounded = round(100 * share, digits) + 0.0  # No minus sign before 0.0.
    return f"{rounded:.{digits}f}\u00a0%".replace("-", "−")


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, with its sign.

    Examples
    --------
    >>> points(0.0524), points(-0.1), points(0.0)
    ('+5.2', '−10.0', '0.0')
    """
    rounded = f"{100 * abs(difference):.1f}"
    sign = "" if rounded == "0.0" else "+" if difference > 0 else "−"
    return f"{sign}{rounded}"


def milliseconds(value: float) -> str:
    r"""Return a time with the most readable unit.

    Examples
    --------
    >>> milliseconds(200), milliseconds(1500), milliseconds(60_000)
    ('200\xa0ms', '1.5\xa0s', '60\xa0s')
    """
    return (
        f"{value:g}\u00a0ms"
        if value < 1000
        else f"{value / 1000:.3g}\u00a0s"
        if value < 1e6
        else f"{value / 1000:,.0f}\u00a0s"
    )


def count(number: int, one: str, many: str | None = None) -> str:
    r"""Return a number with its noun.

    Examples
    --------
    >>> count(1, "participant"), count(1200, "trial")
    ('1\xa0participant', '1,200\xa0trials')
    """
    return f"{number:,}\u00a0{one if number == 1 else many or one + 's'}"


MOST_LISTED = 20
"""Largest number of names that a sentence lists."""


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return names with commas between them. A list of more than `most` names is shortened.

    Examples
    --------
    >>> listed(["A", "B"]), listed([]), listed([str(number) for number in range(25)])[-14:]
    ('A, B', 'none', ' 19 and 5 more')
    """
    more = len(names) - most
    return (", ".join(names[:most]) or "none") + (f" and {more:,} more" if more > 0 else "")


def level_words(level: Any) -> str:
    """Return the text of a factor's level for a reader."""
    if pd.isna(level):
        return "(not set)"
    if isinstance(level, bool):
        return "yes" if level else "no"
    return f"{level:g}" if isinstance(level, float) else str(level)


def source_words(kind: str, source: str) -> str:
    """Return the source of responses in words. A laboratory session of a simulated participant is a rehearsal.

    Examples
    --------
    >>> source_words("human", "lab"), source_words("simulated", "lab"), source_words("simulated", "web")
    ('lab', 'lab (rehearsals)', 'web')
    """
    return f"{source} (rehearsals)" if (kind, source) == ("simulated", "lab") else source


def simulated_words(sources: Collection[str], *, has_people: bool) -> str:
    """Return a note on simulated participants.

    It states whether a program or a person in a rehearsal gave the responses.
    """
    rehearsals = "rehearsals in the laboratory, in which a person pressed keys to test the study"
    if "lab" not in sources:
        origin = "A program made their responses and response times to test the study."
        meaning = "These data say nothing about people."
    elif set(sources) == {"lab"}:
        origin = f"Their sessions are {rehearsals}."
        meaning = "These data are not from participants of the study."
    else:
        origin = (
            f"Sessions with the source lab are {rehearsals}; a program made the responses and response times of the "
            "other sessions."
        )
        meaning = "These data are not from participants of the study."
    pooling = " They are never pooled with people's data." if has_people else ""
    return f"{origin} {meaning}{pooling}"


def programs_words(programs: dict[str, list[str]]) -> str:
    r"""Return a note that names the programs among the models (`analysis.data.subjects.programs_among`).

    Examples
    --------
    >>> programs_words({"baseline": ["baseline/tracer"]})
    'A program computed the responses of these computational baselines: baseline/tracer.'
    """
    words = {
        "mock": "A program made up the replies of these mock models to test the study",
        "baseline": "A program computed the responses of these computational baselines",
    }
    sentences = [f"{words[kind]}: {listed(names)}." for kind, names in programs.items()]
    if "mock" in programs:
        sentences.append("The replies of mock models say nothing about language models.")
    return " ".join(sentences)


def bounds_in_percent(low: float, high: float) -> str:
    """Return the bounds of a share's interval. The brackets have no unit, because the estimate before them has it.

    Examples
    --------
    >>> bounds_in_percent(0.639, 0.765), bounds_in_percent(-0.0312, 0.1)
    ('[63.9, 76.5]', '[−3.1, 10.0]')
    """
    return f"[{percent(low)}, {percent(high)}]".replace("\u00a0%", "")


def interval(low: float, high: float, confidence: float) -> str:
    """Return a confidence interval of a share as text, in percent."""
    return f"{percent(confidence, 0)} CI {bounds_in_percent(low, high)}"


def accuracy_sentence(row: dict[str, Any], plan: AnalysisPlan) -> str:
    """Return one row of the table `accuracy_overall` as a sentence."""
    subject = _capital(str(row["subject"]))
    n = "" if row["kind"] == "model" else f"n = {row['n_participants']:,}, "
    ci = interval(row["ci_low"], row["ci_high"], plan.confidence)
    return f"{subject}: {percent(row['accuracy'])} correct, {ci}, {n}{count(row['n_trials'], 'trial')}."


MOST_IN_SENTENCES = 2
"""Maximum number of results of one kind that have a sentence each in a summary. More results have one sentence."""


def accuracy_summary(
    rows: Sequence[dict[str, Any]], n_models: int, plan: AnalysisPlan, most: int = MOST_IN_SENTENCES
) -> list[str]:
    """Return the table `accuracy_overall` in a few entries: up to `most` for participants, and up to `most` for models.

    More than `most` models are one entry, which states the range of their accuracies. `n_models` is the number of
    different models. A model under several conditions counts once.
    """
    participants = [accuracy_sentence(row, plan) for row in rows if row["kind"] != "model"]
    if len(participants) > most:
        participants = [" ".join(participants)]
    models = [row for row in rows if row["kind"] == "model"]
    if len(models) <= most:
        return [*participants, *(accuracy_sentence(row, plan) for row in models)]
    lowest, highest = (choose(models, key=lambda row: row["accuracy"]) for choose in (min, max))
    under = f" under {len(models)} conditions in total" if n_models < len(models) else ""
    of_models = (
        f"{count(n_models, 'model')}{under}: from {percent(lowest['accuracy'])} correct ({lowest['subject']}) to "
        f"{percent(highest['accuracy'])} correct ({highest['subject']})."
    )
    return [*participants, of_models]


MOST_CONSTANT = 4
"""Largest number of equally good constant responses that a sentence lists."""


def chance_sentence(chance: float, constant_responses: Sequence[str], constant_accuracy: float, n_items: int) -> str:
    r"""Return the accuracy of random responses, and of the constant response that is correct at the most items.

    `constant_responses` has several responses if they are correct at equally many of the `n_items` items.

    Examples
    --------
    >>> chance_sentence(0.25, ["2"], 0.3, 40).replace("\u00a0", " ")
    'Chance level: 25.0 % correct by random responses; 30.0 % of 40 items correct by always responding “2”.'
    >>> chance_sentence(0.25, ["1", "2"], 0.5, 40).split("; ")[1].replace("\u00a0", " ")
    '50.0 % of 40 items correct by always giving the same response (“1” and “2” are equally good).'
    """
    *before, last = [f"“{response}”" for response in constant_responses]
    equal = f"{', '.join(before)} and {last}" if len(before) < MOST_CONSTANT else f"{len(before) + 1} responses"
    always = (
        f"by always giving the same response ({equal} are equally good)" if before else f"by always responding {last}"
    )
    return (
        f"Chance level: {percent(chance)} correct by random responses; {percent(constant_accuracy)} of "
        f"{count(n_items, 'item')} correct {always}."
    )


def difference_sentence(row: dict[str, Any], plan: AnalysisPlan) -> str:
    """Return one row of the table `differences_overall` as a sentence, whose claim follows from the CI."""
    people, model = _capital(str(row["people"])), row["model"]
    size = f"{100 * abs(row['difference']):.1f}\u00a0percentage points"
    bounds = f"[{points(row['ci_low'])}, {points(row['ci_high'])}]"
    ci = f"{percent(plan.confidence, 0)} CI {bounds}, {count(row['n_items'], 'item')}"
    if row["ci_low"] <= 0 <= row["ci_high"]:
        found = "had the same accuracy as" if size.startswith("0.0") else f"were {size} {_side(row)}"
        return f"{people} {found} {model}, {ci}. The CI includes zero: the direction of the difference is uncertain."
    return f"{people} were {size} {_side(row)} {model}, {ci}."


def groups_sentence(row: dict[str, Any], plan: AnalysisPlan) -> str:
    """Return one row of the table `people_and_models_overall` as sentences, whose claims follow from the CI."""
    ci = f"{percent(plan.confidence, 0)} CI"
    people, models = (
        f"{percent(row[name])} correct, {ci} {bounds_in_percent(row[f'{name}_ci_low'], row[f'{name}_ci_high'])}"
        for name in ("accuracy_people", "accuracy_models")
    )
    size = f"{100 * abs(row['difference']):.1f}\u00a0percentage points"
    bounds = f"{ci} [{points(row['ci_low'])}, {points(row['ci_high'])}]"
    found = (
        f"{_capital(str(row['people']))} ({count(row['n_participants'], 'participant')}): {people}. Models "
        f"({count(row['n_models'], 'model')} as one group): {models}, over {count(row['n_items'], 'item')}."
    )
    if row["ci_low"] <= 0 <= row["ci_high"]:
        return f"{found} The difference is {points(row['difference'])} points, {bounds}: its direction is uncertain."
    return f"{found} {_capital(str(row['people']))} were {size} {_side(row)} the models, {bounds}."


def demands_sentence(n_items: Mapping[str, int]) -> str:
    """Return a sentence on the numbers of items with each demand.

    Examples
    --------
    >>> demands_sentence({"beliefs": 12, "feelings": 1})
    'Items with each demand: beliefs 12, feelings 1. An item can have several demands, so the accuracies overlap.'
    """
    counts = ", ".join(f"{demand} {n}" for demand, n in n_items.items())
    return f"Items with each demand: {counts}. An item can have several demands, so the accuracies overlap."


def run_sentence(row: dict[str, Any], plan: AnalysisPlan) -> str:
    r"""Return a sentence on the variation between the runs of a model. `row` is a row of the table `models`.

    Examples
    --------
    >>> row = {"subject": "M", "n_runs": 5, "sd_between_runs": 0.0412, "sd_between_runs_by_chance": 0.02}
    >>> observed, by_chance = run_sentence(row, AnalysisPlan()).replace("\u00a0", " ").split("; ")
    >>> observed
    'M: the accuracies of 5 runs have an SD of 4.1 points'
    >>> by_chance
    'the variance expected by chance is that of an SD of 2.0 points.'
    """
    observed, expected = (
        f"{100 * row[name]:.1f}\u00a0points" for name in ("sd_between_runs", "sd_between_runs_by_chance")
    )
    # These accuracies differ from those of single runs, which use all valid replies of a run.
    where = f" over the items {asked_items(plan, 'every run')}" if plan.invalid == "left_out" else ""
    return (
        f"{row['subject']}: the accuracies of {count(row['n_runs'], 'run')}{where} have an SD of {observed}; the "
        f"variance expected by chance is that of an SD of {expected}."
    )


def comparison_sentence(row: dict[str, Any], planned: PlannedComparison, plan: AnalysisPlan) -> str:
    """Return one row of a planned comparison as a sentence.

    If the comparison has an equivalence margin, a second sentence states whether the difference is within the margin.
    """
    sentence = difference_sentence(row, plan)
    if pd.notna(row["accuracy_ratio"]):
        sentence += f" Ratio of accuracies, model / {row['people']}: {percent(row['accuracy_ratio'], 0)}."
    if planned.equivalence_margin is None:
        return sentence
    narrow = f"{percent(2 * plan.confidence - 1, 0)} CI"
    bounds = f"[{points(row['equivalence_ci_low'])}, {points(row['equivalence_ci_high'])}]"
    verdict = (
        f"is within the margin of {100 * planned.equivalence_margin:g} points: no relevant difference"
        if row["is_equivalent"]
        else f"is not within the margin of {100 * planned.equivalence_margin:g} points: equivalence is not shown"
    )
    return f"{sentence} The {narrow} {bounds} {verdict}."


def _side(row: dict[str, Any]) -> str:
    return "above" if row["difference"] > 0 else "below"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text in {"people", "simulated participants"} else text


def invalid_words(plan: AnalysisPlan) -> str:
    """Return the end of a sentence on invalid and missing responses of a model, such as “count as not correct”."""
    return {
        "wrong": "count as not correct",
        "left_out": "are left out",
        "chance": "count as the chance of their item",
    }[plan.invalid]


def item_units(plan: AnalysisPlan) -> str:
    """Return the words for the units to which the intervals of models generalize, such as `items`."""
    return "items" if plan.item_cluster is None else f"levels of {plan.item_cluster.replace('_', ' ')}"


def asked_items(plan: AnalysisPlan, models: str) -> str:
    """Return the end of a sentence on the items of a model, such as “that the model was asked”.

    With `invalid: left_out`, a model has no trial of an item to which it gave no valid reply.
    """
    if plan.invalid == "left_out":
        return f"that have a valid reply of {models}"
    return f"that {models} {'were' if models.startswith('both') else 'was'} asked"


def without_variance(plan: AnalysisPlan) -> str:
    """Return a sentence on the effective number of trials of a model with only correct or only incorrect responses."""
    units = item_units(plan)
    number = (
        "effective number of items" if units == "items"
        else f"geometric mean of the effective numbers of {units} and of items"
    )  # fmt: skip
    equal = "The effective number of items is the real number if all items have equal weights"
    if units == "items":
        equal += ", and smaller otherwise."
    else:
        equal += (
            f". The effective number of {units} is the real number if the sum of the items' weights is the same in "
            "each of them. Otherwise, the numbers are smaller."
        )
    return f"Then the effective number of trials is the {number} (Kish, 1965). {equal}"
