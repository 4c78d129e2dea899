"""Commands in processes of their own that are killed (SIGKILL) in the middle: the next run never pays twice."""

from pathlib import Path

import pytest

from equipoise.cli.recruit import recruit
from server.store import PaymentState
from tests.equipoise.commands.recruit.fake_prolific import TOKEN, FakeProlific
from tests.equipoise.commands.recruit.panel_study import id_of
from tests.equipoise.commands.recruit.test_bonus import BOTH, ONCE, paid, pay, states, written
from tests.equipoise.commands.store.commands import StoredStudy, done
from tests.equipoise.commands_in_processes import StartedCommand


def kill_at(prolific: FakeProlific, method: str, path: str, has_effect: bool, *arguments: str | Path) -> None:
    """Start a command, and kill it while it waits for the reply to a request."""
    prolific.fail(method, path, None, has_effect=has_effect, waits=True)
    command = StartedCommand(*arguments)
    assert prolific.reached.wait(60)
    command.kill()
    prolific.go_on.set()


@pytest.mark.parametrize(
    ("path", "has_effect", "state", "is_paid"),
    [
        ("/studies/$", False, None, True),  # Before anything is recorded.
        ("bonus-payments/$", False, PaymentState.CLAIMED, True),
        ("bonus-payments/$", True, PaymentState.CLAIMED, True),
        ("/pay/$", True, PaymentState.SENT, True),
        ("/pay/$", False, PaymentState.SENT, False),
    ],
)
def test_a_killed_bonus_is_paid_at_most_once(
    stored: StoredStudy,
    prolific: FakeProlific,
    tmp_path: Path,
    path: str,
    has_effect: bool,
    state: PaymentState | None,
    is_paid: bool,
) -> None:
    bonuses = written(tmp_path, BOTH)
    method = "GET" if path == "/studies/$" else "POST"
    command = ("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    kill_at(prolific, method, path, has_effect, *command)
    assert states(stored) == ({state} if state else set())
    pay(stored, bonuses)
    pay(stored, bonuses)
    assert paid(prolific) == (ONCE if is_paid else [[], []])
    assert len(prolific.sent("POST", "/pay/")) == 1


@pytest.mark.parametrize("has_effect", [True, False])
def test_a_killed_approval_is_finished_by_the_next_run(
    stored: StoredStudy, prolific: FakeProlific, has_effect: bool
) -> None:
    kill_at(prolific, "POST", "sub-bert/transition", has_effect, "recruit", "approve", stored.folder, "--yes")
    assert PaymentState.SENT in states(stored)
    done("recruit", "approve", stored.folder, "--yes")
    assert [prolific.status(f"sub-{name}") for name in ("anna", "bert", "carl")] == ["APPROVED"] * 3
    assert states(stored) == {PaymentState.DONE}
    assert len(prolific.sent("POST", "sub-anna/transition")) == 1
    assert len(prolific.sent("POST", "sub-bert/transition")) == (1 if has_effect else 2)


def test_the_token_is_in_no_output_and_in_no_file(stored: StoredStudy, prolific: FakeProlific, tmp_path: Path) -> None:
    bonuses = written(tmp_path, BOTH)
    prolific.fail("POST", "/pay/$", 403, waits=True, detail=f"the token {TOKEN} has no right")
    command = StartedCommand("recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes")
    assert prolific.reached.wait(60)
    prolific.go_on.set()
    ended = command.finished()
    assert ended.returncode == 2
    assert "the token (the token) has no right" in ended.stderr
    assert TOKEN not in ended.stdout + ended.stderr
    found = [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert found == []


def test_no_command_has_an_option_for_the_token() -> None:
    """Options are visible in the list of processes."""
    names = {str(parameter.name) for command in recruit.commands.values() for parameter in command.params}
    assert not [name for name in names if "token" in name or "key" in name]


def test_a_killed_command_leaves_other_participants_to_be_paid(
    stored: StoredStudy, prolific: FakeProlific, tmp_path: Path
) -> None:
    bonuses = written(tmp_path, BOTH)
    kill_at(
        prolific, "POST", "/pay/$", False, "recruit", "bonus", stored.folder, bonuses, "--label", "accuracy", "--yes"
    )
    printed = pay(stored, written(tmp_path, [*BOTH, ("carl", "2")]))
    assert "1 bonus of 2.00 GBP in total paid." in printed
    assert prolific.bonuses("sub-carl") == [200.0]
    assert id_of("anna") in printed
