"""What a request is served with: the study, its store, the settings and the secrets of this application."""

from dataclasses import dataclass, field

from flask import current_app

from experiment.study import Study
from server.limits import RateLimits
from server.secret_files import Secrets
from server.settings import Settings
from server.store import Store


@dataclass(frozen=True)
class Context:
    """One application's parts."""

    study: Study
    store: Store
    secrets: Secrets
    settings: Settings
    limits: RateLimits = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", RateLimits(self.settings))


def context() -> Context:
    """Return the parts of the application that serves this request."""
    found: Context = current_app.extensions["equipoise"]
    return found
