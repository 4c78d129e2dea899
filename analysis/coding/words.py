"""Sentences on codings of open answers, for the report and the command line."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.coding.coded_trials import CodedAnswers
from analysis.coding.coders import ALPHA, COHEN, FLEISS, PERCENT
from analysis.sentences import bounds_in_percent, count, listed, percent

RESOLVED_BY = {
    "consensus": "an answer has a code if all coders gave the same code",
    "majority": "an answer has the code that more than half of its coders gave",
    "first": "an answer has the code of the first coder",
}
"""The rule for the final code, by the entry `resolve` of a coding."""
SHOWN = {
    "question": "the question and the answer",
    "item": "the item, whose text can show its condition, and the answer",
    "answer": "only the answer",
}
"""The parts that coders saw, by the entry `show` of a coding."""
KEYS = {COHEN: "cohen_kappa", FLEISS: "fleiss", ALPHA: "krippendorff"}
CITED = {COHEN: "Cohen, 1960", FLEISS: "Fleiss, 1971", ALPHA: "Krippendorff, 2019"}


def coding_sentences(coded: CodedAnswers, confidence: float) -> list[str]:
    """Return sentences on a coding: the coders, their agreement, disagreements, and answers without a code."""
    sentences = [_method(coded)]
    if coded.coding.coders is not None:
        sentences += agreement_sentences(coded, confidence)
    n_without = coded.n_answers - coded.n_coded
    whole = f"{coded.n_coded:,} of {count(coded.n_answers, 'answer')} have a code."
    if n_without:
        verb = "is" if n_without == 1 else "are"
        whole += f" {count(n_without, 'answer')} without a code {verb} left out of all results on codes."
    sentences.append(whole)
    if not coded.n_coded:
        fix = (
            "correct the `words` in `analysis.coding`"
            if coded.coding.is_by_rule
            else "let the coders code the answers (`equipoise coding new`), and resolve disagreements"
        )
        sentences.append(f"No answer has a code, so there are no results on codes. Fix: {fix}.")
    if coded.coding.right:
        sentences.append(f"An answer with the code {_or(coded.coding.right)} is correct.")
    return sentences


def agreement_sentences(coded: CodedAnswers, confidence: float) -> list[str]:
    """Return sentences on the agreement of coders and on their disagreements."""
    if coded.agreement.empty:
        return ["No answer has the codes of two coders, so the agreement of coders is unknown."]
    rows: list[dict[str, Any]] = coded.agreement.to_dict("records")  # type: ignore[assignment]
    sentences = [_estimate(row, confidence) for row in rows]
    if coded.n_disagreements:
        n_open = coded.n_disagreements - coded.n_resolved
        which = f"{coded.n_resolved:,} of them have a final code, {n_open:,} do not"
        sentences.append(f"The coders disagreed on {count(coded.n_disagreements, 'distinct answer')}: {which}.")
    else:
        sentences.append("The coders did not disagree.")
    return sentences


def coding_methods(codings: Sequence[CodedAnswers], confidence: float) -> tuple[list[str], set[str]]:
    """Return the sentences of the methods section on codings, and the keys of the works that they cite."""
    sentences: list[str] = []
    cited: set[str] = set()
    for coded in codings:
        sentences.append(_method(coded))
        for row in coded.agreement.to_dict("records"):
            if row["measure"] in KEYS and not pd.isna(row["estimate"]):
                sentences.append(_estimate(row, confidence, cite=True))  # type: ignore[arg-type]
                cited |= {KEYS[row["measure"]], "kraemer"}
    if cited:
        sentences.append(
            "Each distinct answer counts once in these measures. Their intervals are jackknife intervals over answers "
            "(Kraemer, 1980)."
        )
    return sentences, cited


def _method(coded: CodedAnswers) -> str:
    coding = coded.coding
    codes = f"The codes were {listed(coding.code_names)}" + ("; an answer can have several." if coding.several else ".")
    if coding.is_by_rule:
        which = "all codes with a matching word" if coding.several else "the first code with a matching word"
        return f"Answers of the coding {coded.name} were coded by rule: an answer has {which}. {codes}"
    numbers = listed([f"{coder}: {n:,}" for coder, n in coded.n_of_coders.items()])
    return (
        f"{count(len(coded.n_of_coders), 'coder')} coded the answers of the coding {coded.name} "
        f"({count(coded.n_distinct, 'distinct answer')}; coded by {numbers}). {codes} Coders saw {SHOWN[coding.show]}, "
        "in random order. They did not see the participant, the model or the name of the condition. By the rule "
        f"{coding.resolve}, {RESOLVED_BY[coding.resolve]}. Codes that the researcher resolved come first."
    )


def _estimate(row: dict[str, Any], confidence: float, *, cite: bool = False) -> str:
    of = f"n = {count(row['n_answers'], 'distinct answer')}"
    level = f"{percent(confidence, 0)} CI"
    name = row["measure"][:1].upper() + row["measure"][1:]
    source = f" ({CITED[row['measure']]})" if cite else ""
    if pd.isna(row["estimate"]):
        return f"{name} has no value: {row['note']}."
    if row["measure"] == PERCENT:
        return f"{name}: {percent(row['estimate'])}, {level} {bounds_in_percent(row['ci_low'], row['ci_high'])}, {of}."
    value = f"{row['estimate']:.2f}".replace("-", "−")
    if pd.isna(row["ci_low"]):
        return f"{name}{source}: {value} (no interval: {row['note']}), {of}."
    bounds = f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}]".replace("-", "−")
    return f"{name}{source}: {value}, {level} {bounds}, {of}."


def _or(names: Sequence[str]) -> str:
    return " or ".join(names)
