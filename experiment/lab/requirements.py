"""Checks that the laboratory can show a study: its tasks, the window and the screen, and the fonts."""

from typing import Any

from batteries.errors import InputError
from batteries.stimulus.parts import asset_parts, kind_of, path_of, stored_name, suffix_of
from batteries.tasks.psychopy_trial import PsychoPyTask
from batteries.tasks.rating import Rating
from experiment.lab.hardware.response_box.box_text import BoxText, check_box_keys
from experiment.lab.input.key_bindings import check_task, keys_of
from experiment.lab.input.response_state import ENTER
from experiment.lab.media.files import media_folder, read_file
from experiment.lab.media.pictures import decode_picture
from experiment.lab.media.videos import has_sound, video_size_px
from experiment.lab.screens.layout.sheet import Sheet, Viewing
from experiment.lab.screens.trial import with_even_letters
from experiment.lab.screens.trial_header import TrialMoment
from experiment.records import LabDevice
from experiment.study.definition import Study
from experiment.study.response_keys import under_all_mappings

PAGE_KEYS = frozenset({"left", "right", "space", *ENTER})
"""Keys that turn pages and end screens."""
REFRESH_TOLERANCE = 0.02
"""Share by which a screen's refresh rate may be lower than the rate that the study requires.

The web page has the same tolerance. Screens of 59.94 Hz are sold as screens of 60 Hz.
"""


def check_tasks(study: Study) -> None:
    """Raise an InputError if only a browser can show one of the study's items."""
    try:
        for item in study.battery.items:
            check_task(item.item_id, item.task)
    except InputError as error:
        raise InputError(f"{study.folder / 'study.yaml'}: {error}") from None


def check_media(study: Study, monitor: str | None) -> None:
    """Check that the laboratory can show and play the files of a study's pictures, sounds and videos.

    Parameters
    ----------
    study
        The study.
    monitor
        Name of the monitor in PsychoPy's Monitor Center; None if no monitor was chosen.

    Raises
    ------
    InputError
        If a file cannot be decoded, a package is missing, or a size in degrees has no monitor.
    """
    for part in _files(study):
        if part.get("width_deg") is not None and monitor is None:
            raise InputError(
                f"{path_of(part)}: its size is in degrees, but the size of the screen is not known. Fix: define the "
                "width and the distance of the screen in PsychoPy's Monitor Center, and add `--monitor NAME`."
            )
        data = read_file(media_folder(study), part)
        if kind_of(part) == "video":
            video_size_px(part, data)
        elif kind_of(part) == "sound":
            has_sound(part, data)
        elif suffix_of(part) == ".svg":  # Other pictures were decoded when the battery was read.
            decode_picture(part, data, (int(part["width_px"]), int(part["height_px"])), "#ffffff")


def plays_sounds(study: Study) -> bool:
    """Return True if a study has sounds, or videos with sound."""
    return any(
        kind_of(part) == "sound" or (kind_of(part) == "video" and has_sound(part, read_file(media_folder(study), part)))
        for part in _files(study)
    )


def check_box(study: Study, box: BoxText, scanner_key: str | None) -> None:
    """Raise an InputError if a button of a response box is not a key of the study, or if the box hides a key.

    `scanner_key` is the key that a scanner presses; None without a scanner. A box may send the pulses. A study with
    items of the task `psychopy` is not checked, because their keys are known only after their class has run.
    """
    if study.lab_only_item:
        return
    items = under_all_mappings(study.battery.items, study.definition.response_keys)
    item_keys = {key for item in items for key in keys_of(item.task, item.content)}
    if confidence := study.definition.confidence:
        item_keys |= {*keys_of(Rating.name, confidence.model_dump(mode="json"))}
    check_box_keys(box, item_keys, PAGE_KEYS | ({scanner_key} if scanner_key else set()))


def _files(study: Study) -> list[dict[str, Any]]:
    """Return the pictures, sounds and videos of a study, each file once for each size in degrees.

    The files of items of the task `psychopy` are left out, because a class of the study reads them.
    """
    items = [item for item in study.battery.items if item.task != PsychoPyTask.name]
    parts = [part for item in items for part in asset_parts(item.content)]
    return list({(stored_name(part), part.get("width_deg")): part for part in parts}.values())


def check_device(study: Study, here: LabDevice) -> None:
    """Raise an InputError if the window is too small or the screen is too slow for the study."""
    needs, where = study.definition.device, f"{study.folder / 'study.yaml'}, device"
    width_px, height_px = needs.width_px or here.width_px, needs.height_px or here.height_px
    if here.width_px < width_px or here.height_px < height_px:
        raise InputError(
            f"{where}: the study needs a window of at least {width_px} x {height_px} pixels, and this window has "
            f"{here.width_px} x {here.height_px}. Fix: run the session on a larger screen."
        )
    hz = here.measured_hz if here.is_synchronised else here.nominal_hz
    if needs.refresh_hz and hz and hz < needs.refresh_hz * (1 - REFRESH_TOLERANCE):
        raise InputError(
            f"{where}: the study needs a screen of {needs.refresh_hz} Hz, and this screen has {hz:.1f} Hz. Fix: set a "
            "higher refresh rate, or use another screen."
        )


def sheet_for(study: Study, size_px: tuple[int, int], viewing: Viewing | None = None) -> Sheet:
    """Return the sheet (fonts, texts and sizes) of a study's screens, with the same font size for all items.

    Raises
    ------
    InputError
        If there is no font for the study, or an item does not fit the screen.
    """
    timing, n_trials = study.definition.timing, max(len(items) for items in study.test_items_by_group.values())
    longest = TrialMoment(
        progress=study.words.say("question_of", number=n_trials, total=n_trials),
        reading_ms=timing.reading_ms,
        deadline_ms=timing.deadline_ms,
    )
    # The names of keys have other places under other mappings.
    items = under_all_mappings(study.battery.items, study.definition.response_keys)
    return with_even_letters(Sheet.of(study, size_px, viewing), items, longest)
