"""Sentences on deviations from the locked plan beside the results that they concern, and on missing tests."""

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from analysis.planned.tests import EQUIVALENCE, MAIN, family_sizes
from analysis.preregistration.deviations import Registration
from analysis.report.planned_sentences import CORRECTIONS
from analysis.sentences import count, listed
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses

MOST_NAMES = 8
"""Maximum number of names in a list of a sentence. Longer lists are shortened."""
SETTINGS_OF = {"exclusions": {"people", "everyone"}, "invalid": {"models", "everyone"}}
"""The settings that concern only some trials, and whose trials these are."""


def deviation_sentence(registration: Registration, whos: Collection[str], *further: str) -> str:
    """Return a sentence with the changed settings that concern results, or an empty text.

    Parameters
    ----------
    registration : Registration
        The statement on the earlier plan.
    whos : collection of str
        Whose trials the results use: `people`, `models` or `everyone`.
    *further : str
        Settings that concern only results of this kind, such as `items`.
    """
    concerned = [name for name, those in SETTINGS_OF.items() if those.intersection(whos)]
    return _sentence(registration, dict.fromkeys([*concerned, "confidence", *further], ""))


def deviation_of_results(registration: Registration, whos: Mapping[str, str]) -> str:
    """Return a sentence with the changed settings that concern statistical models or confidence ratings.

    `whos` states whose trials each result uses. If a setting concerns only some of the results, it has their names.
    """
    concerned = {
        setting: _which([name for name, who in whos.items() if who in those], [*whos])
        for setting, those in SETTINGS_OF.items()
        if those.intersection(whos.values())
    }
    return _sentence(registration, {**concerned, "confidence": ""})


def _which(concerned: Sequence[str], every: Sequence[str], by_correction: Sequence[str] = ()) -> str:
    """Return the names of the results that a setting concerns, in parentheses; empty if it concerns each one directly.

    `by_correction` has the names of the tests that a setting can concern only through the correction of p values.
    """
    others = [name for name in every if name not in {*concerned, *by_correction}]
    corrected = listed(by_correction, MOST_NAMES)
    if len(others) < len(concerned):
        words = f"all except {listed(others, MOST_NAMES)}" if others else "all" if by_correction else ""
        words += f"; {corrected} at most through the correction" if by_correction else ""
    else:
        words = f"only {listed(concerned, MOST_NAMES)}"
        words += f"; at most through the correction also {corrected}" if by_correction else ""
    return f" ({words})" if words else ""


def deviation_of_accuracy(registration: Registration, plan: AnalysisPlan, who: str) -> str:
    """Return a sentence with the changed settings that concern the accuracy of `people` or of `models`."""
    further = ["items"] if who == "people" else []
    # The intervals of participants' accuracy use clusters of items only if items are random.
    further += ["item_cluster"] if who == "models" or plan.items == "random" else []
    return deviation_sentence(registration, {who}, *further)


def deviation_of_tests(registration: Registration, tests: pd.DataFrame, plan: PlannedAnalyses) -> str:
    """Return a sentence with the changed settings that concern tests, or an empty text.

    If a setting concerns only some of the tests, it has the names of these tests. With a correction for several tests,
    a setting that concerns a test also concerns the corrected p values of the other tests in the family. The sentence
    names the tests that a setting can concern only in this way.

    Parameters
    ----------
    registration : Registration
        The statement on the earlier plan.
    tests : DataFrame
        The rows of the table of tests.
    plan : PlannedAnalyses
        The plan of this analysis.
    """
    concerned = {}
    for setting, those in SETTINGS_OF.items():
        if names := concerned_tests(setting, tests, plan):
            directly = list(tests.loc[tests["who"].isin(those), "name"].unique())
            by_correction = [name for name in names if name not in directly]
            concerned[setting] = _which(directly, tests["name"].unique().tolist(), by_correction)
    return _sentence(registration, concerned | {"confidence": "", "correction": ""})


def concerned_tests(setting: str, tests: pd.DataFrame, plan: PlannedAnalyses) -> list[str]:
    """Return the names of the tests that a setting of `SETTINGS_OF` concerns; see `deviation_of_tests`."""
    is_concerned = tests["who"].isin(SETTINGS_OF[setting])
    if plan.correction in CORRECTIONS:
        is_concerned = is_concerned.groupby([tests["family"], tests["exploratory"]]).transform("any")
    return list(tests.loc[is_concerned, "name"].unique())


def _sentence(registration: Registration, concerned: Mapping[str, str]) -> str:
    """Return the sentence on the changed settings among `concerned`, whose values are words after the setting."""
    changed = [f"`{name}`{words}" for name, words in concerned.items() if name in registration.changed_settings]
    return f"Deviation from the {registration.recorded} plan: {listed(changed)}." if changed else ""


def changed_tests_sentence(registration: Registration) -> str:
    """Return a sentence with the names of the planned tests that changed or that are missing, or an empty text.

    A test also counts as changed if it uses a flag whose definition changed.
    """
    if not registration.changed_tests:
        return ""
    names = listed([f"`{name}`" for name in registration.changed_tests], MOST_NAMES)
    flag = ", or that use a changed flag" if "flags" in registration.changed_settings else ""
    return f"Tests of the {registration.recorded} plan that were changed or left out{flag}: {names}."


def family_sentence(tests: pd.DataFrame, plan: PlannedAnalyses) -> str:
    """Return a sentence on the families with tests that were not computed in their planned form, or an empty text.

    The sentence has the number of tests in the correction, and the reasons why tests were not computed.

    Parameters
    ----------
    tests : DataFrame
        The rows of the table of tests.
    plan : PlannedAnalyses
        The plan of this analysis.
    """
    computed = tests[tests["form"].isin([MAIN, EQUIVALENCE])]
    sizes = family_sizes(plan.tests.values())
    words = []
    for (family, exploratory, form), rows in computed.groupby(["family", "exploratory", "form"], sort=False):
        n_planned = int(rows["n_family"].iloc[0])
        n_in_plan = sizes[str(family), bool(exploratory), form == EQUIVALENCE]
        reasons = [
            f"{n} {reason}"
            for n, reason in (
                (n_in_plan - len(rows), "not computed"),
                (n_planned - n_in_plan, "changed, left out or with a changed flag since the plan was recorded"),
            )
            if n
        ]
        if reasons:
            kind = f"{', exploratory' if exploratory else ''}{', equivalence' if form == EQUIVALENCE else ''}"
            words.append(f"family `{family}`{kind}: {', '.join([count(n_planned, 'test'), *reasons])}")
    if not words:
        return ""
    missing = "A planned test that was not computed in its planned form"
    return f"{missing} counts in the correction with p = 1 ({'; '.join(words)})."
