"""Exclusions by counterbalance group: every row and column adds up, and the totals agree with the flow."""

import dataclasses

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.by_group import COUNTS, exclusions_by_group, notes_on_several_groups
from analysis.exclusions.flow import apply_exclusions
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan.model_validate(
    {"exclusions": [{"rule": "median_rt", "min_ms": 1000}, {"rule": "trial_rt", "min_ms": 200}]}
)


def table_of(*rows, plan=PLAN):
    return exclusions_by_group(apply_exclusions(tidy_trials(*rows), plan))


def counts(table, kind, group):
    rows = table[(table["kind"] == kind) & (table["group"] == group)]
    assert len(rows) == 1
    return tuple(rows.iloc[0][COUNTS])


def test_a_group_has_its_planned_excluded_and_final_trials(view, session, row):
    table = table_of(
        view(
            session(participant="A", group=1),
            session(participant="B", group=1, rt_ms=300.0),
            session(participant="C", group=2),
            row(participant="C", group=2, trial_index=8, item_id="i8", rt_ms=5.0),
            row(participant="C", group=2, trial_index=9, item_id="i9", response=None, rt_ms=None),
            session(participant="D", group=2, status="withdrawn", completed_at=None, n_test=3),
        )
    )
    assert table.columns.tolist() == ["kind", "group", *COUNTS]
    assert table["group"].tolist() == ["1", "2", "total"]
    assert counts(table, "human", "1") == (2, 8, 1, 4, 0, 1, 4)
    assert counts(table, "human", "2") == (2, 9, 1, 3, 2, 1, 4)
    assert counts(table, "human", "total") == (4, 17, 2, 7, 2, 2, 8)


def test_practice_and_checks_are_not_planned_trials(view, session, row):
    table = table_of(
        view(
            session(participant="A"),
            row(participant="A", trial_index=8, phase="practice"),
            row(participant="A", trial_index=9, phase="attention_check"),
            row(participant="B", group=2, phase="practice"),
        )
    )
    assert counts(table, "human", "1") == (1, 4, 0, 0, 0, 1, 4)
    assert counts(table, "human", "2") == (1, 0, 1, 0, 0, 0, 0)


def test_groups_are_sorted_by_number_and_participants_without_a_group_are_last(view, session):
    table = table_of(view([session(participant=f"P{n}", group=group) for n, group in enumerate([10, None, 2, 1, 100])]))
    assert table["group"].tolist() == ["1", "2", "10", "100", "none", "total"]


def test_without_groups_there_is_one_row_and_the_total(view, session):
    table = table_of(view(session(group=None), session(participant="B", group=None)))
    assert table["group"].tolist() == ["none", "total"]
    assert counts(table, "human", "none") == counts(table, "human", "total") == (2, 8, 0, 0, 0, 2, 8)


def test_people_and_simulated_participants_have_separate_rows_and_models_have_no_rows(view, session):
    table = table_of(
        view(session(participant="A"), session(participant="S", kind="simulated"), session(kind="model", run="M"))
    )
    assert table[["kind", "group"]].to_numpy().tolist() == [
        ["human", "1"], ["human", "total"], ["simulated", "1"], ["simulated", "total"]
    ]  # fmt: skip


def test_with_only_models_the_table_is_empty_but_has_its_columns(view, session):
    table = table_of(view(session(kind="model", run="M")))
    assert table.empty
    assert table.columns.tolist() == ["kind", "group", *COUNTS]


def test_the_trials_of_an_abandoned_session_of_an_included_participant_are_single_trials(view, session):
    table = table_of(
        view(
            session(participant="A", session="first", status="active", completed_at=None, n_test=3),
            session(participant="A", session="second"),
        )
    )
    assert counts(table, "human", "1") == (1, 7, 0, 0, 3, 1, 4)


def test_trials_of_a_participant_with_several_sessions_are_counted_in_the_group_of_each_session(view, session):
    result = apply_exclusions(
        tidy_trials(
            view(
                session(participant="A", session="a1", source="lab", session_number=1, group=1),
                session(participant="A", session="a2", source="lab", session_number=2, group=3, n_test=5),
                session(participant="B", source="lab", session_number=1, group=3),
            )
        ),
        PLAN,
    )
    table = exclusions_by_group(result)
    assert counts(table, "human", "1") == (1, 4, 0, 0, 0, 1, 4)
    assert counts(table, "human", "3") == (2, 9, 0, 0, 0, 2, 9)
    assert counts(table, "human", "total") == (2, 13, 0, 0, 0, 2, 13), "a participant is one of the total"
    (sentence,) = notes_on_several_groups(result)
    assert sentence.startswith("1\u00a0participant was in more than one counterbalance group.")
    assert "have more participants than the total" in sentence


def test_a_participant_included_with_one_group_is_excluded_from_the_other_group_but_not_from_the_total(view, session):
    table = table_of(
        view(
            session(participant="A", session="a1", session_number=1, group=1),
            session(
                participant="A", session="a2", session_number=2, group=2, status="active", completed_at=None, n_test=3
            ),
        )
    )
    assert counts(table, "human", "1") == (1, 4, 0, 0, 0, 1, 4)
    assert counts(table, "human", "2") == (1, 3, 1, 3, 0, 0, 0)
    assert counts(table, "human", "total") == (1, 7, 0, 0, 3, 1, 4)


