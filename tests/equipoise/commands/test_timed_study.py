"""Simulated participants and the analysis on a study with screens, fast responses, recall and confidence."""

from pathlib import Path

from click.testing import CliRunner

import equipoise as eq
from equipoise.cli.main import main
from tests.timed_study import CONFIDENCE, RED, choice, keypress, make_timed_study, recall


def test_simulated_participants_take_the_study_and_it_is_analyzed(tmp_path: Path) -> None:
    def run(*arguments: object) -> None:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output

    items = [
        keypress("practice", "word", window_ms=400),
        *(keypress(f"word-{number}", "word", window_ms=600) for number in range(5)),
        *(keypress(f"no-go-{number}", "none", window_ms=600, withhold=True) for number in range(5)),
        choice("choice", screens=[{"parts": [RED], "duration_ms": 100}]),
        recall("recall", ["apple", "house"]),
    ]
    more = f"timing: {{reading_ms: 1000, deadline_ms: 600000}}\n{CONFIDENCE}"
    folder = make_timed_study(tmp_path / "study", items, more, practice=1)
    run("simulate", folder, "-n", 10)
    run("analyze", folder, "-o", tmp_path / "results")
    trials = eq.read_trials(folder / "data" / "equipoise.db").set_index("item_id")
    fast = trials[trials["task"] == "keypress"]
    withheld = fast["response"] == "none"
    assert 150 <= fast["rt_ms"].min() <= fast["rt_ms"].max() <= 600
    assert fast.loc[withheld, "rt_ms"].isna().all()
    assert withheld[["no-go" in item_id for item_id in fast.index]].any()
    assert (fast["missing"] == "deadline").any()
    assert set(fast.loc[fast["missing"] == "deadline"].index) <= {"practice", *(f"word-{n}" for n in range(5))}
    assert trials.loc["choice", "rt_ms"].min() >= 1_000
    assert trials.loc[trials["missing"].isna(), "confidence"].between(1, 5).all()
    assert trials.loc[trials["missing"].notna(), "confidence"].isna().all()
