"""Add the codes of open answers to the tidy table: the column `coded_as`, and scores if right codes are named."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.coding.coders import CodersCodes, agreement_by_code, agreement_table, final_codes
from analysis.coding.rules import codes_by_rule
from batteries.canonical_json import digest
from batteries.tasks import task_named
from experiment.study.answer_coding import BETWEEN_CODES, CODE, CODED_AS, CODING_NAME, Coding


@dataclass(frozen=True)
class CodedAnswers:
    """The results of one coding, for the report."""

    name: str
    coding: Coding
    n_answers: int
    """Number of answers of completed sessions and of model runs."""
    n_coded: int
    """Number of these answers with a code."""
    n_distinct: int
    """Number of distinct answers that coders saw; 0 if a rule gave the codes."""
    n_of_coders: Mapping[str, int]
    """Number of distinct answers that each coder coded."""
    n_disagreements: int
    """Number of distinct answers with different codes."""
    n_resolved: int
    """Number of the disagreements with a final code."""
    agreement: pd.DataFrame
    by_code: pd.DataFrame
    digest: str
    """SHA-256 of the codes of all answers."""

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables of the agreement, by the name of the file. Without agreement, there are none."""
        if self.agreement.empty:
            return {}
        return {f"coding_{self.name}_agreement": self.agreement, f"coding_{self.name}_by_code": self.by_code}


def is_answer(trials: pd.DataFrame, coding: Coding) -> "pd.Series[bool]":
    """Return True for each test trial whose item is in a coding."""
    if coding.items:
        of_coding = trials["item_id"].isin(coding.items)
    else:
        is_open = {task: task_named(task).has_open_answers for task in trials["task"].unique()}
        of_coding = trials["key"].isna() & trials["task"].astype("str").map(is_open)
    return of_coding & (trials["phase"] == "test")


def answer_texts(trials: pd.DataFrame) -> "pd.Series[str]":
    """Return the text of each answer. Trials without a valid answer have no row in the result."""
    valid = trials[trials["response"].notna() & trials["valid"].fillna(True).astype(bool)]
    texts = [
        task_named(task).open_answer(content, response)
        for task, content, response in zip(valid["task"], valid["content"], valid["response"], strict=True)
    ]
    return pd.Series(texts, index=valid.index, dtype=object).dropna()


def code_answers(
    trials: pd.DataFrame, codings: Mapping[str, Coding], from_coders: Mapping[str, CodersCodes], confidence: float
) -> tuple[pd.DataFrame, list[CodedAnswers]]:
    """Add the codes of open answers to the tidy table.

    Parameters
    ----------
    trials
        The tidy table.
    codings
        The entry `coding` of the plan.
    from_coders
        The codes from coders, for each coding that is not by rule.
    confidence
        Confidence level of the intervals of the agreement.

    Returns
    -------
    DataFrame and list of CodedAnswers
        The tidy table with `coded_as`, and the results of each coding. If a coding names right codes, `correct`,
        `score`, `chance` and `key` of its coded answers are those of a graded item, with a chance level of 0.
    """
    if not codings:
        return trials, []
    columns = {name: pd.Series(pd.NA, index=trials.index, dtype=object) for name in (CODING_NAME, CODED_AS)}
    graded = trials
    results = []
    for name, coding in codings.items():
        own = trials[is_answer(trials, coding)]
        texts = answer_texts(own)
        codes = from_coders.get(name)
        found = _by_rule(texts, coding) if codes is None else _by_coders(own.loc[texts.index], codes, coding)
        columns[CODING_NAME].loc[found.index] = name
        columns[CODED_AS].loc[found.index] = found.map(BETWEEN_CODES.join)
        if coding.right:
            graded = _graded(graded, own, texts.index, found, coding)
        results.append(_result(name, coding, codes, found, own.loc[texts.index], confidence))
    return graded.assign(**{name: column.astype("str") for name, column in columns.items()}), results


