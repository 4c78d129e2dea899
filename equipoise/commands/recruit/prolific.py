"""`equipoise recruit prolific`: write the study for Prolific, make its draft, publish it, pause it, add places."""

import json
from pathlib import Path
from typing import Any

from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from equipoise.commands.store_access import StudyFolder, loaded
from experiment.study.definition import Study
from experiment.study.unfinished_texts import Gap, find_gaps
from server.locations import secrets_folder
from server.participants.group_links import group_token
from server.recruitment.prolific_api import ProlificApi, has_token, in_major_units, prolific_api
from server.recruitment.prolific_study import internal_name, prolific_settings, study_request
from server.security.secret_files import read_secrets
from server.settings import read_settings

DRAFT = "UNPUBLISHED"


def recruit_prolific(
    study: StudyFolder,
    *,
    draft: bool = False,
    publish: bool = False,
    pause: bool = False,
    places: int | None = None,
    link_per_group: bool = False,
    output: Path | str | None = None,
) -> list[str]:
    """Make a draft of the study at Prolific, publish or pause the study, or add places. Choose one of these.

    All except the file of a draft needs Prolific's API token in the environment variable `PROLIFIC_TOKEN`. Each action
    can be repeated: it reads the state of the study at Prolific first.

    Parameters
    ----------
    study
        The study or its folder, with `recruitment.prolific`.
    draft
        True to write the study as JSON and, if there is a token, to make the draft at Prolific or to change it.
    publish
        True to publish the draft, or to continue a paused study.
    pause
        True to pause the study.
    places
        New number of places, which must be higher than the present number.
    link_per_group
        With `draft`, True for one link per counterbalance group, so that Prolific assigns the groups.
    output
        With `draft`, the file to write, .json; by default `prolific.json` in the study's folder.

    Returns
    -------
    list of str
        Sentences on the result.

    Raises
    ------
    InputError
        If the settings are incomplete, or Prolific refuses the action.
    """
    study = loaded(study)
    if [draft, publish, pause, places is not None].count(True) != 1:
        raise InputError("no action, or several actions. Fix: give one of --draft, --publish, --pause and --places.")
    if not draft and (link_per_group or output is not None):
        raise InputError("--link-per-group and --output belong to --draft. Fix: add --draft, or omit these options.")
    gaps = find_gaps(study)
    if publish and gaps:
        raise InputError(
            f"participants would read unfinished texts: {'; '.join(map(str, gaps))}. Fix: replace each mark in "
            f"{study.folder} with your own text, and start the server again."
        )
    if draft:
        path = Path(output) if output else study.folder / "prolific.json"
        return [*map(_gap_sentence, gaps), *_draft(study, link_per_group, path)]
    prolific_settings(study)
    with prolific_api() as api:
        at_prolific = _study_at_prolific(study, api)
        if places is not None:
            return _add_places(api, at_prolific, places)
        return [_publish(api, at_prolific) if publish else _pause(api, at_prolific)]


def _gap_sentence(gap: Gap) -> str:
    return f"WARNING: {gap.file}, line {gap.line}: `{gap.mark}` is unfinished. Write your own text before you publish."


def _draft(study: Study, link_per_group: bool, path: Path) -> list[str]:
    tokens = None
    if link_per_group:
        key = read_secrets(secrets_folder(study, read_settings())).signing_key
        tokens = {group: group_token(study, key, group) for group in range(1, study.definition.n_groups + 1)}
    request = study_request(study, tokens)
    with atomic_write(path) as file:
        file.write(json.dumps(request, indent=2, ensure_ascii=False) + "\n")
    places, reward = request["total_available_places"], request["reward"]
    currency = prolific_settings(study).currency
    sentences = [
        f"Made {path}: {places:,} places of {in_major_units(reward)} {currency}, "
        f"{in_major_units(places * reward)} {currency} in total, plus Prolific's fee."
    ]
    if not has_token():
        return [*sentences, "To make the draft at Prolific, set PROLIFIC_TOKEN and run this command again."]
    with prolific_api() as api:
        return [*sentences, _make_draft(study, api, request)]


def _make_draft(study: Study, api: ProlificApi, request: dict[str, Any]) -> str:
    """Make the draft at Prolific. If a draft of this study exists, change it instead of making another one."""
    known = _named(study, api)
    published = [one for one in known if one.get("status") != DRAFT]
    if published:
        raise InputError(
            f"the study `{internal_name(study)}` is published at Prolific (its id is {published[0]['id']}). Fix: add "
            "places with --places, or give the study a new `version`."
        )
    if known:
        api.update_study(known[0]["id"], request)
        return f"Changed the draft {known[0]['id']} at Prolific. Look at its preview, then publish it with --publish."
    made = api.create_study(request)
    return f"Made the draft {made.get('id')} at Prolific. Look at its preview, then publish it with --publish."


def _named(study: Study, api: ProlificApi) -> list[dict[str, Any]]:
    return [one for one in api.studies() if one.get("internal_name") == internal_name(study)]


def _study_at_prolific(study: Study, api: ProlificApi) -> dict[str, Any]:
    """Return the one study at Prolific that was made for this study."""
    known = _named(study, api)
    if len(known) != 1:
        ids = f" ({', '.join(one['id'] for one in known)})" if known else ""
        raise InputError(
            f"Prolific has {len(known)} studies with the internal name `{internal_name(study)}`{ids}. Fix: "
            + ("delete all but one on Prolific's page." if known else "make the draft with --draft.")
        )
    return api.study(known[0]["id"])


def _publish(api: ProlificApi, at_prolific: dict[str, Any]) -> str:
    study_id, status = at_prolific["id"], at_prolific.get("status")
    if status not in {DRAFT, "PAUSED"}:
        return f"Nothing was changed: study {study_id} at Prolific has the status {status}."
    api.transition_study(study_id, "PUBLISH" if status == DRAFT else "START")
    return f"Study {study_id} at Prolific is published." if status == DRAFT else f"Study {study_id} continues."


def _pause(api: ProlificApi, at_prolific: dict[str, Any]) -> str:
    study_id, status = at_prolific["id"], at_prolific.get("status")
    if status != "ACTIVE":
        return f"Nothing was changed: study {study_id} at Prolific has the status {status}."
    api.transition_study(study_id, "PAUSE")
    return f"Study {study_id} at Prolific is paused. Participants who have begun can finish."


def _add_places(api: ProlificApi, at_prolific: dict[str, Any], places: int) -> list[str]:
    study_id, present = at_prolific["id"], at_prolific.get("total_available_places") or 0
    if at_prolific.get("access_details"):
        raise InputError(
            f"study {study_id} at Prolific has one link per group. Fix: change the places of each link on Prolific's "
            "page."
        )
    if places < present:
        raise InputError(f"--places {places}: the study has {present} places already. Fix: write a higher number.")
    if places == present:
        return [f"Nothing was changed: study {study_id} at Prolific has {places:,} places."]
    # The new total, not the difference: so a repeated request adds nothing.
    api.update_study(study_id, {"total_available_places": places})
    return [
        f"Study {study_id} at Prolific has {places:,} places, {places - present:,} more than before.",
        "Also raise `quota` in study.yaml, and start the server again.",
    ]
