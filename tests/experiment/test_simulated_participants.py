import numpy as np
import pytest

from experiment.simulated_participants import (
    CARELESS_SHARE,
    FASTEST_RT_MS,
    INTERRUPTION_MS,
    Person,
    _within_time_limits,
    difficulty,
    draw_person,
    draw_response,
    draw_rt_ms,
)
from experiment.study.definition import Study

CAREFUL = Person(ability=1.0, careless=False, mu_ms=5_000, sigma_ms=800, tau_ms=3_000, ms_per_word=250)
CARELESS = Person(ability=1.0, careless=True, mu_ms=600, sigma_ms=150, tau_ms=350, ms_per_word=0)


def test_response_times_are_ex_gaussian() -> None:
    rng = np.random.default_rng(1)
    drawn = np.array([draw_rt_ms(CAREFUL, 0, rng) for _ in range(20_000)])
    rts = drawn[drawn < INTERRUPTION_MS]
    assert 0 < len(drawn) - len(rts) < 200  # a few trials are interrupted
    # Mean mu + tau, variance sigma^2 + tau^2, third central moment 2 tau^3.
    assert rts.mean() == pytest.approx(8_000, rel=0.02)
    assert rts.var() == pytest.approx(800**2 + 3_000**2, rel=0.06)
    assert ((rts - rts.mean()) ** 3).mean() == pytest.approx(2 * 3_000**3, rel=0.25)
    assert min(draw_rt_ms(CARELESS, 0, rng) for _ in range(5_000)) >= FASTEST_RT_MS


def test_reading_time_is_added_to_the_response_time() -> None:
    short, long = (draw_rt_ms(CAREFUL, n_words, np.random.default_rng(1)) for n_words in (0, 120))
    assert long - short == pytest.approx(120 * 250)


def test_the_accuracy_of_careful_participants_follows_the_rasch_model(sample_study: Study) -> None:
    rng = np.random.default_rng(1)
    item = sample_study.test_items[0]
    right = np.mean([draw_response(CAREFUL, item, is_check=False, rng=rng) == item.key for _ in range(4_000)])
    assert right == pytest.approx(1 / (1 + np.exp(difficulty(item) - 1.0)), abs=0.03)


def test_careless_participants_mostly_fail_the_check_and_careful_participants_never_do(sample_study: Study) -> None:
    rng = np.random.default_rng(1)
    check = sample_study.battery.by_id["attention-1"]
    passed = {
        person.careless: np.mean(
            [draw_response(person, check, is_check=True, rng=rng) == check.key for _ in range(1_000)]
        )
        for person in (CAREFUL, CARELESS)
    }
    assert passed[False] == 1
    assert 0.15 < passed[True] < 0.35


def test_the_stated_share_is_careless() -> None:
    rng = np.random.default_rng(1)
    assert np.mean([draw_person(rng).careless for _ in range(5_000)]) == pytest.approx(CARELESS_SHARE, abs=0.02)


@pytest.mark.parametrize(
    ("phase", "rt_ms", "expected"),
    [
        ("test", 4_000.0, {"response": 2, "rt_ms": 4_000.0}),
        ("test", 5_000.04, {"response": None, "missing": "deadline", "rt_ms": None}),
        ("practice", 60_000.0, {"response": 2, "rt_ms": 60_000.0}),
        ("test", 300.0, {"response": 2, "rt_ms": 1_000 + FASTEST_RT_MS}),
    ],
)
def test_reading_time_and_deadline_hold_for_simulated_participants(
    phase: str, rt_ms: float, expected: dict[str, object]
) -> None:
    session = {"reading_ms": 1_000, "deadline_ms": 5_000}
    assert _within_time_limits(session, {"phase": phase}, 2, rt_ms) == expected
