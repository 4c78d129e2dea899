"""Decisions on payments that are sent to a panel: each is recorded before its request, and again with its outcome.

A participant has one row for each purpose, so two commands that run at the same time cannot both send a payment. The
rows belong to the identities, because they contain ids of the panel.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from experiment.study.definition import Study
from server.store.database import Database, insert_sql, marks, now
from server.store.models import REVIEW, Payment, PaymentState
from server.store.tables import TABLES

COLUMNS = TABLES["payments"]
_OF_ONE = "study = ? AND participant = ? AND purpose = ?"


def listed(db: Database, study: str) -> list[Payment]:
    """See `Store.payments`."""
    rows = db.execute(
        f"SELECT {', '.join(COLUMNS)} FROM payments WHERE study = ? ORDER BY claimed_at, participant, purpose", (study,)
    )
    return [_payment(row) for row in rows.fetchall()]


def claim(db: Database, study: Study, payments: Sequence[Payment], claim: str) -> list[Payment]:
    """See `Store.claim_payments`."""
    claimed = []
    for payment in sorted(payments, key=lambda one: (one.participant, one.purpose)):  # The same order for all writers.
        if not _has_identity(db, study.name, payment.participant):
            continue
        row = db.execute(
            f"SELECT state FROM payments WHERE {_OF_ONE}{db.for_update}",
            (study.name, payment.participant, payment.purpose),
        ).fetchone()
        if row is not None and row[0] not in {PaymentState.CLAIMED, PaymentState.REFUSED}:
            continue
        db.execute(f"DELETE FROM payments WHERE {_OF_ONE}", (study.name, payment.participant, payment.purpose))
        values = (
            study.name, payment.participant, payment.purpose, payment.decision, payment.submission, payment.cents,
            json.dumps(payment.paid_before), PaymentState.CLAIMED.value, claim, None, now(), None,
        )  # fmt: skip
        db.execute(insert_sql("payments", COLUMNS), values)
        claimed.append(_payment(values))
    return claimed


def send(db: Database, study: str, claim: str, purpose: str, participants: Sequence[str], batch: str | None) -> bool:
    """See `Store.send_payments`."""
    chosen = f"study = ? AND claim = ? AND purpose = ? AND state = ? AND participant IN ({marks(participants)})"
    values = (study, claim, purpose, PaymentState.CLAIMED.value, *participants)
    rows = db.execute(f"SELECT participant FROM payments WHERE {chosen} ORDER BY participant{db.for_update}", values)
    if len(rows.fetchall()) != len(participants):
        return False
    db.execute(f"UPDATE payments SET state = ?, batch = ? WHERE {chosen}", (PaymentState.SENT.value, batch, *values))
    return True


def settle(
    db: Database, study: str, claim: str, purpose: str, participants: Sequence[str], state: PaymentState
) -> None:
    """See `Store.settle_payments`."""
    db.execute(
        "UPDATE payments SET state = ?, settled_at = ? WHERE study = ? AND claim = ? AND purpose = ? AND state = ? "
        f"AND participant IN ({marks(participants)})",
        (state.value, now(), study, claim, purpose, PaymentState.SENT.value, *participants),
    )


def settle_one(db: Database, study: str, payment: Payment, state: PaymentState) -> bool:
    """See `Store.settle_payment`."""
    changed = db.execute(
        f"UPDATE payments SET state = ?, settled_at = ? WHERE {_OF_ONE} AND claim = ? AND state = ?",
        (state.value, now(), study, payment.participant, payment.purpose, payment.claim, PaymentState.SENT.value),
    )
    return changed.rowcount > 0


def delete(db: Database, study: str, participant: str | None) -> None:
    """Delete the payments of a study, or of one participant of the study."""
    chosen, values = ("", [study]) if participant is None else (" AND participant = ?", [study, participant])
    db.execute(f"DELETE FROM payments WHERE study = ?{chosen}", values)


def changed(db: Database) -> Iterator[str]:
    """Yield a sentence for each payment that no command of Equipoise can have recorded.

    Payments have no checksums, because they are deleted together with the panel id. So a changed amount or time is
    found only if it contradicts the rest of the payment.
    """
    known = {
        tuple(row)
        for row in db.execute(
            "SELECT identities.study, participant FROM identities JOIN sessions USING (participant) "
            "JOIN studies ON studies.study_digest = sessions.study_digest AND studies.study = identities.study"
        ).fetchall()
    }
    sent: Counter[tuple[str, str, str]] = Counter()
    columns = f"SELECT {', '.join(COLUMNS)} FROM payments ORDER BY study, participant, purpose"
    for row in db.execute(columns).fetchall():
        stored = dict(zip(COLUMNS, row, strict=True))
        name = f"payment `{stored['purpose']}` of participant {stored['participant']}"
        if (stored["study"], stored["participant"]) not in known:
            yield f"{name}: this study has no session with a panel id for this participant."
        if contradiction := _contradiction(stored):
            yield f"{name}: {contradiction}."
        if stored["state"] in {PaymentState.SENT, PaymentState.DONE}:
            sent[stored["study"], stored["submission"], stored["purpose"]] += 1
    for (study, submission, purpose), n in sent.items():
        if n > 1:
            yield f"payment `{purpose}` for submission {submission} of study {study}: it was sent {n} times."


def _contradiction(stored: Mapping[str, Any]) -> str | None:
    """Return what is impossible in a payment, or None."""
    state, is_bonus = stored["state"], stored["decision"] == "bonus"
    if state not in set(PaymentState):
        return f"its state `{state}` is unknown"
    if stored["decision"] not in ({"bonus"} if stored["purpose"] != REVIEW else {"approve", "reject"}):
        return f"its decision `{stored['decision']}` does not belong to this purpose"
    if is_bonus != (stored["cents"] is not None) or (is_bonus and stored["cents"] <= 0):
        return "its amount is impossible"
    is_settled = state in {PaymentState.DONE, PaymentState.REFUSED}
    if is_settled != (stored["settled_at"] is not None) or (is_settled and stored["settled_at"] < stored["claimed_at"]):
        return f"its state `{state}` contradicts its times"
    if state == PaymentState.CLAIMED and stored["batch"] is not None:
        return "it has an id of a sent bonus, but it was not sent"
    if not _is_list_of_amounts(stored["paid_before"]):
        return "its list of earlier bonuses is damaged"
    return None


def _is_list_of_amounts(text: str) -> bool:
    try:
        amounts = json.loads(text)
    except ValueError:
        return False
    return isinstance(amounts, list) and all(type(amount) is int for amount in amounts)


def _has_identity(db: Database, study: str, participant: str) -> bool:
    # The row is locked, so that the identity cannot be deleted before the payment is stored.
    found = db.execute(
        f"SELECT 1 FROM identities WHERE study = ? AND participant = ?{db.for_update}", (study, participant)
    )
    return bool(found.fetchall())


def _payment(row: Sequence[Any]) -> Payment:
    fields = dict(zip(COLUMNS, row, strict=True))
    del fields["study"]
    fields["paid_before"] = tuple(json.loads(fields["paid_before"]))
    fields["state"] = PaymentState(fields["state"])
    return Payment(**fields)
