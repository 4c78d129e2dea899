"""A store with many responses to a sample study, made fast: rows are inserted into its tables directly."""

import csv
import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import JsonValue

from batteries.items import Item
from batteries.tasks import task_named
from experiment.plan import Phase, Plan, plan_session
from experiment.records import Kind, Source, Status
from experiment.study.definition import Study
from server.store.database import as_text
from server.store.open import opened_store

N_PLANS = 60
"""Number of different plans; participants use them in turns."""
RUNS = {"Model A": 0.9, "Model B": 0.7, "Model C": 0.45}
"""Accuracies of the models."""
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)

SESSION_COLUMNS = ("session", "participant", "study_digest", "battery_digest", "group", "seed", "source", "status",
                   "started_at", "completed_at", "token_digest", "start_id", "n_trials")  # fmt: skip
RESPONSE_COLUMNS = (
    "session", "trial_index", "attempt", "response_id", "response", "rt_ms", "fixation_ms", "fixation_frames",
    "fixation_frames_intended", "frame_ms", "shown_at", "onset_source", "received_at", "frames_dropped", "focus_lost",
    "valid", "visit", "input", "signals", "jspsych", "checksum",
)  # fmt: skip
VISIT_COLUMNS = ("session", "visit", "visit_id", "at", "next_trial_index", "device")
EVENT_COLUMNS = ("study_digest", "event_index", "at", "event", "session", "details", "checksum")
DEVICE = {"width_px": 1280, "height_px": 900, "screen_width_px": 1280, "screen_height_px": 900, "pixel_ratio": 1.0,
          "frame_ms": 16.666, "touch": False, "phone": False, "keyboard": None, "automation": False}  # fmt: skip
ANSWER_OF_A_BROWSER = {"trial_type": "equipoise-multiple-choice", "plugin_version": "1.0.0"}

Row = tuple[Any, ...]


def make_store(path: Path, study: Study, n_responses: int) -> int:
    """Make a store in which people have answered about `n_responses` test trials, and three runs each item once.

    Returns the number of test trials with a response of a person. One participant in fifty withdrew half way. Checksums
    are left empty; the analysis does not read them.
    """
    with opened_store(str(path)) as store:
        store.register_study(study)
    groups = study.definition.n_groups
    plans = [plan_session(study, 1 + number % groups, number) for number in range(N_PLANS)]
    n_tests = [sum(trial.phase is Phase.TEST for trial in plan.trials) for plan in plans]
    n_people = round(n_responses / float(np.mean(n_tests)))
    rng = np.random.default_rng(1)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("BEGIN")
        _insert(db, "participants", ("participant", "kind"), _participants(n_people))
        _insert(db, "sessions", SESSION_COLUMNS, _sessions(study, plans, n_people))
        _insert(db, "visits", VISIT_COLUMNS, _visits(n_people))
        _insert(db, "events", EVENT_COLUMNS, _events(db, study, plans, n_people))
        db.execute("UPDATE logs SET n_events = (SELECT COUNT(*) FROM events)")
        _insert(
            db, "runs", ("session", "run", "model", "model_version"), [(f"run-{run}", run, run, run) for run in RUNS]
        )
        _insert(db, "planned_trials", ("session", "trial_index", "phase", "item_id"), _planned(study, plans, n_people))
        _insert(db, "responses", RESPONSE_COLUMNS, _responses(study, plans, n_people, rng))
        db.execute("COMMIT")
        counted = "SELECT COUNT(*) FROM trials WHERE phase = 'test' AND kind = 'human' AND response IS NOT NULL"
        (n_answered,) = db.execute(counted).fetchone()
        db.execute("PRAGMA journal_mode = DELETE")
    return int(n_answered)


def _insert(db: sqlite3.Connection, table: str, columns: tuple[str, ...], rows: Any) -> None:
    names, marks = ", ".join(f'"{column}"' for column in columns), ", ".join("?" for _ in columns)
    db.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608 - our own names


def _session(number: int) -> str:
    return f"{number * 2_654_435_761 % 2**32:08x}{number:08x}"


def _participants(n_people: int) -> Iterator[Row]:
    yield from ((f"p-{_session(number)[:12]}", Kind.HUMAN) for number in range(n_people))
    yield from ((f"run-{run}", Kind.MODEL) for run in RUNS)


def _sessions(study: Study, plans: list[Plan], n_people: int) -> Iterator[Row]:
    digests = (study.digest, study.battery.digest)
    for number in range(n_people):
        session, plan = _session(number), plans[number % N_PLANS]
        began = BEGAN + timedelta(seconds=7 * number)
        status, ended = (
            (Status.WITHDRAWN, None) if _withdrew(number) else (Status.COMPLETED, began + timedelta(hours=1))
        )
        yield (session, f"p-{session[:12]}", *digests, plan.group, plan.seed, Source.WEB, status, as_text(began),
               ended and as_text(ended), f"token-{number}", f"start-{number}", len(plan.trials))  # fmt: skip
    for run in RUNS:
        began_at = as_text(BEGAN)
        yield (f"run-{run}", f"run-{run}", *digests, None, None, Source.IMPORT, Status.COMPLETED, began_at, began_at,
               f"token-{run}", f"start-{run}", len(_test_items(study)))  # fmt: skip


