"""No prompt has the answer key of a test item."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batteries.blackbox import all_ports
from batteries.items import Item
from batteries.tasks import TASKS
from experiment.models.prompts.requests import Requests, requests_for
from experiment.models.prompts.styles import DEFAULT_STYLES, PROGRAMS, style_for
from tests.experiment.models.prompts.small_studies import SAMPLES, STYLES, item, study_with

CELLS = st.tuples(st.integers(1, 8), st.integers(1, 8)).map(list)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
CONTENTS = {
    "multiple_choice": st.fixed_dictionaries(
        {"text": TEXT | st.just(""), "prompt": TEXT, "options": st.lists(TEXT, min_size=2, max_size=9, unique=True)}
    ),
    "blackbox_predict": st.fixed_dictionaries(
        {
            "size": st.just(8),
            "atoms": st.lists(CELLS, min_size=1, max_size=6, unique_by=tuple),
            "entry": st.sampled_from(all_ports(8)).map(str),
        }
    ),
    "rating": st.fixed_dictionaries(
        {"text": TEXT, "prompt": TEXT, "low": st.just(1), "high": st.integers(2, 9), "step": st.just(1),
         "labels": st.lists(TEXT, min_size=2, max_size=2), "shown_as": st.sampled_from(["buttons", "slider"])}
    ),
    "number": st.fixed_dictionaries(
        {"text": TEXT, "prompt": TEXT, "low": st.integers(-9, 0), "high": st.integers(1, 9),
         "decimals": st.integers(0, 3), "unit": st.just("") | TEXT}
    ),
    "ranking": st.fixed_dictionaries(
        {"text": TEXT, "prompt": TEXT, "options": st.lists(TEXT, min_size=2, max_size=9, unique=True)}
    ),
    "free_text": st.fixed_dictionaries(
        {"text": TEXT, "prompt": TEXT, "most_characters": st.integers(1, 99), "lines": st.integers(1, 5)}
    ),
    "keypress": st.fixed_dictionaries(
        {"text": TEXT, "prompt": TEXT, "keys": st.fixed_dictionaries({"f": st.just("yes"), "j": st.just("no")}),
         "stimulus_ms": st.just(100), "mask_ms": st.none(), "window_ms": st.just(900), "withhold": st.booleans()}
    ),
    "recall": st.fixed_dictionaries(
        {"text": TEXT, "prompt": TEXT, "most_entries": st.integers(1, 9), "ordered": st.booleans(),
         "typos": st.integers(0, 2)}
    ),
}  # fmt: skip
SECRET = "the-key-of-this-item"


def messages(items: list[Item], task: str, style: str, shots: int) -> list[tuple[str | None, str]]:
    requests = requests_for(study_with(items, task), style=style, shots=shots, temperatures=[0.1, 0.7], epochs=2)
    return [request.prompt for request in requests]


def shots_of(task: str, style: str) -> tuple[int, ...]:
    return (0, 1) if "examples" in style_for(task, style, SAMPLES[task].folder).variables else (0,)


def test_every_task_has_styles_or_is_refused() -> None:
    assert {task for task, _ in STYLES} == set(DEFAULT_STYLES) == set(CONTENTS) == TASKS.keys() - PROGRAMS.keys()


@pytest.mark.parametrize(("task", "style"), STYLES)
@settings(max_examples=20)
@given(data=st.data())
def test_a_changed_key_changes_no_prompt(task: str, style: str, data: st.DataObject) -> None:
    content = data.draw(CONTENTS[task])
    keys: list[Any] = [*TASKS[task].responses(content), SECRET, {SECRET: [SECRET]}, None]
    for shots in shots_of(task, style):
        before = messages([item(content, keys[0], task=task)], task, style, shots)
        assert messages([item(content, data.draw(st.sampled_from(keys)), task=task)], task, style, shots) == before


@pytest.mark.parametrize(("task", "style"), STYLES)
def test_changed_keys_change_no_prompt_of_a_whole_session(task: str, style: str) -> None:
    study, practice = SAMPLES[task], SAMPLES[task].definition.practice
    items = [
        each if each.item_id in practice else each.model_copy(update={"key": SECRET}) for each in study.battery.items
    ]
    secret = replace(study, battery=study.battery.model_copy(update={"items": tuple(items)}))
    before, after = (
        [request.prompt for request in requests_for(each, style=style, group=1, seed=1, whole_session=True)]
        for each in (study, secret)
    )
    assert before == after


@pytest.mark.parametrize(("task", "style"), STYLES)
def test_a_template_receives_plain_values_without_keys_and_factors(
    task: str, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = next(dict(each.content) for each in SAMPLES[task].test_items if each.task == task)
    requests = requests_for(study_with([item(content, SECRET, task=task)], task), style=style)
    (one,) = requests.items
    received = Requests._variables(requests, one)
    assert_plain(received)
    assert SECRET not in repr(received)
    assert "factor-of-item" not in repr(received)


def assert_plain(value: object) -> None:
    """Check that a value has no method that leads to an item or a study."""
    assert type(value) in {str, int, bool, list, dict, type(None)}
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for part in value:
            assert_plain(part)
