"""Studies with their definitions and texts, and the items of their batteries."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from batteries.errors import InputError
from batteries.items import Item
from experiment.records import Kind
from experiment.study.definition import Study, StudyDefinition, content_digest
from experiment.study.revision import Changes, Content, changes, listed
from server.store.checksums import link
from server.store.database import Database, now
from server.store.errors import StoreUnavailable
from server.store.models import GroupProgress, RegisteredDefinition, Revision
from server.store.sql import assignment
from server.store.sql.assignment_log import lock_log
from server.store.tables import TABLES


def as_json(value: Any) -> str:
    """Return a value in its stored form."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


CONTENTS = """(
    SELECT study_digest, 1 AS revision, content_digest, battery_digest, definition, texts, registered_at FROM studies
    UNION ALL
    SELECT study_digest, revision, content_digest, battery_digest, definition, texts, registered_at FROM revisions
) AS contents"""
"""Query of every content with which a version of a study was served: the first content, and its revisions."""

CONTENT_OF_SESSION = f"""{CONTENTS}
    ON contents.study_digest = sessions.study_digest AND contents.revision = COALESCE(sessions.revision, 1)"""
"""Part of a query: the content with which a session began. A session without a revision began with the first content.
"""


@dataclass(frozen=True)
class Registered:
    """The digests and the revision that identify a study's content in the store (its registration)."""

    study_digest: str
    """The digest of the first content of this version. Groups, log and sessions keep this digest after a revision."""
    revision: int
    """Number of the revision; 1 for the first registered content."""
    content_digest: str
    battery_digest: str


def find(db: Database, wanted: str) -> Registered | None:
    """Return the registration whose content digest is `wanted`, or None if the store has no such content."""
    # An earlier Equipoise registered a content again for each analysis plan, so a registration with people's sessions
    # is preferred. Then the latest is chosen, because a version without sessions can be registered several times.
    row = db.execute(
        f"""
        SELECT study_digest, revision, content_digest, battery_digest FROM {CONTENTS} WHERE content_digest = ?
         ORDER BY EXISTS (SELECT 1 FROM sessions JOIN participants USING (participant)
                           WHERE sessions.study_digest = contents.study_digest AND kind = 'human') DESC,
                  registered_at DESC, revision DESC
         LIMIT 1
        """,
        (wanted,),
    ).fetchone()
    return Registered(*row) if row else None


def served(db: Database, study: Study) -> Registered:
    """Return the registration of the study that the server serves. Raise an error if it is missing."""
    found = find(db, study.digest)
    if found is None:
        raise StoreUnavailable("the served study is not registered in this store")
    return found


def begun_with(db: Database, session: str) -> Registered:
    """Return the registration of the content that a session began with."""
    row = db.execute(
        "SELECT contents.study_digest, contents.revision, contents.content_digest, contents.battery_digest "
        f"FROM sessions JOIN {CONTENT_OF_SESSION} WHERE session = ?",
        (session,),
    ).fetchone()
    return Registered(*row)


def nearest(db: Database, study: Study) -> Registered | None:
    """Return the registration of a study, or None if the version of the study was never registered.

    If the study's files have changed, return a registration of the same version. This function is for commands that
    read the store, and for the researcher's decisions about existing sessions.
    """
    found = find(db, study.digest)
    if found is None:
        study_digest = _begun(db, study) or _registered_last(db, study)
        found = _latest(db, study_digest) if study_digest else None
    return found


def logs_of(db: Database, study: Study | None) -> list[str]:
    """Return a list with the study digest under which the study has its log.

    If `study` is None, return the digests of all logs.

    If this version of the study has no log, return the digest of the version that was registered last.
    """
    if study is None:
        return [study_digest for (study_digest,) in db.execute("SELECT study_digest FROM logs").fetchall()]
    found = nearest(db, study)
    if found is not None:
        return [found.study_digest]
    rows = db.execute(
        "SELECT study_digest FROM studies WHERE study = ? ORDER BY registered_at DESC LIMIT 1", (study.name,)
    )
    return [study_digest for (study_digest,) in rows.fetchall()]


