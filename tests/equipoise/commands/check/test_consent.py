"""Point on the consent."""

import pytest

from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.consent import consent_point
from experiment.study.definition import Study
from tests.equipoise.commands.check.studies import CONTACT, with_entries, with_texts, with_timeline

WHO = "The Department of Psychology does this study. Write to anna.bauer@university.example."
WHAT = "You will see boards."
LONG = "It takes ten minutes."
RIGHTS = "Taking part is voluntary."
DATA = "We keep your answers."


def complete(study: Study) -> Study:
    return with_timeline(with_texts(study, contact=CONTACT), consent_version="2026-11")


def test_a_consent_with_all_parts_passes(sample_study: Study) -> None:
    point = consent_point(complete(sample_study))
    assert point.verdict is Verdict.PASSED
    assert "who is responsible" in point.found


def test_a_consent_without_an_address_fails(sample_study: Study) -> None:
    point = consent_point(with_texts(sample_study, contact="Ask us."))
    assert (point.verdict, "no address" in point.found) == (Verdict.FAILED, True)


def test_an_address_in_a_gap_is_not_an_address(sample_study: Study) -> None:
    point = consent_point(with_texts(sample_study, contact="TODO: write name@example.org"))
    assert point.verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("consent", "missing"),
    [
        ([WHAT, LONG, RIGHTS, DATA, "Ask 0123 456789."], "who is responsible"),
        ([WHO, LONG, RIGHTS, DATA], "what participants do"),
        ([WHO, WHAT, RIGHTS, DATA], "how long it takes"),
        ([WHO, WHAT, LONG, DATA], "the right to leave"),
        ([WHO, WHAT, LONG, RIGHTS], "which data are kept"),
    ],
)
def test_a_consent_without_one_part_needs_attention(sample_study: Study, consent: list[str], missing: str) -> None:
    study = with_texts(with_timeline(complete(sample_study), contact=None), consent=" ".join(consent))
    point = consent_point(study)
    assert point.verdict is Verdict.ATTENTION
    assert missing in point.found


@pytest.mark.parametrize(
    ("language", "consent"),
    [
        (
            "de",
            "Die Universität Musterstadt (studie@uni.example) führt die Studie durch. Sie werden Tafeln sehen. Das "
            "dauert 10 Minuten. Die Teilnahme ist freiwillig. Wir speichern Ihre Antworten.",
        ),
        (
            "es",
            "La Universidad de Ejemplo (estudio@uni.example) dirige el estudio. Usted verá tableros. Dura 10 minutos. "
            "Su participación es voluntaria. Guardamos sus datos.",
        ),
    ],
)
def test_a_consent_in_german_and_spanish_passes(sample_study: Study, language: str, consent: str) -> None:
    study = with_timeline(with_entries(with_texts(sample_study, consent=consent), language=language), contact=None)
    assert consent_point(with_timeline(study, consent_version="1")).verdict is Verdict.PASSED


def test_in_other_languages_only_the_address_is_checked(sample_study: Study) -> None:
    arabic = with_entries(complete(sample_study), language="ar")
    assert consent_point(arabic).verdict is Verdict.NOT_CHECKED
    assert consent_point(with_texts(arabic, contact="")).verdict is Verdict.FAILED


def test_a_consent_without_a_version_needs_attention(sample_study: Study) -> None:
    point = consent_point(with_texts(sample_study, contact=CONTACT))
    assert (point.verdict, "consent_version" in point.found) == (Verdict.ATTENTION, True)


def test_a_study_without_a_consent_needs_attention(sample_study: Study) -> None:
    point = consent_point(with_timeline(sample_study, consent=None))
    assert (point.verdict, "no consent page" in point.found) == (Verdict.ATTENTION, True)


@pytest.mark.parametrize(("source", "where"), [("web", "in the browser"), ("lab", "in the laboratory")])
def test_the_consent_is_checked_for_each_source(sample_study: Study, source: str, where: str) -> None:
    study, other = with_timeline(complete(sample_study), contact=None), {"web": "lab", "lab": "web"}[source]
    without_data = f"{WHO} {WHAT} {LONG} {RIGHTS}\n::: {other}\n{DATA}\n:::\n"
    point = consent_point(with_texts(study, consent=without_data))
    assert point.verdict is Verdict.ATTENTION
    assert point.found == f"no words were found on which data are kept {where}."
    without_address = f"{WHAT} {LONG} {RIGHTS} {DATA}\n::: {other}\n{WHO}\n:::\n"
    point = consent_point(with_texts(study, consent=without_address))
    assert (point.verdict, f"no address of a person {where}:" in point.found) == (Verdict.FAILED, True)
    both = f"{WHAT} {LONG} {RIGHTS} {DATA}\n::: {other}\n{WHO}\n:::\n::: {source}\n{WHO}\n:::\n"
    assert consent_point(with_texts(study, consent=both)).verdict is Verdict.PASSED
