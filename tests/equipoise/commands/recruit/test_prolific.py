"""`equipoise recruit prolific`: the draft as a file and at Prolific, publishing, pausing and adding places."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.equipoise.commands.recruit.fake_prolific import FakeProlific
from tests.equipoise.commands.recruit.panel_study import change_recruitment, take
from tests.equipoise.commands.store.commands import StoredStudy, done, refused
from tests.server.stores import rows


@pytest.fixture
def empty(prolific: FakeProlific) -> FakeProlific:
    """A fake Prolific without studies."""
    prolific.studies.clear()
    prolific.submissions.clear()
    return prolific


def test_without_a_token_the_draft_is_a_file_only(untaken: StoredStudy) -> None:
    printed = done("recruit", "prolific", untaken.folder, "--draft")
    assert "60 places of 1.52 GBP, 91.20 GBP in total, plus Prolific's fee." in printed
    assert "set PROLIFIC_TOKEN" in printed
    found = json.loads((untaken.folder / "prolific.json").read_text(encoding="utf-8"))
    assert (found["reward"], found["maximum_allowed_time"]) == (152, 29)


def test_with_a_token_the_draft_is_made_at_prolific_and_made_once(untaken: StoredStudy, empty: FakeProlific) -> None:
    printed = done("recruit", "prolific", untaken.folder, "--draft", "-o", untaken.folder / "draft.json")
    (study,) = empty.studies.values()
    assert f"Made the draft {study['id']} at Prolific" in printed
    sent = json.loads((untaken.folder / "draft.json").read_text(encoding="utf-8"))
    assert sent.items() <= study.items()
    change_recruitment(untaken, "quota: 60", "quota: 70")
    assert f"Changed the draft {study['id']}" in done("recruit", "prolific", untaken.folder, "--draft")
    assert [one["total_available_places"] for one in empty.studies.values()] == [70]


@pytest.mark.parametrize("status", [None, 500])
def test_a_draft_whose_reply_was_lost_is_not_made_again(
    untaken: StoredStudy, empty: FakeProlific, status: int | None
) -> None:
    empty.fail("POST", "/studies/$", status, has_effect=True)
    assert "outcome is unknown. Fix: run the same command again" in refused(
        "recruit", "prolific", untaken.folder, "--draft"
    )
    assert "Changed the draft" in done("recruit", "prolific", untaken.folder, "--draft")
    assert len(empty.studies) == 1


def test_a_published_study_gets_no_second_draft(untaken: StoredStudy, prolific: FakeProlific) -> None:
    message = refused("recruit", "prolific", untaken.folder, "--draft")
    assert "is published at Prolific" in message
    assert "Fix: add places with --places" in message
    assert not prolific.sent("POST", "/studies/$")


def test_a_study_with_an_unfinished_text_is_not_published(untaken: StoredStudy, empty: FakeProlific) -> None:
    contact = untaken.folder / "contact.md"
    before = contact.read_text(encoding="utf-8")
    contact.write_text(f"{before}\nTODO: write your name here.\n", encoding="utf-8")
    place = f"contact.md, line {len(before.splitlines()) + 2}"
    try:
        drafted = done("recruit", "prolific", untaken.folder, "--draft")
        assert f"WARNING: {place}: `TODO` is unfinished." in drafted
        message = refused("recruit", "prolific", untaken.folder, "--publish")
        assert f"unfinished texts: {place} (TODO). Fix: " in message
        assert not empty.sent("POST", "transition")
    finally:
        contact.write_text(before, encoding="utf-8")


def test_a_draft_is_published_paused_and_continued(untaken: StoredStudy, empty: FakeProlific) -> None:
    done("recruit", "prolific", untaken.folder, "--draft")
    (study,) = empty.studies.values()
    for option, status, words in [
        ("--pause", "UNPUBLISHED", "Nothing was changed"),
        ("--publish", "ACTIVE", "is published"),
        ("--publish", "ACTIVE", "Nothing was changed"),
        ("--pause", "PAUSED", "is paused"),
        ("--pause", "PAUSED", "Nothing was changed"),
        ("--publish", "ACTIVE", "continues"),
    ]:
        assert words in done("recruit", "prolific", untaken.folder, option)
        assert study["status"] == status
    assert [one.body["action"] for one in empty.sent("POST", "transition")] == ["PUBLISH", "PAUSE", "START"]


def test_places_are_added_once_even_if_the_reply_was_lost(untaken: StoredStudy, prolific: FakeProlific) -> None:
    (study,) = prolific.studies.values()
    prolific.fail("PATCH", "/studies/", None, has_effect=True)
    assert "outcome is unknown" in refused("recruit", "prolific", untaken.folder, "--places", 14)
    assert "Nothing was changed" in done("recruit", "prolific", untaken.folder, "--places", 14)
    assert "16 places, 2 more than before" in done("recruit", "prolific", untaken.folder, "--places", 16)
    assert study["total_available_places"] == 16
    assert "has 16 places already. Fix:" in refused("recruit", "prolific", untaken.folder, "--places", 15)


def test_places_of_a_study_with_one_link_per_group_are_not_changed(
    untaken: StoredStudy, prolific: FakeProlific
) -> None:
    next(iter(prolific.studies.values()))["access_details"] = [{"external_url": "https://x", "total_allocation": 5}]
    assert "one link per group" in refused("recruit", "prolific", untaken.folder, "--places", 14)
    assert not prolific.sent("PATCH", "")


def test_one_action_is_needed(untaken: StoredStudy) -> None:
    for options in ([], ["--draft", "--publish"], ["--pause", "--places", 3]):
        assert "Fix: give one of --draft" in refused("recruit", "prolific", untaken.folder, *options)
    assert "belong to --draft" in refused("recruit", "prolific", untaken.folder, "--pause", "--link-per-group")
    assert "no token of Prolific. Fix:" in refused("recruit", "prolific", untaken.folder, "--pause")


def test_a_study_that_prolific_does_not_have_is_refused(untaken: StoredStudy, empty: FakeProlific) -> None:
    assert "0 studies with the internal name" in refused("recruit", "prolific", untaken.folder, "--publish")
    for number in (1, 2):
        empty.add_study(f"{number:024x}", "UNPUBLISHED", internal_name="blackbox-predict 1.0")
    assert "Fix: delete all but one" in refused("recruit", "prolific", untaken.folder, "--publish")


def test_with_one_link_per_group_each_link_leads_to_its_group(untaken: StoredStudy) -> None:
    done("recruit", "prolific", untaken.folder, "--draft", "--link-per-group")
    request = json.loads((untaken.folder / "prolific.json").read_text(encoding="utf-8"))
    links = [one["external_url"] for one in request["access_details"]]
    assert [one["total_allocation"] for one in request["access_details"]] == [30, 30]
    for number, link in enumerate(links, start=1):
        token = parse_qs(urlsplit(link).query)["group"][0]
        for name in (f"first-of-{number}", f"second-of-{number}"):
            take(untaken, name, query={"group": token}, n_answers=0)
    with untaken.opened() as store:
        found = dict(rows(store, 'SELECT session, "group" FROM sessions'))
    assert [found[session] for session in untaken.sessions.values()] == [1, 1, 2, 2]
