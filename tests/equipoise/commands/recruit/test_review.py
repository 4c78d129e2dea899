"""`equipoise recruit approve` and `reject`: Prolific's rules, dry runs, lost replies, and two commands at a time."""

import threading
from pathlib import Path

import pytest

import equipoise as eq
from batteries.errors import InputError
from experiment.load_study import load_study
from server.store import PaymentState
from tests.equipoise.commands.recruit.fake_prolific import FakeProlific
from tests.equipoise.commands.recruit.panel_study import change_recruitment, id_of, take
from tests.equipoise.commands.store.commands import StoredStudy, done, mode, refused, table

PEOPLE = ("anna", "bert", "carl", "dora")


def statuses(prolific: FakeProlific) -> list[str]:
    return [prolific.status(f"sub-{name}") for name in PEOPLE]


def states(stored: StoredStudy) -> list[PaymentState]:
    with stored.opened() as store:
        return [payment.state for payment in store.payments(load_study(stored.folder))]


def test_a_dry_run_sends_nothing_and_lists_the_submissions(
    stored: StoredStudy, prolific: FakeProlific, tmp_path: Path
) -> None:
    printed = done("recruit", "approve", stored.folder, "-o", tmp_path / "approve.csv")
    assert printed.startswith("Dry run: 3 submissions would be approved, and nothing was sent. To send, add --yes.")
    assert "1 other submission awaiting review" in printed
    assert {row["panel_id"] for row in table(tmp_path / "approve.csv")} == {id_of(name) for name in PEOPLE[:3]}
    assert mode(tmp_path / "approve.csv") == 0o600
    printed = done("recruit", "reject", stored.folder, "-o", tmp_path / "reject.csv")
    assert printed.startswith("Dry run: 1 submission would be rejected")
    (row,) = table(tmp_path / "reject.csv")
    assert (row["submission"], row["category"], row["failed_checks"]) == ("sub-dora", "FAILED_CHECK", "2")
    assert len(row["message"]) >= 100
    assert [one for one in prolific.requests if one.method != "GET"] == []
    assert states(stored) == []


def test_without_a_token_a_dry_run_uses_the_export(stored: StoredStudy, tmp_path: Path) -> None:
    assert "Fix: name Prolific's export with --export" in refused("recruit", "approve", stored.folder)
    path = tmp_path / "export.csv"
    lines = [f"sub-{name},{id_of(name)},AWAITING REVIEW,DONE1" for name in PEOPLE]
    header = "Submission id,Participant id,Status,Completion code"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    assert "Dry run: 3 submissions would be approved" in done("recruit", "approve", stored.folder, "--export", path)
    assert "Dry run: 1 submission would be rejected" in done("recruit", "reject", stored.folder, "--export", path)
    assert "Fix: omit --export" in refused("recruit", "approve", stored.folder, "--export", path, "--yes")
    assert "no token of Prolific. Fix:" in refused("recruit", "approve", stored.folder, "--yes")


def test_complete_submissions_are_approved_and_two_failed_checks_rejected(
    stored: StoredStudy, prolific: FakeProlific
) -> None:
    assert done("recruit", "approve", stored.folder, "--yes").startswith("3 of 3 submissions approved.")
    assert statuses(prolific) == ["APPROVED", "APPROVED", "APPROVED", "AWAITING REVIEW"]
    assert done("recruit", "reject", stored.folder, "--yes").startswith("1 of 1 submission rejected.")
    assert statuses(prolific)[3] == "REJECTED"
    (sent,) = [one for one in prolific.sent("POST", "transition") if one.body["action"] == "REJECT"]
    assert len(sent.body["message"]) >= 100
    assert "2 of 2 attention checks" in sent.body["message"]
    assert sent.body["rejection_category"] == "FAILED_CHECK"


def test_a_second_run_sends_nothing(stored: StoredStudy, prolific: FakeProlific) -> None:
    eq.recruit_approve(stored.folder, yes=True)
    n_sent = len(prolific.sent("POST", ""))
    assert done("recruit", "approve", stored.folder, "--yes").startswith("0 of 0 submissions approved.")
    assert len(prolific.sent("POST", "")) == n_sent == 3


