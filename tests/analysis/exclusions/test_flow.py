import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import NOT_A_TEST_TRIAL, apply_exclusions, check_flow
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

CHECK = {"rule": "attention_check"}
MEDIAN = {"rule": "median_rt", "min_ms": 1000, "max_ms": 30_000}
TRIAL = {"rule": "trial_rt", "min_ms": 200, "max_ms": 60_000}
ALL_RULES = AnalysisPlan(exclusions=[CHECK, MEDIAN, TRIAL])


def check_trial(row, participant, response, **changes):
    changes = {"trial_index": 99, "phase": "attention_check", "item_id": "check", **changes}
    return row(participant=participant, response=response, **changes)


def steps(result, kind="human"):
    rows = result.flow[result.flow["kind"] == kind].set_index("step")
    return {step: (int(row["n_participants"]), int(row["n_trials"])) for step, row in rows.iterrows()}


def dispositions(result):
    return dict(zip(result.participants["participant"], result.participants["disposition"], strict=True))


def test_rules_are_applied_in_the_stated_order_and_the_flow_adds_up(view, session, row):
    rows = view(
        session(participant="withdrew", status="withdrawn", response=None, rt_ms=None),
        session(participant="stopped", status="active"),
        session(participant="careless", rt_ms=300.0),
        check_trial(row, "careless", 2),
        session(participant="fast", rt_ms=300.0),
        check_trial(row, "fast", 1),
        session(participant="good"),
        check_trial(row, "good", 1),
        row(participant="good", trial_index=10, item_id="i10", rt_ms=199.9),
        row(participant="good", trial_index=11, item_id="i11", response=None, rt_ms=None),
    )
    result = apply_exclusions(tidy_trials(rows), ALL_RULES)
    assert steps(result) == {
        "withdrawn": (1, 4), "not_completed": (1, 4), "attention_check": (1, 4), "median_rt": (1, 4),
        "trial_rt": (0, 1), "unanswered": (0, 1), "included": (1, 4),
    }  # fmt: skip
    assert result.flow["participants_left"].tolist() == [4, 3, 2, 1, 1, 1, 1]
    assert result.flow["trials_left"].tolist() == [18, 14, 10, 6, 5, 4, 4]
    assert dispositions(result) == {
        "careless": "attention_check", "fast": "median_rt", "good": "included", "stopped": "not_completed",
        "withdrew": "withdrawn",
    }  # fmt: skip
    turned = apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=[MEDIAN, CHECK, TRIAL]))
    assert steps(turned)["median_rt"] == (2, 8)
    assert steps(turned)["attention_check"] == (0, 0)


def test_the_flow_says_its_criteria_in_words_with_units(view, session):
    flow = apply_exclusions(tidy_trials(view(session(), session(kind="model"))), ALL_RULES).flow
    words = flow[flow["kind"] == "human"].set_index("step")["criterion"]
    assert words["attention_check"] == "failed at least one attention check"
    assert words["median_rt"] == "median response time under 1,000 ms or over 30,000 ms"
    assert words["trial_rt"] == "trial's response time under 200 ms or over 60,000 ms"
    models = flow[flow["kind"] == "model"].set_index("step")["criterion"]
    assert set(models[["attention_check", "median_rt", "trial_rt"]]) == {"does not apply to models"}


def test_the_maximum_number_of_failed_checks_is_allowed(view, session, row):
    rows = view(
        session(participant="A"), check_trial(row, "A", 2), check_trial(row, "A", None, trial_index=100, rt_ms=None)
    )
    one = apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=[{**CHECK, "max_failed": 1}]))
    two = apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=[{**CHECK, "max_failed": 2}]))
    assert dispositions(one) == {"A": "attention_check"}, "an unanswered check is a failed one"
    assert dispositions(two) == {"A": "included"}
    assert one.participants["n_attention_checks_failed"].tolist() == [2]


@pytest.mark.parametrize(("rt_ms", "stays"), [(199.999, False), (200.0, True), (60_000.0, True), (60_000.1, False)])
def test_bounds_of_response_times_are_inclusive(view, session, row, rt_ms, stays):
    rows = view(session(participant="A"), row(participant="A", trial_index=9, item_id="i9", rt_ms=rt_ms))
    result = apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=[TRIAL]))
    assert steps(result)["trial_rt"] == (0, 0 if stays else 1)


def test_a_participant_without_remaining_trials_is_counted_once_at_the_step_of_their_last_trial(view, session, row):
    rows = view(
        session(participant="A", rt_ms=100.0),
        session(participant="B", n_test=2, rt_ms=100.0),
        row(participant="B", trial_index=5, item_id="i5", response=None, rt_ms=None),
        session(participant="C"),
        row(participant="D", phase="practice"),
    )
    result = apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=[TRIAL]))
    assert dispositions(result) == {"A": "trial_rt", "B": "unanswered", "C": "included", "D": "unanswered"}
    assert steps(result)["trial_rt"] == (1, 6)


