"""Sentences for the report on the changes of a study since its first session."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.preregistration.deviations import RegisteredPlan
from analysis.preregistration.lock import plan_content
from batteries.errors import InputError
from equipoise.commands.plan_lock import plan_subject
from equipoise.commands.store_access import warn_of_changes
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.definition import Study, StudyDefinition
from experiment.study.revision import entries, listed
from server.store import StoreUnavailable
from server.store.models import RegisteredDefinition, Revision
from server.store.open import opened_store


@dataclass(frozen=True)
class SinceSessions:
    """The changes of a study since its first session, and the analysis plan that was registered before this session."""

    notes: list[str]
    """A sentence for each change of the study since its first session."""
    registered: RegisteredPlan | None
    """The analysis plan of the study's first version among the analyzed sessions.

    The plans of later versions are compared in `notes`. None if the plan is locked, or if the sessions began before the
    registration, which is possible for uploaded sessions.
    """


def changes_since_sessions(
    study: Study, store: str, versions: set[str], batteries: set[str], first_at: str | None, *, is_locked: bool
) -> SinceSessions:
    """Compare the study with the versions that are registered in its store.

    If the study's files changed, also print a note on standard error.

    Parameters
    ----------
    study
        The study as it is now.
    store
        The study's store, a file or the address of a database.
    versions, batteries
        The versions of the study and the digests of the batteries that occur in the analyzed trials.
    first_at
        Start of the first session of a person in the analysis (UTC, ISO 8601); None if unknown.
    is_locked
        True if a lock has recorded the analysis plan before data were seen.
    """
    battery = _battery_change(study, batteries)
    try:
        with opened_store(store, must_exist=True) as opened:
            warn_of_changes(study, opened)
            registered, revisions = opened.registered_definitions(study), opened.revisions(study)
    except (InputError, StoreUnavailable):  # For instance a read-only copy; such a store can still be analyzed.
        unread = (
            "The plan at the start of the sessions could not be read, so it was not compared with the plan of this "
            "analysis."
        )
        return SinceSessions([unread, *battery], None)
    in_analysis = [one for one in registered if one.definition.version in versions]
    plan = None if is_locked else _registered_plan(study, in_analysis, first_at)
    notes = [
        *_plan_changes(study, in_analysis if plan is None else in_analysis[1:]),
        *(_revision_sentence(one) for one in revisions if one.version in versions),
        *_version_differences([one.definition for one in in_analysis]),
        *battery,
    ]
    return SinceSessions(notes, plan)


def _registered_plan(
    study: Study, registered: Sequence[RegisteredDefinition], first_at: str | None
) -> RegisteredPlan | None:
    if not registered or first_at is None or first_at[:19] < registered[0].registered_at[:19]:  # To the second.
        return None
    first = registered[0]
    return RegisteredPlan(
        content=plan_content(first.definition.analysis),
        of=plan_subject(study),  # A note names another battery.
        version=first.definition.version,
        registered_at=first.registered_at,
        n_sessions=first.n_sessions,
    )


def _plan_changes(study: Study, registered: Sequence[RegisteredDefinition]) -> list[str]:
    sentences = []
    for earlier in registered:
        changed = [
            field
            for field in AnalysisPlan.model_fields
            if getattr(earlier.definition.analysis, field) != getattr(study.definition.analysis, field)
        ]
        if changed:
            sentences.append(
                f"The analysis plan differs from the plan of version {earlier.definition.version} of the study. This "
                f"version was registered on {_minute(earlier.registered_at)}, before the {earlier.n_sessions} sessions "
                f"of the version began. Changed entries of the plan: {', '.join(changed)}."
            )
    return sentences


def _revision_sentence(revision: Revision) -> str:
    return (
        f"Version {revision.version} was reworded on {_minute(revision.at)}: {listed(revision.changed)}. Reason: "
        f"“{revision.reason}”."
    )


def _minute(time: str) -> str:
    return f"{time[:16].replace('T', ' ')} UTC"


def _version_differences(definitions: Sequence[StudyDefinition]) -> list[str]:
    """Return a sentence on the entries of `study.yaml` that differ between the versions of the study."""
    if len(definitions) < 2:
        return []
    entries_of = [entries(one.model_dump(mode="json", exclude={"version"})) for one in definitions]
    names = sorted(set().union(*entries_of))
    different = [name for name in names if any(one.get(name) != entries_of[0].get(name) for one in entries_of[1:])]
    versions = " and ".join(one.version for one in definitions)
    if not different:
        return [
            f"`study.yaml` has the same entries in versions {versions}. The files named in `study.yaml` may differ "
            "between these versions."
        ]
    return [
        f"The definitions of versions {versions} differ from each other in "
        f"{', '.join(f'`{name}`' for name in different)}."
    ]


def _battery_change(study: Study, batteries: set[str]) -> list[str]:
    if study.battery.digest in batteries:
        return []
    return [
        f"The battery in the study's folder ({study.definition.battery}) differs from the battery of the sessions. "
        "Each response is scored by the answer keys of the battery with which its session began."
    ]
