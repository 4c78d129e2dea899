"""Response keys in laboratory sessions: the keys on the screen, and the stored responses."""

import json

import pytest

from analysis.data.tidy_table import read_trials
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import Killed, careful, names_on, press, rows
from tests.timed_study import choice, keypress, make_timed_study

BALANCED = "response_keys: {options: [f, space], mappings: 2}\n"
ITEMS = [choice("p"), choice("q"), keypress("w", "word")]


@pytest.fixture
def study(tmp_path):
    return load_study(make_timed_study(tmp_path / "study", ITEMS, BALANCED, practice=1))


def pressing(key, seen):
    """Return a person who presses a key on each question. `seen` receives the words of these screens."""

    def person(display):
        if not {"option-1", "key-f"} & names_on(display):
            return careful(display)
        seen.append(display.seen[-1])
        assert not {"1", "num_1"} & set(display.keys)
        return press(key)

    return person


@pytest.mark.parametrize(("group", "choice_of_f", "name_of_f"), [(1, 1, "word"), (2, 2, "nonword")])
def test_the_group_decides_what_a_key_means_and_the_stored_responses_do_not_depend_on_it(
    lab, study, group, choice_of_f, name_of_f
):
    seen = []
    visit = lab(study, pressing("f", seen), group=group)
    assert visit.outcome is VisitOutcome.COMPLETED
    stored = {row["item_id"]: json.loads(row["response"]) for row in rows(study, visit.session)}
    assert stored == {"p": choice_of_f, "q": choice_of_f, "w": name_of_f}
    keys = ("F one ␣ two", "␣ one F two")[group - 1]
    assert any(keys in screen for screen in seen), seen
    assert any("Press the key of your answer, or click it." in screen for screen in seen)
    assert any(("word F nonword J", "nonword F word J")[group - 1] in screen for screen in seen), seen
    trials = read_trials(study.store_path)
    assert set(trials["response_mapping"]) == {group}


def test_options_with_keys_can_still_be_clicked(lab, study):
    def person(display):
        names = names_on(display)
        return press("option-2" if "option-1" in names else "key-j" if "key-f" in names else careful(display).name)

    visit = lab(study, person, group=2)
    stored = {row["item_id"]: json.loads(row["response"]) for row in rows(study, visit.session)}
    assert stored == {"p": 2, "q": 2, "w": "word"}


def test_a_resumed_session_keeps_its_mapping(lab, study):
    def person(display):
        if len(display.trials) == 2:
            raise Killed
        return pressing("f", [])(display)

    with pytest.raises(Killed):
        lab(study, person, group=2)
    visit = lab(study, pressing("f", []))
    assert {json.loads(row["response"]) for row in rows(study, visit.session)} == {2, "nonword"}
