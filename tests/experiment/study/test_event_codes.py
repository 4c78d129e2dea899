"""The event codes of a study: sums of numbers, without clashes, for known factors, levels and items."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from batteries.items import Item
from experiment.load_study import load_study
from experiment.study.event_codes import BlockLevel, EventCodes, check_names, list_codes


def item(item_id, **factors):
    content = {"text": "", "prompt": "?", "options": ["x", "y"]}
    return Item(item_id=item_id, task="multiple_choice", factors=factors, content=content, key=1)


LEFT, RIGHT, PLAIN = item("l", side="left", n=1), item("r", side="right", n=2), item("p")


def test_the_code_of_a_trial_is_the_sum_of_the_numbers_of_event_phase_levels_and_item():
    codes = EventCodes(
        events={"stimulus": 1, "response": 2},
        phases={"test": 10},
        factors={"side": {"left": 0, "right": 100}, "n": {1: 20, 2: 40}},
        items={"r": 5},
    )
    assert codes.of_trial("stimulus", "test", LEFT) == 1 + 10 + 0 + 20
    assert codes.of_trial("response", "test", RIGHT) == 2 + 10 + 100 + 40 + 5
    assert codes.of_trial("response", "practice", PLAIN) == 2
    assert codes.of_trial("fixation", "test", LEFT) is None


def test_without_event_codes_every_study_has_the_usual_codes():
    codes = EventCodes()
    of_trials = {
        (phase, event): codes.of_trial(event, phase, PLAIN)
        for phase, event in product(("practice", "test", "attention_check"), ("fixation", "stimulus", "response"))
    }
    assert list(of_trials.values()) == [11, 12, 13, 21, 22, 23, 31, 32, 33]
    assert [codes.of_session(event) for event in ("session_start", "session_end", "block", "break")] == [1, 2, 3, 4]


def test_a_block_adds_the_number_of_its_level():
    codes = EventCodes(events={"block": 200}, factors={"side": {"left": 1, "right": 2}})
    levels = [BlockLevel("side", "left"), BlockLevel("side", "right")]
    assert [codes.of_session("block", level) for level in levels] == [201, 202]
    assert [meaning.words for meaning in list_codes(codes, [], levels)] == ["block, side left", "block, side right"]


def test_equal_sums_of_different_numbers_are_refused_with_both_meanings():
    codes = EventCodes(events={"stimulus": 1, "response": 2}, factors={"side": {"left": 1, "right": 2}}, phases={})
    with pytest.raises(InputError) as refusal:
        list_codes(codes, [("test", LEFT), ("test", RIGHT)])
    assert str(refusal.value) == (
        "`event_codes`: two events have the code 3: (response, test, side left) and (stimulus, test, side right). "
        "Fix: change the numbers so that their sums differ."
    )


def test_two_events_with_the_same_number_are_refused():
    with pytest.raises(InputError, match=r"two events have the code 21: \(fixation, test\) and \(stimulus, test\)"):
        list_codes(EventCodes(events={"fixation": 1, "stimulus": 1}), [("test", PLAIN)])


def test_phases_and_levels_may_share_a_code_on_purpose():
    codes = EventCodes(
        events={"stimulus": 1}, phases={"test": 10, "practice": 10}, factors={"side": {"left": 2, "right": 2}}
    )
    meanings = list_codes(codes, [("test", LEFT), ("test", RIGHT), ("practice", PLAIN)])
    assert [(meaning.code, meaning.words) for meaning in meanings] == [
        (11, "stimulus, practice"),
        (13, "stimulus, test, side left"),
        (13, "stimulus, test, side right"),
    ]


@pytest.mark.parametrize("number", [0, -1, 65_536])
def test_a_code_is_from_1_to_65535(number):
    with pytest.raises(InputError, match=rf"event stimulus, test is {number}, but codes are from 1 to 65,535\. Fix: "):
        list_codes(EventCodes(events={"stimulus": number}, phases={}), [("test", PLAIN)])


@given(
    st.dictionaries(st.sampled_from(["fixation", "stimulus", "response", "time_out"]), st.integers(1, 60)),
    st.dictionaries(st.sampled_from(["practice", "test"]), st.integers(0, 60)),
    st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
def test_a_list_without_clash_tells_the_numbers_of_every_code(events, phases, numbers):
    codes = EventCodes(
        events=events, phases=phases, factors={"side": dict(zip(("left", "right"), numbers, strict=True))}
    )
    trials = list(product(("practice", "test"), (LEFT, RIGHT)))
    sums = {}
    for (phase, shown), event in product(trials, events):
        summands = event, phases.get(phase, 0), codes.factors["side"][str(shown.factors["side"])]
        sums.setdefault(codes.of_trial(event, phase, shown), set()).add(summands)
    try:
        listed = list_codes(codes, trials)
    except InputError:
        assert any(len(summands) > 1 for summands in sums.values())
    else:
        assert all(len(summands) == 1 for summands in sums.values())
        assert {meaning.code for meaning in listed} == set(sums)


@pytest.mark.parametrize(
    ("codes", "sentence"),
    [
        ({"items": {"x": 1}}, "`event_codes.items` names the item `x`, which is not in the battery."),
        (
            {"factors": {"colour": {"red": 1}}},
            "`event_codes.factors` names the factor `colour`, which no test item has.",
        ),
        (
            {"factors": {"side": {"left": 1, "right": 2, "up": 3}}},
            "`event_codes.factors.side` names the level `up`, which no test item has.",
        ),
        ({"factors": {"n": {1: 4}}}, "`event_codes.factors.n` has no number for the level `2`."),
    ],
)
def test_unknown_names_and_missing_levels_are_refused(codes, sentence):
    with pytest.raises(InputError, match=re.escape(sentence) + " Fix: "):
        check_names(EventCodes(**codes), [LEFT, RIGHT, PLAIN], [LEFT, RIGHT])


def add(study_folder, events):
    path = study_folder / "study.yaml"
    path.write_text(f"{path.read_text()}event_codes:\n  events: {events}\n")


def test_a_study_is_checked_when_it_is_loaded_and_names_the_file(study_folder):
    add(study_folder, "{stimulus: 1, response: 1}")
    with pytest.raises(InputError, match=r"study\.yaml: `event_codes`: two events have the code \d1: "):
        load_study(study_folder)


def test_event_codes_are_part_of_the_version_of_a_study(study_folder):
    before = load_study(study_folder).digest
    add(study_folder, "{stimulus: 1}")
    study = load_study(study_folder)
    assert study.digest != before
    assert {meaning.code for meaning in study.event_code_meanings} == {11, 21, 31}
    assert study.highest_event_code == 31
