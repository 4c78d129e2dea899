"""Checks that a browser can show a study, and which checks of the participant's device the study needs."""

from batteries.errors import InputError
from batteries.stimulus.parts import asset_parts, kind_of
from experiment.study.definition import Study


def check_degrees(study: Study) -> None:
    """Raise an InputError if an item has a size in degrees, but participants do not measure their screens."""
    if study.definition.device.calibration:
        return
    for item in study.battery.items:
        if any(part.get("width_deg") is not None for part in asset_parts(item.content)):
            raise InputError(
                f"{study.folder / 'study.yaml'}: the item `{item.item_id}` has a size in degrees, and a browser does "
                "not know the size of a participant's screen. Fix: add `device: {calibration: true}`."
            )


def needs_sound(study: Study) -> bool:
    """Return True if participants must prove that they hear sounds."""
    needed = study.definition.device.sound
    if needed is not None:
        return needed
    return any(kind_of(part) == "sound" for item in study.battery.items for part in asset_parts(item.content))
