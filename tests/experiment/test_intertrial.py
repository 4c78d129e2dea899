"""The interval between two trials: its setting, and its random duration from the seed of the session."""

from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.plan import intertrial_ms, plan_session
from experiment.study.timeline import IntertrialRange, Timing
from tests.timed_study import choice, make_timed_study

JITTERED = Timing(intertrial_ms=IntertrialRange(min=500, max=1500))


def study_with(folder: Path, interval: str | None) -> Path:
    """Make a study of 12 questions with an interval between trials."""
    more = "" if interval is None else f"timing: {{intertrial_ms: {interval}}}\n"
    return make_timed_study(folder, [choice(f"q{number}") for number in range(12)], more)


def test_an_interval_is_drawn_from_the_seed_and_the_trial_only() -> None:
    drawn = [intertrial_ms(JITTERED, seed, trial) for seed in (7, 8) for trial in range(3)]
    assert drawn == [
        1277,
        1496,
        772,
        1103,
        1098,
        831,
    ]


def test_all_whole_milliseconds_of_the_range_are_equally_likely() -> None:
    timing = Timing(intertrial_ms=IntertrialRange(min=10, max=13))
    drawn = [intertrial_ms(timing, seed, trial) for seed in range(100) for trial in range(40)]
    assert set(drawn) == {10, 11, 12, 13}
    assert all(0.22 < drawn.count(number) / len(drawn) < 0.28 for number in range(10, 14))


def test_an_equal_interval_is_the_same_before_each_trial() -> None:
    assert {intertrial_ms(Timing(intertrial_ms=700), 7, trial) for trial in range(20)} == {700}
    assert intertrial_ms(Timing(), None, 0) == 0


def test_intervals_do_not_change_the_order_of_trials(tmp_path: Path) -> None:
    plain, jittered = (
        load_study(study_with(tmp_path / name, interval))
        for name, interval in [("plain", None), ("jittered", "{min: 500, max: 1500}")]
    )
    assert plan_session(plain, 1, 3) == plan_session(jittered, 1, 3)
    assert plain.digest != jittered.digest
    assert plain.digest == load_study(study_with(tmp_path / "zero", "0")).digest


@pytest.mark.parametrize(
    ("interval", "mistake"),
    [
        ("{min: 500, max: 500}", r"`timing.intertrial_ms`: `max` is not greater than `min`\. Fix: increase `max`"),
        ("{min: 500}", r"`timing.intertrial_ms.max` is missing"),
        ("-1", r"`timing.intertrial_ms` must be at least 0"),
        ("often", r"`timing.intertrial_ms` must be a whole number"),
        ("60001", r"`timing.intertrial_ms` must be at most 60000"),
    ],
)
def test_a_wrong_interval_is_refused(tmp_path: Path, interval: str, mistake: str) -> None:
    with pytest.raises(InputError, match=mistake):
        load_study(study_with(tmp_path / "study", interval))
