"""Data frames in the form of the view `trials`."""

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from analysis.data.columns import VIEW_COLUMNS

CHOICE = {"text": "", "prompt": "Which?", "options": ["a", "b", "c", "d"]}
BOARD = {"size": 8, "atoms": [[2, 3], [3, 6], [6, 2], [7, 7]], "entry": "north-1"}


def view_row(**changes: Any) -> dict[str, Any]:
    """Return one row of the view, with `changes`: a person's correct response to a multiple-choice item.

    `session` follows `participant`, and for models `participant` follows `run`; factors, content, key and response
    are given as values and become JSON text; a response of None stays null.
    """
    row: dict[str, Any] = dict.fromkeys(VIEW_COLUMNS)
    row |= {
        "study": "demo", "study_version": "1", "battery": "b" * 64, "participant": "P01", "kind": "human",
        "source": "web", "status": "completed", "group": 1, "seed": 7, "started_at": "2026-01-02T10:00:00Z",
        "completed_at": "2026-01-02T10:20:00Z", "trial_index": 0, "phase": "test", "item_id": "i1",
        "task": "multiple_choice", "factors": {}, "content": CHOICE, "key": 1, "response": 1, "rt_ms": 1500.0,
        "fixation_ms": 200.0, "fixation_frames": 12, "frames_dropped": 0, "focus_lost": 0,
        "attempt": 1, "valid": 1,
    }  # fmt: skip
    if changes.get("kind") == "model":
        run = changes.get("run", "Model A")
        row |= {"run": run, "model": run, "model_version": f"{run}-1", "participant": f"model {run}",
                "source": "import", "rt_ms": None, "fixation_ms": None, "fixation_frames": None, "group": None,
                "seed": None}  # fmt: skip
    row |= changes
    row["session"] = changes.get("session", f"s-{row['participant']}")
    for column in ("factors", "content", "key"):
        row[column] = json.dumps(row[column])
    row["response"] = None if row["response"] is None else json.dumps(row["response"])
    return row


def session_rows(n_test: int = 4, n_correct: int | None = None, **changes: Any) -> list[dict[str, Any]]:
    """Return a session of `n_test` items `i1...`; the first `n_correct` responses (by default all) are correct."""
    right = n_test if n_correct is None else n_correct
    return [
        view_row(**{"trial_index": index, "item_id": f"i{index + 1}", "response": 1 if index < right else 2, **changes})
        for index in range(n_test)
    ]


@pytest.fixture(scope="session")
def row() -> Callable[..., dict[str, Any]]:
    return view_row


@pytest.fixture(scope="session")
def session() -> Callable[..., list[dict[str, Any]]]:
    return session_rows


@pytest.fixture(scope="session")
def view() -> Callable[..., pd.DataFrame]:
    """Return a function that makes a data frame of rows or lists of rows."""

    def rows_in(part: Any) -> list[dict[str, Any]]:
        return [row for inner in part for row in rows_in(inner)] if isinstance(part, list) else [part]

    def frame(*parts: Any) -> pd.DataFrame:
        return pd.DataFrame(rows_in(list(parts)), columns=list(VIEW_COLUMNS), dtype=object)

    return frame