def test_a_median_after_the_trial_rule_is_of_the_remaining_trials(view, session, row):
    rows = view(
        session(participant="A", n_test=3, rt_ms=150.0),
        row(participant="A", trial_index=7, item_id="i7"),
        row(participant="A", trial_index=8, item_id="i8"),
    )
    assert (
        dispositions(apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=[MEDIAN, TRIAL])))["A"] == "median_rt"
    )
    assert (
        dispositions(apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=[TRIAL, MEDIAN])))["A"] == "included"
    )


def test_practice_and_checks_never_enter_a_median_nor_the_counts(view, session, row):
    rows = view(
        session(participant="A", n_test=2),
        [row(participant="A", trial_index=50 + n, phase="practice", item_id=f"p{n}", rt_ms=10.0) for n in range(5)],
        check_trial(row, "A", 1, rt_ms=10.0),
    )
    result = apply_exclusions(tidy_trials(rows), ALL_RULES)
    assert steps(result)["included"] == (1, 2)
    assert result.trials["excluded_by"].value_counts().to_dict() == {NOT_A_TEST_TRIAL: 6}


def test_no_rule_touches_models(view, session, row):
    rows = view(
        session(kind="model", run="M", rt_ms=5.0),
        row(kind="model", run="M", trial_index=50, phase="attention_check", item_id="check", response=2, rt_ms=1.0),
        row(kind="model", run="M", trial_index=51, item_id="i51", response=None),
        row(kind="model", run="M", trial_index=52, item_id="i52", response="no idea", valid=0),
    )
    result = apply_exclusions(tidy_trials(rows), ALL_RULES)
    assert steps(result, "model")["included"] == (1, 6)


def test_responses_without_a_response_time_remain_and_are_noted(view, session):
    result = apply_exclusions(tidy_trials(view(session(rt_ms=None))), AnalysisPlan(exclusions=[CHECK, MEDIAN, TRIAL]))
    assert steps(result)["included"] == (1, 4)
    assert [note.split("`")[1] for note in result.notes] == ["attention_check", "median_rt", "trial_rt"]


def test_a_person_with_an_abandoned_and_a_completed_session_is_one_participant(view, session):
    rows = view(
        session(participant="A", session="first", status="active", n_test=3),
        session(participant="A", session="second", n_test=4),
    )
    result = apply_exclusions(tidy_trials(rows), ALL_RULES)
    assert steps(result)["not_completed"] == (0, 3)
    assert steps(result)["included"] == (1, 4)
    assert len(result.participants) == 1


def test_a_participant_with_several_sessions_is_described_by_all_of_them(view, session):
    again = {"session_number": 2, "group": 3, "source": "web", "completed_at": "2026-01-09T10:20:00Z"}
    rows = view(
        session(
            participant="A", session="x", session_number=1, group=1, source="lab", started_at="2026-01-02T10:00:00Z"
        ),
        session(participant="A", session="a", **again, started_at="2026-01-09T10:00:00Z", n_test=5),
        session(participant="B", group=3),
        session(kind="model", run="M"),
    )
    people = apply_exclusions(tidy_trials(rows), AnalysisPlan()).participants.set_index("participant")
    assert people.loc["A", ["n_sessions", "group", "source"]].tolist() == [2, "1, 3", "lab, web"]
    assert people.loc["A", ["n_test_trials", "n_included"]].tolist() == [9, 9]
    assert people.loc["A", "started_at"] == "2026-01-02T10:00:00Z", "of the first that was completed"
    assert people.loc["B", ["n_sessions", "group", "source"]].tolist() == [1, "3", "web"]
    assert people.loc["model M", "n_sessions"] == 1 and pd.isna(people.loc["model M", "group"])


def test_without_participants_in_several_groups_a_group_is_a_number(view, session):
    rows = view(session(participant="A", group=2), session(kind="model", run="M"))
    groups = apply_exclusions(tidy_trials(rows), AnalysisPlan()).participants["group"]
    assert pd.api.types.is_integer_dtype(groups) and groups.tolist() == [2, pd.NA]


def test_checks_of_a_session_that_was_not_completed_do_not_count(view, session, row):
    rows = view(
        session(participant="A", session="first", status="withdrawn", n_test=3, response=None, rt_ms=None),
        check_trial(row, "A", None, session="first", status="withdrawn", rt_ms=None),
        session(participant="A", session="second"),
        check_trial(row, "A", 1, session="second"),
        session(participant="B", session="third", status="active"),
        check_trial(row, "B", 2, session="third", status="active"),
        session(participant="B", session="fourth"),
    )
    result = apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=[CHECK]))
    assert dispositions(result) == {"A": "included", "B": "included"}
    assert result.participants["n_attention_checks"].tolist() == [1, 0]
    assert result.participants["n_attention_checks_failed"].tolist() == [0, 0]
    assert result.notes == ["The rule `attention_check` did not exclude 1\u00a0participant who had no attention check."]


