"""The requests of a study: their number, order, ids and digests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from batteries.items import Battery, Item
from experiment.models.prompts.item_text import shown_item
from experiment.models.prompts.requests import Requests, requests_for
from experiment.plan import Phase, plan_session
from experiment.study.definition import Study
from experiment.study.timeline import PracticeCriterion
from tests.experiment.models.prompts.small_studies import PLUM, SAMPLES, item, study_with


@pytest.fixture
def plums() -> Study:
    return study_with([item(PLUM, 1, "a"), item(PLUM, 2, "b")], "multiple_choice")


def prompts_digest(study: Study, **options: Any) -> str:
    (prompts,) = requests_for(study, **options).by_task.values()
    return prompts.digest


def test_there_is_one_request_per_item_temperature_and_epoch(plums: Study) -> None:
    requests = requests_for(plums, temperatures=[0.1, 0.9], epochs=3)
    made = list(requests)
    assert len(requests) == len(made) == 2 * 2 * 3
    parts = [(each.item_id, each.request_id.temperature, each.request_id.epoch) for each in made]
    assert parts == [(name, t, epoch) for name in "ab" for t in (0.1, 0.9) for epoch in (1, 2, 3)]
    assert len({str(each.request_id) for each in made}) == len(made)


def test_an_id_leads_back_to_its_item(sample_study: Study) -> None:
    for request in requests_for(sample_study):
        assert sample_study.battery.items[request.request_id.item_index].item_id == request.item_id
        assert request.request_id.battery == sample_study.battery.digest[:8]
        assert request.request_id.temperature is None


def test_the_whole_battery_is_asked_without_practice_and_attention_checks(sample_study: Study) -> None:
    for style in (None, "human-equivalent"):
        asked = [request.item_id for request in requests_for(sample_study, style=style)]
        assert asked == [each.item_id for each in sample_study.test_items]


def test_one_session_is_asked_in_the_order_of_its_plan(sample_study: Study) -> None:
    trials = plan_session(sample_study, group=3, seed=7).trials
    asked = [request.item_id for request in requests_for(sample_study, group=3, seed=7)]
    assert asked == [trial.item_id for trial in trials if trial.phase is Phase.TEST]


def test_a_whole_session_has_the_attention_checks_and_gives_a_system_prompt_once() -> None:
    study = SAMPLES["blackbox_predict"]
    made = list(requests_for(study, style="baseline", shots=1, group=3, seed=7, whole_session=True))
    trials = [each for each in plan_session(study, group=3, seed=7).trials if each.phase is not Phase.PRACTICE]
    assert [request.item_id for request in made] == [trial.item_id for trial in trials]
    assert [request.prompt.system is not None for request in made] == [True, *[False] * (len(made) - 1)]
    assert ["Solved example" in request.prompt.user for request in made] == [True, *[False] * (len(made) - 1)]
    (check,) = [one for one, trial in zip(made, trials, strict=True) if trial.phase is Phase.ATTENTION_CHECK]
    shown = shown_item("multiple_choice", study.battery.by_id[check.item_id].content, study.words)
    assert check.prompt.user == f"{shown}\n\nYour answer:"


def test_a_whole_session_begins_with_one_round_of_practice_if_the_style_has_practice(tmp_path: Path) -> None:
    study = SAMPLES["multiple_choice"]
    practice = study.definition.practice
    repeated = PracticeCriterion(correct=1, rounds=3, otherwise="continue")
    study = replace(study, definition=study.definition.model_copy(update={"practice_criterion": repeated}))
    (tmp_path / "own.txt").write_text("{{ practice | length }} {{ text }}")
    made = {
        style: list(requests_for(study, style=style, group=3, seed=7, whole_session=True))
        for style in (None, str(tmp_path / "own.txt"), "three-lines")
    }
    trials = plan_session(study, group=3, seed=7).trials
    questions = [trial.item_id for trial in trials if trial.phase is not Phase.PRACTICE]
    assert len(trials) == 3 * len(practice) + len(questions)
    assert [[request.item_id for request in each] for each in made.values()] == [
        [*practice, *questions], [*practice, *questions], questions,
    ]  # fmt: skip
    assert ["\n\nPractice\n\n" in request.prompt.user for request in made[None]] == [True, *[False] * len(questions)]
    assert all(request.prompt.user.startswith("0 ") for request in made[str(tmp_path / "own.txt")])


def test_a_whole_session_with_another_text_of_the_study_is_another_session() -> None:
    study = SAMPLES["multiple_choice"]
    own = study.definition.model_copy(update={"texts": {"last_practice": "Now the questions."}})
    before, after = (
        requests_for(each, style="three-lines", group=3, seed=7, whole_session=True).session_order
        for each in (study, replace(study, definition=own))
    )
    assert before != after


def test_the_order_of_a_whole_session_is_that_of_the_group_and_the_seed(sample_study: Study) -> None:
    def order(seed: int, whole_session: bool) -> str | None:
        return requests_for(sample_study, group=3, seed=seed, whole_session=whole_session).session_order

    assert order(7, whole_session=True) == order(7, whole_session=True) != order(8, whole_session=True)
    assert order(7, whole_session=False) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"whole_session": True}, "--whole-session: a session needs a group and a seed"),
        ({"group": 11, "seed": 1}, "--group 11: the design has no group 11"),
        ({"group": 1}, "add --seed"),
        ({"seed": 1}, "add --group"),
        ({"epochs": 0}, "epochs is 0"),
        ({"shots": -1}, "shots is -1"),
        ({"shots": 2}, "the study has 1 practice item with the task .*use --shots 1"),
        ({"shots": 1, "style": "human-equivalent"}, "`human-equivalent` has no examples"),
        ({"temperatures": [0.123]}, "--temperature 0.123"),
        ({"temperatures": [-0.1]}, "--temperature -0.1"),
        ({"temperatures": [float("nan")]}, "--temperature nan"),
        ({"temperatures": [0.1, 0.7, 0.1]}, "given twice"),
    ],
)
def test_an_impossible_option_is_refused_with_a_fix(sample_study: Study, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"{message}.*Fix: |{message}"):
        requests_for(sample_study, **options)


def test_a_study_without_practice_of_the_task_has_no_examples(plums: Study) -> None:
    without = replace(plums, definition=plums.definition.model_copy(update={"practice": ()}))
    with pytest.raises(InputError, match=r"no practice item.*leave --shots out"):
        requests_for(without, shots=1)
    assert len(requests_for(without, style="human-equivalent")) == 2


def test_an_item_of_a_plugin_is_refused_in_one_sentence() -> None:
    files = {"assets/face.svg": "0" * 64}  # services of models do not accept drawings
    slider = Item(item_id="s", task="jspsych", content={"plugin": "slider", "files": files}, key={"response": 1})
    with pytest.raises(
        InputError,
        match=r"`jspsych` cannot be sent to a model, because only jsPsych can show them\.",
    ):
        requests_for(study_with([slider], "multiple_choice"))


def test_each_task_of_a_mixed_battery_has_its_own_style() -> None:
    board = SAMPLES["blackbox_predict"].test_items[0]
    requests = requests_for(study_with([item(PLUM), board], "multiple_choice"))
    assert {task: prompts.style.name for task, prompts in requests.by_task.items()} == {
        "blackbox_predict": "baseline",
        "multiple_choice": "three-lines",
    }
    with pytest.raises(InputError, match="`answer-only` is neither a style of prompts for the task `blackbox_predict`"):
        requests_for(study_with([item(PLUM), board], "multiple_choice"), style="answer-only")
    assert len(list(requests_for(study_with([item(PLUM), board], "multiple_choice"), style="human-equivalent"))) == 2


def test_the_digest_is_that_of_the_template_unless_other_texts_are_in_the_prompt(plums: Study) -> None:
    requests = requests_for(plums)
    (prompts,) = requests.by_task.values()
    assert prompts.digest == prompts.style.digest
    assert next(iter(requests)).request_id.template == prompts.style.digest[:8]
    assert prompts_digest(plums, shots=1) != prompts.digest


def test_the_digest_of_a_human_equivalent_prompt_changes_with_every_text_of_the_study(plums: Study) -> None:
    before = prompts_digest(plums, style="human-equivalent")
    page = plums.definition.timeline.instructions[0]
    practice = plums.battery.by_id["practice-1"]
    edited = practice.model_copy(update={"content": practice.content | {"prompt": "Where?"}})
    items = tuple(edited if each is practice else each for each in plums.battery.items)
    definition = plums.definition.model_copy(update={"texts": {"multiple_choice_help": "Type a number."}})
    changed = [
        replace(plums, texts={**plums.texts, page: "Other instructions."}),
        replace(plums, battery=Battery(**plums.battery.model_dump(exclude={"items"}), items=items)),
        replace(plums, definition=definition),
    ]
    digests = {before, *(prompts_digest(study, style="human-equivalent") for study in changed)}
    assert len(digests) == 4
    assert len({prompts_digest(study) for study in [plums, *changed]}) == 1


def test_prompts_are_made_while_they_are_written(plums: Study) -> None:
    requests: Requests = requests_for(plums, epochs=1_000_000_000)
    assert len(requests) == 2_000_000_000
    assert next(iter(requests)).request_id.epoch == 1
