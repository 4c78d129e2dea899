"""Each exclusion rule, and all rules together compared with a simple reimplementation."""

import json
from collections import defaultdict
from statistics import median

import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.by_group import exclusions_by_group
from analysis.exclusions.flow import NOT_A_TEST_TRIAL, apply_exclusions
from analysis.exclusions.rules import rule_words
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

FAST_MS = 500
"""The item in conftest.py has five words, so responses under 200 + 5 x 60 ms are implausibly fast."""


def planned(*rules):
    return AnalysisPlan.model_validate({"exclusions": list(rules)})


def applied(rows, *rules):
    return apply_exclusions(tidy_trials(rows), planned(*rules))


def dispositions(result):
    return dict(zip(result.participants["participant"], result.participants["disposition"], strict=True))


def excluded_trials(result, step):
    return int((result.trials["excluded_by"] == step).sum())


# attention checks


def check(row, participant, n_failed, n=3, **changes):
    return [
        row(participant=participant, trial_index=50 + index, phase="attention_check", item_id=f"check{index}",
            response=2 if index < n_failed else 1, **changes)
        for index in range(n)
    ]  # fmt: skip


@pytest.mark.parametrize(("max_failed", "stays"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_maximum_number_of_failed_checks_is_allowed(view, session, row, max_failed, stays):
    rows = view(session(participant="A"), check(row, "A", 2))
    result = applied(rows, {"rule": "attention_check", "max_failed": max_failed})
    assert dispositions(result) == {"A": "included" if stays else "attention_check"}


def test_attention_checks_of_a_duplicate_session_count_only_before_its_exclusion(view, session, row):
    later = "2026-01-09T10:00:00.000+00:00"
    rows = view(
        session(participant="A", session="first"),
        check(row, "A", 0, session="first"),
        session(participant="A", session="second", completed_at=later),
        check(row, "A", 3, session="second", completed_at=later),
    )
    checks, duplicates = {"rule": "attention_check"}, {"rule": "duplicates"}
    assert dispositions(applied(rows, duplicates, checks)) == {"A": "included"}
    assert dispositions(applied(rows, checks, duplicates)) == {"A": "attention_check"}


# missing


@pytest.mark.parametrize(
    ("n_unanswered", "max_share", "stays"),
    [(0, 0.0, True), (1, 0.0, False), (1, 0.1, True), (2, 0.1, False), (3, 0.3, True), (7, 0.7, True), (8, 0.7, False)],
)
def test_the_maximum_share_of_unanswered_trials_is_allowed(view, session, n_unanswered, max_share, stays):
    rows = session(participant="A", n_test=10)
    for row in rows[:n_unanswered]:
        row |= {"response": None, "rt_ms": None}
    result = applied(view(rows), {"rule": "missing", "max_share": max_share})
    assert dispositions(result) == {"A": "included" if stays else "missing"}


@settings(max_examples=25, deadline=None)
@given(data=st.data(), n=st.integers(1, 60))
def test_a_share_that_is_just_allowed_is_not_lost_to_rounding(view, row, data, n):
    n_unanswered = data.draw(st.integers(0, n - 1))
    rows = [row(trial_index=index, item_id=f"i{index}", rt_ms=None, response=None if index < n_unanswered else 1)
            for index in range(n)]  # fmt: skip
    result = applied(view(rows), {"rule": "missing", "max_share": n_unanswered / n})
    assert dispositions(result) == {"P01": "included"}


def test_unanswered_practice_and_checks_are_not_missing(view, session, row):
    rows = view(
        session(participant="A"),
        row(participant="A", trial_index=9, phase="practice", response=None),
        row(participant="A", trial_index=10, phase="attention_check", response=None),
    )
    assert dispositions(applied(rows, {"rule": "missing"})) == {"A": "included"}


# duplicates


def test_the_first_completed_session_is_kept_for_any_name_and_position_in_the_file(view, session):
    rows = view(
        session(participant="A", session="a", completed_at="2026-01-03T09:00:00.000+00:00"),
        session(participant="A", session="z", completed_at="2026-01-02T23:59:59.999+00:00"),
        session(participant="A", session="m", completed_at="2026-01-04T09:00:00.000+00:00"),
        session(participant="B", session="b"),
    )
    result = applied(rows, {"rule": "duplicates"})
    kept = result.trials[result.trials["excluded_by"].isna()]
    assert set(kept["session"]) == {"z", "b"}
    assert dispositions(result) == {"A": "included", "B": "included"}
    assert excluded_trials(result, "duplicates") == 8


def test_a_session_that_was_begun_first_but_completed_later_is_the_later_one(view, session):
    rows = view(
        session(participant="A", session="early", started_at="2026-01-02T08:00:00.000+00:00",
                completed_at="2026-01-02T12:00:00.000+00:00"),
        session(participant="A", session="late", started_at="2026-01-02T09:00:00.000+00:00",
                completed_at="2026-01-02T10:00:00.000+00:00"),
    )  # fmt: skip
    kept = applied(rows, {"rule": "duplicates"}).trials
    assert set(kept[kept["excluded_by"].isna()]["session"]) == {"late"}


def test_incomplete_sessions_are_not_duplicates(view, session):
    rows = view(
        session(participant="A", session="first", status="withdrawn", completed_at=None),
        session(participant="A", session="second", status="active", completed_at=None),
        session(participant="A", session="third"),
    )
    result = applied(rows, {"rule": "duplicates"})
    assert excluded_trials(result, "duplicates") == 0
    assert dispositions(result) == {"A": "included"}


def test_without_the_rule_two_completed_sessions_are_refused_with_a_hint_at_it(view, session):
    rows = view(session(participant="A", session="x"), session(participant="A", session="y"))
    with pytest.raises(InputError, match=r"sessions x and y.*`duplicates`"):
        applied(rows, {"rule": "missing"})


def test_sessions_with_different_session_numbers_all_count_and_have_a_note(view, session):
    rows = view(
        [session(participant="A", session=f"s{n}", source="lab", session_number=n) for n in (1, 2, 3)],
        session(participant="B", source="lab", session_number=1),
    )
    result = applied(rows, {"rule": "missing"})
    assert result.trials["excluded_by"].isna().all()
    assert dispositions(result) == {"A": "included", "B": "included"}
    assert [note for note in result.notes if note.startswith("1\u00a0participant completed several planned sessions")]
    assert not applied(rows[rows["session_number"] == 1], {"rule": "missing"}).notes


@pytest.mark.parametrize("numbers", [(1, 1), (1, None), (None, None)])
def test_a_second_session_without_a_different_session_number_is_refused(view, session, numbers):
    rows = view([session(participant="A", session=f"s{index}", session_number=of) for index, of in enumerate(numbers)])
    with pytest.raises(InputError, match="participant `A` completed the study more than once"):
        applied(rows, {"rule": "missing"})


def test_the_rule_keeps_the_first_of_several_sessions(view, session):
    rows = view(
        session(participant="A", session="again", session_number=2, completed_at="2026-01-09T10:00:00.000+00:00"),
        session(participant="A", session="first", session_number=1, completed_at="2026-01-02T10:00:00.000+00:00"),
    )
    result = applied(rows, {"rule": "duplicates"})
    assert set(result.trials["session"][result.trials["excluded_by"].isna()]) == {"first"}


def test_two_runs_of_a_model_are_not_duplicates(view, session):
    rows = view(
        session(kind="model", run="M, first", participant="M", session="a"),
        session(kind="model", run="M, second", participant="M", session="b"),
    )
    assert excluded_trials(applied(rows, {"rule": "duplicates"}), "duplicates") == 0


def test_the_second_session_never_replaces_a_first_session_that_lost_its_trials(view, session):
    """A participant who does the study again has seen the items in the first session."""
    rows = view(
        session(participant="A", session="first", completed_at="2026-01-02T10:00:00.000+00:00", rt_ms=5.0),
        session(participant="A", session="second", completed_at="2026-01-03T10:00:00.000+00:00"),
    )
    result = applied(rows, {"rule": "trial_rt", "min_ms": 100}, {"rule": "duplicates"})
    kept = result.trials[result.trials["excluded_by"].isna()]
    assert "second" not in set(kept["session"])


# focus


@pytest.mark.parametrize(("max_times", "stays"), [(0, False), (2, False), (3, True), (4, True)])
def test_the_maximum_number_of_focus_losses_is_allowed(view, session, row, max_times, stays):
    rows = view(
        session(participant="A", n_test=3, focus_lost=1),
        row(participant="A", trial_index=8, phase="practice", focus_lost=50),
        row(participant="A", trial_index=9, phase="attention_check", focus_lost=50),
    )
    result = applied(rows, {"rule": "focus_lost", "max_times": max_times})
    assert dispositions(result) == {"A": "included" if stays else "focus_lost"}


def test_only_trials_with_a_focus_loss_are_excluded(view, session, row):
    rows = view(
        session(participant="A", n_test=2),
        row(participant="A", trial_index=5, item_id="i5", focus_lost=1),
        row(participant="A", trial_index=6, item_id="i6", focus_lost=None),
    )
    result = applied(rows, {"rule": "trial_focus_lost"})
    assert excluded_trials(result, "trial_focus_lost") == 1
    assert result.notes == [
        "The rule `trial_focus_lost` ignored 1\u00a0answered test trial without a record of whether the "
        "participant left the page."
    ]


def test_a_participant_without_a_record_of_the_focus_is_kept_with_a_note(view, session):
    result = applied(view(session(source="lab", focus_lost=None)), {"rule": "focus_lost"})
    assert dispositions(result) == {"P01": "included"}
    assert "4\u00a0answered test trials without a record of whether" in result.notes[0]


# timing of the fixation

LATE = {"frames_dropped": 1, "fixation_ms": 216.7, "fixation_frames_intended": 12, "frame_ms": 16.7}
"""The timing of a fixation of 12 frames at 60 Hz that lasted one frame too long."""
PUNCTUAL = {"frames_dropped": 0, "fixation_ms": 201.4, "fixation_frames_intended": 29, "frame_ms": 1000 / 144}
"""The timing of a fixation of 29 frames at 144 Hz. No number of frames is 200 ms."""


@pytest.mark.parametrize(("max_frames", "n_excluded"), [(None, 2), (0, 2), (1, 1), (2, 1), (3, 0)])
def test_the_maximum_number_of_dropped_frames_is_allowed(view, row, max_frames, n_excluded):
    dropped = [0, 1, 3]
    rows = view([row(trial_index=n, item_id=f"i{n}", frames_dropped=one) for n, one in enumerate(dropped)])
    setting = {} if max_frames is None else {"max_frames": max_frames}
    result = applied(rows, {"rule": "dropped_frames", **setting})
    assert excluded_trials(result, "dropped_frames") == n_excluded
    assert result.notes == []


@pytest.mark.parametrize(("max_ms", "n_excluded"), [(0, 2), (0.1, 1), (16, 1), (16.31, 0), (100, 0)])
def test_the_intended_duration_of_a_fixation_is_a_whole_number_of_frames(view, row, max_ms, n_excluded):
    """At 60 Hz, 216.7 ms is 16.3 ms longer than 12 frames; at 144 Hz, 201.4 ms is 0.01 ms longer than 29 frames."""
    rows = view([row(trial_index=n, item_id=f"i{n}", **one) for n, one in enumerate([LATE, PUNCTUAL])])
    result = applied(rows, {"rule": "fixation_off_by_ms", "max_ms": max_ms})
    assert excluded_trials(result, "fixation_off_by_ms") == n_excluded


def test_a_fixation_that_is_too_short_is_excluded_too(view, session):
    rows = view(session(**LATE | {"fixation_ms": 183.7}))
    assert excluded_trials(applied(rows, {"rule": "fixation_off_by_ms", "max_ms": 16.6}), "fixation_off_by_ms") == 4
    assert excluded_trials(applied(rows, {"rule": "fixation_off_by_ms", "max_ms": 16.8}), "fixation_off_by_ms") == 0


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        ({"rule": "dropped_frames"}, "frames_dropped"),
        ({"rule": "fixation_off_by_ms", "max_ms": 0}, "fixation_ms"),
        ({"rule": "fixation_off_by_ms", "max_ms": 0}, "frame_ms"),
        ({"rule": "fixation_off_by_ms", "max_ms": 0}, "fixation_frames_intended"),
    ],
)
def test_a_trial_without_measured_timing_is_kept_and_a_note_counts_such_trials(view, session, row, rule, missing):
    rows = view(
        session(n_test=3, **LATE | {missing: None}),
        row(trial_index=5, item_id="i6", **LATE),
        row(trial_index=6, item_id="i7", response=None, **LATE | {missing: None}),
    )
    result = applied(rows, rule)
    assert excluded_trials(result, rule["rule"]) == 1
    assert result.notes == [
        f"The rule `{rule['rule']}` ignored 3\u00a0answered test trials without a measured timing of the fixation."
    ]


