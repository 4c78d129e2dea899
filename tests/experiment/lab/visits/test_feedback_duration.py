"""Feedback of practice trials that closes by itself, in laboratory sessions without a window."""

from experiment.lab.screens.layout.screen_image import ESCAPE
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import careful, names_on, press
from tests.timed_study import choice, make_timed_study


def test_the_feedback_closes_after_its_time_and_cannot_be_closed_earlier(lab, tmp_path):
    items = [choice(f"q{number}") for number in range(4)]
    study = load_study(make_timed_study(tmp_path / "study", items, "timing: {feedback_ms: 2000}\n", practice=2))
    feedback, escapes = [], [ESCAPE]

    def person(display):
        if display.until_ms != 2000:
            return careful(display)
        feedback.append((display.keys, names_on(display) & {"continue", "next", "onward"}))
        return press(escapes.pop()) if escapes else None

    visit = lab(study, person)
    assert visit.outcome is VisitOutcome.COMPLETED
    assert feedback == [((), set())] * 3, "two feedbacks; after escape, the first one is shown again"
