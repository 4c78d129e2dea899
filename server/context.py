"""The objects that views use: the study, its store, the settings and the secrets."""

from dataclasses import dataclass, field

from flask import current_app

from experiment.study.definition import Study
from server.recruitment.prolific_token import ProlificTokens, prolific_tokens
from server.security.rate_limits import RateLimits
from server.security.secret_files import Secrets
from server.security.slots_per_address import SlotsPerAddress
from server.settings import Settings
from server.store import Store


@dataclass(frozen=True)
class Context:
    """The objects that all requests of one application share."""

    study: Study
    store: Store
    secrets: Secrets
    settings: Settings
    preview: str | None = None
    """Group and seed of a preview, in words; None for the real study. Nothing in a preview is counted."""
    limits: RateLimits = field(init=False)
    slots_per_address: SlotsPerAddress = field(init=False)
    prolific_tokens: ProlificTokens | None = field(init=False)
    """Checks Prolific's signatures. None if the study does not require Prolific's signatures."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", RateLimits(self.settings))
        slots = SlotsPerAddress(self.settings.slots_per_address, self.study, self.store)
        object.__setattr__(self, "slots_per_address", slots)
        object.__setattr__(self, "prolific_tokens", prolific_tokens(self.study, self.settings))


def context() -> Context:
    """Return the shared objects of the application that serves this request."""
    found: Context = current_app.extensions["equipoise"]
    return found