# implausibly fast


@pytest.mark.parametrize(
    ("n_fast", "max_share", "stays"), [(0, 0.0, True), (1, 0.0, False), (1, 0.25, True), (2, 0.25, False)]
)
def test_the_maximum_share_of_fast_responses_is_allowed(view, session, n_fast, max_share, stays):
    rows = session(participant="A", n_test=4, rt_ms=float(FAST_MS))
    for row in rows[:n_fast]:
        row["rt_ms"] = FAST_MS - 0.1
    result = applied(view(rows), {"rule": "implausibly_fast", "max_share": max_share})
    assert dispositions(result) == {"A": "included" if stays else "implausibly_fast"}


def test_the_rule_names_the_denominator_of_its_share(view, session):
    """Two responses are fast: half of the four responses, and a quarter of the eight test trials."""
    rows = session(participant="A", n_test=8)
    for row in rows[:2]:
        row["rt_ms"] = 100.0
    for row in rows[4:]:
        row |= {"response": None, "rt_ms": None}
    rule = {"rule": "implausibly_fast", "max_share": 0.3}
    result = applied(view(rows), rule)
    of_answers = dispositions(result) == {"A": "implausibly_fast"}
    words, doc = rule_words(planned(rule).exclusions[0]), type(planned(rule).exclusions[0]).__doc__
    assert ("of the responses" in words) == of_answers
    assert ("test trials" in doc) != of_answers, "the rule's own description is the one that authors read"


