"""Plans of sessions in memory, so that a response does not need to read its plan from the database."""

import threading

from server.store.models import SessionPlan

MAX_TRIALS_IN_MEMORY = 500_000
"""Largest number of trials in all cached plans. A trial needs about a hundred bytes, because plans share items."""


class PlanCache:
    """Cache of plans. The key is the latest token of a session. All methods may be called from any thread.

    If there are too many plans, the oldest plans are removed.
    """

    def __init__(self) -> None:
        self._by_token: dict[str, SessionPlan] = {}
        self._token_of: dict[str, str] = {}
        self._n_trials = 0
        self._lock = threading.Lock()

    def of_token(self, token_digest: str) -> SessionPlan | None:
        """Return the plan that is cached under a token, or None. The token may have become invalid."""
        return self._by_token.get(token_digest)

    def of_session(self, session: str) -> SessionPlan | None:
        """Return the plan of a session; None if the plan is not cached."""
        return self._by_token.get(self._token_of.get(session, ""))

    def keep(self, token_digest: str, plan: SessionPlan) -> None:
        """Cache the plan of a session under its token. Earlier tokens of the session then no longer find the plan."""
        with self._lock:
            if self._by_token.get(token_digest) is plan:
                return
            self._drop(token_digest)  # A participant who begins again keeps the token.
            if plan.session in self._token_of:
                self._drop(self._token_of[plan.session])
            self._by_token[token_digest] = plan
            self._token_of[plan.session] = token_digest
            self._n_trials += len(plan.trials)
            while self._n_trials > MAX_TRIALS_IN_MEMORY and len(self._by_token) > 1:
                self._drop(next(iter(self._by_token)))

    def _drop(self, token_digest: str) -> None:
        plan = self._by_token.pop(token_digest, None)
        if plan is not None:
            del self._token_of[plan.session]
            self._n_trials -= len(plan.trials)
