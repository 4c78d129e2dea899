"""The study as Prolific's API wants it: link, places, reward, allowed time, prescreeners and completion codes.

The fields are those of Prolific's API reference (Studies, "Create a draft study", mid-2026). A study with one link per
counterbalance group has `access_details` (Prolific's Taskflow) instead of one `external_study_url`.
"""

import secrets
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from batteries.errors import InputError
from experiment.study.definition import Study, StudyDefinition
from experiment.study.exclusion_rules import AttentionCheckRule
from experiment.study.prolific import ProlificSettings
from experiment.study.recruitment import PROLIFIC_KEPT_PARAMETERS, PROLIFIC_PARAMETER, Exit

COMPLETION_LINK = "https://app.prolific.com/submissions/complete?cc="


class _CodeAtProlific(NamedTuple):
    """The type of an outcome's code at Prolific, and Prolific's action after a submission with this code."""

    code_type: str
    action: dict[str, str]


def _ask_for_return(reason: str) -> dict[str, str]:
    return {"action": "REQUEST_RETURN", "return_reason": reason}


_REVIEW = {"action": "MANUALLY_REVIEW"}
_OUTCOMES = {
    "completed": _CodeAtProlific("COMPLETED", _REVIEW),
    "failed_checks": _CodeAtProlific("FAILED_ATTENTION_CHECK", _REVIEW),
    "no_consent": _CodeAtProlific("NO_CONSENT", _ask_for_return("You did not agree to take part.")),
    "incompatible_device": _CodeAtProlific(
        "INCOMPATIBLE_DEVICE", _ask_for_return("Your device does not meet the requirements of this study.")
    ),
    "practice_not_passed": _CodeAtProlific(
        "OTHER", _ask_for_return("Your practice had too few right responses, so the study ended early.")
    ),
    "not_resumed": _CodeAtProlific(
        "OTHER", _ask_for_return("You came back too late or too often, so the study ended early.")
    ),
}
"""Outcomes are reviewed by `equipoise recruit approve`, which compares Prolific's list with the store. A comprehension
check, such as the practice, may lead to a return, but never to a rejection.
"""


def prolific_settings(study: Study) -> ProlificSettings:
    """Return a study's settings for Prolific.

    Raises
    ------
    InputError
        If the study has no such settings.
    """
    settings = study.definition.recruitment.prolific
    if settings is None:
        raise InputError(
            f"{study.folder / 'study.yaml'}: `recruitment.prolific` is missing. Fix: add `prolific: {{description: "
            "..., address: https://..., minutes: 10, wage_per_hour: 9}` to `recruitment`."
        )
    return settings


def internal_name(study: Study) -> str:
    """Return the name by which the researcher, but no participant, sees the study at Prolific."""
    return f"{study.name} {study.definition.version}"


def study_request(study: Study, group_tokens: Mapping[int, str] | None = None) -> dict[str, Any]:
    """Return the body of the request that makes a draft of the study at Prolific.

    Parameters
    ----------
    study
        The study, with `recruitment.prolific`.
    group_tokens
        The token of each counterbalance group's link, by number of the group, to get one link per group; None for one
        link.

    Raises
    ------
    InputError
        If the study has no settings for Prolific, or lacks a number of places or a completion code.
    """
    settings = prolific_settings(study)
    recruitment, device = study.definition.recruitment, study.definition.device
    places = _places(study, settings)
    devices = ["desktop", *([] if device.keyboard else ["tablet"])]
    if device.phones and not device.keyboard:
        devices.append("mobile")
    return {
        "name": study.definition.title,
        "internal_name": internal_name(study),
        "description": settings.description,
        "prolific_id_option": "url_parameters",
        **_links(study, settings, places, group_tokens),
        **({"is_external_study_url_secure": True} if recruitment.prolific_secured_url else {}),
        "total_available_places": places,
        "estimated_completion_time": settings.minutes,
        "maximum_allowed_time": settings.maximum_allowed_min,
        "reward": settings.reward_cents,
        "device_compatibility": devices,
        "filters": [one.model_dump(exclude_none=True, mode="json") for one in settings.prescreeners],
        "completion_codes": completion_codes(study),
    }


def _places(study: Study, settings: ProlificSettings) -> int:
    recruitment = study.definition.recruitment
    groups, per_group = study.definition.n_groups, recruitment.quota_per_group
    limits = [limit for limit in (recruitment.quota, per_group and per_group * groups) if limit is not None]
    if settings.places is None and not limits:
        raise InputError(
            f"{study.folder / 'study.yaml'}: the number of places at Prolific is missing. Fix: set `quota` in "
            "`recruitment`."
        )
    places = settings.places or min(limits)
    if limits and places > min(limits):
        raise InputError(
            f"{study.folder / 'study.yaml'}: there are {places} places at Prolific, but the quota of the study is "
            f"{min(limits)}, so the last participants would find a full study. Fix: raise the quota."
        )
    return places