def _begun(db: Database, study: Study, besides: str = "") -> str | None:
    """Return a study digest of this version, other than `besides`, with sessions of people; None if there is none."""
    row = db.execute(
        "SELECT study_digest FROM studies JOIN sessions USING (study_digest) JOIN participants USING (participant) "
        "WHERE study = ? AND version = ? AND study_digest <> ? AND kind = 'human' LIMIT 1",
        (study.name, study.definition.version, besides),
    ).fetchone()
    return row[0] if row else None


def _registered_last(db: Database, study: Study) -> str | None:
    row = db.execute(
        "SELECT study_digest FROM studies WHERE study = ? AND version = ? ORDER BY registered_at DESC LIMIT 1",
        (study.name, study.definition.version),
    ).fetchone()
    return row[0] if row else None


def _latest(db: Database, study_digest: str) -> Registered:
    row = db.execute(
        f"SELECT study_digest, revision, content_digest, battery_digest FROM {CONTENTS} "
        "WHERE study_digest = ? ORDER BY revision DESC LIMIT 1",
        (study_digest,),
    ).fetchone()
    return Registered(*row)


def _before(db: Database, latest: Registered) -> list[Registered]:
    """Return the registrations of the contents of this version that are earlier than `latest`."""
    rows = db.execute(
        f"SELECT study_digest, revision, content_digest, battery_digest FROM {CONTENTS} "
        "WHERE study_digest = ? AND revision < ? ORDER BY revision",
        (latest.study_digest, latest.revision),
    ).fetchall()
    return [Registered(*row) for row in rows]


def register(db: Database, study: Study) -> None:
    """Save a study. Raise InputError if this version has sessions of people that began with different content."""
    known = find(db, study.digest)
    begun = _begun(db, study, besides=known.study_digest if known else "")
    if begun is not None:
        raise InputError(_why_refused(study, _changes_since(db, _latest(db, begun), study)))
    if known is not None:
        return
    db.execute(
        "INSERT INTO studies (study_digest, study, version, battery_digest, definition, texts, registered_at, "
        "content_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            study.digest,
            study.name,
            study.definition.version,
            study.battery.digest,
            study.definition.model_dump_json(),
            as_json(dict(study.texts)),
            now(),
            study.digest,
        ),
    )
    _insert_items(db, study)
    assignment.add_groups(db, study.digest, study.definition.n_groups)
    # The log comes last: a reader who finds the log finds everything else too.
    is_first = db.execute(
        "INSERT INTO logs (study_digest, n_events, checksum) VALUES (?, 0, '') ON CONFLICT DO NOTHING", (study.digest,)
    )
    if is_first.rowcount:
        lock_log(db, study.digest).write("registered", content=content_checksum(db, study.digest))


def add_content_digests(db: Database) -> None:
    """Store the content digest of each study that an earlier Equipoise saved without one.

    With the content digest, the server recognizes a study that has sessions. A study with an unreadable definition
    gets no content digest.
    """
    for study_digest, stored, today in _content_digests(db):
        if stored is None and today is not None:
            db.execute("UPDATE studies SET content_digest = ? WHERE study_digest = ?", (today, study_digest))


def studies_not_found(db: Database) -> list[str]:
    """Return the digests of studies whose stored content digest was changed. The server does not recognize them."""
    return [study for study, stored, today in _content_digests(db) if stored not in {None, study, today}]


def _content_digests(db: Database) -> list[tuple[str, str | None, str | None]]:
    """Return the digest, the stored content digest and the computed content digest of each study.

    The computed content digest is None if the definition is unreadable.
    """
    found = []
    for study_digest, stored, battery_digest, definition, texts in db.execute(
        "SELECT study_digest, content_digest, battery_digest, definition, texts FROM studies"
    ).fetchall():
        today = None
        with suppress(ValueError, InputError):
            today = content_digest(StudyDefinition.model_validate_json(definition), battery_digest, json.loads(texts))
        found.append((study_digest, stored, today))
    return found


