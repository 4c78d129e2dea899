"""Prolific's API: studies, submissions, approvals, rejections and bonuses.

The requests follow Prolific's API reference (mid-2026). Reading is repeated after a failure. Writing is not repeated,
except after the status 429, which says that Prolific did nothing. The payment of a bonus is sent exactly once: the
reference warns that this request is not idempotent. After a failure, a write is either refused, so that nothing
happened, or its outcome is unknown.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from batteries.errors import InputError
from server.recruitment.submissions import PANELS, Submission

TOKEN_VARIABLE = "PROLIFIC_TOKEN"  # noqa: S105 - the name of a variable
ADDRESS_VARIABLE = "PROLIFIC_URL"
ADDRESS = "https://api.prolific.com"
THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}
PAGE = 100
"""Number of submissions or studies in one reply."""
PAUSES_S = (1.0, 3.0, 9.0)
"""Pauses before a failed request is repeated, unless the reply names a time."""
LONGEST_PAUSE_S = 60.0
TIMEOUT_S = 30.0
TOO_MANY_REQUESTS = 429
LONGEST_DETAIL = 300

_TOKEN = re.compile(r"[\x21-\x7e]+")
_ID = re.compile(r"[A-Za-z0-9_-]+")


class ProlificError(InputError):
    """A request to Prolific failed."""


class Refused(ProlificError):
    """Prolific refused a request, or did not get it: the request had no effect."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def concerns_content(self) -> bool:
        """True if Prolific refused the content of this request, so that another request may succeed."""
        return self.status in {400, 404, 409, 422}


class OutcomeUnknown(ProlificError):
    """A request to change something was sent, but its outcome is unknown."""


