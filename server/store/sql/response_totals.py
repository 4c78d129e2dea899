"""The number of responses of each study, and a sum over their checksums.

Stored apart from the sessions: an attacker who deletes the last responses of a session can adjust the session's own
count and checksum. A study's totals are in several parts, so that server processes that store responses at once seldom
wait for each other; only their sum has a meaning.
"""

from collections import Counter
from collections.abc import Iterable

from server.store.database import Database

N_PARTS = 16
Totals = tuple[int, int]
"""Number of responses, and the sum of their numbers."""


def number_of(checksum: str) -> int:
    """Return the number of a response for the sum: 32 bits, so that billions of them fit into 64."""
    try:
        return int(checksum[:8], 16)
    except ValueError:  # A damaged checksum, which also breaks its session's chain.
        return 0


def add(db: Database, responses: Iterable[tuple[str, str]], sign: int = 1) -> None:
    """Add responses to the totals of their studies, or subtract them, in one statement.

    Parameters
    ----------
    db
        A connection inside a transaction.
    responses
        Study digest and checksum of each.
    sign
        1 if they are stored, -1 if they are deleted.
    """
    n_responses: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    number = 0
    for study_digest, checksum in responses:
        number = number_of(checksum)
        n_responses[study_digest] += sign
        sums[study_digest] += sign * number
    if not n_responses:
        return
    rows = [
        (study_digest, number % N_PARTS, n_responses[study_digest], sums[study_digest]) for study_digest in n_responses
    ]
    db.execute(
        "INSERT INTO response_totals (study_digest, part, n_responses, checksum_sum) "
        f"VALUES {', '.join(['(?, ?, ?, ?)'] * len(rows))} ON CONFLICT (study_digest, part) DO UPDATE "
        "SET n_responses = response_totals.n_responses + excluded.n_responses, "
        "checksum_sum = response_totals.checksum_sum + excluded.checksum_sum",
        [value for row in sorted(rows) for value in row],
    )


def count_all(db: Database) -> None:
    """Write the totals of a store that has none yet."""
    if not db.execute("SELECT 1 FROM response_totals LIMIT 1").fetchone():
        add(db, db.stream("SELECT study_digest, responses.checksum FROM responses JOIN sessions USING (session)"))


def read(db: Database) -> dict[str, Totals]:
    """Return the totals of each study."""
    rows = db.execute(
        "SELECT study_digest, SUM(n_responses), SUM(checksum_sum) FROM response_totals GROUP BY study_digest"
    ).fetchall()
    return {study_digest: (int(n_responses), int(checksum_sum)) for study_digest, n_responses, checksum_sum in rows}
