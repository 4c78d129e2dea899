"""The warning of `equipoise serve` about unfinished texts in the participants' pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import equipoise as eq
from equipoise.commands import server_process

MARKS = "unfinished texts: contact.md, line 3 (TODO); contact.md, line 23 (TODO). Fix: "


@pytest.fixture(autouse=True)
def never_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the server by a function that only reports that the server is ready."""

    def become_ready(_folder: Path, _settings: Any, on_ready: Callable[[], None]) -> None:
        on_ready()

    monkeypatch.setattr(server_process, "serve_until_stopped", become_ready)


@pytest.mark.parametrize(("options", "warns"), [({}, False), ({"proxies": 1}, True), ({"host": "0.0.0.0"}, True)])
def test_a_quiet_server_logs_the_warning_if_others_can_reach_it(
    study_folder: Path, caplog: pytest.LogCaptureFixture, options: dict[str, Any], warns: bool
) -> None:
    eq.serve(study_folder, quiet=True, **options)
    assert [MARKS in message for message in caplog.messages] == [True] * warns


def test_a_study_without_marks_gives_no_warning(study_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    contact = study_folder / "contact.md"
    contact.write_text(contact.read_text(encoding="utf-8").replace("TODO", "Anna Bauer"), encoding="utf-8")
    eq.serve(study_folder, quiet=True, proxies=1)
    assert caplog.messages == []