# same response


@pytest.mark.parametrize(("max_length", "stays"), [(1, False), (3, False), (4, True), (5, True)])
def test_a_run_of_the_maximum_length_is_allowed(view, session, row, max_length, stays):
    rows = view(
        session(participant="A", n_test=4),
        row(participant="A", trial_index=4, item_id="i5", response=2),
        row(participant="A", trial_index=5, item_id="i6", response=1),
    )
    result = applied(rows, {"rule": "same_response_run", "max_length": max_length})
    assert dispositions(result) == {"A": "included" if stays else "same_response_run"}


def test_a_run_does_not_continue_in_another_session(view, session):
    rows = view(
        session(participant="A", session="first", n_test=3, status="active", completed_at=None),
        session(participant="A", session="second", n_test=3),
    )
    result = applied(rows, {"rule": "same_response_run", "max_length": 3})
    assert dispositions(result) == {"A": "included"}


# response times


def test_the_median_of_an_even_number_of_responses_is_between_the_two_middle_times(view, session, row):
    rows = view(
        session(participant="A", n_test=1, rt_ms=100.0), row(participant="A", trial_index=1, item_id="i2", rt_ms=300.0)
    )
    assert dispositions(applied(rows, {"rule": "median_rt", "min_ms": 200})) == {"A": "included"}
    assert dispositions(applied(rows, {"rule": "median_rt", "min_ms": 200.1})) == {"A": "median_rt"}
    assert dispositions(applied(rows, {"rule": "median_rt", "max_ms": 200})) == {"A": "included"}
    assert dispositions(applied(rows, {"rule": "median_rt", "max_ms": 199.9})) == {"A": "median_rt"}