def test_a_person_who_completed_twice_is_an_error(view, session):
    rows = view(session(participant="A", session="first"), session(participant="A", session="second"))
    with pytest.raises(InputError, match="completed the study more than once"):
        apply_exclusions(tidy_trials(rows), ALL_RULES)


def test_two_runs_of_one_model_are_two_participants(view, session):
    rows = view(
        session(kind="model", run="M, first", participant="M", session="a"),
        session(kind="model", run="M, second", participant="M", session="b"),
    )
    assert steps(apply_exclusions(tidy_trials(rows), ALL_RULES), "model")["included"] == (2, 8)


def test_a_flow_that_does_not_add_up_is_never_returned(view, session):
    result = apply_exclusions(tidy_trials(view(session(), session(participant="B", status="active"))), ALL_RULES)
    excluded_by = result.trials["excluded_by"]
    for column in ("n_participants", "n_trials", "participants_left", "trials_left"):
        wrong = result.flow.copy()
        wrong.loc[1, column] += 1
        if column.endswith("_left"):
            wrong.loc[len(wrong) - 2, column] += 1
        with pytest.raises(RuntimeError, match="does not add up"):
            check_flow(wrong, excluded_by, result.participants["disposition"])


RULES = st.lists(
    st.sampled_from(
        [
            CHECK, {**CHECK, "max_failed": 1}, MEDIAN, {"rule": "median_rt", "max_ms": 1200}, TRIAL,
            {"rule": "trial_rt", "min_ms": 500},
        ]
    ),
    max_size=3, unique_by=lambda rule: rule["rule"],
)  # fmt: skip
TRIALS = st.lists(
    st.tuples(
        st.sampled_from(["test", "test", "test", "practice", "attention_check"]),
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, 100.0, 200.0, 900.0, 1500.0, 70_000.0]),
    ),
    min_size=1, max_size=6,
)  # fmt: skip
SESSIONS = st.lists(
    st.tuples(
        st.sampled_from(["human", "human", "simulated", "model"]),
        st.sampled_from(["completed", "completed", "active", "withdrawn"]),
        TRIALS,
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rules=RULES, sessions=SESSIONS, seed=st.integers(0, 100))
def test_the_books_balance_for_any_data_and_plan(view, row, rules, sessions, seed):
    rows = view(
        [
            row(kind=kind, status=status, participant=f"P{who}", run=f"R{who}" if kind == "model" else None,
                trial_index=index, phase=phase, item_id=f"{phase}{index}", response=response, rt_ms=rt_ms)
            for who, (kind, status, trials) in enumerate(sessions)
            for index, (phase, response, rt_ms) in enumerate(trials)
        ]
    )  # fmt: skip
    plan = AnalysisPlan(exclusions=rules)
    table = tidy_trials(rows)
    result = apply_exclusions(table, plan)
    order = ["withdrawn", "not_completed", *(rule["rule"] for rule in rules), "unanswered", "included"]
    recruited = pd.Series([kind for kind, _, _ in sessions]).value_counts()
    planned = table[table["phase"] == "test"]["kind"].value_counts()
    for kind, flow in result.flow.groupby("kind"):
        assert flow["step"].tolist() == order
        assert flow["n_participants"].sum() == recruited[kind]
        assert flow["n_trials"].sum() == planned.get(kind, 0)
        left = recruited[kind] - flow["n_participants"].cumsum().to_numpy()[:-1]
        assert flow["participants_left"].tolist()[:-1] == left.tolist()
    assert set(result.flow["kind"]) == set(recruited.index)
    assert sorted(result.participants["participant"]) == sorted(f"P{who}" for who in range(len(sessions)))
    kept = result.trials["excluded_by"].isna()
    assert set(result.trials.loc[kept, "phase"]) <= {"test"}
    assert result.trials.loc[kept & (table["kind"] != "model"), "response"].notna().all()
    completed_models = (table["kind"] == "model") & (table["status"] == "completed") & (table["phase"] == "test")
    assert kept[completed_models].all()
    included = result.participants.query("disposition == 'included'")["participant"]
    assert set(table.loc[kept, "participant"]) == set(included)

    order_of_rows = np.random.default_rng(seed).permutation(len(table))
    again = apply_exclusions(table.iloc[order_of_rows].reset_index(drop=True), plan)
    pd.testing.assert_frame_equal(again.flow, result.flow)
    pd.testing.assert_frame_equal(again.participants, result.participants)
