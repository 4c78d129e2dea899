"""The report's section on codings of open answers."""

from collections.abc import Sequence
from typing import Any

from analysis.coding.coded_trials import CodedAnswers
from analysis.coding.words import coding_sentences
from analysis.report.formatting import shown


def coding_section(codings: Sequence[CodedAnswers], confidence: float) -> list[dict[str, Any]]:
    """Return the input of the template: the sentences, the codes and the agreement on each code of each coding."""
    return [
        {
            "name": coded.name,
            "sentences": coding_sentences(coded, confidence),
            "codes": coded.coding.codes,
            "by_code": _shown(coded, confidence),
        }
        for coded in codings
    ]


def _shown(coded: CodedAnswers, confidence: float) -> Any:
    if coded.by_code.empty:
        return None
    empty = [] if coded.by_code["note"].any() else ["note"]
    return shown(coded.by_code.drop(columns=empty), confidence, units={"agreement": "percent"})