def _links(
    study: Study, settings: ProlificSettings, places: int, group_tokens: Mapping[int, str] | None
) -> dict[str, Any]:
    address = settings.address or study.definition.recruitment.prolific_secured_url
    ids = "&".join(f"{name}={{{{%{name}%}}}}" for name in (PROLIFIC_PARAMETER, *PROLIFIC_KEPT_PARAMETERS))
    link = f"{address}?{ids}"
    if group_tokens is None:
        return {"external_study_url": link}
    if places < len(group_tokens):
        raise InputError(
            f"{study.folder / 'study.yaml'}: there are fewer places at Prolific ({places}) than groups "
            f"({len(group_tokens)}). Fix: raise `quota`, or use one link for all groups."
        )
    each, rest = divmod(places, len(group_tokens))
    return {
        "access_details": [
            {"external_url": f"{link}&{GROUP_PARAMETER}={token}", "total_allocation": each + (position < rest)}
            for position, (_, token) in enumerate(sorted(group_tokens.items()))
        ]
    }


GROUP_PARAMETER = "group"
"""Parameter of a link that assigns its participants to one counterbalance group. Its value is signed by the server."""


def completion_codes(study: Study) -> list[dict[str, Any]]:
    """Return the completion codes of a study, with their types and actions at Prolific.

    Raises
    ------
    InputError
        If a code is missing, if two outcomes have the same code, or if a return link does not lead to Prolific.
    """
    exits = _exits(study.definition)
    where = study.folder / "study.yaml"
    missing = [name for name in _needed(study.definition) if exits[name].code is None]
    if missing:
        proposed = ", ".join(f"{name}: {{code: C{secrets.token_hex(4).upper()}}}" for name in missing)
        raise InputError(
            f"{where}: `recruitment.exits` has no code for {' and '.join(missing)}, and Prolific needs a code for each "
            f"outcome. Fix: add `{proposed}` to `exits`."
        )
    by_outcome = {name: one for name, one in exits.items() if one.code is not None}
    if unfinished := [name for name, one in by_outcome.items() if str(one.code).startswith("TODO")]:
        raise InputError(
            f"{where}: the completion code of {' and '.join(unfinished)} in `recruitment.exits` is still TODO. Fix: "
            "write codes that nobody can guess."
        )
    for code, n in Counter(one.code for one in by_outcome.values()).items():
        if n > 1:
            raise InputError(
                f"{where}: {n} outcomes have the completion code {code}, but Prolific needs different codes. Fix: give "
                "each outcome in `recruitment.exits` its own code."
            )
    for name, one in by_outcome.items():
        if one.link is not None and one.link not in {COMPLETION_LINK + "{code}", f"{COMPLETION_LINK}{one.code}"}:
            raise InputError(
                f"{where}: the link of `recruitment.exits.{name}` does not lead to Prolific's completion page. Fix: "
                f"write the link {COMPLETION_LINK}{{code}}."
            )
    return [
        {
            "code": one.code,
            "code_type": _OUTCOMES[name].code_type,
            "actions": [_OUTCOMES[name].action],
            "actor": "participant",
        }
        for name, one in by_outcome.items()
    ]


def _exits(definition: StudyDefinition) -> dict[str, Exit]:
    """Return the exit of each outcome. The code of `completed` may be the study's `completion_code`."""
    exits = definition.recruitment.exits
    completed = exits.completed
    if completed.code is None:
        completed = completed.model_copy(update={"code": definition.completion_code})
    others = {name: getattr(exits, name) or Exit() for name in _OUTCOMES if name != "completed"}
    return {"completed": completed, **others}


def _needed(definition: StudyDefinition) -> list[str]:
    """Return the outcomes for which Prolific needs a code, in the order of `_OUTCOMES`."""
    has_checks = definition.attention_checks and any(
        isinstance(rule, AttentionCheckRule) for rule in definition.analysis.exclusions
    )
    criterion = definition.practice_criterion
    needed = {
        "completed": True,
        "failed_checks": bool(has_checks),
        "no_consent": True,
        "incompatible_device": True,
        "practice_not_passed": criterion is not None and criterion.otherwise == "end",
    }
    return [name for name in _OUTCOMES if needed.get(name, False)]