def _insert_items(db: Database, study: Study) -> None:
    db.insert(
        "items",
        TABLES["items"],
        [
            (study.battery.digest, item.item_id, item.task, *map(as_json, (item.factors, item.content, item.key)))
            for item in study.battery.items
        ],
        skip_known=True,
    )


def revise(db: Database, study: Study, reason: str) -> Revision:
    """See `Store.revise_study`."""
    path, version = study.folder / "study.yaml", study.definition.version
    begun = _begun(db, study)
    if begun is None:
        raise InputError(
            f"{path}: version {version} has no sessions, so `equipoise revise` is not needed. Fix: start the server, "
            "which uses the current files of the study."
        )
    log = lock_log(db, begun)
    known = find(db, study.digest)
    if known is not None and known.study_digest == begun:
        raise InputError(
            f"{path}: this content is already revision {known.revision} of version {version}, so "
            "no change needs to be accepted. Fix: start the server."
        )
    latest = _latest(db, begun)
    found = _changes_since(db, latest, study)
    if found.substance or not found.wording:
        raise InputError(_why_refused(study, found))
    for earlier in _before(db, latest):  # Several small steps must not change a question's meaning unnoticed.
        since = _changes_since(db, earlier, study)
        if since.substance:
            raise InputError(_why_refused(study, since))
    number = latest.revision + 1
    db.execute(
        "INSERT INTO revisions (study_digest, revision, content_digest, battery_digest, definition, texts, "
        "registered_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            begun,
            number,
            study.digest,
            study.battery.digest,
            study.definition.model_dump_json(),
            as_json(dict(study.texts)),
            now(),
        ),
    )
    _insert_items(db, study)
    content = content_checksum(db, begun, number)
    log.write("revised", revision=number, reason=reason, changed=found.wording, content=content)
    return Revision(version, number, now(), reason, found.wording, 0, found.options)


def changed_since(db: Database, study: Study) -> str | None:
    """See `Store.changed_since`."""
    if find(db, study.digest) is not None:
        return None
    near = nearest(db, study)
    if near is None:
        return None
    found = _changes_since(db, near, study)
    return listed([*found.substance, *found.wording]) or "something"


def _changes_since(db: Database, registered: Registered, study: Study) -> Changes:
    """Return the differences between `study` and the content `registered`.

    If the stored content is unreadable, there are none.
    """
    try:
        definition, texts = definition_and_texts(db, registered.study_digest, registered.revision)
        before = Content(definition, texts, items_of(db, registered.battery_digest), registered.battery_digest)
    except (ValueError, TypeError, LookupError):
        return Changes((), ())
    return changes(before, Content.of(study))


def _why_refused(study: Study, found: Changes) -> str:
    """Return the error message with the changes in a version that has sessions, and the fix."""
    since = f"{study.folder / 'study.yaml'}: version {study.definition.version} of this study has sessions, and"
    if found.wording and not found.substance:
        return (
            f"{since} only the wording of {listed(found.wording)} changed after the first session. Fix: accept the new "
            f'wording for later sessions with `equipoise revise {study.folder} --reason "..."`, or give the study a '
            "new `version`."
        )
    names = listed(found.substance) or "its definition, battery or texts"
    return f"{since} {names} changed after the first session. Fix: give the study a new `version`."


def revisions(db: Database, study: str) -> list[Revision]:
    """See `Store.revisions`."""
    rows = db.execute(
        "SELECT version, events.study_digest, at, details FROM events JOIN studies USING (study_digest) "
        "WHERE study = ? AND event = 'revised' ORDER BY at, event_index",
        (study,),
    ).fetchall()
    found = []
    for version, study_digest, at, text in rows:
        details = json.loads(text)
        (n_sessions,) = db.execute(
            "SELECT COUNT(*) FROM sessions JOIN participants USING (participant) "
            "WHERE study_digest = ? AND revision = ? AND kind <> 'model'",
            (study_digest, details["revision"]),
        ).fetchone()
        changed = tuple(details["changed"])
        found.append(Revision(version, details["revision"], at, details["reason"], changed, n_sessions))
    return found


