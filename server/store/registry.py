"""What was asked: studies with their definitions and texts, and the items of their batteries."""

import json
from typing import Any

from batteries.errors import InputError
from batteries.items import Item
from experiment.records import Kind
from experiment.study import Study, StudyDefinition
from server.store import assignment
from server.store.checksums import link
from server.store.database import Database
from server.store.log import lock_log
from server.store.times import now
from server.store.values import GroupProgress, RegisteredDefinition


def as_json(value: Any) -> str:
    """Return a value as the store writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def register(db: Database, study: Study) -> None:
    """Record a study, unless people have begun sessions of a study of this version with another content."""
    answered = db.execute(
        "SELECT 1 FROM studies JOIN sessions USING (study_digest) JOIN participants USING (participant) "
        "WHERE study = ? AND version = ? AND study_digest <> ? AND kind = 'human' LIMIT 1",
        (study.name, study.definition.version, study.digest),
    ).fetchone()
    if answered:
        raise InputError(
            f"{study.folder / 'study.yaml'}: people have begun sessions of version {study.definition.version} of this "
            "study, and its definition, battery or texts have changed since; give it a new `version`."
        )
    if db.execute("SELECT 1 FROM logs WHERE study_digest = ?", (study.digest,)).fetchone():
        return
    db.execute(
        "INSERT INTO studies (study_digest, study, version, battery_digest, definition, texts, registered_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            study.digest,
            study.name,
            study.definition.version,
            study.battery.digest,
            study.definition.model_dump_json(),
            as_json(dict(study.texts)),
            now(),
        ),
    )
    db.executemany(
        "INSERT INTO items (battery_digest, item_id, task, factors, content, key) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (study.battery.digest, item.item_id, item.task, *map(as_json, (item.factors, item.content, item.key)))
            for item in study.battery.items
        ],
    )
    assignment.add_groups(db, study.digest, study.definition.design.groups)
    # Last: whoever finds it finds all the rest.
    is_first = db.execute(
        "INSERT INTO logs (study_digest, n_events, checksum) VALUES (?, 0, '') ON CONFLICT DO NOTHING", (study.digest,)
    )
    if is_first.rowcount:
        lock_log(db, study.digest).write("registered", content=content_checksum(db, study.digest))


def content_checksum(db: Database, study_digest: str) -> str:
    """Return a checksum of what was registered of a study: its definition, its texts and its battery's items."""
    study = db.execute(
        "SELECT study, version, battery_digest, definition, texts FROM studies WHERE study_digest = ?", (study_digest,)
    ).fetchone()
    if study is None:
        return ""
    items = db.execute(
        "SELECT item_id, task, factors, content, key FROM items WHERE battery_digest = ?", (study[2],)
    ).fetchall()
    return link("", [*study, *sorted(map(list, items))])


def items_of(db: Database, battery_digest: str) -> dict[str, Item]:
    """Return a battery's items by id."""
    rows = db.execute(
        "SELECT item_id, task, factors, content, key FROM items WHERE battery_digest = ?", (battery_digest,)
    )
    return {
        item_id: Item(
            item_id=item_id, task=task, factors=json.loads(factors), content=json.loads(content), key=json.loads(key)
        )
        for item_id, task, factors, content, key in rows
    }


def definition_and_texts(db: Database, study_digest: str) -> tuple[StudyDefinition, dict[str, str]]:
    """Return a study's definition and texts as they were registered."""
    definition, texts = db.execute(
        "SELECT definition, texts FROM studies WHERE study_digest = ?", (study_digest,)
    ).fetchone()
    return StudyDefinition.model_validate_json(definition), json.loads(texts)


def registered_definitions(db: Database, study: str) -> list[RegisteredDefinition]:
    """See `Store.registered_definitions`."""
    rows = db.execute(
        """
        SELECT registered_at, definition, COUNT(*)
          FROM studies JOIN sessions USING (study_digest) JOIN participants USING (participant)
         WHERE kind <> 'model' AND study = ?
         GROUP BY study_digest, registered_at, definition ORDER BY registered_at
        """,
        (study,),
    )
    return [RegisteredDefinition(at, StudyDefinition.model_validate_json(text), n) for at, text, n in rows]


def progress(db: Database, study_digest: str) -> list[GroupProgress]:
    """See `Store.progress`."""
    rows = db.execute(
        """
        SELECT kind, sessions."group",
               COUNT(CASE WHEN status = 'active' AND place = 'reserved' THEN 1 END),
               COUNT(CASE WHEN status = 'completed' AND place = 'confirmed' THEN 1 END),
               COUNT(CASE WHEN status = 'active' AND place = 'released' THEN 1 END),
               COUNT(CASE WHEN status = 'completed' AND place = 'released' THEN 1 END),
               COUNT(CASE WHEN status = 'withdrawn' THEN 1 END)
          FROM sessions JOIN participants USING (participant)
         WHERE kind <> 'model' AND study_digest = ? GROUP BY kind, sessions."group"
        """,
        (study_digest,),
    )
    counted = {(kind, group): tuple(counts) for kind, group, *counts in rows}
    found = []
    for kind in (Kind.HUMAN, Kind.SIMULATED):
        for places in assignment.read_places(db, study_digest, kind):
            under_way, completed, lapsed, replaced, withdrawn = counted.get((kind, places.group), (0, 0, 0, 0, 0))
            found.append(
                GroupProgress(
                    kind, places.group, under_way, completed, lapsed, replaced, withdrawn, is_open=places.is_open
                )
            )
    return found
