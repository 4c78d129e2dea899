"""The program on the page about sessions that computes the positions of blocks."""

import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from experiment.load_study import load_study
from experiment.plan import plan_session
from tests.block_study import make_block_study
from tests.paths import ROOT


def test_the_position_of_a_block_is_computed_from_the_table_of_trials(tmp_path: Path) -> None:
    study = load_study(make_block_study(tmp_path / "study"))
    planned = [
        {"session": f"s{group}", "material": study.battery.by_id[trial.item_id].factors.get("material"), **dict(trial)}
        for group in range(1, 5)
        for trial in plan_session(study, group, 1).trials
    ]
    page = (ROOT / "docs" / "how-to" / "design-a-session.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"trials": pd.DataFrame(planned).sample(frac=1, random_state=1)}
    exec(program, names)
    test = names["test"].sort_values(["session", "trial_index"])
    for session, positions in test.groupby("session")["block"]:
        assert [position for position, _ in groupby(positions)] == [1, 2]
        first = test[test["session"] == session]["material"].iloc[0]
        assert first == ("pictures" if session in {"s1", "s2"} else "words")
