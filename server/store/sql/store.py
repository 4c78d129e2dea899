"""The common part of both stores, which implements `contract` with SQL statements that both databases understand."""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from pydantic import JsonValue

from batteries.items import Item
from experiment.plan import Phase
from experiment.records import Participant, Response, Run, Session, TrialAction
from experiment.study.definition import Study, StudyDefinition
from server.store.contract import Store
from server.store.database import Database
from server.store.errors import NotYourSession, StudyFull
from server.store.models import (
    NOTHING_PASSED_OVER,
    Access,
    AddedRun,
    GroupProgress,
    Identity,
    LogEvent,
    Payment,
    PaymentState,
    RegisteredDefinition,
    Release,
    Revision,
    SessionFound,
    SessionPlan,
    SessionStart,
    SlotState,
    StoredAction,
    StoredRun,
    StoredSession,
    StoredTrial,
    Visit,
)
from server.store.sql import (
    actions,
    assignment,
    exclusions,
    identities,
    model_runs,
    payments,
    responses,
    resuming,
    sessions,
    studies,
    uploaded_sessions,
)
from server.store.sql.actions import NewAction
from server.store.sql.assignment_log import Log, lock_log, note, read_log
from server.store.sql.plan_cache import PlanCache
from server.store.sql.researcher_store import SqlResearcherStore
from server.store.sql.responses import ResponseBatch

Result = TypeVar("Result")


