"""The rows of a study for its plan: they have the right participants, and no row is mixed up or lost."""

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.planned.study_rows import ROW_COLUMNS, plan_for, study_rows
from analysis.planned.tables import planned_table
from analysis.planned.tests import planned_tests
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedTable

FAST = {"exclusions": [{"rule": "trial_rt", "min_ms": 200}]}


def marked(rows, plan=None):
    return apply_exclusions(tidy_trials(rows), AnalysisPlan.model_validate(plan or {})).trials


@pytest.fixture
def both(view, session, row):
    return marked(
        view(
            session(participant="A", n_correct=3, factors={"level": 1}),
            session(participant="B", n_correct=1, factors={"level": 2}),
            row(participant="B", trial_index=8, item_id="i8", response=None, rt_ms=None),
            row(participant="B", trial_index=9, phase="practice"),
            session(kind="model", run="M, first", participant="M1", session="a", n_correct=2),
            session(kind="model", run="M, second", participant="M2", session="b", n_test=2),
            row(kind="model", run="M, first", participant="M1", session="a", trial_index=8, item_id="i8",
                response=None),
            row(kind="model", run="M, first", participant="M1", session="a", trial_index=9, item_id="i9",
                response="no idea", valid=0),
        )
    )  # fmt: skip


def test_people_models_and_everyone_can_each_be_requested(both):
    rows_of = study_rows(both)
    people, models, everyone = (rows_of(who) for who in ("people", "models", "everyone"))
    assert (set(people["kind"]), set(models["kind"])) == ({"human"}, {"model"})
    assert (len(people), len(models), len(everyone)) == (8, 8, 16)
    assert set(everyone["session"]) == set(people["session"]) | set(models["session"])
    for rows in (people, models, everyone):
        assert rows.index.tolist() == list(range(len(rows)))


def test_the_rows_are_the_included_test_trials(both):
    people = study_rows(both)("people")
    assert set(people["phase"]) == {"test"}
    assert people["response"].notna().all()


def test_the_subject_is_people_or_the_run_of_a_model(both):
    everyone = study_rows(both)("everyone")
    assert everyone.groupby("subject").size().to_dict() == {"people": 8, "M, first": 6, "M, second": 2}


def test_correct_is_one_or_zero_and_a_missing_response_of_a_model_is_zero(both):
    models = study_rows(both)("models")
    first = models[models["subject"] == "M, first"]
    assert first["correct"].tolist() == [1, 1, 0, 0, 0, 0]
    assert first["score"].tolist() == [1, 1, 0, 0, 0, 0]
    assert study_rows(both)("people")["correct"].tolist() == [1, 1, 1, 0, 1, 0, 0, 0]
    assert models["correct"].dtype == "float64"


def test_the_table_of_trials_is_not_changed(both):
    before = both.copy(deep=True)
    rows_of = study_rows(both)
    everyone = rows_of("everyone")
    everyone["correct"] = 5.0
    pd.testing.assert_frame_equal(both, before)
    assert rows_of("everyone")["correct"].max() == 1


def test_the_rows_have_the_factors_and_the_columns_of_the_tidy_table(both):
    columns = set(study_rows(both)("people").columns)
    assert {"level", "subject", "participant", "item_id", "rt_ms", "correct", "group", "trial_index"} <= columns
    assert not {"content", "key"} & columns
    assert columns == {*ROW_COLUMNS, "level"}


def test_a_response_of_several_fields_is_text_that_can_be_counted(view, row):
    content = {"plugin": "html-button-response", "parameters": {}, "answers": [{"response": 0}, {"response": 1}]}
    rows = view(
        *(row(trial_index=n, item_id=f"i{n}", task="jspsych", content=content, key={"response": 1},
              response={"response": n % 2}) for n in range(4))
    )  # fmt: skip
    people = study_rows(marked(rows))("people")
    assert people["response"].tolist() == ['{"response": 0}', '{"response": 1}'] * 2
    assert planned_table(people, "t", PlannedTable(by=("response",), of=("correct",)))["correct_mean"].tolist() == [
        0,
        1,
    ]


def test_trials_without_exclusions_applied_are_refused(view, session):
    with pytest.raises(InputError, match="apply the exclusions first"):
        study_rows(tidy_trials(view(session())))


# Simulated participants


def test_simulated_participants_are_never_combined_with_people(view, session):
    trials = marked(
        view(
            session(participant="A"), session(participant="S", kind="simulated"), session(kind="model", run="M")
        )
    )  # fmt: skip
    rows_of = study_rows(trials)
    assert set(rows_of("people")["kind"]) == {"human"}
    assert set(rows_of("everyone")["kind"]) == {"human", "model"}


def test_in_a_pilot_simulated_participants_replace_people_under_a_different_name(view, session):
    trials = marked(view(session(participant="S", kind="simulated"), session(kind="model", run="M")))
    rows = study_rows(trials)("everyone")
    assert set(rows["subject"]) == {"simulated participants", "M"}


