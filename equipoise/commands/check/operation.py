"""Points on the operation of the server: backups, and secure cookies behind HTTPS."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from batteries.errors import InputError
from equipoise.commands.check.checklist import (
    Point,
    failed,
    listed,
    needs_attention,
    not_checked,
    passed,
    problem_and_fix,
)
from experiment.records import Kind
from experiment.study.definition import Study
from server.app import create_app
from server.locations import store_location
from server.recruitment.prolific_token import prolific_tokens
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import Access, SqliteStore, StoreUnavailable
from server.store.open import is_address
from server.store.sqlite.write_ahead_log import log_beside

BACKUP_EVERY = timedelta(hours=25)
"""Longest time since the last backup: a day, and an hour for a backup that takes long."""
HOW_TO_BACK_UP = "let cron or a systemd timer run `equipoise store backup` every day; see docs/how-to/check-a-study.md."


def backup_point(study: Study, settings: Settings, now: datetime) -> Point:
    """Check that the log of the study's store has a recent backup. The store itself is not opened."""
    subject, location = "Backup", store_location(study, settings)
    if is_address(location):
        return not_checked(
            subject,
            "the responses are in a database, whose backups Equipoise cannot see.",
            "ask the administrator of the database how often it is backed up.",
        )
    if not Path(location).exists():
        return needs_attention(
            subject, "there is no store yet, so no backup was made.", f"after the first start, {HOW_TO_BACK_UP}"
        )
    try:
        with _copied_store(Path(location)) as store:
            backups = [datetime.fromisoformat(event.at) for event in store.events(study, of=[Access.BACKED_UP])]
    except (InputError, StoreUnavailable, OSError) as error:
        return not_checked(
            subject, f"a copy of the store could not be read ({error}).", "check the store: `equipoise store verify`."
        )
    if not backups:
        return needs_attention(subject, "the store's log has no backup of this study.", HOW_TO_BACK_UP)
    age = now - max(backups)
    found = f"the last backup was made {_ago(age)}."
    if age > BACKUP_EVERY:
        return needs_attention(subject, found, HOW_TO_BACK_UP)
    return passed(subject, found)


@contextmanager
def _copied_store(path: Path) -> Iterator[SqliteStore]:
    """Open a copy of a store, because opening the store itself could change its files."""
    with TemporaryDirectory(prefix="equipoise-check-") as temporary:
        copy = Path(temporary) / path.name
        shutil.copy(path, copy)
        if log_beside(path).exists():
            shutil.copy(log_beside(path), log_beside(copy))
        store = SqliteStore(copy, must_exist=True)
        try:
            yield store
        finally:
            store.close()


def _ago(age: timedelta) -> str:
    hours = age / timedelta(hours=1)
    if hours < 1:
        return "less than an hour ago"
    return f"{hours:.0f} hours ago" if hours < 48 else f"{age.days} days ago"


def https_point(study: Study, settings: Settings) -> Point:
    """Check that the server, with its settings, sends secure cookies to a browser that uses HTTPS."""
    subject, names = "HTTPS", settings.hosts
    if not names and not settings.proxies:
        return not_checked(
            subject,
            "EQUIPOISE_HOSTS and EQUIPOISE_PROXIES are not set, so this server would serve only its own machine.",
            "run this command with the settings of your server: EQUIPOISE_HOSTS=study.example.org EQUIPOISE_PROXIES=1.",
        )
    if not names:
        return failed(
            subject,
            "EQUIPOISE_HOSTS is not set, so the server would refuse the public name of the study.",
            "set EQUIPOISE_HOSTS to the host name of the participants' link.",
        )
    if not settings.proxies:
        return failed(
            subject,
            f"the study has the public name {listed(names)}, but EQUIPOISE_PROXIES is 0. So the server does not see "
            "that browsers use HTTPS, and its cookies are not secure.",
            "put a reverse proxy with HTTPS in front, and set EQUIPOISE_PROXIES=1; see docs/how-to/deploy.md.",
        )
    recruitment = study.definition.recruitment
    address = recruitment.prolific.address if recruitment.prolific else None
    linked = urlsplit(address or recruitment.prolific_secured_url or "").hostname
    if linked is not None and linked not in names:
        return failed(
            subject,
            f"the address for Prolific in study.yaml leads to {linked}, which is not in EQUIPOISE_HOSTS.",
            "make the two names equal.",
        )
    try:
        prolific_tokens(study, settings)
    except InputError as error:
        return failed(subject, *problem_and_fix(error))
    cookie = _cookie_over_https(study, settings)
    if not (cookie.startswith("__Host-") and "; Secure" in cookie and "; HttpOnly" in cookie):
        return failed(
            subject,
            f"behind {settings.proxies} proxies, the cookie of a session is not secure.",
            "set EQUIPOISE_PROXIES to the number of proxies that set the header X-Forwarded-Proto.",
        )
    return passed(
        subject,
        f"for {listed(names)}, cookies are sent over HTTPS only. The proxy itself was not checked: open the public "
        "address in a browser.",
    )


def _cookie_over_https(study: Study, settings: Settings) -> str:
    """Begin a session in a temporary store, as a browser behind the proxies does, and return the session's cookie."""
    secrets = Secrets("signing key of a check", "token of a check")
    proxied = {
        "X-Forwarded-Proto": ", ".join(["https"] * settings.proxies),
        "X-Forwarded-For": ", ".join(["203.0.113.7"] * settings.proxies),
        "X-Forwarded-Host": ", ".join([settings.hosts[0]] * settings.proxies),
        "Authorization": f"Bearer {secrets.researcher_token}",
    }
    with TemporaryDirectory(prefix="equipoise-check-") as temporary:
        store = SqliteStore(Path(temporary) / "equipoise.db")
        try:
            client = create_app(study, store, secrets, settings).test_client()
            digest = client.get("/api/study", headers=proxied).get_json()["consent_digest"]
            start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": Kind.SIMULATED}
            return client.post("/api/session", json=start, headers=proxied).headers.get("Set-Cookie", "")
        finally:
            store.close()


def utc_now() -> datetime:
    """Return the present time."""
    return datetime.now(UTC)
