"""The replies of a model on disk."""

import sqlite3
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.models.runs.kept_replies import FILE, KeptCondition, KeptReply, kept_replies

REPLY = KeptReply("condition", "one", 1, "a-1", "2\nbecause", "", "m-1", "stop", 5, 6, 0.5, "2026-01-01T00:00:00+00:00")


def test_a_kept_reply_is_found_again(tmp_path: Path) -> None:
    with kept_replies(tmp_path) as replies:
        replies.add(REPLY)
        replies.add(replace(REPLY, epoch=2, latency_s=None))
    with kept_replies(tmp_path) as replies:
        assert replies.find("condition", "one", 1) == REPLY
        assert replies.find("condition", "two", 1) is None
        assert replies.asked("condition", epochs=1) == {("one", 1): (5, 6)}
        assert replies.asked("other", epochs=1) == {}


def test_kept_replies_are_counted_by_condition_and_epoch(tmp_path: Path) -> None:
    with kept_replies(tmp_path) as replies:
        replies.describe([KeptCondition("condition", "m, baseline", "m", 0.7, "digest", 9)] * 2)
        for item_id, epoch in [("one", 1), ("two", 1), ("one", 2)]:
            replies.add(replace(REPLY, item_id=item_id, epoch=epoch))
        replies.add(replace(REPLY, condition="not described"))
        found = replies.runs()
    assert [(kept.run, kept.epoch, kept.n_replies, kept.n_items, kept.tokens_in) for kept in found] == [
        ("m, baseline", 1, 2, 9, 10), ("m, baseline", 2, 1, 9, 5), (None, 1, 1, None, 5),
    ]  # fmt: skip


def test_replies_are_kept_together_or_not_at_all(tmp_path: Path) -> None:
    impossible = replace(REPLY, epoch=3, reply=None)  # type: ignore[arg-type]
    with kept_replies(tmp_path) as replies:
        with pytest.raises(sqlite3.IntegrityError):
            replies.add(replace(REPLY, epoch=2), impossible)
        assert replies.asked("condition", epochs=3) == {}
        replies.add(REPLY, replace(REPLY, epoch=2))
        replies.add(replace(REPLY, tokens_in=7))
        assert replies.asked("condition", epochs=3) == {("one", 1): (5, 6), ("one", 2): (5, 6)}


def test_a_second_process_cannot_ask_the_same_model(tmp_path: Path) -> None:
    with (
        kept_replies(tmp_path),
        pytest.raises(InputError, match=r"another command asks this model now. Fix: wait"),
        kept_replies(tmp_path),
    ):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_the_owner_can_read_the_replies(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "model-runs" / "model"
    with kept_replies(folder) as replies:
        replies.add(REPLY)
    assert {oct(path.stat().st_mode & 0o077) for path in (folder, folder.parent, folder / FILE)} == {"0o0"}


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("these are not replies, " * 100, encoding="utf-8")
    with pytest.raises(InputError, match="not a file of replies"), kept_replies(tmp_path):
        pass