def test_rules_ignore_the_response_time_of_a_trial_without_a_response(view, session):
    """A trial that ended by its deadline has a time, but no response."""
    rows = session(participant="A", n_test=9)
    for row in rows[:6]:
        row |= {"response": None, "rt_ms": 1.0}
    result = applied(view(rows), {"rule": "trial_rt", "min_ms": 200}, {"rule": "median_rt", "min_ms": 200})
    assert dispositions(result) == {"A": "included"}
    assert excluded_trials(result, "unanswered") == 6


# people and simulated participants


def test_every_rule_judges_simulated_participants_as_it_judges_people(view, session):
    for rule in EACH_RULE:
        rows = view(
            session(participant="A", rt_ms=100.0, focus_lost=1, **LATE),
            session(participant="S", kind="simulated", rt_ms=100.0, focus_lost=1, **LATE),
        )
        result = applied(rows, rule)
        flow = result.flow.set_index(["kind", "step"])["n_trials"]
        assert flow["human", rule["rule"]] == flow["simulated", rule["rule"]], rule


EACH_RULE = [
    {"rule": "attention_check"}, {"rule": "median_rt", "min_ms": 700}, {"rule": "trial_rt", "min_ms": 700},
    {"rule": "missing"}, {"rule": "duplicates"}, {"rule": "focus_lost"}, {"rule": "trial_focus_lost"},
    {"rule": "implausibly_fast"}, {"rule": "same_response_run", "max_length": 1},
    {"rule": "dropped_frames"}, {"rule": "fixation_off_by_ms", "max_ms": 5},
]  # fmt: skip


