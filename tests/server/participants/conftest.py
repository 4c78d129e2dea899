"""Studies with rules for resuming a session."""

from collections.abc import Callable
from typing import Any

import pytest

from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.app import create_app
from server.store import (
    Store,
)
from tests.server.conftest import SECRETS, Participant
from tests.server.participants.returning import NO_LIMITS, StudyOf
from tests.server.stores import (
    saying,
)


@pytest.fixture
def study_of(small_study: Study, any_store: Store) -> StudyOf:
    """Give the small study rules for resuming, and register the study."""

    def make(**rules: Any) -> Study:
        study = saying(small_study, resume=Resume(**rules))
        any_store.register_study(study)
        return study

    return make


@pytest.fixture
def browser_of(study_of: StudyOf, any_store: Store) -> Callable[..., Participant]:
    """Make a participant who has begun a study with rules for resuming."""

    def make(**rules: Any) -> Participant:
        browser = Participant(create_app(study_of(**rules), any_store, SECRETS, NO_LIMITS))
        assert browser.start().status_code == 201
        return browser

    return make
