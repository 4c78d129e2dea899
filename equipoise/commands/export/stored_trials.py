"""The trials in a store, read in portions of whole participants. The store may be a file or a database."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import pandas as pd

from analysis.data.columns import VIEW_COLUMNS
from server.store.database import Database, marks

ROWS_AT_ONCE = 10_000
"""Number of rows that a portion has, or exceeds by less than one participant."""
OF_ITEM = ("task", "factors", "content", "key")
"""Columns whose value is the same for all trials of an item of a battery."""
OF_TRIAL = tuple(column for column in VIEW_COLUMNS if column not in OF_ITEM)
SESSIONS_AT_ONCE = 500
"""Number of sessions in one query: SQLite limits the number of values in a statement."""
_COLUMNS = ", ".join(f'"{column}"' for column in OF_TRIAL)


@dataclass(frozen=True)
class StoredTrials:
    """The rows of the view `trials` that belong to a study, sorted by kind, participant, session and trial."""

    db: Database
    """A snapshot of the store."""
    study: str
    """Name of the study."""

    @cached_property
    def _contents(self) -> tuple[list[tuple[str, str, str, int]], dict[tuple[str, str], str]]:
        """The sessions, and for each battery and item a session with this item. All rows are read once.

        The database does not sort the rows, because this would need memory for all rows.
        """
        n_trials: dict[tuple[str, str, str], int] = {}
        session_of_item: dict[tuple[str, str], str] = {}
        rows = self.db.stream("SELECT study, kind, participant, session, battery, item_id FROM trials")
        for study, kind, participant, session, battery, item_id in rows:
            if study == self.study:
                name = (kind, participant, session)
                n_trials[name] = n_trials.get(name, 0) + 1
                session_of_item.setdefault((battery, item_id), session)
        return [(*name, n) for name, n in sorted(n_trials.items())], dict(sorted(session_of_item.items()))

    @property
    def sessions(self) -> list[tuple[str, str, str, int]]:
        """Kind, participant, session and number of trials of each session, in order."""
        return self._contents[0]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(n for *_, n in self.sessions)

    @cached_property
    def items(self) -> dict[tuple[str, str], tuple[Any, ...]]:
        """The values of `OF_ITEM` for each battery and item."""
        one = f"SELECT {', '.join(OF_ITEM)} FROM trials WHERE session = ? AND item_id = ? LIMIT 1"  # noqa: S608
        return {
            (battery, item_id): tuple(self.db.execute(one, (session, item_id)).fetchone())
            for (battery, item_id), session in self._contents[1].items()
        }

    def sample(self) -> pd.DataFrame:
        """Return one trial of each run, and one trial of each item of each battery."""
        first = f"SELECT {_COLUMNS} FROM trials WHERE session = ? ORDER BY trial_index LIMIT 1"  # noqa: S608
        of_item = f"SELECT {_COLUMNS} FROM trials WHERE session = ? AND item_id = ? ORDER BY trial_index LIMIT 1"  # noqa: S608
        places = [(session, item_id) for (_, item_id), session in self._contents[1].items()]
        rows = [tuple(self.db.execute(first, (session,)).fetchone()) for session in self.runs]
        rows += [tuple(self.db.execute(of_item, place).fetchone()) for place in places]
        return self._with_items(rows).drop_duplicates(["session", "trial_index"], ignore_index=True)

    @property
    def runs(self) -> list[str]:
        """The sessions of models."""
        return [session for kind, _, session, _ in self.sessions if kind == "model"]

    def portions(self) -> Iterator[pd.DataFrame]:
        """Yield all rows, some whole participants at a time."""
        for sessions in self._portions_of_sessions():
            rows: list[tuple[Any, ...]] = []
            for first in range(0, len(sessions), SESSIONS_AT_ONCE):
                some = sessions[first : first + SESSIONS_AT_ONCE]
                query = f"SELECT {_COLUMNS} FROM trials WHERE session IN ({marks(some)})"  # noqa: S608
                rows += [tuple(row) for row in self.db.execute(query, some).fetchall()]
            place = {session: number for number, session in enumerate(sessions)}
            session, trial = OF_TRIAL.index("session"), OF_TRIAL.index("trial_index")
            rows.sort(key=lambda row: (place[row[session]], row[trial]))
            yield self._with_items(rows)

    def _portions_of_sessions(self) -> Iterator[list[str]]:
        sessions: list[str] = []
        n_rows = 0
        for _, of_participant in groupby(self.sessions, key=lambda row: row[:2]):
            for _, _, session, n in of_participant:
                sessions.append(session)
                n_rows += n
            if n_rows >= ROWS_AT_ONCE:
                yield sessions
                sessions, n_rows = [], 0
        if sessions:
            yield sessions

    def _with_items(self, rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
        """Return rows of the view from rows without the columns of the item."""
        table = pd.DataFrame.from_records(rows, columns=list(OF_TRIAL))
        pairs = zip(table["battery"], table["item_id"], strict=True)
        of_items = [self.items[pair] for pair in pairs]
        for place, column in enumerate(OF_ITEM):
            table[column] = pd.Series([of_item[place] for of_item in of_items], dtype=object)
        return table[list(VIEW_COLUMNS)]