def test_without_participants_in_several_groups_there_is_no_note(view, session):
    rows = view(
        [session(participant="A", session=f"a{n}", session_number=n, group=2) for n in (1, 2)],
        session(participant="B"),
        [session(kind="model", run=run) for run in ("M", "N")],
    )
    assert notes_on_several_groups(apply_exclusions(tidy_trials(rows), PLAN)) == []


def test_a_participant_who_lost_all_trials_in_different_ways_is_excluded_with_all_trials(view, session, row):
    table = table_of(
        view(
            session(participant="A", n_test=2, rt_ms=100.0),
            row(participant="A", trial_index=5, item_id="i5", response=None, rt_ms=None),
        ),
        plan=AnalysisPlan.model_validate({"exclusions": [{"rule": "trial_rt", "min_ms": 200}]}),
    )
    assert counts(table, "human", "1") == (1, 3, 1, 3, 0, 0, 0)


def test_a_table_that_does_not_add_up_is_never_returned(view, session):
    result = apply_exclusions(tidy_trials(view(session(), session(participant="B", rt_ms=300.0))), PLAN)
    wrong = result.participants.assign(disposition="median_rt")
    with pytest.raises(RuntimeError, match="do not add up"):
        exclusions_by_group(dataclasses.replace(result, participants=wrong))


PEOPLE = st.lists(
    st.tuples(
        st.sampled_from(["human", "simulated", "model"]),
        st.sampled_from([None, 1, 2, 3, 12]),
        st.sampled_from(["completed", "completed", "active", "withdrawn"]),
        st.lists(
            st.tuples(st.sampled_from(["test", "test", "practice", "attention_check"]),
                      st.sampled_from([None, 100.0, 300.0, 1500.0])),
            min_size=1, max_size=5,
        ),
    ),
    min_size=1, max_size=7,
)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(people=PEOPLE)
def test_rows_and_columns_add_up_for_any_data(view, row, people):
    rows = [
        row(kind=kind, participant=f"P{who}", run=f"R{who}" if kind == "model" else None, group=group, status=status,
            trial_index=index, phase=phase, item_id=f"i{index}", rt_ms=rt_ms, response=None if rt_ms is None else 1)
        for who, (kind, group, status, trials) in enumerate(people)
        for index, (phase, rt_ms) in enumerate(trials)
    ]  # fmt: skip
    result = apply_exclusions(tidy_trials(view(rows)), PLAN)
    table = exclusions_by_group(result)
    for kind in ("human", "simulated"):
        own = table[table["kind"] == kind]
        named = own[own["group"] != "total"]
        who = [(group, trials) for k, group, _, trials in people if k == kind]
        assert set(named["group"]) == {str(group or "none") for group, _ in who}
        assert len(own) == (len(named) + 1 if who else 0)
        for group, trials_of in {g: [t for h, t in who if h == g] for g, _ in who}.items():
            recruited, n_planned, gone, of_gone, single, stay, final = counts(table, kind, str(group or "none"))
            assert recruited == len(trials_of) == gone + stay
            assert n_planned == sum(phase == "test" for trials in trials_of for phase, _ in trials)
            assert n_planned == of_gone + single + final
            assert (final > 0) == (stay > 0)
        assert (named[COUNTS].sum() == own[own["group"] == "total"][COUNTS].sum()).all()
        kept = result.trials["excluded_by"].isna() & (result.trials["kind"] == kind)
        assert named["final_trials"].sum() == kept.sum()


SEVERAL_SESSIONS = st.lists(
    st.lists(
        st.tuples(st.sampled_from([None, 1, 2, 12]), st.sampled_from(["completed", "completed", "active", "withdrawn"]),
                  st.lists(st.sampled_from([None, 100.0, 1500.0]), min_size=1, max_size=3)),
        min_size=1, max_size=3,
    ),
    min_size=1, max_size=5,
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(people=SEVERAL_SESSIONS)
def test_each_group_has_its_trials_and_participants_for_any_number_of_sessions(view, row, people):
    rows = [
        row(participant=f"P{who}", session=f"P{who}-{number}", source="lab", session_number=number, group=group,
            status=status, completed_at="2026-01-02T10:20:00Z" if status == "completed" else None,
            trial_index=index, item_id=f"i{index}", rt_ms=rt_ms, response=None if rt_ms is None else 1)
        for who, sessions in enumerate(people)
        for number, (group, status, trials) in enumerate(sessions, start=1)
        for index, rt_ms in enumerate(trials)
    ]  # fmt: skip
    trials = apply_exclusions(tidy_trials(view(rows)), AnalysisPlan(exclusions=[{"rule": "trial_rt", "min_ms": 200}]))
    table = exclusions_by_group(trials)
    of_group = {"total": trials.trials}
    for group, own in trials.trials.groupby("group", dropna=False):
        of_group["none" if group is pd.NA or group != group else str(group)] = own
    assert sorted(table["group"]) == sorted(of_group)
    for group, own in of_group.items():
        kept = own[own["excluded_by"].isna()]
        all_of_group, stay = set(own["participant"]), set(kept["participant"])
        lost = own[own["excluded_by"].notna()]
        of_gone = int((~lost["participant"].isin(stay)).sum())
        assert counts(table, "human", group) == (
            len(all_of_group), len(own), len(all_of_group - stay), of_gone, len(lost) - of_gone, len(stay), len(kept)
        )  # fmt: skip
