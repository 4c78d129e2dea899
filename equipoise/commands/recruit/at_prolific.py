"""Reading the submissions of a study at Prolific, and matching them with the store."""

from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.recruit.reconcile import match_with
from equipoise.progress_bar import spinner
from experiment.study.definition import Study
from server.recruitment.prolific_api import ProlificApi
from server.recruitment.prolific_study import internal_name
from server.recruitment.reconcile import Match, SessionHere
from server.recruitment.submissions import PANELS, Submission, read_submissions


def read_matches(
    study: Study, sessions: list[SessionHere], api: ProlificApi | None, export: Path | str | None
) -> list[Match]:
    """Match the submissions of a study with the store, from an export or, without an export, from Prolific's API.

    Raises
    ------
    InputError
        If there is no export and no API.
    """
    if api is not None:
        return match_with(study, sessions, submissions_at_prolific(study, sessions, api))
    if export is None:
        raise InputError(
            "the submissions at Prolific are not known. Fix: name Prolific's export with --export, or set "
            "PROLIFIC_TOKEN."
        )
    return match_with(study, sessions, read_submissions(Path(export), PANELS["prolific"]))


def submissions_at_prolific(study: Study, sessions: list[SessionHere], api: ProlificApi) -> list[Submission]:
    """Return the submissions at Prolific that belong to this study.

    These are all submissions of the study that `equipoise recruit prolific` made. If the researcher made a study on
    Prolific's page, its id is known from the participants' links. A participant can change the link, so the id in a
    link counts for this participant only, and ids of other researchers' studies are ignored.
    """
    by_link = {here.external_id: here.panel_study for here in sessions}
    own, linked = [], []
    for one in api.studies():
        if one.get("internal_name") == internal_name(study):
            own.append(one["id"])
        elif one["id"] in by_link.values():
            linked.append(one["id"])
    if not own and not linked:
        raise InputError(
            f"your account at Prolific has no study `{internal_name(study)}`, and no study whose link was opened here. "
            "Fix: check that PROLIFIC_TOKEN is the token of the right account."
        )
    with spinner("Reading submissions"):
        found = [submission for study_id in own for submission in api.submissions(study_id)]
        return found + [
            submission
            for study_id in linked
            for submission in api.submissions(study_id)
            if by_link.get(submission.external_id) == study_id
        ]
