"""The report's section on confidence ratings."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.data.row_filters import where_words
from analysis.figures.drawing.sheet import Drawing
from analysis.planned.confidence_ratings import ConfidenceRatings, cell_name
from analysis.planned.figures import ratings_key
from analysis.planned.results import PlannedResults
from analysis.report.formatting import number, shown
from analysis.report.html import with_markup
from analysis.sentences import MOST_IN_SENTENCES, count, listed, percent, points
from experiment.study.planned_analyses import PlannedAnalyses

MOST_SENTENCES = 6
"""Largest number of rows that are also written as sentences."""


def confidence_section(
    results: PlannedResults, plan: PlannedAnalyses, figures: dict[str, list[Drawing]]
) -> list[dict[str, Any]]:
    """Return the input of the template `planned.html` for each entry of `confidence_ratings`."""
    return [
        {
            "name": name,
            "exploratory": found.planned.exploratory,
            "words": _words(found),
            "sentences": _sentences(found, plan.confidence),
            "table": shown(found.table, plan.confidence),
            "bins": shown(found.bins, plan.confidence),
            "figures": [with_markup(drawing) for drawing in figures.get(ratings_key(name), [])],
        }
        for name, found in results.confidence_ratings.items()
    ]


def confidence_summary(results: PlannedResults, most: int = MOST_IN_SENTENCES) -> list[str]:
    """Return sentences on the confirmatory entries of `confidence_ratings`, which name the over-confident subjects.

    Up to `most` entries have a sentence each. More entries are one sentence.
    """
    planned = {name: found for name, found in results.confidence_ratings.items() if not found.planned.exploratory}
    if len(planned) <= most:
        return [f"Confidence ratings `{name}`: {_verdicts({name: found})}." for name, found in planned.items()]
    return [f"Confidence ratings of {len(planned)} entries: {_verdicts(planned)}."]


def _verdicts(entries: Mapping[str, ConfidenceRatings]) -> str:
    """Return who is over-confident, under-confident or neither. Several entries are named."""
    who: dict[str, list[str]] = {}
    for name, found in entries.items():
        for row in found.table.to_dict("records"):
            cell = cell_name(row, found.by) or "all responses"
            who.setdefault(_verdict(row), []).append(cell if len(entries) == 1 else f"{cell} (`{name}`)")
    return "; ".join(f"{verdict}: {listed(cells, MOST_SENTENCES)}" for verdict, cells in who.items())


def _verdict(row: dict[Any, Any]) -> str:
    low, high = row["overconfidence_ci_low"], row["overconfidence_ci_high"]
    if pd.isna(low):
        return "no interval"
    return (
        "over-confident" if low > 0 else "under-confident" if high < 0 else "neither over- nor under-confidence shown"
    )


def _words(found: ConfidenceRatings) -> str:
    planned = found.planned
    where = where_words(planned.where)
    return (
        f"Confidence: {planned.rating} (0 to {'100' if planned.scale == 'percent' else '1'}). Correctness: {planned.of}"
        f"{f', where {where}' if where else ''}. Over-confidence is the mean confidence minus the accuracy. The Brier "
        "score is the mean squared difference between confidence and correctness: reliability − resolution + "
        "uncertainty + within bins. ECE, the expected calibration error, is the mean absolute difference between the "
        f"confidence and the accuracy of a bin ({planned.bins} bins of equal width; a bin includes its upper end). By "
        "chance, ECE is above 0 even if confidence and accuracy agree perfectly; the column ECE if calibrated has the "
        "ECE that is then expected. ECE and the parts of the Brier score have no intervals, because they are biased in "
        "small samples."
    )


def _sentences(found: ConfidenceRatings, confidence: float) -> list[str]:
    if len(found.table) > MOST_SENTENCES:
        return []
    sentences = []
    for row in found.table.to_dict("records"):
        bounds = row["overconfidence_ci_low"], row["overconfidence_ci_high"]
        interval = (
            "" if pd.isna(bounds[0]) else f", {percent(confidence, 0)} CI [{points(bounds[0])}, {points(bounds[1])}]"
        )
        who = cell_name(row, found.by)
        sentences.append(
            f"{who + ': ' if who else ''}mean confidence {percent(row['mean_confidence'])}, accuracy "
            f"{percent(row['accuracy'])}, over-confidence {points(row['overconfidence'])} points{interval} "
            f"({_verdict(row)}); Brier score {number(row['brier'])}; ECE {number(row['ece'])}, if calibrated "
            f"{number(row['ece_if_calibrated'])}; {count(int(row['n']), 'response')}."
        )
    return sentences
