"""Numbers in words, for the report and the figures. Tables keep the numbers themselves."""

from collections.abc import Collection
from typing import Any

import pandas as pd

from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedComparison


def percent(share: float, digits: int = 1) -> str:
    r"""Return a share as a percentage.

    Examples
    --------
    >>> percent(0.8125), percent(0.95, 0)
    ('81.2\xa0%', '95\xa0%')
    """
    return f"{100 * share:.{digits}f}\u00a0%"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, signed.

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


def level_words(level: Any) -> str:
    """Return a level of a factor as shown to a reader."""
    if pd.isna(level):
        return "(not set)"
    if isinstance(level, bool):
        return "yes" if level else "no"
    return f"{level:g}" if isinstance(level, float) else str(level)


def source_words(kind: str, source: str) -> str:
    """Return the sources of a kind's responses; `lab` of simulated participants means a rehearsal.

    Examples
    --------
    >>> source_words("human", "lab"), source_words("simulated", "lab"), source_words("simulated", "web")
    ('lab', 'lab (rehearsals)', 'web')
    """
    return f"{source} (rehearsals)" if (kind, source) == ("simulated", "lab") else source


def simulated_words(sources: Collection[str], *, has_people: bool) -> str:
    """Return a note on simulated participants: programs, or in the laboratory people in a rehearsal."""
    rehearsals = "rehearsals in the laboratory, in which a person pressed keys to try the study out"
    nobody = "None of them is a participant of the study."
    if "lab" not in sources:
        nobody = "None of them is a person."
        what = "A program made their responses and response times to try the study out; they say nothing about people."
    elif set(sources) == {"lab"}:
        what = f"They are {rehearsals}: their responses and response times are not a participant's."
    else:
        what = (
            f"Those with the source lab are {rehearsals}; a program made the responses and response times of the "
            "others. None are a participant's."
        )
    return f"{what} They are never pooled with people's." if has_people else f"{nobody} {what}"


def interval(low: float, high: float, confidence: float) -> str:
    """Return a confidence interval of a share."""
    return f"{percent(confidence, 0)} CI [{100 * low:.1f}, {100 * high:.1f}]"


def accuracy_sentence(row: dict[str, Any], plan: AnalysisPlan) -> str:
    """Return one row of the overall accuracy table as a sentence."""
    who = str(row["subject"])
    n = "" if row["kind"] == "model" else f"n = {count(row['n_participants'], 'participant')}, "
    ci = interval(row["ci_low"], row["ci_high"], plan.confidence)
    return f"{_capital(who)}: {percent(row['accuracy'])} correct, {ci}, {n}{count(row['n_trials'], 'trial')}."


def difference_sentence(row: dict[str, Any], plan: AnalysisPlan) -> str:
    """Return one row of the overall difference table as a sentence that claims no more than the interval."""
    who, model = _capital(str(row["people"])), row["model"]
    size = f"{100 * abs(row['difference']):.1f}\u00a0percentage points"
    bounds = f"[{points(row['ci_low'])}, {points(row['ci_high'])}]"
    ci = f"{percent(plan.confidence, 0)} CI {bounds}, {count(row['n_items'], 'item')}"
    if row["ci_low"] <= 0 <= row["ci_high"]:
        seen = "scored the same as" if size.startswith("0.0") else f"were {size} {_side(row)}"
        return f"{who} {seen} {model}, {ci}. The CI includes zero, so these data leave the direction open."
    return f"{who} were {size} {_side(row)} {model}, {ci}."


def comparison_sentence(row: dict[str, Any], planned: PlannedComparison, plan: AnalysisPlan) -> str:
    """Return one row of a planned comparison as a sentence, with the verdict on its margin."""
    sentence = difference_sentence(row, plan)
    if pd.notna(row["accuracy_ratio"]):
        sentence += f" The model's accuracy is {percent(row['accuracy_ratio'], 0)} of theirs."
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


def rule_sentences(plan: AnalysisPlan) -> list[str]:
    """Return the methods of the numbers, one sentence per rule."""
    level = percent(plan.confidence, 0)
    return [
        "Responses of people and models are scored by the same grader from the raw response; a model's invalid "
        "response and unanswered trial count as not correct.",
        "Accuracy is the share of a subject's test trials answered correctly, over all its trials pooled.",
        f"The interval of several participants together ({level}) is the percentile interval of "
        f"{plan.bootstrap_resamples:,} bootstrap resamples of whole participants (seed {plan.bootstrap_seed}), "
        "because trials of one person are not independent. If all participants have the same accuracy, it is "
        "Wilson's interval with the number of participants as its number of trials.",
        f"The interval of a single participant or run ({level}) is Wilson's over its trials, as if they were "
        "independent draws; a program that always responds alike has no such spread.",
        "A difference is people minus model over the items that people answered and the model was asked. The "
        "model's accuracy there has the weights of people's responses: an item's weight is its number of people's "
        "responses, and Wilson's interval uses the effective number of trials (Kish 1965). The two intervals are "
        "combined by MOVER (Zou & Donner 2008).",
        "The intervals generalize to other participants and other responses to these items, not to other items, "
        "and are not adjusted for the number of comparisons.",
        "Chance is the mean accuracy of random responses over the test trials in the analysis.",
        "Response-time rules and attention checks apply to people and simulated participants only; these two kinds "
        "are never pooled.",
    ]
