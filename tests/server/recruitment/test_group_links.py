"""One link per group: a signed group in the link assigns the participant, and nobody can choose another group."""

from collections.abc import Callable

import pytest
from flask import Flask

from experiment.study.definition import Study
from server.app import create_app
from server.participants.group_links import group_of, group_token
from server.recruitment.prolific_study import GROUP_PARAMETER
from server.settings import Settings
from server.store import SqliteStore
from tests.server.conftest import SECRETS
from tests.server.participants.visitors import Visitor, from_panel, pid
from tests.server.stores import problems, recruiting, rows, version_of

AppOf = Callable[..., Flask]
KEY = SECRETS.signing_key


@pytest.fixture
def app_of(small_study: Study, store: SqliteStore) -> AppOf:
    return lambda **recruitment: create_app(recruiting(small_study, **recruitment), store, SECRETS, Settings())


def come(app: Flask, name: str, token: str) -> Visitor:
    return Visitor(app, from_panel(pid(name), **{GROUP_PARAMETER: token}))


def groups(store: SqliteStore) -> list[int]:
    return [group for (group,) in rows(store, 'SELECT "group" FROM sessions ORDER BY started_at')]


def test_the_link_of_a_group_assigns_its_participants(app_of: AppOf, small_study: Study, store: SqliteStore) -> None:
    app = app_of(entry="panel")
    for name in ("anna", "bert"):
        assert come(app, name, group_token(small_study, KEY, 3)).start().status_code == 201
    assert groups(store) == [3, 3]
    assert Visitor(app, from_panel(pid("carl"))).start().status_code == 201
    assert groups(store) == [3, 3, 1]
    assert problems(store) == []


@pytest.mark.parametrize("token", ["", "3", "3.", "3.forged", "4.forged"])
def test_a_group_without_a_valid_signature_is_ignored(app_of: AppOf, store: SqliteStore, token: str) -> None:
    assert come(app_of(entry="panel"), "anna", token).start().status_code == 201
    assert groups(store) == [1]


def test_a_token_is_valid_for_its_study_group_and_key_only(small_study: Study) -> None:
    token = group_token(small_study, KEY, 2)
    assert group_of(small_study, KEY, token) == 2
    assert group_of(version_of(small_study, "2"), KEY, token) == 2
    assert group_of(small_study, "another-key", token) is None
    assert group_of(small_study, KEY, token.replace("2.", "3.", 1)) is None
    assert group_of(small_study, KEY, group_token(small_study, KEY, 4)) is None  # The study has three groups.


def test_a_participant_for_a_full_group_reads_that_the_study_is_full(
    app_of: AppOf, small_study: Study, store: SqliteStore
) -> None:
    app = app_of(entry="panel", quota_per_group=1)
    token = group_token(small_study, KEY, 2)
    assert come(app, "anna", token).start().status_code == 201
    late = come(app, "bert", token).start()
    assert late.status_code == 409
    assert late.get_json()["error"] == small_study.words.say("study_full")
    assert groups(store) == [2]


def test_a_participant_of_a_group_can_resume(app_of: AppOf, small_study: Study, store: SqliteStore) -> None:
    app = app_of(entry="panel", quota_per_group=1)
    address = {GROUP_PARAMETER: group_token(small_study, KEY, 2), "SESSION_ID": "sub-anna"}
    first = Visitor(app, from_panel(pid("anna"), **address))
    first.start()
    again = Visitor(app, from_panel(pid("anna"), **address))
    assert again.start().status_code in {200, 201}
    assert again.session["session"] == first.session["session"]
