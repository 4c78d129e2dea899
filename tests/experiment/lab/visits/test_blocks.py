"""Blocks and sequences in laboratory sessions."""

import pytest

from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from experiment.plan import plan_session
from tests.block_study import make_block_study
from tests.experiment.lab.visits.lab_visits import Killed, is_asked, killed_where, rows

PAGES = ("Imagine each thing.", "Say each word aloud.", "Say them twice.", "Time for a break", "Welcome back")
"""Words by which a page is recognised."""


def screens_of(display, study):
    """Return the pages and the items of a visit, in the order of the screens."""
    prompts = {item.content["prompt"]: item.item_id for item in study.battery.items}
    shown = [next((name for name in [*PAGES, *prompts] if name in screen), None) for screen in display.seen]
    found = [prompts.get(name, name) for name in shown if name]
    return [name for before, name in zip([None, *found], found, strict=False) if name != before]


@pytest.fixture
def study(tmp_path):
    return load_study(make_block_study(tmp_path / "blocks"))


def test_the_instructions_of_a_block_come_before_its_first_question(lab, study):
    visit = lab(study, group=3)
    assert visit.outcome is VisitOutcome.COMPLETED
    seen = screens_of(visit.display, study)
    plan = [trial.item_id for trial in plan_session(study, 3, 1).trials]
    assert [name for name in seen if name in plan] == plan
    words, pictures = (
        next(i for i, name in enumerate(plan) if name[:2] in lists) for lists in ({"l3", "l4"}, {"l1", "l2"})
    )
    assert words < pictures, "group 3 has the second order of blocks"
    for page, item_id in (("Say each word aloud.", plan[words]), ("Imagine each thing.", plan[pictures])):
        assert seen.count(page) == 1
        first = seen.index(page)
        assert item_id in seen[first : first + 3], "only further pages are between the page and the first question"
    assert seen.count("Say them twice.") == 1


def test_no_break_is_inside_a_sequence(lab, study):
    seen = screens_of(lab(study).display, study)
    breaks = [index for index, name in enumerate(seen) if name == "Time for a break"]
    assert len(breaks) == 2
    for index in breaks:
        following = next(name for name in seen[index:] if name not in PAGES)
        assert following == "check-1" or following.endswith(".study")


def test_a_participant_who_resumes_in_a_block_can_read_its_instructions_again(lab, study):
    plan = [trial.item_id for trial in plan_session(study, 1, 1).trials]
    probe = max(index for index, item_id in enumerate(plan) if item_id.endswith(".probe"))
    with pytest.raises(Killed):
        lab(study, killed_where(lambda display: len(display.trials) == probe + 1 and is_asked(display)))
    visit = lab(study)
    assert visit.outcome is VisitOutcome.COMPLETED
    seen = screens_of(visit.display, study)
    assert seen == ["Welcome back", "Say each word aloud.", "Say them twice.", *plan[probe:]]
    stored = rows(study, visit.session)
    assert [row["visit"] for row in stored] == [1] * probe + [2] * (len(plan) - probe)


def test_a_rehearsal_of_each_group_reaches_the_end(lab, study):
    for group in range(1, 5):
        assert lab(study, participant=f"P0{group}", group=group).outcome is VisitOutcome.COMPLETED
