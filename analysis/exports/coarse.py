"""Data without free texts and exact answers about people, which could identify a person. `--full` exports keep them.

- A free text of a participant in a response becomes `text 1`, `text 2`, and so on. Equal texts of a session get the
  same number. A text that the item lists as a possible answer stays.
- A number in an answer about the participant becomes a band, such as 20-29.
- An answer that fewer than `FEWEST` participants gave becomes `RARE`.
- A free text in an answer about the participant becomes `GIVEN`.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from batteries.tasks import TASKS, Task

FEWEST = 5
"""Smallest number of participants with the same answer. The same number is usual in official statistics."""
RARE = f"fewer than {FEWEST} participants"
GIVEN = "text not exported"


def without_free_texts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of the view `trials` without the free texts that people wrote in responses.

    `rows` has whole sessions. The score of a response stays the same, because the possible answers of the item stay.
    """
    with_texts = {name for name, task in TASKS.items() if type(task).without_free_texts is not Task.without_free_texts}
    may_have_text = rows["task"].isin(with_texts) & (rows["kind"] != "model") & rows["response"].notna()
    if not may_have_text.any():
        return rows
    known: dict[str, dict[str, str]] = {}
    responses = rows["response"].astype(object).copy()
    for row in rows.index[may_have_text]:
        pseudonym = partial(_pseudonym, known.setdefault(str(rows["session"][row]), {}))
        content, key, response = (json.loads(rows[name][row]) for name in ("content", "key", "response"))
        replaced = TASKS[rows["task"][row]].without_free_texts(content, key, response, pseudonym)
        responses[row] = json.dumps(replaced, ensure_ascii=False)
    return rows.assign(response=responses)


def _pseudonym(known: dict[str, str], text: str) -> str:
    """Return `text 1` for the first text of a session, `text 2` for the second, and the same for equal texts."""
    return known.setdefault(text, f"text {len(known) + 1}")


def coarse_answers(answers: Sequence[Any], participants: Sequence[str], is_free_text: bool) -> list[str | None]:
    """Return the answers of participants to one question about them, in a form that identifies nobody.

    Parameters
    ----------
    answers
        The answers; None if the participant skipped the question.
    participants
        The pseudonym for each answer. Several answers of one participant, from several sessions, count once.
    is_free_text
        True if the participants wrote a text.

    Examples
    --------
    >>> coarse_answers([21, 24, 28, 22, 25, 70, None], list("abcdefg"), is_free_text=False)
    ['20-29', '20-29', '20-29', '20-29', '20-29', 'fewer than 5 participants', None]
    """
    if is_free_text:
        return [None if answer is None else GIVEN for answer in answers]
    bands = [None if answer is None else band(answer) if is_number(answer) else str(answer) for answer in answers]
    given = {(text, one) for text, one in zip(bands, participants, strict=True) if text is not None}
    n_participants = Counter(text for text, _ in given)
    return [text if text is None or n_participants[text] >= FEWEST else RARE for text in bands]


def is_number(answer: object) -> bool:
    """Return True for a number, but not for true and false."""
    return isinstance(answer, (int, float)) and not isinstance(answer, bool)


def band(number: float) -> str:
    """Return the band of a number. A band has one leading digit, and is at least ten wide.

    Examples
    --------
    >>> band(7), band(34), band(345), band(-12)
    ('0-9', '30-39', '300-399', '-20 to -11')
    """
    width = max(10, 10 ** (len(str(int(abs(number)))) - 1))
    low = int(number // width) * width
    high = low + width - 1
    return f"{low}-{high}" if low >= 0 else f"{low} to {high}"


def coarse_sessions(sessions: Sequence[Mapping[str, Any]], free_texts: set[str]) -> list[dict[str, Any]]:
    """Return the list of sessions with coarse answers about the participants.

    `free_texts` has the names of the columns in which participants wrote a text.
    """
    names = dict.fromkeys(name for session in sessions for name in session if name.startswith("demographics_"))
    found = [dict(session) for session in sessions]
    for name in names:
        answers = [session.get(name) for session in sessions]
        coarse = coarse_answers(answers, [session["participant"] for session in sessions], name in free_texts)
        for session, answer in zip(found, coarse, strict=True):
            if name in session:
                session[name] = answer
    return found
