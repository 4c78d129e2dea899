"""Payments at a panel: each is recorded before its request, sent at most once, and deleted with the panel id."""

import dataclasses
from contextlib import closing
from functools import partial

import pytest

from experiment.study.definition import Study
from server.store import Payment, PaymentState, Store
from server.store.copying import back_up
from server.store.open import opened_store
from tests.server.store.contract.helpers import panel
from tests.server.stores import Person, another, at_once, execute_sql, problems, rows

BONUS = "bonus accuracy"


@pytest.fixture
def anna(store: Store, small_study: Study) -> Payment:
    """A bonus for a participant with a panel id."""
    return bonus_for(Person(store, small_study, identity=panel("anna", SESSION_ID="s1")))


def bonus_for(person: Person, cents: int = 50) -> Payment:
    pseudonym = person.stored.session.participant.participant
    return Payment(pseudonym, BONUS, "bonus", "s1", cents=cents, paid_before=(10,))


def state(store: Store, study: Study) -> list[PaymentState]:
    return [payment.state for payment in store.payments(study)]


def test_a_claim_is_stored_with_its_content(store: Store, small_study: Study, anna: Payment) -> None:
    (claimed,) = store.claim_payments(small_study, [anna], "first")
    with closing(another(store)) as other:
        (found,) = other.payments(small_study)
    assert found == claimed
    assert (found.cents, found.paid_before, found.state, found.claim) == (50, (10,), PaymentState.CLAIMED, "first")
    assert found.claimed_at
    assert problems(store) == []


def test_a_claim_that_was_never_sent_can_be_taken_over_and_its_first_run_cannot_send_it(
    store: Store, small_study: Study, anna: Payment
) -> None:
    store.claim_payments(small_study, [anna], "first")
    assert len(store.claim_payments(small_study, [anna], "second")) == 1
    assert not store.send_payments(small_study, "first", BONUS, [anna.participant], "batch-1")
    assert state(store, small_study) == [PaymentState.CLAIMED]
    assert store.send_payments(small_study, "second", BONUS, [anna.participant], "batch-2")
    assert state(store, small_study) == [PaymentState.SENT]


@pytest.mark.parametrize("outcome", [None, PaymentState.DONE])
def test_a_payment_that_was_sent_is_never_claimed_or_sent_again(
    store: Store, small_study: Study, anna: Payment, outcome: PaymentState | None
) -> None:
    store.claim_payments(small_study, [anna], "first")
    assert store.send_payments(small_study, "first", BONUS, [anna.participant])
    if outcome:
        store.settle_payments(small_study, "first", BONUS, [anna.participant], outcome)
    assert store.claim_payments(small_study, [dataclasses.replace(anna, cents=99)], "second") == []
    for run in ("first", "second"):
        assert not store.send_payments(small_study, run, BONUS, [anna.participant])
    assert store.payments(small_study)[0].cents == 50


def test_a_refused_payment_can_be_claimed_again(store: Store, small_study: Study, anna: Payment) -> None:
    store.claim_payments(small_study, [anna], "first")
    store.send_payments(small_study, "first", BONUS, [anna.participant])
    store.settle_payments(small_study, "first", BONUS, [anna.participant], PaymentState.REFUSED)
    assert state(store, small_study) == [PaymentState.REFUSED]
    (again,) = store.claim_payments(small_study, [anna], "second")
    assert (again.state, again.settled_at) == (PaymentState.CLAIMED, None)


def test_a_batch_is_sent_whole_or_not_at_all(store: Store, small_study: Study, anna: Payment) -> None:
    bert = bonus_for(Person(store, small_study, identity=panel("bert")))
    store.claim_payments(small_study, [anna, bert], "first")
    store.claim_payments(small_study, [bert], "second")
    assert not store.send_payments(small_study, "first", BONUS, [anna.participant, bert.participant])
    assert state(store, small_study) == [PaymentState.CLAIMED, PaymentState.CLAIMED]


def test_two_purposes_are_two_payments(store: Store, small_study: Study, anna: Payment) -> None:
    review = dataclasses.replace(anna, purpose="review", decision="approve", cents=None)
    assert len(store.claim_payments(small_study, [anna, review], "first")) == 2
    assert store.send_payments(small_study, "first", BONUS, [anna.participant])
    assert sorted(state(store, small_study)) == [PaymentState.CLAIMED, PaymentState.SENT]