@pytest.mark.parametrize("rule", EACH_RULE, ids=lambda rule: rule["rule"])
def test_a_rule_never_excludes_models_even_if_their_rows_meet_its_criterion(view, session, row, rule):
    rows = view(
        session(kind="model", run="M", rt_ms=1.0, focus_lost=9, **LATE),
        row(kind="model", run="M", trial_index=8, item_id="i8", response=None, focus_lost=9, **LATE),
        row(kind="model", run="M", trial_index=9, phase="attention_check", item_id="check", response=2),
    )
    result = applied(rows, rule)
    assert result.trials.loc[result.trials["phase"] == "test", "excluded_by"].isna().all()
    assert result.notes == []


# wording


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"rule": "trial_rt", "max_ms": 1_200_000}, "trial's response time over 1,200,000 ms"),
        ({"rule": "median_rt", "min_ms": 1_234_567.5}, "median response time under 1,234,567.5 ms"),
        ({"rule": "median_rt", "min_ms": 0.5}, "median response time under 0.5 ms"),
        ({"rule": "missing", "max_share": 0.07}, "left more than 7 % of the test trials unanswered"),
        ({"rule": "attention_check"}, "failed at least one attention check"),
        ({"rule": "attention_check", "max_failed": 2}, "failed more than 2 attention checks"),
        ({"rule": "dropped_frames"}, "dropped frames during the trial's fixation"),
        ({"rule": "dropped_frames", "max_frames": 1}, "more than 1 dropped frame during the trial's fixation"),
        ({"rule": "dropped_frames", "max_frames": 2}, "more than 2 dropped frames during the trial's fixation"),
        (
            {"rule": "fixation_off_by_ms", "max_ms": 8.3},
            "trial's fixation off its intended duration by more than 8.3 ms",
        ),
    ],
)
def test_a_rule_in_words_states_the_bound_of_the_plan(rule, words):
    assert rule_words(planned(rule).exclusions[0]) == words


def test_each_rule_has_a_different_description():
    words = [rule_words(rule) for rule in planned(*EACH_RULE).exclusions]
    assert len(set(words)) == len(EACH_RULE)


# All rules together, compared with a simple reimplementation