def test_below_five_minutes_one_failed_check_is_enough(stored: StoredStudy, prolific: FakeProlific) -> None:
    change_recruitment(stored, "minutes: 10", "minutes: 4")
    found = eq.recruit_reject(stored.folder)
    assert [review.submission.submission for review in found.reviews] == ["sub-carl", "sub-dora"]


@pytest.mark.parametrize("status", ["SCREENED OUT", "RETURNED", "TIMED-OUT", "ACTIVE", "APPROVED", "REJECTED"])
def test_other_submissions_are_never_rejected_or_approved(
    stored: StoredStudy, prolific: FakeProlific, status: str
) -> None:
    for name in PEOPLE:
        prolific.submissions[f"sub-{name}"]["status"] = status
    eq.recruit_reject(stored.folder, yes=True)
    eq.recruit_approve(stored.folder, yes=True)
    assert prolific.sent("POST", "") == []


def test_an_incomplete_or_unknown_participant_is_left_to_the_researcher(
    stored: StoredStudy, prolific: FakeProlific
) -> None:
    for name in ("emil", "fred", "gerd"):  # Incomplete here, withdrawn here, and not here.
        prolific.add_submission(f"sub-{name}", id_of(name))
    assert "4 other submissions awaiting review" in done("recruit", "approve", stored.folder, "--yes")
    assert {prolific.status(f"sub-{name}") for name in ("emil", "fred", "gerd")} == {"AWAITING REVIEW"}


def test_a_message_of_less_than_100_characters_is_refused(stored: StoredStudy, prolific: FakeProlific) -> None:
    message = refused("recruit", "reject", stored.folder, "--message", "x" * 99, "--yes")
    assert "99 characters" in message
    assert "Fix:" in message
    eq.recruit_reject(stored.folder, message="y" * 100, yes=True)
    (sent,) = prolific.sent("POST", "transition")
    assert sent.body["message"] == "y" * 100


@pytest.mark.parametrize("has_effect", [True, False])
@pytest.mark.parametrize("status", [None, 500, 502, 408])
def test_after_a_lost_reply_the_outcome_is_read_before_anything_is_sent_again(
    stored: StoredStudy, prolific: FakeProlific, status: int | None, has_effect: bool
) -> None:
    prolific.fail("POST", "sub-bert/transition", status, has_effect=has_effect)
    if has_effect:  # Prolific's list shows the approval at once.
        assert eq.recruit_approve(stored.folder, yes=True).n_sent == 3
    else:
        with pytest.raises(InputError, match=r"outcome is unknown. Fix: run the same command again"):
            eq.recruit_approve(stored.folder, yes=True)
        assert PaymentState.SENT in states(stored)
        eq.recruit_approve(stored.folder, yes=True)
    assert statuses(prolific)[:3] == ["APPROVED"] * 3
    assert states(stored) == [PaymentState.DONE] * 3
    assert len(prolific.sent("POST", "sub-bert/transition")) == (1 if has_effect else 2)


def test_a_lost_reply_whose_outcome_cannot_be_read_is_settled_by_the_next_run(
    stored: StoredStudy, prolific: FakeProlific
) -> None:
    prolific.fail("POST", "sub-bert/transition", None, has_effect=True)
    prolific.fail("GET", "/submissions/sub-bert", 500, times=4)
    with pytest.raises(InputError, match="status 500"):
        eq.recruit_approve(stored.folder, yes=True)
    assert eq.recruit_approve(stored.folder, yes=True).n_sent == 1  # Carl's.
    assert len(prolific.sent("POST", "sub-bert/transition")) == 1
    assert states(stored) == [PaymentState.DONE] * 3


def test_a_refused_submission_does_not_stop_the_others(stored: StoredStudy, prolific: FakeProlific) -> None:
    prolific.fail("POST", "sub-anna/transition", 400, detail="not possible")
    printed = done("recruit", "approve", stored.folder, "--yes")
    assert printed.startswith("2 of 3 submissions approved.")
    assert "Submission sub-anna: Prolific refused the request (status 400: not possible). Fix:" in printed
    assert done("recruit", "approve", stored.folder, "--yes").startswith("1 of 1 submission approved.")


