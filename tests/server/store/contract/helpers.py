"""Panel ids, and the events of the log."""

from experiment.study.definition import Study
from server.store import (
    Identity,
    Store,
)

TIME_OUT_MIN = 60
"""The recruitment of a study that does not define it."""


def panel(external_id: str, **parameters: str) -> Identity:
    return Identity("panel", external_id, {"SESSION_ID": f"submission of {external_id}"} | parameters)


def events(store: Store, study: Study, session: str | None = None) -> list[str]:
    """The events of the log, of all sessions or of one session."""
    return [event.event for event in store.events(study) if session is None or event.session == session]
