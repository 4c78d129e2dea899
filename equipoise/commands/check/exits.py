"""Point on completion codes and return links for a panel."""

from urllib.parse import urlsplit

from equipoise.commands.check.checklist import Point, failed, listed, needs_attention, passed
from experiment.study.definition import Study
from experiment.study.recruitment import PROLIFIC_PARAMETER, Exits
from experiment.study.unfinished_texts import GAP

PROLIFIC_HOST = "app.prolific.com"


def codes_point(study: Study) -> Point:
    """Check that each outcome has a code, that the codes are different, and that links lead to the panel."""
    subject, definition = "Completion codes", study.definition
    recruitment = definition.recruitment
    codes = _codes(study)
    if unfinished := [name for name, code in codes.items() if GAP.search(code)]:
        return failed(subject, f"the code of {listed(unfinished)} is a mark such as TODO.", "write your own codes.")
    if same := _equal(codes):
        return failed(
            subject,
            f"{listed(same)} have the same code, so the panel cannot distinguish these outcomes.",
            "give each outcome its own code.",
        )
    if recruitment.entry != "panel":
        return passed(subject, f"`entry: {recruitment.entry}` has no panel. Each participant gets a personal code.")
    completed = recruitment.exits.completed
    if "completed" not in codes and "{id}" not in (completed.link or ""):
        return failed(
            subject,
            "there is no code for completed sessions, so the panel cannot recognize who has completed the study.",
            "write the panel's code as `completion_code` in study.yaml, or under `recruitment.exits.completed`.",
        )
    is_prolific = recruitment.panel_parameter == PROLIFIC_PARAMETER
    exits = {name: getattr(recruitment.exits, name) for name in Exits.model_fields}
    links = {name: exit_.link for name, exit_ in exits.items() if exit_ and exit_.link}
    wrong = [name for name, link in links.items() if is_prolific and urlsplit(link).hostname != PROLIFIC_HOST]
    if wrong:
        return failed(
            subject,
            f"the return link of {listed(wrong)} does not lead to {PROLIFIC_HOST}.",
            "copy the link from Prolific, such as https://app.prolific.com/submissions/complete?cc={code}.",
        )
    if missing := [name for name in _outcomes(study) if name not in codes and name not in links]:
        return needs_attention(
            subject,
            f"these outcomes can happen, but have no code: {listed(missing)}. Such participants return to the panel "
            "without a code.",
            "write a code for each of them under `recruitment.exits`.",
        )
    named = listed([f"{name} {code}" for name, code in codes.items()])
    return passed(subject, f"every outcome has its own code or link: {named or listed(list(links))}.")


def _codes(study: Study) -> dict[str, str]:
    """Return the fixed codes by outcome."""
    exits = study.definition.recruitment.exits
    codes = {name: exit_.code for name in Exits.model_fields if (exit_ := getattr(exits, name)) and exit_.code}
    if study.definition.completion_code and "completed" not in codes:
        codes["completed"] = study.definition.completion_code
    return codes


def _equal(codes: dict[str, str]) -> list[str]:
    written = list(codes.values())
    return [name for name, code in codes.items() if written.count(code) > 1]


def _outcomes(study: Study) -> list[str]:
    """Return the early outcomes that this study's rules allow."""
    definition = study.definition
    device, criterion, resume = definition.device, definition.practice_criterion, definition.resume
    has_limits = resume.max_age_min is not None or resume.max_reloads is not None
    possible = {
        "practice_not_passed": criterion is not None and criterion.otherwise == "end",
        "not_resumed": has_limits and resume.otherwise == "end",
        "no_consent": definition.timeline.consent is not None,
        "incompatible_device": not device.phones
        or device.keyboard
        or bool(device.width_px or device.height_px or device.refresh_hz),
    }
    return [name for name, can_happen in possible.items() if can_happen]