def _by_rule(texts: "pd.Series[str]", coding: Coding) -> "pd.Series[Any]":
    codes = {text: codes_by_rule(coding, text) for text in texts.unique()}
    found = texts.map(codes)
    return found[found.map(bool).astype(bool)]


def _by_coders(answers: pd.DataFrame, codes: CodersCodes, coding: Coding) -> "pd.Series[Any]":
    final = final_codes(codes, coding)
    places = zip(answers["session"].astype("str"), answers["trial_index"].astype("int64"), strict=True)
    found = [final.get(codes.answers.get(place, "")) for place in places]
    return pd.Series(found, index=answers.index, dtype=object).dropna()


def _graded(
    trials: pd.DataFrame, own: pd.DataFrame, answered: pd.Index, found: "pd.Series[Any]", coding: Coding
) -> pd.DataFrame:
    """Return the trials with the scores of a coding with right codes.

    An answer without a code stays ungraded. A trial without an answer is graded, like that of any other graded item.
    """
    is_right = found.map(lambda codes: bool({*codes} & {*coding.right})).astype(bool)
    graded = own.index.difference(answered).union(found.index)
    invalid = graded[(own.loc[graded, "response"].notna() & ~own.loc[graded, "valid"].fillna(True).astype(bool))]
    trials = trials.copy()
    key = BETWEEN_CODES.join(coding.right)
    trials["key"] = trials["key"].where(~trials.index.isin(graded), key)
    trials.loc[graded, "chance"] = 0.0
    trials.loc[invalid, ["correct", "score"]] = [False, 0.0]
    trials.loc[found.index, "correct"] = is_right
    trials.loc[found.index, "score"] = is_right.astype("float64")
    return trials


def _result(
    name: str,
    coding: Coding,
    codes: CodersCodes | None,
    found: "pd.Series[Any]",
    answers: pd.DataFrame,
    confidence: float,
) -> CodedAnswers:
    is_complete = answers["status"] == "completed"
    n_answers, n_coded = int(is_complete.sum()), int(is_complete[found.index].sum())
    if codes is None:
        places = answers.loc[found.index, ["session", "trial_index"]].itertuples(index=False)
        own = digest(sorted([str(session), int(at), *of] for (session, at), of in zip(places, found, strict=True)))
        return CodedAnswers(name, coding, n_answers, n_coded, 0, {}, 0, 0, pd.DataFrame(), pd.DataFrame(), own)
    disagreed = codes.disagreements()
    final = final_codes(codes, coding)
    return CodedAnswers(
        name,
        coding,
        n_answers,
        n_coded,
        len(set(codes.answers.values())),
        {coder: sum(coder in of for of in codes.given.values()) for coder in codes.coders},
        len(disagreed),
        sum(answer in final for answer in disagreed),
        agreement_table(codes, confidence),
        agreement_by_code(codes, coding, confidence),
        codes.digest,
    )


def code_columns(codings: Mapping[str, Coding]) -> list[str]:
    """Return the names of the yes-no columns of all codes, such as `code_physical`."""
    return [
        f"{CODE}{code}" for code in dict.fromkeys(code for coding in codings.values() for code in coding.code_names)
    ]


def with_code_columns(rows: pd.DataFrame, codings: Mapping[str, Coding]) -> pd.DataFrame:
    """Return rows with the yes-no column of each code: 1 if the answer has the code, otherwise 0.

    The value is missing if the answer has no code, or if its coding does not have this code.
    """
    codes_of = rows[CODED_AS].map(lambda text: frozenset(text.split(BETWEEN_CODES)), na_action="ignore")
    columns = {}
    for column in code_columns(codings):
        code = column.removeprefix(CODE)
        has_code = [float(code in codes) if isinstance(codes, frozenset) else np.nan for codes in codes_of]
        names = [name for name, coding in codings.items() if code in coding.code_names]
        columns[column] = pd.Series(has_code, index=rows.index).where(rows[CODING_NAME].isin(names))
    return rows.assign(**columns)