def test_simulated_participants_do_not_replace_people_who_were_excluded(view, session):
    """Otherwise, a rule that excludes all people would silently change the report to simulated responses."""
    trials = marked(
        view(
            session(participant="A", rt_ms=5.0),
            session(participant="S", kind="simulated"),
            session(kind="model", run="M"),
        ),
        FAST,
    )
    with pytest.raises(InputError, match="people"):
        study_rows(trials)("people")
    plan = AnalysisPlan.model_validate(PILOT)
    assert plan_for(trials, plan) == plan


PILOT = {
    "flags": {"is_person": {"subject": "people"}},
    "tables": {"t": {"by": ["subject"], "of": ["correct"],
                     "where": {"subject": ["people", "M"], "kind": ["human", "model"]}}},
    "models": {"m": {"formula": "correct ~ subject + (1 | item_id)", "reference": {"subject": "people"}}},
    "tests": {
        "by_subject": {"test": "chi_square", "of": "correct", "between": "subject", "levels": ["people", "M"],
                       "who": "everyone"},
        "by_kind": {"test": "chi_square", "of": "correct", "between": "kind", "levels": ["human", "model"],
                    "who": "everyone", "where": {"subject": ["people", "M"]}},
    },
}  # fmt: skip


def test_in_a_pilot_a_plan_that_names_people_means_simulated_participants(view, session):
    trials = marked(view(session(participant="S", kind="simulated"), session(kind="model", run="M")))
    plan = plan_for(trials, AnalysisPlan.model_validate(PILOT))
    simulated = "simulated participants"
    assert plan.tables["t"].where == {"subject": (simulated, "M"), "kind": ("simulated", "model")}
    assert plan.models["m"].reference == {"subject": simulated}
    assert plan.tests["by_subject"].levels == (simulated, "M")
    assert plan.tests["by_kind"].levels == ("simulated", "model")
    assert plan.tests["by_kind"].where == {"subject": (simulated, "M")}


def test_in_a_pilot_a_flag_that_names_people_means_simulated_participants_too(view, session):
    trials = marked(view(session(participant="S", kind="simulated"), session(kind="model", run="M")))
    plan = plan_for(trials, AnalysisPlan.model_validate(PILOT))
    assert plan.flags == {"is_person": {"subject": "simulated participants"}}


def test_with_people_in_the_data_the_plan_is_unchanged(both):
    plan = AnalysisPlan.model_validate(PILOT)
    assert plan_for(both, plan) == plan


def test_a_level_people_of_another_column_is_not_changed(view, session):
    trials = marked(view(session(participant="S", kind="simulated", factors={"shown": "people"})))
    plan = AnalysisPlan.model_validate(
        {"tables": {"t": {"by": ["shown"], "of": ["correct"], "where": {"shown": "people"}}}}
    )
    assert plan_for(trials, plan).tables["t"].where == {"shown": "people"}


# No matching participants


@pytest.mark.parametrize(("kind", "who"), [("human", "models"), ("simulated", "models"), ("model", "people")])
def test_a_plan_about_missing_participants_is_refused_and_the_error_names_them(view, session, kind, who):
    trials = marked(view(session(kind=kind, **({"run": "M"} if kind == "model" else {}))))
    with pytest.raises(InputError, match=f"the plan requests results of {who}"):
        study_rows(trials)(who)
    assert len(study_rows(trials)("everyone")) == 4


# Together with tables and tests


def test_a_table_over_everyone_averages_each_subject_s_own_trials(both):
    planned = PlannedTable(by=("subject",), of=("correct",))
    table = planned_table(study_rows(both)("everyone"), "t", planned).set_index("subject")
    assert table["n"].to_dict() == {"people": 8, "M, first": 6, "M, second": 2}
    assert table["correct_mean"].to_dict() == {"people": 0.5, "M, first": 2 / 6, "M, second": 1}


def test_levels_of_a_factor_keep_the_type_that_they_have_in_the_battery(both):
    table = planned_table(
        study_rows(both)("people"), "t", PlannedTable(by=("level",), of=("correct",), where={"level": 2})
    )
    assert table[["level", "n", "correct_mean"]].to_numpy().tolist() == [[2, 4, 0.25]]


def test_a_test_of_people_counts_each_participant_once(view, session):
    rows = view(
        [session(participant=f"P{n}", n_correct=n % 5, group=1 + n % 2) for n in range(12)], session(kind="model")
    )
    plan = AnalysisPlan.model_validate(
        {"tests": {"a": {"test": "t", "of": "correct", "per": "participant", "between": "group"}}}
    )
    rows_of = study_rows(marked(rows))
    found = planned_tests(lambda planned: rows_of(planned.who), plan)
    assert found["n"].tolist() == [12]
    assert found["levels"].tolist() == ["1 - 2"]
