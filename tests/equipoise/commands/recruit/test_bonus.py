"""`equipoise recruit bonus`: no participant is paid twice, whatever fails, and whatever runs at the same time."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

import equipoise as eq
from batteries.errors import InputError
from experiment.load_study import load_study
from server.recruitment import prolific_api
from server.store import Payment, PaymentState
from tests.equipoise.commands.recruit.fake_prolific import FakeProlific
from tests.equipoise.commands.recruit.panel_study import PROLIFIC_STUDY, id_of
from tests.equipoise.commands.store.commands import StoredStudy, copied, done, mode, refused
from tests.server.stores import rows

BOTH = (("anna", "0.50"), ("bert", "1.25"))


@pytest.fixture
def bonuses(tmp_path: Path) -> Path:
    return written(tmp_path, BOTH)


def written(folder: Path, lines: Sequence[tuple[str, str]]) -> Path:
    path = folder / "bonuses.csv"
    path.write_text("".join(f"{id_of(name)},{amount}\n" for name, amount in lines), encoding="utf-8")
    return path


def paid(prolific: FakeProlific) -> list[list[float]]:
    prolific.show_payments()
    return [prolific.bonuses("sub-anna"), prolific.bonuses("sub-bert")]


ONCE = [[50.0], [125.0]]
NEVER: list[list[float]] = [[], []]


def payments(stored: StoredStudy) -> list[Payment]:
    with stored.opened() as store:
        return list(store.payments(load_study(stored.folder)))


def states(stored: StoredStudy) -> set[PaymentState]:
    return {payment.state for payment in payments(stored)}


def pay(stored: StoredStudy, path: Path, label: str = "accuracy") -> str:
    return done("recruit", "bonus", stored.folder, path, "--label", label, "--yes")


def test_a_dry_run_pays_nothing_and_says_the_total(stored: StoredStudy, prolific: FakeProlific, bonuses: Path) -> None:
    printed = done("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy")
    assert printed == (
        "Dry run: 2 bonuses of 1.75 GBP in total would be paid, and nothing was sent. To pay, add --yes.\n"
    )
    assert prolific.sent("POST", "") == []
    assert payments(stored) == []


def test_a_dry_run_without_a_token_writes_the_list_for_prolifics_page(
    stored: StoredStudy, bonuses: Path, tmp_path: Path
) -> None:
    done("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "-o", tmp_path / "list.csv")
    assert (tmp_path / "list.csv").read_text(encoding="utf-8") == f"{id_of('anna')},0.50\n{id_of('bert')},1.25\n"
    assert mode(tmp_path / "list.csv") == 0o600


def test_bonuses_are_paid_in_major_units_and_recorded(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, tmp_path: Path
) -> None:
    assert pay(stored, bonuses) == "2 bonuses of 1.75 GBP in total paid.\n"
    assert paid(prolific) == ONCE
    (set_up,) = prolific.sent("POST", "bonus-payments/$")
    assert set_up.body == {"study_id": PROLIFIC_STUDY, "csv_bonuses": "sub-anna,0.50\nsub-bert,1.25"}
    assert {(payment.cents, payment.state, payment.batch) for payment in payments(stored)} == {
        (50, PaymentState.DONE, "batch0"),
        (125, PaymentState.DONE, "batch0"),
    }
    eq.assignment_log(stored.folder, tmp_path / "log.csv")
    last = (tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()[-1]
    assert "bonus paid" in last
    assert "616e6e61" not in last


def test_the_same_label_pays_once_and_another_label_pays_again(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path
) -> None:
    pay(stored, bonuses)
    assert pay(stored, bonuses) == "0 bonuses of 0.00 GBP in total paid.\n2 bonuses with this label paid before.\n"
    assert paid(prolific) == ONCE
    assert "2 bonuses with this label paid before." in pay(stored, bonuses, "Accuracy")
    assert pay(stored, bonuses, "second part") == (
        "2 bonuses of 1.75 GBP in total paid.\nParticipants of this list with an earlier bonus of another label: 2.\n"
    )
    assert paid(prolific) == [[50.0, 50.0], [125.0, 125.0]]


def test_a_longer_list_pays_the_new_participants_only(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, tmp_path: Path
) -> None:
    pay(stored, bonuses)
    printed = pay(stored, written(tmp_path, [*BOTH, ("carl", "2")]))
    assert printed == "1 bonus of 2.00 GBP in total paid.\n2 bonuses with this label paid before.\n"
    assert [*paid(prolific), prolific.bonuses("sub-carl")] == [*ONCE, [200.0]]


def test_a_participant_can_be_named_by_the_pseudonym(
    stored: StoredStudy, prolific: FakeProlific, tmp_path: Path
) -> None:
    with stored.opened() as store:
        query = "SELECT participant FROM identities WHERE external_id = ?"
        ((pseudonym,),) = rows(store, query, (id_of("anna"),))
    path = tmp_path / "by-pseudonym.csv"
    path.write_text(f"{pseudonym},0.5\n", encoding="utf-8")
    pay(stored, path)
    assert paid(prolific) == [[50.0], []]


@pytest.mark.parametrize("pays_later", [False, True])
@pytest.mark.parametrize("status", [None, 500, 503, 408])
def test_a_lost_reply_to_the_payment_never_pays_twice(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, status: int | None, pays_later: bool
) -> None:
    prolific.pays_later = pays_later
    prolific.fail("POST", "/pay/", status, has_effect=True)
    message = refused("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    assert "outcome is unknown. Fix: run the same command again later" in message
    assert states(stored) == {PaymentState.SENT}
    if pays_later:  # Prolific does not show the payment yet.
        printed = pay(stored, bonuses)
        assert "2 bonuses not sent: the outcome of an earlier request is unknown" in printed
        assert states(stored) == {PaymentState.SENT}
        prolific.show_payments()
    assert "2 bonuses with this label paid before." in pay(stored, bonuses)
    assert paid(prolific) == ONCE
    assert states(stored) == {PaymentState.DONE}
    assert len(prolific.sent("POST", "/pay/")) == 1


def test_a_payment_whose_outcome_stays_unknown_is_never_sent_again(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path
) -> None:
    prolific.fail("POST", "/pay/", None, has_effect=False)
    refused("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    for _ in range(2):
        assert "pay it on that page" in pay(stored, bonuses)
    assert paid(prolific) == NEVER
    assert len(prolific.sent("POST", "/pay/")) == 1
    # The researcher pays on Prolific's page. The next run finds the payments.
    prolific.submissions["sub-anna"]["bonus_payments"].append(50.0)
    prolific.submissions["sub-bert"]["bonus_payments"].append(125.0)
    assert "2 bonuses with this label paid before." in pay(stored, bonuses)
    assert paid(prolific) == ONCE


def test_an_earlier_bonus_of_the_same_amount_is_not_taken_for_the_lost_one(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path
) -> None:
    pay(stored, bonuses, "first")
    prolific.fail("POST", "/pay/", None, has_effect=False)
    refused("recruit", "bonus", stored.folder, bonuses, "--label", "second", "--yes")
    assert "2 bonuses not sent: the outcome of an earlier request is unknown" in pay(stored, bonuses, "second")
    assert {payment.state for payment in payments(stored) if payment.purpose == "bonus second"} == {PaymentState.SENT}


@pytest.mark.parametrize("status", [400, 402, 403, 404, 409, 429])
def test_a_refused_payment_can_be_paid_later(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, status: int
) -> None:
    prolific.fail("POST", "/pay/", status, detail="not enough money")
    message = refused("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    assert f"status {status}: not enough money" in message
    assert states(stored) == {PaymentState.REFUSED}
    assert len(prolific.sent("POST", "/pay/")) == 1
    pay(stored, bonuses)
    assert paid(prolific) == ONCE


@pytest.mark.parametrize("has_effect", [True, False])
def test_a_lost_reply_to_the_set_up_pays_nothing_and_the_next_run_pays(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, has_effect: bool
) -> None:
    prolific.fail("POST", "bonus-payments/$", None, has_effect=has_effect)
    refused("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    assert states(stored) == {PaymentState.CLAIMED}
    pay(stored, bonuses)
    assert paid(prolific) == ONCE


def test_a_slow_reply_is_an_unknown_outcome(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prolific.fail("POST", "/pay/", 200, has_effect=True, waits=True)
    with monkeypatch.context() as patch:
        patch.setattr(prolific_api, "TIMEOUT_S", 1.0)
        assert "read timeout" in refused("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    prolific.go_on.set()
    pay(stored, bonuses)
    assert paid(prolific) == ONCE


def test_a_server_that_cannot_be_reached_gets_nothing(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROLIFIC_URL", "http://127.0.0.1:9")
    assert "Prolific cannot be reached (connect error)" in refused(
        "recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes"
    )
    assert payments(stored) == []


def test_a_bonus_that_another_store_or_page_paid_is_not_paid_again(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, tmp_path: Path
) -> None:
    other = copied(stored, tmp_path / "other")  # The store of a researcher on another machine.
    pay(stored, bonuses)
    printed = pay(other, bonuses)
    assert "2 bonuses not sent: Prolific lists a bonus that was not paid with this store" in printed
    assert id_of("anna") in printed
    assert paid(prolific) == ONCE


def test_two_commands_at_the_same_time_pay_once(stored: StoredStudy, prolific: FakeProlific, bonuses: Path) -> None:
    prolific.pays_later = True  # So that no command can see the payment of the other at Prolific.
    results: list[object] = []

    def run() -> None:
        try:
            results.append(eq.recruit_bonus(stored.folder, bonuses, label="accuracy", yes=True).n_paid)
        except InputError as error:
            results.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(paid(prolific)) in (ONCE, NEVER), results
    pay(stored, bonuses)
    assert paid(prolific) == ONCE, results


def test_a_command_whose_claim_was_taken_over_pays_nothing(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path
) -> None:
    prolific.fail("POST", "bonus-payments/$", has_effect=True, waits=True, is_delay=True)
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(eq.recruit_bonus(stored.folder, bonuses, label="accuracy", yes=True).n_paid)
        except InputError as error:
            outcome.append(str(error))

    first = threading.Thread(target=run)
    first.start()
    assert prolific.reached.wait(30)
    pay(stored, bonuses)
    prolific.go_on.set()
    first.join()
    assert paid(prolific) == ONCE
    assert len(prolific.sent("POST", "/pay/")) == 1
    assert "another command pays the same bonuses now. Fix:" in str(outcome[0])


def test_more_than_200_bonuses_are_paid_in_lists_of_at_most_200(
    stored: StoredStudy, prolific: FakeProlific, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.commands.recruit.bonus.MOST_LINES", 2)
    path = written(tmp_path, [("anna", "0.5"), ("bert", "1.25"), ("carl", "1")])
    done("recruit", "bonus", stored.folder, path, "--label", "accuracy", "-o", tmp_path / "list.csv")
    assert len((tmp_path / "list-1.csv").read_text(encoding="utf-8").splitlines()) == 2
    assert len((tmp_path / "list-2.csv").read_text(encoding="utf-8").splitlines()) == 1
    prolific.fail("POST", "batch1/pay/", 400)
    refused("recruit", "bonus", stored.folder, path, "--label", "accuracy", "--yes")
    assert paid(prolific) == ONCE
    assert "1 bonus of 1.00 GBP in total paid." in pay(stored, path)
    assert [*paid(prolific), prolific.bonuses("sub-carl")] == [*ONCE, [100.0]]


def test_an_amount_that_prolific_understands_differently_is_not_paid(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prolific, "_set_up", lambda _: (201, {"id": "batch0", "amount": 17500.0}))
    message = refused("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    assert "Prolific understood bonuses of 175.00, but the list has 1.75, so nothing was paid" in message
    assert not prolific.sent("POST", "/pay/")


def test_a_participant_without_a_submission_is_not_paid(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path
) -> None:
    del prolific.submissions["sub-bert"]
    printed = pay(stored, bonuses)
    assert printed.startswith("1 bonus of 0.50 GBP in total paid.")
    assert "1 bonus not sent: the participant has no submission in your studies at Prolific" in printed


def test_a_deleted_identity_takes_its_payments_along_and_cannot_be_paid_again(
    stored: StoredStudy, prolific: FakeProlific, bonuses: Path
) -> None:
    pay(stored, bonuses)
    eq.identities_delete(stored.folder, panel_id=id_of("anna"))
    assert [payment.submission for payment in payments(stored)] == ["sub-bert"]
    message = refused("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    assert "line 1: no participant 616e6e610000000000000000 has begun this study. Fix:" in message
    eq.identities_delete(stored.folder, everybody=True)
    assert payments(stored) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{id_of('anna')},0.5\n{id_of('anna')},0.5\n", "line 2: participant .* has two bonuses. Fix:"),
        (f"{id_of('anna')},0.505\n", "line 1: this is not a bonus. Fix:"),
        (f"{id_of('anna')},0\n", "line 1: this is not a bonus. Fix:"),
        (f"{id_of('anna')},-1\n", "line 1: this is not a bonus. Fix:"),
        (f"{id_of('anna')};1\n", "line 1: this is not a bonus. Fix:"),
        ("nobody,1\n", "line 1: no participant nobody has begun this study. Fix:"),
        ("\n", "the file has no bonuses. Fix:"),
    ],
)
def test_a_wrong_list_pays_nothing(
    stored: StoredStudy, prolific: FakeProlific, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        eq.recruit_bonus(stored.folder, path, label="accuracy", yes=True)
    assert prolific.requests == []


def test_a_label_is_one_line_of_plain_signs(stored: StoredStudy, bonuses: Path) -> None:
    with pytest.raises(InputError, match=r"invalid label. Fix:"):
        eq.recruit_bonus(stored.folder, bonuses, label="a\nb")