def test_of_many_runs_at_once_exactly_one_sends(store: Store, small_study: Study) -> None:
    people = [bonus_for(Person(store, small_study, identity=panel(f"person-{number}"))) for number in range(3)]
    names = [payment.participant for payment in people]

    def run(on: Store, name: str) -> bool:
        claimed = on.claim_payments(small_study, people, name)
        return len(claimed) == len(people) and on.send_payments(small_study, name, BONUS, names)

    with closing(another(store)) as other:
        for _ in range(3):
            jobs = [partial(run, store, f"a{n}") for n in range(3)] + [partial(run, other, f"b{n}") for n in range(3)]
            sent = at_once(*jobs)
            assert sum(sent) <= 1, sent
        assert set(state(store, small_study)) <= {PaymentState.SENT, PaymentState.CLAIMED}
        assert run(store, "last") or state(store, small_study) == [PaymentState.SENT] * 3


def test_an_outcome_found_at_the_panel_is_recorded_once(store: Store, small_study: Study, anna: Payment) -> None:
    store.claim_payments(small_study, [anna], "first")
    (claimed,) = store.payments(small_study)
    assert not store.settle_payment(small_study, claimed, PaymentState.DONE)  # It was not sent.
    store.send_payments(small_study, "first", BONUS, [anna.participant])
    (sent,) = store.payments(small_study)
    assert store.settle_payment(small_study, sent, PaymentState.DONE)
    assert not store.settle_payment(small_study, sent, PaymentState.REFUSED)
    assert state(store, small_study) == [PaymentState.DONE]


def test_payments_are_deleted_with_the_panel_id_and_cannot_be_made_afterwards(
    store: Store, small_study: Study, anna: Payment
) -> None:
    bert = bonus_for(Person(store, small_study, identity=panel("bert")))
    store.claim_payments(small_study, [anna, bert], "first")
    assert store.delete_identities(small_study, anna.participant) == 1
    assert [payment.participant for payment in store.payments(small_study)] == [bert.participant]
    assert store.claim_payments(small_study, [anna], "second") == []
    assert store.delete_identities(small_study) == 1
    assert rows(store, "SELECT COUNT(*) FROM payments") == [(0,)]
    assert problems(store) == []


def test_a_backup_contains_the_payments(store: Store, small_study: Study, anna: Payment, tmp_path: object) -> None:
    store.claim_payments(small_study, [anna], "first")
    back_up(store, tmp_path / "backup.db")  # type: ignore[operator]
    with opened_store(str(tmp_path / "backup.db")) as copy:  # type: ignore[operator]
        assert copy.payments(small_study) == store.payments(small_study)


IMPOSSIBLE = {
    "state = 'paid'": "its state `paid` is unknown",
    "decision = 'approve'": "its decision `approve` does not belong to this purpose",
    "purpose = 'review'": "its decision `bonus` does not belong to this purpose",
    "cents = -50": "its amount is impossible",
    "cents = NULL": "its amount is impossible",
    "state = 'claimed'": "its state `claimed` contradicts its times",
    "state = 'claimed', settled_at = NULL": "it has an id of a sent bonus, but it was not sent",
    "settled_at = NULL": "its state `done` contradicts its times",
    "settled_at = '2020-01-01'": "its state `done` contradicts its times",
    "paid_before = '[\"10\"]'": "its list of earlier bonuses is damaged",
    "participant = 'nobody'": "this study has no session with a panel id for this participant",
    "study = 'another'": "this study has no session with a panel id for this participant",
}


@pytest.mark.parametrize("change", IMPOSSIBLE)
def test_verification_names_a_payment_that_no_command_can_have_recorded(
    store: Store, small_study: Study, anna: Payment, change: str
) -> None:
    store.claim_payments(small_study, [anna], "first")
    store.send_payments(small_study, "first", BONUS, [anna.participant], "batch-1")
    assert problems(store) == []
    store.settle_payments(small_study, "first", BONUS, [anna.participant], PaymentState.DONE)
    assert problems(store) == []
    execute_sql(store, f"UPDATE payments SET {change}")
    (problem,) = problems(store)
    assert problem.startswith("payment `") and problem.endswith(f"{IMPOSSIBLE[change]}."), problem


def test_verification_names_a_submission_that_was_paid_twice_for_one_purpose(
    store: Store, small_study: Study, anna: Payment
) -> None:
    bert = bonus_for(Person(store, small_study, identity=panel("bert")))
    store.claim_payments(small_study, [anna, bert], "first")
    assert problems(store) == []
    store.send_payments(small_study, "first", BONUS, [anna.participant, bert.participant], "batch-1")
    assert problems(store) == [f"payment `{BONUS}` for submission s1 of study {small_study.name}: it was sent 2 times."]
    execute_sql(store, f"UPDATE payments SET submission = 's2' WHERE participant = '{bert.participant}'")
    assert problems(store) == []