def content_checksum(db: Database, study_digest: str, revision: int = 1) -> str:
    """Return a checksum of a stored study: its definition, its texts and the items of its battery."""
    study = db.execute(
        "SELECT study, version, battery_digest, definition, texts FROM studies WHERE study_digest = ?"
        if revision == 1
        else "SELECT study, version, revisions.battery_digest, revisions.definition, revisions.texts, "
        "revisions.content_digest FROM revisions JOIN studies USING (study_digest) "
        f"WHERE study_digest = ? AND revision = {int(revision)}",
        (study_digest,),
    ).fetchone()
    if study is None:
        return ""
    items = db.execute(
        "SELECT item_id, task, factors, content, key FROM items WHERE battery_digest = ?", (study[2],)
    ).fetchall()
    return link("", [*study, *sorted(map(list, items))])


def items_of(db: Database, battery_digest: str) -> dict[str, Item]:
    """Return the items of a battery. The keys are item ids."""
    rows = db.execute(
        "SELECT item_id, task, factors, content, key FROM items WHERE battery_digest = ?", (battery_digest,)
    )
    return {
        item_id: Item(
            item_id=item_id, task=task, factors=json.loads(factors), content=json.loads(content), key=json.loads(key)
        )
        for item_id, task, factors, content, key in rows
    }


def definition_and_texts(db: Database, study_digest: str, revision: int) -> tuple[StudyDefinition, dict[str, str]]:
    """Return the definition and the texts of a study's content as stored."""
    definition, texts = db.execute(
        f"SELECT definition, texts FROM {CONTENTS} WHERE study_digest = ? AND revision = ?", (study_digest, revision)
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


def progress(db: Database, study: Study) -> list[GroupProgress]:
    """See `Store.progress`."""
    registered = nearest(db, study)
    if registered is None:
        groups = range(1, study.definition.n_groups + 1)
        kinds = (Kind.HUMAN, Kind.SIMULATED)
        return [GroupProgress(kind, group, 0, 0, 0, 0, 0, is_open=True) for kind in kinds for group in groups]
    study_digest = registered.study_digest
    rows = db.execute(
        """
        SELECT kind, sessions."group",
               COUNT(CASE WHEN status = 'active' AND slot = 'reserved' THEN 1 END),
               COUNT(CASE WHEN status = 'completed' AND slot = 'confirmed' THEN 1 END),
               COUNT(CASE WHEN status = 'active' AND slot = 'released' THEN 1 END),
               COUNT(CASE WHEN status = 'completed' AND slot = 'released' THEN 1 END),
               COUNT(CASE WHEN status = 'withdrawn' THEN 1 END)
          FROM sessions JOIN participants USING (participant)
         WHERE kind <> 'model' AND study_digest = ? GROUP BY kind, sessions."group"
        """,
        (study_digest,),
    )
    counted = {(kind, group): tuple(counts) for kind, group, *counts in rows}
    found = []
    for kind in (Kind.HUMAN, Kind.SIMULATED):
        for slots in assignment.read_slots(db, study_digest, kind):
            under_way, completed, lapsed, replaced, withdrawn = counted.get((kind, slots.group), (0, 0, 0, 0, 0))
            found.append(
                GroupProgress(
                    kind,
                    slots.group,
                    under_way,
                    completed,
                    lapsed,
                    replaced,
                    withdrawn,
                    is_open=slots.is_open,
                    n_added=slots.n_added,
                )
            )
    return found


def items_of_battery(db: Database, digest_start: str) -> dict[str, Item]:
    """See `Store.items_of_battery`."""
    found = db.execute("SELECT DISTINCT battery_digest FROM items").fetchall()
    whole = next((digest for (digest,) in found if digest.startswith(digest_start)), None)
    return items_of(db, whole) if whole else {}