def test_too_many_requests_are_repeated_later(stored: StoredStudy, prolific: FakeProlific) -> None:
    prolific.fail("POST", "sub-anna/transition", 429, times=2, headers={"Retry-After": "0"})
    prolific.fail("GET", "/studies/", 429, times=3, headers={"Retry-After": "0"})
    assert eq.recruit_approve(stored.folder, yes=True).n_sent == 3


def test_a_revoked_token_stops_the_command(stored: StoredStudy, prolific: FakeProlific) -> None:
    prolific.fail("POST", "transition", 401)
    with pytest.raises(InputError, match=r"status 401.*check PROLIFIC_TOKEN"):
        eq.recruit_approve(stored.folder, yes=True)
    assert len(prolific.sent("POST", "")) == 1


def test_two_commands_at_the_same_time_approve_each_submission_and_record_it_once(
    stored: StoredStudy, prolific: FakeProlific
) -> None:
    results: list[object] = []

    def approve() -> None:
        try:
            results.append(eq.recruit_approve(stored.folder, yes=True).n_sent)
        except InputError as error:
            results.append(error)

    threads = [threading.Thread(target=approve) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses(prolific)[:3] == ["APPROVED"] * 3, results
    assert len(results) == 2
    assert states(stored) == [PaymentState.DONE] * 3


def test_many_submissions_on_several_pages_are_read(stored: StoredStudy, prolific: FakeProlific) -> None:
    first = list(prolific.submissions.items())
    prolific.submissions.clear()
    for number in range(210):
        prolific.add_submission(f"other-{number}", id_of(f"p{number}"))
    prolific.submissions |= dict(first)
    found = eq.recruit_approve(stored.folder)
    assert (len(found.reviews), found.n_left) == (3, 211)


def test_an_unknown_status_is_refused(stored: StoredStudy, prolific: FakeProlific) -> None:
    prolific.submissions["sub-anna"]["status"] = "PONDERED"
    assert "status `PONDERED`" in refused("recruit", "approve", stored.folder, "--yes")


def test_another_researchers_study_in_a_forged_link_is_ignored(stored: StoredStudy, prolific: FakeProlific) -> None:
    prolific.studies.clear()
    prolific.add_study("b" * 24, internal_name="something else")
    message = refused("recruit", "approve", stored.folder)
    assert "your account at Prolific has no study `blackbox-predict 1.0`" in message
    assert not prolific.sent("GET", "submissions")


def test_a_study_made_on_prolifics_page_is_found_by_the_participants_links(
    stored: StoredStudy, prolific: FakeProlific
) -> None:
    next(iter(prolific.studies.values()))["internal_name"] = "made by clicking"
    assert eq.recruit_approve(stored.folder, yes=True).n_sent == 3


def test_a_forged_study_in_a_link_approves_no_submission_of_another_study(
    stored: StoredStudy, prolific: FakeProlific
) -> None:
    other = prolific.add_study("b" * 24, internal_name="another study")
    prolific.submissions.clear()
    prolific.add_submission("sub-elsewhere", id_of("anna"), study=other)
    take(stored, "jane", query={"STUDY_ID": other}, submission="sub-jane")
    prolific.add_submission("sub-jane", id_of("jane"))
    eq.recruit_approve(stored.folder, yes=True)
    assert prolific.status("sub-elsewhere") == "AWAITING REVIEW"
    assert prolific.status("sub-jane") == "APPROVED"


def test_a_decision_that_was_undone_on_prolifics_page_is_left_to_the_researcher(
    stored: StoredStudy, prolific: FakeProlific
) -> None:
    eq.recruit_reject(stored.folder, yes=True)
    prolific.submissions["sub-dora"]["status"] = "AWAITING REVIEW"
    printed = done("recruit", "reject", stored.folder, "--yes")
    assert printed.startswith(
        "0 of 0 submissions rejected.\n1 submission decided before: decide again on Prolific's page."
    )
    assert len(prolific.sent("POST", "transition")) == 1
