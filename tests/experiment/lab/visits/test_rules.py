"""The rules during a trial of the laboratory, and feedback that names the atoms of a ray, without a window."""

import json
import time

from experiment.lab.screens.layout.screen_image import ESCAPE, RULES
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import careful, is_asked, names_on, press, rows

OPEN_S = 0.05


def reader_of_rules(closing, at_question=2):
    """Return a person who opens the rules once, in the second question, and closes them with a key."""
    state = {"asked": 0, "opened": False, "open": False, "shown": []}

    def person(display):
        if state["open"]:
            state["shown"].append(display.seen[-1])
            if RULES in names_on(display):
                state["open"] = False
            else:
                time.sleep(OPEN_S)
                return press(closing if "next" in names_on(display) else "right")
        if is_asked(display) and "continue" not in names_on(display):
            state["asked"] += "Your answer" not in display.seen[-1]
            if state["asked"] == at_question and not state["opened"]:
                state["opened"] = state["open"] = True
                return press(RULES)
        return careful(display)

    return person, state


def signals_of(study, visit):
    """Return the signals of the trials that have any."""
    return [json.loads(trial["signals"]) for trial in rows(study, visit.session) if trial["signals"]]


def test_the_rules_open_with_their_key_and_their_use_is_recorded(lab, small):
    study = load_study(small)
    person, state = reader_of_rules("right")
    visit = lab(study, person)
    assert visit.outcome is VisitOutcome.COMPLETED
    assert any("The ray turns away from the atom." in screen for screen in state["shown"])
    assert not any(f"[{RULES.upper()}]" in screen for screen in state["shown"][:-1]), "the rules do not open the rules"
    (recorded,) = signals_of(study, visit)
    assert recorded["rules_opened"] == 1
    assert recorded["rules_ms"] >= 1000 * OPEN_S * (len(state["shown"]) - 1) * 0.9


def test_escape_closes_the_rules_and_not_the_visit(lab, small):
    study = load_study(small)
    person, state = reader_of_rules(ESCAPE)
    visit = lab(study, person)
    assert visit.outcome is VisitOutcome.COMPLETED
    assert len(state["shown"]) == 2, "one page of the rules, and then the trial again"
    assert not any("Leave the study?" in screen for screen in visit.display.seen)
    assert len(signals_of(study, visit)) == 1


def test_a_study_without_rules_has_no_key_for_them(lab, small, edit):
    edit(small / "study.yaml", "  rules: [instructions-1.md]", "  #rules:")
    visit = lab(load_study(small))
    assert RULES not in visit.display.keys
    assert not any(f"[{RULES.upper()}]" in screen for screen in visit.display.seen)


def test_feedback_names_the_atoms_that_turned_the_ray(lab, small):
    visit = lab(load_study(small))
    (shown,) = [screen for screen in visit.display.seen if "Not quite" in screen]
    assert "1. The atom at row 3, column 5 turns the ray." in shown
    assert "2. The atom at row 6, column 3 turns the ray." in shown
