"""Codes from coders: one code for each answer from the codes of several coders, and the agreement of the coders."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pandas as pd

from analysis.statistics.agreement_measures import mean_agreement_interval, repeated_agreement
from analysis.statistics.coder_agreement import (
    MISSING,
    Codes,
    fleiss_kappa,
    kappa_of_two,
    krippendorff_alpha,
    with_interval,
)
from analysis.statistics.factor_levels import level_order
from batteries.canonical_json import digest
from batteries.errors import InputError
from experiment.study.answer_coding import Coding

CodeSet = tuple[str, ...]
"""The codes that one coder gave to one answer, in the order of the coding."""
COHEN, FLEISS, ALPHA = "Cohen's kappa", "Fleiss's kappa", "Krippendorff's alpha"
PERCENT = "percent agreement"
_ESTIMATE = ["n_answers", "estimate", "ci_low", "ci_high", "note"]
AGREEMENT_COLUMNS = ["measure", "n_coders", *_ESTIMATE]
BY_CODE_COLUMNS = ["code", "n_chosen", "agreement", "measure", *_ESTIMATE]


@dataclass(frozen=True)
class CodersCodes:
    """The codes that coders gave to the answers of one coding."""

    answers: Mapping[tuple[str, int], str]
    """The id of the answer in the coding study, by session and trial index. Equal answers have the same id."""
    given: Mapping[str, Mapping[str, CodeSet]]
    """The codes by the id of the answer, then by coder."""
    resolved: Mapping[str, CodeSet] = field(default_factory=dict)
    """The codes that the researcher wrote for disagreements, by the id of the answer."""

    @property
    def coders(self) -> list[str]:
        """The names of the coders, in natural order."""
        return sorted(set(chain.from_iterable(self.given.values())), key=level_order)

    @property
    def digest(self) -> str:
        """SHA-256 of the answers, without their texts, and of all codes."""
        return digest(
            {
                "answers": sorted([*place, answer] for place, answer in self.answers.items()),
                "given": {answer: {coder: list(codes) for coder, codes in of.items()}
                          for answer, of in self.given.items()},
                "resolved": {answer: list(codes) for answer, codes in self.resolved.items()},
            }
        )  # fmt: skip

    def disagreements(self) -> list[str]:
        """Return the ids of the answers to which two coders gave different codes."""
        return sorted(answer for answer, of in self.given.items() if len(set(of.values())) > 1)


def final_codes(codes: CodersCodes, coding: Coding) -> dict[str, CodeSet]:
    """Return the codes of each answer by the rule `resolve` of the coding. Answers without a final code are left out.

    Parameters
    ----------
    codes
        The codes of the coders.
    coding
        The coding. With `consensus` and `majority`, an answer needs the codes of as many coders as `coders`.
    """
    assert coding.coders is not None
    found: dict[str, CodeSet] = {}
    first = codes.coders[0] if codes.coders else ""
    for answer, of in codes.given.items():
        chosen, n_chosen = Counter(of.values()).most_common(1)[0]
        if coding.resolve == "first":
            if first in of:
                found[answer] = of[first]
        elif len(of) >= coding.coders and (
            n_chosen == len(of) or (coding.resolve == "majority" and 2 * n_chosen > len(of))
        ):
            found[answer] = chosen
    return found | dict(codes.resolved)


def agreement_table(codes: CodersCodes, confidence: float) -> pd.DataFrame:
    """Return the agreement of the coders: one row for each measure.

    Two coders have Cohen's kappa. More coders have Fleiss's kappa, over the answers that all of them coded. In both
    cases there is Krippendorff's alpha, over all answers with at least two codes. An answer with several codes counts
    as agreed if all its codes are the same.

    Returns
    -------
    DataFrame
        `measure, n_coders, n_answers, estimate, ci_low, ci_high, note`. Each distinct answer counts once. `note` has
        the reason why a value is missing. The table is empty if no answer has two codes.
    """
    table = _code_numbers(codes)
    n_codes = (table != MISSING).sum(axis=1)
    paired = table[n_codes >= 2]
    if not len(paired):
        return pd.DataFrame(columns=AGREEMENT_COLUMNS)
    n_coders = int((paired != MISSING).any(axis=0).sum())
    rows, columns = np.nonzero(paired != MISSING)
    agreed = repeated_agreement(rows, paired[rows, columns]).to_numpy()
    interval = mean_agreement_interval(
        agreed, n_codes[n_codes >= 2].astype("float64"), np.arange(len(paired)), confidence
    )
    found = [(PERCENT, n_coders, len(paired), float(agreed.mean()), *interval, "")]
    for measure, own in _measures(paired).items():
        found.append((measure, n_coders, *_estimate(measure, own, confidence)))
    return pd.DataFrame(found, columns=AGREEMENT_COLUMNS)


def agreement_by_code(codes: CodersCodes, coding: Coding, confidence: float) -> pd.DataFrame:
    """Return the agreement of the coders on each code: whether an answer has the code or not.

    Returns
    -------
    DataFrame
        `code, n_chosen, agreement, measure, n_answers, estimate, ci_low, ci_high, note`. `n_chosen` is how often
        coders gave the code. `agreement` is the share of agreement. `measure` is Cohen's kappa if the same two coders
        coded all these answers, otherwise Krippendorff's alpha. The table is empty if no answer has two codes.
    """
    rows = []
    for code in coding.code_names:
        table = _code_numbers(codes, code)
        paired = table[(table != MISSING).sum(axis=1) >= 2]
        if not len(paired):
            continue
        measure, own = next(iter(_measures(paired).items()))
        if len(own) < len(paired):
            measure, own = ALPHA, paired
        of, columns = np.nonzero(paired != MISSING)
        agreed = float(repeated_agreement(of, paired[of, columns]).mean())
        n_chosen = int((table == 1).sum())
        rows.append((code, n_chosen, agreed, measure, *_estimate(measure, own, confidence)))
    return pd.DataFrame(rows, columns=BY_CODE_COLUMNS)


def _code_numbers(codes: CodersCodes, code: str | None = None) -> Codes:
    """Return the codes as numbers, shape (answers, coders). With `code`: 1 if the answer has this code, otherwise 0."""
    coders = codes.coders
    numbers: dict[CodeSet, int] = {}
    table = np.full((len(codes.given), len(coders)), MISSING, dtype="int64")
    for row, answer in enumerate(sorted(codes.given)):
        for column, coder in enumerate(coders):
            own = codes.given[answer].get(coder)
            if own is not None:
                table[row, column] = numbers.setdefault(own, len(numbers)) if code is None else code in own
    return table


def _measures(paired: Codes) -> dict[str, Codes]:
    """Return the codes for each measure. `paired` has the answers with at least two codes."""
    present = paired[:, (paired != MISSING).any(axis=0)]
    complete = present[(present != MISSING).all(axis=1)]
    own = {COHEN if present.shape[1] == 2 else FLEISS: complete} if len(complete) else {}
    return {**own, ALPHA: present}


def _estimate(measure: str, codes: Codes, confidence: float) -> tuple[int, float, float, float, str]:
    compute = {COHEN: kappa_of_two, FLEISS: fleiss_kappa, ALPHA: krippendorff_alpha}[measure]
    try:
        found = with_interval(compute, codes, confidence)
    except InputError as error:
        return len(codes), np.nan, np.nan, np.nan, str(error).partition(" Fix:")[0]
    low, high = found.interval or (np.nan, np.nan)
    return len(codes), found.value, low, high, found.why_no_interval
