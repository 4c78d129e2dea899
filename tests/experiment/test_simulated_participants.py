from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from analysis.data.tidy_table import read_trials
from batteries.tasks import Score
from experiment.simulated_participants import (
    CARELESS_SHARE,
    FASTEST_RT_MS,
    INTERRUPTION_MS,
    Person,
    _within_time_limits,
    difficulty,
    draw_confidence,
    draw_keypress_rt_ms,
    draw_person,
    draw_response,
    draw_rt_ms,
)
from experiment.study.definition import Study
from tests.timed_study import CONFIDENCE, make_timed_study

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
    trial = {"phase": phase, "task": "multiple_choice", "content": {}}
    assert _within_time_limits(session, trial, 2, rt_ms) == expected


@pytest.mark.parametrize("phase", ["test", "practice"])
@pytest.mark.parametrize(
    ("withhold", "response", "rt_ms", "expected"),
    [
        (False, "word", 500.0, {"response": "word", "rt_ms": 500.0}),
        (False, "word", 900.0, {"response": None, "missing": "deadline", "rt_ms": None}),
        (True, "word", 500.0, {"response": "word", "rt_ms": 500.0}),
        (True, "word", 900.0, {"response": "none", "rt_ms": None}),
        (True, "none", 500.0, {"response": "none", "rt_ms": None}),
    ],
)
def test_the_response_window_of_a_fast_response_replaces_reading_time_and_deadline(
    phase: str, withhold: bool, response: str, rt_ms: float, expected: dict[str, object]
) -> None:
    session = {"reading_ms": 1_000, "deadline_ms": 600}
    trial = {"phase": phase, "task": "keypress", "content": {"window_ms": 800, "withhold": withhold}}
    assert _within_time_limits(session, trial, response, rt_ms) == expected


def test_fast_responses_take_half_a_second() -> None:
    rng = np.random.default_rng(1)
    for person in (CAREFUL, CARELESS):
        drawn = [draw_keypress_rt_ms(person, rng) / person.slowness for _ in range(5_000)]
        low, high = np.quantile(drawn, [0.05, 0.95])
        assert 350 < low < high < 850
        assert min(draw_keypress_rt_ms(person, rng) for _ in range(5_000)) >= FASTEST_RT_MS


def test_confidence_is_drawn_only_if_the_study_asks_for_it() -> None:
    question = {"low": 1, "high": 5, "step": 1}
    rng = np.random.default_rng(1)
    assert draw_confidence(None, Score(True, 1.0), rng) == {}
    for score in (None, Score(True, 1.0), Score(False, 0.0)):
        assert draw_confidence(question, score, rng).keys() == {"confidence", "confidence_rt_ms"}


def test_simulated_participants_play_games_that_look_alike_and_rate_their_confidence(tmp_path: Path) -> None:
    boards = {"one": [[2, 3], [3, 6], [6, 2], [7, 7]], "two": [[1, 1], [1, 8], [8, 1], [8, 8]]}
    items = [
        {"item_id": name, "task": "blackbox_play", "factors": {"topic": "test"}, "content": {}, "key": atoms}
        for name, atoms in boards.items()
    ]
    more = CONFIDENCE + "timing: {deadline_ms: 60000}\n"
    folder = make_timed_study(tmp_path / "study", items, more)
    eq.simulate(folder, n_participants=6, seed=1)
    table = read_trials(folder / "data" / "equipoise.db")
    assert len(table) == 12
    answered = table[table["missing"].isna()]
    assert {"one", "two"} == set(answered["item_id"])
    assert answered["confidence"].notna().all() and (answered["rt_ms"] <= 60_000).all()
    assert table.loc[table["missing"].notna(), "missing"].eq("deadline").all()
