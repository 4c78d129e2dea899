import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.data.subjects import PROGRAMS, DescribedRun, programs_among, subjects_of_runs
from analysis.data.tidy_table import tidy_trials
from experiment.models.baselines import BASELINES
from experiment.models.mock_replies import MOCK_MODELS
from experiment.study.analysis_plan import OF_RUNS

RUN = {"source": "api", "model": "gpt", "model_version": "gpt-1", "temperature": 0.5, "prompt_digest": "d"}


def run(label, **changes):
    parameters = {"epoch": 1, "max_tokens": 512} | changes.pop("parameters", {})
    return DescribedRun(label, parameters=parameters, **(RUN | changes))


def test_runs_that_differ_only_in_the_epoch_and_the_totals_are_one_subject():
    runs = [
        run(
            f"gpt, temperature 0.5, epoch {epoch}",
            parameters={"epoch": epoch, "totals": {"tokens_in": epoch}, "training_cutoff": f"2024-{epoch:02}"},
        )
        for epoch in (2, 1, 10)
    ]
    assert subjects_of_runs(runs) == ["gpt, temperature 0.5"] * 3


@pytest.mark.parametrize(
    "changed",
    [{"source": "import"}, {"model_version": "gpt-2"}, {"temperature": None}, {"prompt_digest": "other"},
     {"parameters": {"epoch": 2, "max_tokens": 99}}],
)  # fmt: skip
def test_runs_under_different_conditions_are_never_pooled(changed):
    runs = [run("gpt, epoch 1"), run("gpt, epoch 2", **({"parameters": {"epoch": 2}} | changed))]
    assert subjects_of_runs(runs) == ["gpt, epoch 1", "gpt, epoch 2"]


def test_the_template_is_named_only_if_there_are_several():
    one = [run(f"{model}, template 9f8e7d6c, temperature 0.5, epoch 1", model=model) for model in ("gpt", "haiku")]
    assert subjects_of_runs(one) == ["gpt, temperature 0.5", "haiku, temperature 0.5"]
    other = run("opus, template 1a2b3c4d, epoch 1", prompt_digest="other")
    assert subjects_of_runs([*one, other]) == [
        "gpt, template 9f8e7d6c, temperature 0.5",
        "haiku, template 9f8e7d6c, temperature 0.5",
        "opus, template 1a2b3c4d",
    ]


def test_a_run_with_a_template_is_never_pooled_with_a_run_of_the_same_name():
    runs = [run("gpt, template 9f8e7d6c, epoch 1"), run("gpt, epoch 1", prompt_digest=None)]
    assert subjects_of_runs(runs) == ["gpt, template 9f8e7d6c, epoch 1", "gpt, epoch 1"]


def test_a_run_without_an_epoch_keeps_its_label():
    alone = DescribedRun("Haiku 4.5, epoch 1", "import", "Haiku 4.5", "x", None, None, {"experiment": 1})
    same = DescribedRun("Haiku 4.5", "import", "Haiku 4.5", "x", None, None, {"experiment": 1})
    assert subjects_of_runs([alone, same]) == ["Haiku 4.5, epoch 1", "Haiku 4.5"]


def test_a_run_without_an_epoch_is_never_pooled_with_an_epoch():
    alone = run("gpt", parameters={"epoch": None})
    assert subjects_of_runs([run("gpt, epoch 1"), alone]) == ["gpt, epoch 1", "gpt"]


def test_a_condition_whose_name_is_taken_is_named_by_its_first_epoch():
    epochs = [run(f"gpt, epoch {epoch}", parameters={"epoch": epoch}) for epoch in (10, 2)]
    assert subjects_of_runs([*epochs, run("gpt, epoch 3", model="other")]) == ["gpt, epoch 2"] * 2 + ["gpt, epoch 3"]


def test_the_same_epoch_twice_is_not_a_repetition():
    runs = [run("gpt, epoch 1"), run("gpt, epoch 1 (2)"), run("gpt, epoch 2", parameters={"epoch": 2})]
    assert subjects_of_runs(runs) == ["gpt", "gpt (2)", "gpt"]


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from([None, 0.5]), st.sampled_from(["m", "m, epoch 1"])), unique=True
    )
)
def test_two_runs_have_one_subject_exactly_if_they_have_one_condition(found):
    runs = [
        run(f"{model}, epoch {epoch}{'' if temperature else ' (2)'}", temperature=temperature, model=model,
            parameters={"epoch": epoch})
        for epoch, temperature, model in found
    ]  # fmt: skip
    subjects = subjects_of_runs(runs)
    for one, (_, *first) in zip(subjects, found, strict=True):
        for other, (_, *second) in zip(subjects, found, strict=True):
            assert (one == other) == (first == second)


def test_the_tidy_table_has_the_subject_and_the_epoch_of_each_trial(view, session):
    rows = view(
        session(participant="A"),
        session(participant="S", kind="simulated"),
        *(
            session(kind="model", run=f"M, epoch {epoch}", model="M", model_version="M-1",
                    run_parameters=json.dumps({"epoch": epoch}))
            for epoch in (1, 2)
        ),
        session(kind="model", run="old"),
    )  # fmt: skip
    trials = tidy_trials(rows)
    found = trials[["subject", "epoch"]].drop_duplicates().astype(object).fillna(0).to_numpy().tolist()
    assert found == [["people", 0], ["simulated participants", 0], ["M", 1], ["M", 2], ["old", 0]]


def test_the_prompt_and_the_thinking_are_settings_of_a_run():
    recorded = run("gpt", parameters={"prompt": "three-lines", "thinking": True, "thinking_budget": 2048})
    assert (recorded.prompt, recorded.thinking, recorded.thinking_budget) == ("three-lines", True, 2048)
    unknown = run("gpt")
    assert (unknown.prompt, unknown.thinking, unknown.thinking_budget) == (None, None, None)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["baseline"], ("baseline", False, None)),
        (["baseline", "thinking"], ("baseline", True, None)),
        (["vot", "thinking 10000", "grid state"], ("vot, grid state", True, 10_000)),
    ],
)
def test_a_stored_black_box_run_has_its_settings_in_words(words, expected):
    stored = run("Haiku 4.5", parameters={"condition": words})
    assert (stored.prompt, stored.thinking, stored.thinking_budget) == expected


def test_the_tidy_table_has_the_settings_of_models_and_no_settings_of_people(view, session):
    rows = view(
        session(participant="A"),
        session(kind="model", run="M", model="M", run_parameters=json.dumps({"condition": ["cot", "thinking 9"]})),
        session(kind="model", run="old"),
    )
    trials = tidy_trials(rows)
    settings = trials[["prompt", "thinking", "thinking_budget"]].drop_duplicates().astype(object)
    assert settings.fillna("").to_numpy().tolist() == [["", "", ""], ["cot", True, 9]]
    assert trials.loc[trials["run"].isna(), list(OF_RUNS)].isna().all(axis=None)


def test_only_the_programs_of_equipoise_are_called_programs():
    programs = programs_among([*BASELINES, *(model.name for model in MOCK_MODELS), "mockllm/model"])
    assert programs == {"mock": [model.name for model in MOCK_MODELS] + ["mockllm/model"], "baseline": [*BASELINES]}
    assert set(PROGRAMS["baseline"]) == set(BASELINES)
    assert set(PROGRAMS["mock"]) == {model.name for model in MOCK_MODELS}
    assert programs_among(["mock-7b", "mock-strong-v2", "baseline/new-laboratory", "mock"]) == {}