class SqlStore(SqlResearcherStore, Store):
    """A store in an SQL database. A subclass implements reading, writing and committing."""

    def __init__(self) -> None:
        self._registered: dict[str, Study] = {}
        # Registered contents and plans never change, so both can be cached.
        self._definitions: dict[tuple[str, int], tuple[StudyDefinition, dict[str, str]]] = {}
        self._items: dict[str, dict[str, Item]] = {}
        self._plans = PlanCache()

    def _delete(self, job: Callable[[Database], Result]) -> Result:
        """Run the function `job`, which deletes data. Remove the data from the database's files too, if possible."""
        return self._write(job)

    @abstractmethod
    def _add_batch(self, new: ResponseBatch | NewAction) -> Any:
        """Store responses or an action together with all others that wait. Return once they are committed."""

    def register_study(self, study: Study) -> None:
        self._write(lambda db: studies.register(db, study))
        self._registered[study.digest] = study

    def revise_study(self, study: Study, reason: str) -> Revision:
        return self._write(lambda db: studies.revise(db, study, reason))

    def changed_since(self, study: Study) -> str | None:
        with self._reading() as db:
            return studies.changed_since(db, study)

    def revisions(self, study: Study) -> list[Revision]:
        with self._reading() as db:
            return studies.revisions(db, study.name)

    def content(self, study: Study, content_digest: str) -> tuple[StudyDefinition, Mapping[str, str]] | None:
        with self._reading() as db:
            found = studies.find(db, content_digest)
            if found is None or found.study_digest != studies.served(db, study).study_digest:
                return None
            return studies.definition_and_texts(db, found.study_digest, found.revision)

    def start_session(self, study: Study, start: SessionStart) -> StoredSession:
        begin = uploaded_sessions.add_uploaded if start.uploaded else sessions.start
        is_new = self._write(lambda db: begin(db, study, start))
        stored = self.find_session(start.token_digest)
        if stored is None:
            raise NotYourSession("opened_at_once")
        return replace(stored, is_new=is_new)

    def why_full(self, study: Study) -> StudyFull | None:
        with self._reading() as db:
            return assignment.why_full(db, studies.served(db, study).study_digest, study.definition.recruitment)

    def require_slot(self, study: Study, identity: Identity, session_number: int, group: int | None) -> int:
        with self._reading() as db:
            return sessions.require_slot(db, study, identity, session_number, group)

    def find_session(self, token_digest: str) -> StoredSession | None:
        with self._reading() as db:
            stored = self._stored(db, "token_digest", token_digest)
        if stored is not None:
            self._plans.keep(token_digest, stored.plan)
        return stored

    def may_resume(self, study: Study, identity: Identity) -> bool:
        with self._reading() as db:
            session = identities.session_of(db, study.name, identity, None)
            return session is not None and identities.may_resume(db, session, identity)

    def with_slots(self, study: Study, sessions: Sequence[str]) -> list[str]:
        with self._reading() as db:
            study_digest = studies.served(db, study).study_digest
            return assignment.with_slots(db, study_digest, study.definition.recruitment, sessions)

    def session_of_start(self, start_id: str) -> str | None:
        with self._reading() as db:
            found = db.execute("SELECT session FROM sessions WHERE start_id = ?", (start_id,)).fetchone()
            return found[0] if found else None

    def session_on(self, study: Study, identity: Identity, session_number: int) -> StoredSession | None:
        with self._reading() as db:
            name = identities.session_of(db, study.name, identity, session_number)
            return self._stored(db, "session", name) if name else None

    def _stored(self, db: Database, column: str, value: str) -> StoredSession | None:
        """Return the session (with its plan) that has this value in this column, or None."""
        row = db.execute(
            f"""
            SELECT session, participant, kind, study_digest, revision, battery_digest, "group", seed, source, status,
                   started_at, completed_at, n_answered, slot, withdrawal_code, release_reason,
                   (SELECT COUNT(*) FROM visits WHERE visits.session = sessions.session), demographics IS NOT NULL
              FROM sessions JOIN participants USING (participant) WHERE {column} = ?
            """,
            (value,),
        ).fetchone()
        if row is None:
            return None
        (name, participant, kind, study_digest, revision, battery_digest, group, seed, source, status, started_at,
         completed_at, n_answered, slot, withdrawal_code, release_reason, n_visits, has_demographics) = row  # fmt: skip
        session = Session(
            session=name,
            participant=Participant(participant=participant, kind=kind),
            study_digest=study_digest,
            revision=revision,
            battery_digest=battery_digest,
            group=group,
            seed=seed,
            source=source,
            status=status,
            started_at=started_at,
            completed_at=completed_at,
        )
        return StoredSession(
            session=session,
            plan=self._plans.of_session(name) or self._read_plan(db, session, withdrawal_code),
            n_answered=n_answered,
            slot=SlotState(slot),
            release_reason=release_reason,
            n_visits=n_visits,
            has_demographics=bool(has_demographics),
        )

    def find_plan(self, token_digest: str) -> SessionPlan | None:
        plan = self._plans.of_token(token_digest)
        if plan is None:
            stored = self.find_session(token_digest)
            plan = stored.plan if stored else None
        return plan

    def _read_plan(self, db: Database, session: Session, withdrawal_code: str) -> SessionPlan:
        content = session.study_digest, session.revision or 1
        if content not in self._definitions:
            self._definitions[content] = studies.definition_and_texts(db, *content)
        if session.battery_digest not in self._items:
            self._items[session.battery_digest] = studies.items_of(db, session.battery_digest)
        definition, texts = self._definitions[content]
        items = self._items[session.battery_digest]
        planned = db.execute(
            "SELECT trial_index, phase, item_id FROM planned_trials WHERE session = ? ORDER BY trial_index",
            (session.session,),
        )
        return SessionPlan(
            session=session.session,
            kind=session.participant.kind,
            definition=definition,
            texts=texts,
            trials=tuple(StoredTrial(index, Phase(phase), items[item_id]) for index, phase, item_id in planned),
            withdrawal_code=withdrawal_code,
            group=session.group,
        )

    def responses(self, session: str) -> dict[int, Any]:
        with self._reading() as db:
            return {trial_index: json.loads(response) for trial_index, response in responses.responses_of(db, session)}

    def add_responses(
        self, session: str, token_digest: str, responses: Sequence[Response], passed_over: range = NOTHING_PASSED_OVER
    ) -> list[bool]:
        is_new: list[bool] = self._add_batch(ResponseBatch(session, token_digest, responses, passed_over))
        return is_new

    def actions(self, session: str, trial_index: int) -> list[StoredAction]:
        with self._reading() as db:
            return actions.of_trial(db, session, trial_index)

    def add_action(
        self,
        session: str,
        token_digest: str,
        action: TrialAction,
        observation: JsonValue,
        passed_over: range = NOTHING_PASSED_OVER,
    ) -> bool:
        is_new: bool = self._add_batch(NewAction(session, token_digest, action, observation, passed_over))
        return is_new

    def add_demographics(self, session: str, answers: Mapping[str, Any]) -> bool:
        return self._write(lambda db: sessions.add_demographics(db, session, answers))

    def complete_session(
        self, study: Study, session: str, passed_checks: bool, completed_at: datetime | None = None
    ) -> None:
        self._write(lambda db: sessions.complete(db, study, session, passed_checks, completed_at))

    def withdraw_session(self, session: str, by: str | None = None) -> None:
        self._delete(lambda db: sessions.withdraw(db, session, by))

    def resume_session(self, study: Study, session: str) -> None:
        self._write(lambda db: resuming.resume(db, study, session))

    def open_session(self, study: Study, token_digest: str, visit: Visit) -> StoredSession:
        self._write(lambda db: resuming.open_again(db, study, token_digest, visit))
        stored = self.find_session(token_digest)
        if stored is None:
            raise NotYourSession("opened_elsewhere")
        return stored

    def release_slot(self, session: str, reason: Release, by: str | None = None) -> bool:
        return self._write(lambda db: sessions.release_slot(db, session, reason, by))

    def exclude_sessions(self, sessions: Sequence[str], reason: str, by: str | None = None) -> None:
        self._write(lambda db: exclusions.exclude(db, sessions, reason, by))

    def include_sessions(
        self, study: Study, sessions: Sequence[str], reason: str, by: str | None = None
    ) -> list[SlotState]:
        return self._write(lambda db: exclusions.include(db, study, sessions, reason, by))

    def open_group(self, study: Study, group: int, is_open: bool, by: str | None = None) -> None:
        self._write(lambda db: assignment.open_group(_locked_log(db, study, by), group, is_open))

    def extend_quota(self, study: Study, group: int, n_slots: int, by: str | None = None) -> None:
        recruitment = study.definition.recruitment
        self._write(lambda db: assignment.extend_quota(_locked_log(db, study, by), recruitment, group, n_slots))

    def sessions_with_code(self, study: Study, completion_code: str) -> list[str]:
        with self._reading() as db:
            rows = db.execute(
                "SELECT session, definition FROM sessions JOIN studies USING (study_digest) "
                "WHERE study = ? AND withdrawal_code = ?",
                (study.name, completion_code),
            ).fetchall()
        return [session for session, definition in rows if json.loads(definition)["completion_code"] != completion_code]

    def sessions_of(self, study: Study, id_kind: str, external_id: str) -> list[SessionFound]:
        with self._reading() as db:
            return identities.sessions_of(db, study.name, id_kind, external_id)

    def session_named(self, study: Study, session: str) -> SessionFound | None:
        with self._reading() as db:
            return identities.session_named(db, study.name, session)

    def external_id(self, session: str) -> str | None:
        with self._reading() as db:
            return identities.external_id(db, session)

    def identities(self, study: Study) -> list[dict[str, Any]]:
        with self._reading() as db:
            return identities.identities(db, study.name)

    def delete_identities(self, study: Study, participant: str | None = None, by: str | None = None) -> int:
        return self._delete(lambda db: identities.delete(db, study, participant, by))

    def payments(self, study: Study) -> list[Payment]:
        with self._reading() as db:
            return payments.listed(db, study.name)

    def claim_payments(self, study: Study, wanted: Sequence[Payment], claim: str) -> list[Payment]:
        return self._write(lambda db: payments.claim(db, study, wanted, claim))

    def send_payments(
        self, study: Study, claim: str, purpose: str, participants: Sequence[str], batch: str | None = None
    ) -> bool:
        return self._write(lambda db: payments.send(db, study.name, claim, purpose, participants, batch))

    def settle_payments(
        self, study: Study, claim: str, purpose: str, participants: Sequence[str], state: PaymentState
    ) -> None:
        self._write(lambda db: payments.settle(db, study.name, claim, purpose, participants, state))

    def settle_payment(self, study: Study, payment: Payment, state: PaymentState) -> bool:
        return self._write(lambda db: payments.settle_one(db, study.name, payment, state))

    def kept_traces(self) -> list[str]:
        return []

    def add_runs(self, study: Study, runs_: Sequence[Run]) -> list[AddedRun]:
        def job(db: Database) -> list[AddedRun]:
            studies.register(db, study)
            # Locked, so that two imports do not both find a label free.
            log = lock_log(db, studies.served(db, study).study_digest)
            return [model_runs.add(log, study, run) for run in runs_]

        return self._write(job)

    def runs(self, study: Study, canary: str | None = None) -> list[StoredRun]:
        with self._reading() as db:
            return model_runs.listed(db, study.name, canary)

    def items_of_battery(self, digest_start: str) -> dict[str, Item]:
        with self._reading() as db:
            return studies.items_of_battery(db, digest_start)

    def progress(self, study: Study) -> list[GroupProgress]:
        with self._reading() as db:
            return studies.progress(db, study)

    def note(self, study: Study | None, access: Access, **details: Any) -> list[int]:
        return self._write(lambda db: note(db, studies.logs_of(db, study), access, details))

    def events(self, study: Study, since: int = 0, of: Sequence[str] = ()) -> list[LogEvent]:
        with self._reading() as db:
            registered = studies.nearest(db, study)
            return read_log(db, registered.study_digest, since, of) if registered else []

    def registered_definitions(self, study: Study) -> list[RegisteredDefinition]:
        with self._reading() as db:
            return studies.registered_definitions(db, study.name)

    def check(self) -> None:
        # The statement changes nothing, but it writes: only a write shows if there is still space on the disk.
        self._write(lambda db: db.execute("UPDATE logs SET n_events = n_events").rowcount)

    def sessions(self, study: Study) -> list[dict[str, Any]]:
        with self._reading() as db:
            return sessions.listed(db, study.name)

    def trials(self, study: Study | None = None) -> list[dict[str, Any]]:
        where, values = ("WHERE study = ?", [study.name]) if study else ("", [])
        with self.snapshot() as db:
            rows = db.execute(f"SELECT * FROM trials {where} ORDER BY session, trial_index", values)
            names = [column[0] for column in rows.description]
            return [dict(zip(names, row, strict=True)) for row in rows]


def _locked_log(db: Database, study: Study, by: str | None) -> Log:
    """Lock the log of a study for a decision about its groups. Register the study first, if it is new."""
    registered = studies.nearest(db, study)
    if registered is None:
        studies.register(db, study)
    return lock_log(db, (registered or studies.served(db, study)).study_digest, by)