def _visits(n_people: int) -> Iterator[Row]:
    device = json.dumps(DEVICE)
    for number in range(n_people):
        began = as_text(BEGAN + timedelta(seconds=7 * number))
        yield _session(number), 1, f"visit-{number}", began, 0, device


def _events(db: sqlite3.Connection, study: Study, plans: list[Plan], n_people: int) -> Iterator[Row]:
    """Yield an entry of the log for the beginning of each session, and an entry for its end."""
    ((study_digest, event_index),) = db.execute("SELECT study_digest, n_events FROM logs").fetchall()
    taken = {str(group): [0, 0] for group in range(1, study.definition.n_groups + 1)}
    for number in range(n_people):
        session, group = _session(number), plans[number % N_PLANS].group
        began = BEGAN + timedelta(seconds=7 * number)
        reserved = {"kind": "human", "group": group, "taken": taken, "closed": [], "quota": None}
        ended = {"group": group, "completed_at": as_text(began + timedelta(hours=1))}
        for event, details in (("reserved", reserved), ("withdrew" if _withdrew(number) else "confirmed", ended)):
            yield study_digest, event_index, as_text(began), event, session, json.dumps(details), ""
            event_index += 1


def _withdrew(number: int) -> bool:
    return number % 50 == 49


def _test_items(study: Study) -> list[str]:
    return sorted({item.item_id for items in study.test_items_by_group.values() for item in items})


def _planned(study: Study, plans: list[Plan], n_people: int) -> Iterator[Row]:
    for number in range(n_people):
        session = _session(number)
        for trial in plans[number % N_PLANS].trials:
            yield session, trial.trial_index, trial.phase, trial.item_id
    for run in RUNS:
        yield from ((f"run-{run}", place, Phase.TEST, item_id) for place, item_id in enumerate(_test_items(study)))


def _responses(study: Study, plans: list[Plan], n_people: int, rng: np.random.Generator) -> Iterator[Row]:
    items = study.battery.by_id
    answers = {item_id: task_named(item.task).responses(item.content) for item_id, item in items.items()}
    for number in range(n_people):
        session, plan = _session(number), plans[number % N_PLANS]
        trials = plan.trials[: len(plan.trials) // 2] if _withdrew(number) else plan.trials
        right = rng.random(len(trials)) < rng.beta(6, 3)
        rts_ms = np.round(rng.lognormal(10.3, 0.5, len(trials)), 1)
        frame_ms = round(rng.normal(16.67, 0.02), 2)
        fixations_ms = np.round(12 * frame_ms + rng.normal(0, 0.2, len(trials)), 1)
        now = BEGAN + timedelta(seconds=7 * number)
        began = now
        drawn = zip(trials, right.tolist(), rts_ms.tolist(), fixations_ms.tolist(), strict=True)
        for trial, is_right, rt_ms, fixation_ms in drawn:
            now += timedelta(milliseconds=rt_ms + 200)
            is_wrong = trial.phase is Phase.TEST and not is_right
            answer = _answer(items[trial.item_id], answers[trial.item_id], is_wrong, rng)
            noted = {**ANSWER_OF_A_BROWSER, "time_elapsed_ms": (now - began).total_seconds() * 1000}
            at = now.isoformat(timespec="milliseconds")
            yield (session, trial.trial_index, 1, f"{session}-{trial.trial_index}", json.dumps(answer), rt_ms,
                   fixation_ms, 12, 12, frame_ms, at, "presented", at, 0, 0, 1, 1, "key",
                   '{"hidden":1,"away_ms":900}' if is_right and number % 20 == 0 else None,
                   json.dumps(noted, separators=(",", ":")), "")  # fmt: skip
    for run, accuracy in RUNS.items():
        for place, item_id in enumerate(_test_items(study)):
            answer = _answer(items[item_id], answers[item_id], rng.random() > accuracy, rng)
            yield (f"run-{run}", place, 1, f"run-{run}-{place}", json.dumps(answer), *[None] * 7, as_text(BEGAN),
                   None, None, 1, *[None] * 4, "")  # fmt: skip


def _answer(item: Item, answers: list[JsonValue], is_wrong: bool, rng: np.random.Generator) -> JsonValue:
    """Return the right answer, or one of the possible answers. `answers` is empty if participants type their answer."""
    if item.is_graded and not is_wrong:
        return task_named(item.task).right_response(item.content, item.key)
    if answers:
        return answers[int(rng.integers(len(answers)))]
    return task_named(item.task).draw(item.content, random.Random(int(rng.integers(2**32))))


def export(store: Path, path: Path) -> None:
    """Write a store's view `trials` as CSV."""
    with closing(sqlite3.connect(store)) as db, path.open("w", encoding="utf-8", newline="") as file:
        rows = db.execute("SELECT * FROM trials")
        writer = csv.writer(file)
        writer.writerow([column[0] for column in rows.description])
        writer.writerows(rows)
