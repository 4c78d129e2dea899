"""The numbers of the dashboard, against known values."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.records import Kind, Signals
from experiment.study.recruitment import Recruitment
from server.researchers.overview import SIGNAL_WORDS, Overview, distribution, overview
from server.store.models import GroupProgress
from server.store.monitor_models import Monitored, RecentResponse

NOW = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)


def at(minutes_ago: float) -> str:
    return (NOW - timedelta(minutes=minutes_ago)).isoformat(timespec="milliseconds")


def group(number: int, n_completed: int = 0, kind: Kind = Kind.HUMAN, n_added: int = 0) -> GroupProgress:
    return GroupProgress(kind, number, 1, n_completed, 0, 0, 0, is_open=True, n_added=n_added)


EMPTY = Monitored(at(0), (group(1, 4), group(2, 2)), {}, {}, 0, (), None, (), 0)


def of_people(ends_min_ago: list[float], first_start_min_ago: float, **recruitment: int) -> Overview:
    completions = tuple(("human", at(ago + 10), at(ago)) for ago in ends_min_ago)
    found = replace(EMPTY, completions=completions, first_start=at(first_start_min_ago))
    return overview(found, Recruitment(**recruitment))


# The projection


def test_the_end_is_projected_from_the_last_hour() -> None:
    projection = of_people([5, 20, 40, 59, 70, 500], 600, quota=26).projection
    assert projection is not None
    assert (projection.n_missing, projection.per_hour, projection.period_h) == (20, 4.0, 1)
    assert projection.finish == NOW + timedelta(hours=5)


def test_with_few_completions_in_the_last_hour_a_longer_period_is_used() -> None:
    projection = of_people([5, 20, 70, 500], 600, quota=14).projection
    assert projection is not None
    assert (projection.n_missing, projection.per_hour, projection.period_h) == (8, 0.4, 10)
    assert projection.finish == NOW + timedelta(hours=20)


@pytest.mark.parametrize(
    ("ends", "recruitment"),
    [([5, 6], {"quota": 20}), ([5, 6, 7], {}), ([5, 6, 7], {"quota": 6}), ([5, 6, 7], {"quota": 5}),
     ([5, 6, 7], {"quota": 10**12}), ([20_000, 20_001, 20_002], {"quota": 20})],
)  # fmt: skip
def test_without_a_quota_or_without_enough_completions_nothing_is_projected(
    ends: list[float], recruitment: dict[str, int]
) -> None:
    assert of_people(ends, 600, **recruitment).projection is None


# Quotas


def test_the_quota_of_the_study_is_the_smaller_one_with_all_added_slots() -> None:
    added = replace(EMPTY, groups=(group(1, n_added=3), group(2)))
    assert overview(EMPTY, Recruitment()).quota is None
    assert overview(EMPTY, Recruitment(quota_per_group=6)).quota == 12
    assert overview(EMPTY, Recruitment(quota_per_group=6, quota=10)).quota == 10
    assert overview(added, Recruitment(quota_per_group=6)).quota == 15
    assert overview(added, Recruitment(quota=10)).quota == 13
    assert [row.quota for row in overview(added, Recruitment(quota_per_group=6)).rows] == [9, 6]


def test_simulated_participants_are_shown_until_the_first_person_begins() -> None:
    nobody = GroupProgress(Kind.HUMAN, 1, 0, 0, 0, 0, 0, is_open=True)
    simulated = group(1, 7, Kind.SIMULATED)
    found = overview(replace(EMPTY, groups=(nobody, simulated)), Recruitment(quota=5))
    assert (found.kind, found.total("n_completed"), found.other_rows) == (Kind.SIMULATED, 7, ())
    found = overview(replace(EMPTY, groups=(group(1, 2), simulated)), Recruitment(quota=5))
    assert (found.kind, found.total("n_completed"), len(found.other_rows)) == (Kind.HUMAN, 2, 1)


# Times and signals


def test_response_times_are_those_of_test_trials() -> None:
    responses = [
        RecentResponse("human", "test", 1000, 0, 0, None),
        RecentResponse("human", "test", 3000, 0, 0, None),
        RecentResponse("human", "test", None, 0, 0, None),
        RecentResponse("human", "practice", 90_000, 0, 0, None),
        RecentResponse("simulated", "test", 90_000, 0, 0, None),
    ]
    found = overview(replace(EMPTY, responses=tuple(responses)), Recruitment())
    assert found.rts_s is not None
    assert (found.rts_s.n, found.rts_s.median, found.n_recent) == (2, 2.0, 4)


def test_a_response_counts_once_for_each_signal() -> None:
    signals = '{"hidden":3,"away_ms":700,"pasted":1}'
    responses = (
        RecentResponse("human", "test", 1, 2, 5, signals),
        RecentResponse("human", "test", 1, None, None, None),
    )
    found = dict(overview(replace(EMPTY, responses=responses), Recruitment()).signals)
    counted = {name for name, words in SIGNAL_WORDS.items() if found[words] == 1}
    assert counted == {"focus_lost", "frames_dropped", "hidden", "pasted"}
    assert set(found.values()) == {0, 1}


def test_the_dashboard_shows_every_signal() -> None:
    assert SIGNAL_WORDS.keys() == (Signals.model_fields.keys() - {"away_ms", "rules_ms"}) | {
        "focus_lost",
        "frames_dropped",
    }


def test_a_distribution_has_round_bins_and_an_open_end() -> None:
    values = [*range(100), 10_000]
    found = distribution([float(value) for value in values])
    assert found is not None
    assert (found.n, found.median, found.quartiles) == (101, 50, (25, 75))
    assert [(one.low, one.high, one.n) for one in found.bins][:2] == [(0, 10, 10), (10, 20, 10)]
    assert (found.bins[-1].low, found.bins[-1].high, found.bins[-1].n) == (100, None, 1)


def test_without_values_there_is_no_distribution() -> None:
    assert distribution([]) is None


@given(st.lists(st.floats(min_value=0, max_value=1e9), min_size=1, max_size=200))
def test_every_value_is_in_one_bin(values: list[float]) -> None:
    found = distribution(values)
    assert found is not None
    assert sum(one.n for one in found.bins) == len(values) == found.n
    assert found.median == pytest.approx(median(values))
    assert len(found.bins) <= 14
    assert all(one.high is None or one.low < one.high for one in found.bins)
    assert min(values) >= found.bins[0].low or min(values) == pytest.approx(found.bins[0].low)