RULES = {
    "attention_check": st.builds(lambda n: {"max_failed": n}, st.integers(0, 2)),
    "median_rt": st.sampled_from([{"min_ms": 500}, {"max_ms": 900}, {"min_ms": 100, "max_ms": 1500}]),
    "trial_rt": st.sampled_from([{"min_ms": 500}, {"max_ms": 900}, {"min_ms": 101, "max_ms": 1499}]),
    "missing": st.builds(lambda share: {"max_share": share}, st.sampled_from([0.0, 0.25, 0.5])),
    "duplicates": st.just({}),
    "focus_lost": st.builds(lambda n: {"max_times": n}, st.integers(0, 3)),
    "trial_focus_lost": st.just({}),
    "implausibly_fast": st.builds(lambda share: {"max_share": share}, st.sampled_from([0.0, 0.25, 0.5])),
    "same_response_run": st.builds(lambda n: {"max_length": n}, st.integers(1, 4)),
    "dropped_frames": st.builds(lambda n: {"max_frames": n}, st.integers(0, 3)),
    "fixation_off_by_ms": st.sampled_from([{"max_ms": 0}, {"max_ms": 10}, {"max_ms": 20.0}]),
}
PLANS = st.lists(st.sampled_from(list(RULES)), unique=True, min_size=2, max_size=6).flatmap(
    lambda names: st.tuples(*(RULES[name].map(lambda rest, name=name: {"rule": name, **rest}) for name in names))
)
TRIALS = st.lists(
    st.tuples(
        st.sampled_from(["test"] * 4 + ["practice", "attention_check"]),
        st.sampled_from([None, 1, 1, 2]),
        st.sampled_from([None, 100.0, 499.0, 500.0, 900.0, 1500.0]),
        st.sampled_from([None, 0, 0, 1, 2]),
        st.sampled_from([None, 0, 0, 1, 3]),
        st.sampled_from([None, 200.0, 216.0, 168.0]),
    ),
    min_size=2, max_size=6,
)  # fmt: skip
SESSIONS = st.lists(
    st.tuples(st.sampled_from(["completed", "completed", "active", "withdrawn"]), st.integers(0, 59), TRIALS),
    min_size=1, max_size=3,
)  # fmt: skip
PARTICIPANTS = st.lists(
    st.tuples(st.sampled_from(["human", "human", "simulated", "model"]), st.sampled_from([None, 1, 2, 11]), SESSIONS),
    min_size=3, max_size=6,
)  # fmt: skip


def rows_of(row, participants):
    for who, (kind, group, sessions) in enumerate(participants):
        for visit, (status, minute, trials) in enumerate(sessions[:1] if kind == "model" else sessions):
            completed_at = f"2026-01-02T10:{minute:02}:00.000+00:00" if status == "completed" else None
            for index, (phase, response, rt_ms, focus_lost, dropped, fixation_ms) in enumerate(trials):
                yield row(
                    kind=kind, participant=f"P{who}", session=f"P{who}-{visit}", status=status, group=group,
                    run=f"R{who}" if kind == "model" else None, completed_at=completed_at, trial_index=index,
                    phase=phase, item_id=f"{phase}{visit}{index}", response=response, focus_lost=focus_lost,
                    rt_ms=None if response is None else rt_ms, frames_dropped=dropped, fixation_ms=fixation_ms,
                    fixation_frames_intended=20, frame_ms=10.0,
                )  # fmt: skip


class ContestedError(Exception):
    """Return the cases that the rules do not define; another test covers these cases."""


