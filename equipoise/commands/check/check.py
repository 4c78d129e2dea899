"""`equipoise check`: go through a study before launch, and return a checklist."""

from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.check.assets import assets_points
from equipoise.commands.check.battery import answer_keys_point, battery_point
from equipoise.commands.check.browser import browser_points, skipped_points
from equipoise.commands.check.checklist import Checklist, failed, problem_and_fix
from equipoise.commands.check.consent import consent_point
from equipoise.commands.check.duration import duration_point
from equipoise.commands.check.exits import codes_point
from equipoise.commands.check.groups import groups_point, quotas_point
from equipoise.commands.check.operation import backup_point, https_point, utc_now
from equipoise.commands.check.pay import pay_point
from equipoise.commands.check.plan import plan_point
from equipoise.commands.check.study_texts import files_point, pages_point, reading_age_point, translation_point
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, setting_of
from experiment.study.definition import Study
from server.settings import read_settings


def check(study: StudyFolder, store: StoreAddress | None = None, browser: bool = True) -> Checklist:
    """Check a study before launch. The study's folder and its store do not change.

    Parameters
    ----------
    study
        The study or its folder.
    store
        File or database address of the store, to find its backups. By default `EQUIPOISE_STORE`, or the file in the
        study's folder.
    browser
        True to let a simulated participant of each group take the study in Chromium, which takes a few minutes.

    Returns
    -------
    Checklist
        The points. Each point passed, needs attention, failed, or was not checked.

    Raises
    ------
    InputError
        If the folder is not the folder of a study, or a setting is invalid.
    """
    settings = read_settings(store=setting_of(store))
    if not isinstance(study, Study) and (Path(study) / "study.yaml").is_file():
        try:
            study = loaded(study)
        except InputError as error:
            problem, fix = problem_and_fix(error)
            point = failed("Files", f"{problem} The other points were not checked.", fix)
            return Checklist(f"Check of {study}", (point,))
    study = loaded(study)
    without = skipped_points("--no-browser was given.", "run the command without --no-browser.")
    in_browser = browser_points(study) if browser else without
    return Checklist(
        f"Check of the study `{study.name}`, version {study.definition.version}",
        (
            files_point(study),
            pages_point(study),
            consent_point(study),
            reading_age_point(study),
            translation_point(study),
            battery_point(study),
            answer_keys_point(study),
            *assets_points(study),
            groups_point(study),
            quotas_point(study),
            duration_point(study),
            pay_point(study),
            codes_point(study),
            plan_point(study),
            *in_browser,
            backup_point(study, settings, utc_now()),
            https_point(study, settings),
        ),
    )
