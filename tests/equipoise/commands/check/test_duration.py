"""The estimated duration of a session."""

import pytest

from batteries.tasks import READING_WORDS_PER_MINUTE
from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.duration import DECISION_S, duration_point, estimated_duration, stated_minutes
from experiment.study.definition import Study
from experiment.study.timeline import IntertrialRange, Resume, Timing
from tests.equipoise.commands.check.studies import choice, with_entries, with_items, with_texts, with_timeline

N_WORDS = READING_WORDS_PER_MINUTE // 2


@pytest.fixture
def one_page(sample_study: Study) -> Study:
    """Return a study of two questions and one page, each with the words that people read in half a minute."""
    text = " ".join(["ray"] * (N_WORDS - 13))  # 5 words of the prompt and 8 words of the options follow.
    items = [choice(f"q{number}", 1, text=text) for number in (1, 2)]
    study = with_items(sample_study, items, {"q1": 1, "q2": 1})
    study = with_entries(study, practice=(), attention_checks=(), timing=Timing(fixation_ms=0))
    pages = with_timeline(study, consent="consent.md", instructions=(), debrief=None, contact=None)
    return with_texts(pages, consent=" ".join(["ray"] * N_WORDS))


def test_the_duration_is_the_reading_time_of_all_words_and_a_decision_for_each_question(one_page: Study) -> None:
    estimate = estimated_duration(one_page)
    assert estimate is not None
    assert (estimate.n_words, estimate.n_questions) == (3 * N_WORDS, 2)
    assert estimate.minutes == pytest.approx(1.5 + 2 * DECISION_S / 60)


def test_words_that_only_the_laboratory_shows_do_not_count(one_page: Study) -> None:
    page = f"{one_page.texts['consent.md']}\n::: lab\nIt takes 90 minutes.\n:::\n"
    with_section = with_texts(one_page, consent=page)
    assert estimated_duration(with_section) == estimated_duration(one_page)
    assert stated_minutes(with_section) is None


def test_the_timing_of_the_study_is_part_of_the_duration(one_page: Study) -> None:
    with_fixation = estimated_duration(with_entries(one_page, timing=Timing(fixation_ms=6000)))
    assert with_fixation is not None
    assert with_fixation.minutes == pytest.approx(1.5 + 2 * (DECISION_S + 6) / 60)
    jittered = Timing(fixation_ms=0, intertrial_ms=IntertrialRange(min=2000, max=4000))
    with_intervals = estimated_duration(with_entries(one_page, timing=jittered))
    assert with_intervals is not None
    assert with_intervals.minutes == pytest.approx(1.5 + 2 * (DECISION_S + 3) / 60)
    practice = with_entries(one_page, practice=("q1",), timing=Timing(fixation_ms=0, feedback_ms=6000))
    plain = with_entries(practice, timing=Timing(fixation_ms=0))
    with_feedback, without = estimated_duration(practice), estimated_duration(plain)
    assert with_feedback is not None and without is not None
    # In this study, q1 is a practice item and a test item.
    assert with_feedback.minutes == pytest.approx(without.minutes + 2 * 6 / 60)
    long_reading = estimated_duration(with_entries(one_page, timing=Timing(fixation_ms=0, reading_ms=60_000)))
    assert long_reading is not None
    assert long_reading.minutes == pytest.approx(0.5 + 2 * (60 + DECISION_S) / 60)
    deadline = estimated_duration(with_entries(one_page, timing=Timing(fixation_ms=0, deadline_ms=15_000)))
    assert deadline is not None
    assert deadline.minutes == pytest.approx(0.5 + 2 * 15 / 60)


@pytest.mark.parametrize(
    ("interval", "words"),
    [(500, "intervals of 500 ms between"), (IntertrialRange(min=500, max=1500), "intervals of 500 to 1500 ms between")],
)
def test_the_point_names_the_intervals(sample_study: Study, interval: int | IntertrialRange, words: str) -> None:
    point = duration_point(with_entries(sample_study, timing=Timing(intertrial_ms=interval)))
    assert words in point.found
    assert "intervals" not in duration_point(sample_study).found


def test_the_point_names_the_reading_speed_and_its_source(sample_study: Study) -> None:
    point = duration_point(sample_study)
    assert point.verdict is Verdict.PASSED
    assert f"{READING_WORDS_PER_MINUTE} words per minute" in point.found
    assert "Brysbaert, 2019" in point.found


@pytest.mark.parametrize(("stated", "verdict"), [(2, Verdict.PASSED), (3, Verdict.ATTENTION), (1, Verdict.ATTENTION)])
def test_a_stated_duration_that_differs_much_from_the_estimate_needs_attention(
    one_page: Study, stated: int, verdict: Verdict
) -> None:
    text = f"It takes {stated} minutes. " + " ".join(["ray"] * (N_WORDS - 4))
    point = duration_point(with_texts(one_page, consent=text))
    assert (point.verdict, f"say {stated} minutes" in point.found) == (verdict, True), point.found


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("about 20 minutes", 20), ("20-30 min", 25), ("10 bis 20 Minuten", 15), ("unos 12 minutos", 12), ("long", None)],
)
def test_the_stated_duration_is_read_from_the_consent(sample_study: Study, text: str, minutes: float | None) -> None:
    assert stated_minutes(with_texts(sample_study, consent=text)) == minutes


def test_a_limit_for_resuming_that_is_shorter_than_the_study_fails(sample_study: Study) -> None:
    point = duration_point(with_entries(sample_study, resume=Resume(max_age_min=3)))
    assert (point.verdict, "for 3 minutes only" in point.found) == (Verdict.FAILED, True)


def test_words_of_a_language_without_spaces_are_not_counted(sample_study: Study) -> None:
    assert duration_point(with_entries(sample_study, language="ja")).verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(("deadline_s", "verdict"), [(29, Verdict.FAILED), (31, Verdict.PASSED)])
def test_a_deadline_before_the_end_of_reading_fails(one_page: Study, deadline_s: int, verdict: Verdict) -> None:
    point = duration_point(with_entries(one_page, timing=Timing(fixation_ms=0, deadline_ms=1000 * deadline_s)))
    assert point.verdict is verdict
    if verdict is Verdict.FAILED:
        assert "the deadline is 29 s" in point.found
        assert "2 of the 2 questions" in point.found
        assert "`q1`, with 30 s" in point.found