class ProlificApi:
    """A client of Prolific's API.

    Parameters
    ----------
    token
        The researcher's token. No message and no log contains the token.
    address
        Address of the API.
    """

    def __init__(self, token: str, address: str = ADDRESS) -> None:
        self._token = token
        headers, certificates = {"Authorization": f"Token {token}"}, httpx.create_ssl_context()
        self._reader = httpx.Client(base_url=address, headers=headers, timeout=TIMEOUT_S, verify=certificates)
        # Each write has a new connection: if a kept connection breaks, nobody knows if the request arrived.
        fresh = httpx.Limits(max_keepalive_connections=0)
        self._writer = httpx.Client(
            base_url=address, headers=headers, timeout=TIMEOUT_S, verify=certificates, limits=fresh
        )

    def close(self) -> None:
        """Close the connections."""
        self._reader.close()
        self._writer.close()

    def studies(self) -> list[dict[str, Any]]:
        """Return the researcher's studies."""
        return self._pages("/api/v1/studies/")

    def study(self, study_id: str) -> dict[str, Any]:
        """Return one study."""
        return self._read(f"/api/v1/studies/{_checked(study_id)}/")

    def create_study(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make a draft of a study."""
        return self._write("POST", "/api/v1/studies/", body)

    def update_study(self, study_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change fields of a study."""
        return self._write("PATCH", f"/api/v1/studies/{_checked(study_id)}/", body)

    def transition_study(self, study_id: str, action: str) -> None:
        """Publish (`PUBLISH`), pause (`PAUSE`) or continue (`START`) a study."""
        self._write("POST", f"/api/v1/studies/{_checked(study_id)}/transition/", {"action": action})

    def submissions(self, study_id: str) -> list[Submission]:
        """Return the submissions of a study."""
        statuses = PANELS["prolific"].by_word
        found = []
        for one in self._pages(f"/api/v1/studies/{_checked(study_id)}/submissions/"):
            status = statuses.get(re.sub(r"[^a-z]", "", str(one.get("status")).lower()))
            if status is None:
                raise ProlificError(
                    f"Prolific lists a submission with the status `{one.get('status')}`, which this version of "
                    "Equipoise does not know. Fix: update Equipoise, or review this study on Prolific's page."
                )
            code = one.get("study_code") or ""
            found.append(Submission(str(one["id"]), str(one.get("participant_id") or ""), status, code, study_id))
        return found

    def submission(self, submission_id: str) -> dict[str, Any]:
        """Return one submission, with its `status` and its `bonus_payments` in cents."""
        return self._read(f"/api/v1/submissions/{_checked(submission_id)}/")

    def bonuses(self, submission_id: str) -> tuple[int, ...]:
        """Return the bonuses of a submission that were paid, in cents, from the smallest to the largest."""
        listed = self.submission(submission_id).get("bonus_payments") or ()
        try:
            return tuple(sorted(round(float(cents)) for cents in listed))
        except (TypeError, ValueError):
            raise ProlificError(
                f"the bonuses of submission {submission_id} at Prolific are not numbers, so nothing was paid. Fix: "
                "update Equipoise, or pay on Prolific's page."
            ) from None

    def transition_submission(self, submission_id: str, body: Mapping[str, Any]) -> None:
        """Approve or reject a submission. Prolific ignores the second of two equal requests."""
        self._write("POST", f"/api/v1/submissions/{_checked(submission_id)}/transition/", body)

    def set_up_bonuses(self, study_id: str, cents_by_submission: Mapping[str, int]) -> str:
        """Set up bonuses of submissions, without paying them. Return the id with which they are paid.

        Raises
        ------
        Refused
            If Prolific refuses the bonuses, or understands another amount. Nothing is paid in either case.
        """
        lines = "\n".join(f"{submission},{in_major_units(cents)}" for submission, cents in cents_by_submission.items())
        reply = self._write("POST", "/api/v1/submissions/bonus-payments/", {"study_id": study_id, "csv_bonuses": lines})
        total, understood = sum(cents_by_submission.values()), reply.get("amount")
        if not isinstance(reply.get("id"), str):
            raise Refused("Prolific's reply has no id of the bonus payment, so nothing was paid. Fix: try again later.")
        if understood is not None and round(float(understood)) != total:
            raise Refused(
                f"Prolific understood bonuses of {float(understood) / 100:.2f}, but the list has {total / 100:.2f}, so "
                "nothing was paid. Fix: pay these bonuses on Prolific's page, and report this error."
            )
        return str(reply["id"])

    def pay_bonuses(self, batch: str) -> None:
        """Pay bonuses that were set up. Call this once only: each call pays the participants again."""
        self._write("POST", f"/api/v1/bulk-bonus-payments/{_checked(batch)}/pay/", None, may_repeat=False)

    def _pages(self, path: str) -> list[dict[str, Any]]:
        """Return the results on all pages. A result that is on two pages is returned once."""
        found: dict[str, dict[str, Any]] = {}
        offset = 0
        while True:
            reply = self._read(path, {"limit": PAGE, "offset": offset})
            results = reply.get("results")
            if not isinstance(results, list) or any("id" not in one for one in results):
                raise ProlificError("Prolific's reply is not a list. Fix: update Equipoise, or use Prolific's page.")
            n_before, offset = len(found), offset + len(results)
            found |= {str(one["id"]): one for one in results}
            # A page may be shorter than the limit, so the end is where Prolific's count says, if it says a count.
            n_all = (reply.get("meta") or {}).get("count", offset if len(results) < PAGE else None)
            if len(found) == n_before or (n_all is not None and offset >= n_all):
                return list(found.values())

    def _read(self, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        pauses = iter(PAUSES_S)
        while True:
            try:
                reply = self._reader.get(path, params=query)
            except httpx.HTTPError as error:
                problem, pause = f"Prolific cannot be reached ({_kind(error)})", next(pauses, None)
            else:
                found = self._json(reply)
                if reply.is_success and found is not None:
                    return found
                problem = self._problem(reply)
                is_temporary = reply.status_code == TOO_MANY_REQUESTS or reply.is_server_error
                pause = self._pause(reply, pauses) if is_temporary else None
            if pause is None:
                raise ProlificError(f"{problem}. Fix: correct this, or try again later.")
            time.sleep(pause)

    def _write(
        self, method: str, path: str, body: Mapping[str, Any] | None, *, may_repeat: bool = True
    ) -> dict[str, Any]:
        pauses = iter(PAUSES_S)
        while True:
            try:
                reply = self._writer.request(method, path, json=body)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as error:
                raise Refused(
                    f"Prolific cannot be reached ({_kind(error)}), so nothing was sent. Fix: try again later."
                ) from None
            except httpx.HTTPError as error:
                raise OutcomeUnknown(
                    f"the connection to Prolific failed ({_kind(error)}), so the outcome is unknown. Fix: run the same "
                    "command again later. It reads the outcome at Prolific."
                ) from None
            if reply.is_success:
                return self._json(reply) or {}
            problem = self._problem(reply)
            if reply.status_code == TOO_MANY_REQUESTS and may_repeat:
                pause = self._pause(reply, pauses)
                if pause is not None:
                    time.sleep(pause)
                    continue
            if reply.is_client_error and reply.status_code != httpx.codes.REQUEST_TIMEOUT:
                raise Refused(f"{problem}. Fix: correct this, or try again later.", reply.status_code)
            raise OutcomeUnknown(
                f"{problem}, so the outcome is unknown. Fix: run the same command again later. It reads the outcome at "
                "Prolific."
            )

    @staticmethod
    def _pause(reply: httpx.Response, pauses: Iterator[float]) -> float | None:
        """Return the time until a request is repeated, in seconds; None if it must not be repeated."""
        planned = next(pauses, None)
        named = reply.headers.get("Retry-After", "")
        if planned is None:
            return None
        return min(float(named), LONGEST_PAUSE_S) if named.isdigit() else planned

    @staticmethod
    def _json(reply: httpx.Response) -> dict[str, Any] | None:
        """Return the JSON object of a reply; None if the reply has none, for instance because a proxy sent it."""
        try:
            found = reply.json()
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def _problem(self, reply: httpx.Response) -> str:
        """Return a sentence on a failed request. It never contains the token."""
        if reply.is_success:
            return "Prolific's reply is not JSON"
        error = (self._json(reply) or {}).get("error")
        detail = error.get("detail") or error.get("title") if isinstance(error, dict) else error
        text = "".join(sign if sign.isprintable() else " " for sign in str(detail or reply.reason_phrase))
        text = text.replace(self._token, "(the token)")[:LONGEST_DETAIL].rstrip(". ")
        hint = f"; check {TOKEN_VARIABLE}" if reply.status_code in {401, 403} else ""
        return f"Prolific refused the request (status {reply.status_code}: {text}{hint})"


def _checked(some_id: str) -> str:
    """Return an id of Prolific for an address; refuse other texts, which could lead to another address."""
    if not _ID.fullmatch(some_id):
        raise ProlificError(f"`{some_id[:40]}` is not an id of Prolific. Fix: correct the id.")
    return some_id


def in_major_units(cents: int) -> str:
    """Return an amount as Prolific's list of bonuses has it, in pounds or dollars.

    Examples
    --------
    >>> in_major_units(425), in_major_units(5)
    ('4.25', '0.05')
    """
    return f"{cents // 100}.{cents % 100:02d}"


def _kind(error: httpx.HTTPError) -> str:
    """Return the kind of a failure. The text of the error may contain parts of the request, so it is not used."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()


@contextmanager
def prolific_api() -> Iterator[ProlificApi]:
    """Yield a client with the token in the environment.

    Raises
    ------
    InputError
        If there is no token, or the token or the address is invalid.
    """
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise InputError(
            f"there is no token of Prolific. Fix: make an API token in the settings of your account at Prolific, and "
            f"set the environment variable {TOKEN_VARIABLE} to this token."
        )
    if not _TOKEN.fullmatch(token):
        raise InputError(f"{TOKEN_VARIABLE} contains a space or a letter outside ASCII. Fix: copy the token again.")
    address = os.environ.get(ADDRESS_VARIABLE, "").strip() or ADDRESS
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL()
    if not url.host or not (url.scheme == "https" or (url.scheme == "http" and url.host in THIS_MACHINE)):
        raise InputError(
            f"{ADDRESS_VARIABLE}: the address must begin with https://, because others could read the token otherwise. "
            f"Fix: unset {ADDRESS_VARIABLE}."
        )
    api = ProlificApi(token, address)
    try:
        yield api
    finally:
        api.close()


def has_token() -> bool:
    """Return True if the environment contains a token of Prolific."""
    return bool(os.environ.get(TOKEN_VARIABLE, "").strip())