class PlainAccount:
    """Return the same exclusions, computed trial by trial without a data frame."""

    def __init__(self, rows, rules):
        self.rows = [r | {"answer": None if r["response"] is None else json.loads(r["response"])} for r in rows]
        self.runs = self._lengths_of_runs()
        self.by = {index: NOT_A_TEST_TRIAL for index, r in enumerate(self.rows) if r["phase"] != "test"}
        self.disposition = {}
        self.apply_rule("withdrawn", [p for p in self.left() if self.rows[p]["status"] == "withdrawn"])
        self.apply_rule("not_completed", [p for p in self.left() if self.rows[p]["status"] == "active"])
        for rule in rules:
            self.apply_rule(rule["rule"], getattr(self, f"_{rule['rule']}")(rule))
        self.apply_rule("unanswered", [p for p in self.people() if self.rows[p]["answer"] is None])
        for name in {r["participant"] for r in self.rows}:
            is_included = any(self.rows[p]["participant"] == name for p in self.left())
            self.disposition.setdefault(name, "included" if is_included else "unanswered")

    def left(self):
        return [index for index in range(len(self.rows)) if index not in self.by]

    def people(self):
        return [index for index in self.left() if self.rows[index]["kind"] != "model"]

    def apply_rule(self, step, indices):
        before = {self.rows[p]["participant"] for p in self.left()}
        self.by |= dict.fromkeys((p for p in indices if p not in self.by), step)
        gone = before - {self.rows[p]["participant"] for p in self.left()}
        self.disposition |= dict.fromkeys(gone, step)

    def all_of(self, names):
        return [p for p in self.people() if self.rows[p]["participant"] in names]

    def per_participant(self, indices, value):
        found = defaultdict(list)
        for index in indices:
            found[self.rows[index]["participant"]].append(value(index))
        return found

    def _lengths_of_runs(self):
        lengths, last = {}, {}
        for index, r in enumerate(self.rows):  # trials of a session are in their order
            if r["phase"] == "practice" or r["answer"] is None:
                continue
            answer, length = last.get(r["session"], (None, 0))
            last[r["session"]] = (r["answer"], length + 1 if answer == r["answer"] else 1)
            lengths[index] = last[r["session"]][1]
        return lengths

    def _attention_check(self, rule):
        remaining_sessions = {self.rows[p]["session"] for p in self.people()}
        checks = [
            p for p, r in enumerate(self.rows) if r["phase"] == "attention_check" and r["session"] in remaining_sessions
        ]
        failed = self.per_participant(checks, lambda p: self.rows[p]["answer"] != 1)
        return self.all_of({name for name, fails in failed.items() if sum(fails) > rule["max_failed"]})

    def _timed(self):
        return [p for p in self.people() if self.rows[p]["answer"] is not None and self.rows[p]["rt_ms"] is not None]

    @staticmethod
    def _out(rt_ms, rule):
        return rt_ms < rule.get("min_ms", 0) or rt_ms > rule.get("max_ms", 1e9)

    def _median_rt(self, rule):
        times = self.per_participant(self._timed(), lambda p: self.rows[p]["rt_ms"])
        return self.all_of({name for name, rts in times.items() if self._out(median(rts), rule)})

    def _trial_rt(self, rule):
        return [p for p in self._timed() if self._out(self.rows[p]["rt_ms"], rule)]

    def _missing(self, rule):
        gaps = self.per_participant(self.people(), lambda p: self.rows[p]["answer"] is None)
        return self.all_of({name for name, one in gaps.items() if sum(one) > rule["max_share"] * len(one)})

    def _duplicates(self, _):
        completed = defaultdict(set)
        for r in self.rows:
            if r["status"] == "completed" and r["kind"] != "model" and r["phase"] == "test":
                completed[r["participant"]].add((r["completed_at"], r["session"], self._is_in(r["session"])))
        again = set()
        for sessions in completed.values():
            in_order = sorted(sessions)
            if len(in_order) > 1 and not in_order[0][2] and any(inside for _, _, inside in in_order):
                raise ContestedError
            again |= {session for _, session, _ in in_order[1:]}
        return [p for p in self.people() if self.rows[p]["session"] in again]

    def _is_in(self, session):
        return any(self.rows[p]["session"] == session for p in self.left())

    def _focus_lost(self, rule):
        recorded = [p for p in self.people() if self.rows[p]["focus_lost"] is not None]
        times = self.per_participant(recorded, lambda p: self.rows[p]["focus_lost"])
        return self.all_of({name for name, one in times.items() if sum(one) > rule["max_times"]})

    def _trial_focus_lost(self, _):
        return [p for p in self.people() if (self.rows[p]["focus_lost"] or 0) > 0]

    def _implausibly_fast(self, rule):
        fast = self.per_participant(self._timed(), lambda p: self.rows[p]["rt_ms"] < FAST_MS)
        return self.all_of({name for name, one in fast.items() if sum(one) > rule["max_share"] * len(one)})

    def _dropped_frames(self, rule):
        return [p for p in self.people() if (self.rows[p]["frames_dropped"] or 0) > rule["max_frames"]]

    def _fixation_off_by_ms(self, rule):
        shown = [p for p in self.people() if self.rows[p]["fixation_ms"] is not None]
        return [p for p in shown if abs(self.rows[p]["fixation_ms"] - 200) > rule["max_ms"]]

    def _same_response_run(self, rule):
        return self.all_of(
            {self.rows[p]["participant"] for p in self.people() if self.runs.get(p, 0) > rule["max_length"]}
        )


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(rules=PLANS, participants=PARTICIPANTS)
def test_all_tables_agree_for_any_data_and_plan(view, row, rules, participants):
    rows = list(rows_of(row, participants))
    completed = {
        (r["participant"], r["session"]) for r in rows if (r["status"], r["kind"] != "model") == ("completed", True)
    }
    is_twice = len({name for name, _ in completed}) < len(completed)
    if is_twice and "duplicates" not in [rule["rule"] for rule in rules]:
        with pytest.raises(InputError, match="completed the study more than once"):
            applied(view(rows), *rules)
        return
    try:
        account = PlainAccount(rows, rules)
    except ContestedError:
        assume(False)
    result = applied(view(rows), *rules)

    excluded = result.trials["excluded_by"]
    assert {index: step for index, step in enumerate(excluded.tolist()) if pd.notna(step)} == account.by
    assert dispositions(result) == account.disposition

    steps = ["withdrawn", "not_completed", *(rule["rule"] for rule in rules), "unanswered", "included"]
    for kind, flow in result.flow.groupby("kind"):
        own = [index for index, r in enumerate(rows) if r["kind"] == kind and r["phase"] == "test"]
        names = {r["participant"] for r in rows if r["kind"] == kind}
        assert flow["step"].tolist() == steps
        for step, n_participants, n_trials in zip(flow["step"], flow["n_participants"], flow["n_trials"], strict=True):
            assert n_trials == sum(account.by.get(index, "included") == step for index in own)
            assert n_participants == sum(account.disposition[name] == step for name in names)
        assert flow["n_trials"].sum() == len(own)
        assert flow["n_participants"].sum() == len(names)
        assert flow["trials_left"].tolist()[:-1] == (len(own) - flow["n_trials"].cumsum()).tolist()[:-1]

    people = result.participants[result.participants["kind"] != "model"].set_index("participant")
    for name, described in people.iterrows():
        own = [index for index, r in enumerate(rows) if r["participant"] == name and r["phase"] == "test"]
        assert described["n_test_trials"] == len(own)
        assert described["n_included"] == sum(index not in account.by for index in own)
        assert described["n_answered"] == sum(rows[index]["response"] is not None for index in own)

    by_group = exclusions_by_group(result)
    parts = by_group[by_group["group"] != "total"]
    for kind in set(by_group["kind"]):
        flow = result.flow[result.flow["kind"] == kind].set_index("step")
        for table in (parts, by_group[by_group["group"] == "total"]):
            sums = table[table["kind"] == kind].sum(numeric_only=True)
            assert sums["recruited_participants"] == flow["n_participants"].sum()
            assert sums["final_participants"] == flow.loc["included", "n_participants"]
            assert sums["planned_trials"] == flow["n_trials"].sum()
            assert sums["final_trials"] == flow.loc["included", "n_trials"]
            lost = sums["trials_of_excluded_participants"] + sums["excluded_trials"]
            assert lost == flow["n_trials"].sum() - flow.loc["included", "n_trials"]
