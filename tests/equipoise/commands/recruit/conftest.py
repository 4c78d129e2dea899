"""A panel's study with participants, and a fake server of Prolific."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.recruitment import prolific_api
from tests.equipoise.commands.recruit.fake_prolific import TOKEN, FakeProlific, served
from tests.equipoise.commands.recruit.panel_study import PROLIFIC_STUDY, id_of, make_panel_study, take
from tests.equipoise.commands.store.commands import StoredStudy, copied

PEOPLE = ("anna", "bert", "carl", "dora")


@pytest.fixture(scope="session")
def panel_template(tmp_path_factory: pytest.TempPathFactory) -> StoredStudy:
    stored = make_panel_study(tmp_path_factory.mktemp("template") / "study")
    for name, n_failed in (("anna", 0), ("bert", 0), ("carl", 1), ("dora", 2)):
        take(stored, name, n_failed=n_failed)
    take(stored, "emil", n_answers=3)
    take(stored, "fred", n_answers=2, then="withdraw")
    return stored


@pytest.fixture
def stored(panel_template: StoredStudy, tmp_path: Path) -> StoredStudy:
    """A copy of a study. Anna and Bert are complete, Carl failed one check, Dora two, Emil left, Fred withdrew."""
    return copied(panel_template, tmp_path / "study")


@pytest.fixture
def untaken(tmp_path: Path) -> StoredStudy:
    """A study without participants."""
    return make_panel_study(tmp_path / "study")


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProlific]:
    """A fake Prolific with a study and the submissions of Anna, Bert, Carl and Dora; its token is set."""
    with served() as fake:
        fake.add_study(PROLIFIC_STUDY, internal_name="blackbox-predict 1.0")
        for name, code in zip(PEOPLE, ("DONE1", "DONE1", "FAIL1", "FAIL1"), strict=True):
            fake.add_submission(f"sub-{name}", id_of(name), code=code)
        monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
        monkeypatch.setenv("PROLIFIC_URL", fake.address)
        monkeypatch.setattr(prolific_api, "PAUSES_S", (0.0, 0.0, 0.0))
        yield fake


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    monkeypatch.delenv("PROLIFIC_URL", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
