"""Panel ids: one person takes part once, and the ids are in a separate table that can be emptied."""

import dataclasses
from contextlib import closing
from functools import partial

import pytest

from experiment.records import Status
from experiment.study.definition import Study
from server.store import (
    Identity,
    NotYourSession,
    Store,
)
from tests.server.store.contract.helpers import events, panel
from tests.server.stores import (
    Person,
    another,
    at_once,
    problems,
    response,
    rows,
    version_of,
)

# Panel ids and personal links.


def test_one_person_takes_part_once(store: Store, small_study: Study) -> None:
    anna = Person(store, small_study, identity=panel("anna"))
    anna.answer()
    again = Person(store, small_study, identity=panel("anna", STUDY_ID="other"))
    assert again.session == anna.session
    assert again.stored.n_answered == 1
    with pytest.raises(NotYourSession):
        anna.answer()
    again.send(response(1), response(2))
    store.complete_session(small_study, again.session, passed_checks=True)
    once_more = Person(store, small_study, identity=panel("anna"))
    assert once_more.stored.session.status is Status.COMPLETED
    assert once_more.stored.plan.withdrawal_code == anna.stored.plan.withdrawal_code
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(1,)]
    assert problems(store) == []


def test_one_person_takes_part_once_across_versions_of_a_study(store: Store, small_study: Study) -> None:
    later = version_of(small_study, "1.1")
    anna = Person(store, small_study, identity=panel("anna"))
    store.register_study(later)
    again = Person(store, later, identity=panel("anna"))
    assert again.session == anna.session
    assert again.stored.plan.definition.version == "1.0"
    assert events(store, later) == ["registered"]
    assert problems(store) == []


def test_one_person_takes_part_once_even_if_two_versions_are_begun_at_once(store: Store, small_study: Study) -> None:
    later = version_of(small_study, "1.1")
    store.register_study(later)
    with closing(another(store)) as other:
        for number in range(8):
            identity = panel(f"person-{number}")
            at_once(*(partial(Person, *where, identity=identity) for where in ((store, small_study), (other, later))))
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(8,)]
    assert problems(store) == []


def test_the_same_id_of_another_kind_is_another_participant(store: Store, small_study: Study) -> None:
    definition = small_study.definition.model_copy(update={"study": "another-study"})
    other_study = dataclasses.replace(small_study, definition=definition)
    store.register_study(other_study)
    people = [
        Person(store, small_study, identity=panel("anna")),
        Person(store, small_study, identity=Identity("link", "anna")),
        Person(store, other_study, identity=panel("anna")),
    ]
    assert len({person.session for person in people}) == 3
    for source, person in zip(("panel", "link"), people[:2], strict=True):
        assert [found.session for found in store.sessions_of(small_study, source, "anna")] == [person.session]


def test_a_panels_participant_is_found_by_the_id(store: Store, small_study: Study) -> None:
    anna = Person(store, small_study, identity=panel("anna", STUDY_ID="s1", SESSION_ID="x")).complete()
    berta = Person(store, small_study, identity=panel("berta"))
    (found,) = store.sessions_of(small_study, "panel", "anna")
    assert (found.session, found.status, found.slot) == (anna.session, "completed", "confirmed")
    assert found == store.session_named(small_study, anna.session)
    assert store.sessions_of(small_study, "panel", "nobody") == []
    assert store.session_named(small_study, "nobody") is None
    first, second = store.identities(small_study)
    assert first | {"created_at": ""} == {
        "id_kind": "panel",
        "external_id": "anna",
        "participant": anna.stored.session.participant.participant,
        "session": anna.session,
        "status": "completed",
        "withdrawal_code": anna.stored.plan.withdrawal_code,
        "created_at": "",
        "STUDY_ID": "s1",
        "SESSION_ID": "x",
    }
    assert (second["external_id"], second["session"]) == ("berta", berta.session)


def test_no_kept_parameter_hides_the_owner_of_an_id(store: Store, small_study: Study) -> None:
    anna = Person(store, small_study, identity=panel("anna", session="x", participant="y", status="z"))
    (found,) = store.identities(small_study)
    assert found["session"] == anna.session
    assert found["participant"] == anna.stored.session.participant.participant
    assert found["status"] == "active"


def test_panel_ids_are_only_in_the_identities_table(store: Store, small_study: Study) -> None:
    Person(store, small_study, identity=panel("anna-of-the-panel", SESSION_ID="kept-beside-it")).complete()
    secret = ("anna-of-the-panel", "kept-beside-it")
    for table in ("trials", "sessions", "participants", "events", "responses"):
        text = str(rows(store, f'SELECT * FROM "{table}"'))
        assert not any(word in text for word in secret), table


def test_panel_ids_can_be_deleted_without_changing_a_response(store: Store, small_study: Study) -> None:
    people = {name: Person(store, small_study, identity=panel(name)).complete() for name in ("anna", "berta", "carl")}
    other_study = dataclasses.replace(
        small_study, definition=small_study.definition.model_copy(update={"study": "another-study"})
    )
    store.register_study(other_study)
    Person(store, other_study, identity=panel("anna"))
    before = store.trials()
    participant = people["berta"].stored.session.participant.participant
    assert store.delete_identities(small_study, participant) == 1
    assert store.delete_identities(small_study, participant) == 0
    assert [person["external_id"] for person in store.identities(small_study)] == ["anna", "carl"]
    assert store.delete_identities(small_study) == 2
    assert store.identities(small_study) == []
    assert len(store.identities(other_study)) == 1
    assert store.trials() == before
    assert problems(store) == []
    assert Person(store, small_study, identity=panel("anna")).session != people["anna"].session
