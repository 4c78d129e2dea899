"""`equipoise coding new`: make a coding study from the open answers of a study."""

import secrets
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from batteries.errors import InputError
from batteries.files.atomic_folder import new_private_folder
from batteries.items import copy_assets
from equipoise.commands.coding.answers import Answer, answers_to_code, battery_of
from equipoise.commands.coding.record import CodingFolder, CodingRecord, coding_folder
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, setting_of
from equipoise.commands.study_trials import may_have_responses, no_responses, study_trials
from experiment.load_study import load_study
from experiment.study.definition import Study
from server.locations import store_location
from server.settings import read_settings


@dataclass(frozen=True)
class CodingStudy:
    """A coding study, and what its coders have to do."""

    folder: Path
    """The folder of the coding study."""
    n_answers: int
    """Number of answers, of participants and models together."""
    n_items: int
    """Number of distinct answers to code."""
    addresses: list[str]
    """The last part of each coder's address, after the address of the server."""


def coding_new(study: StudyFolder, name: str | None = None, store: StoreAddress | None = None) -> CodingStudy:
    """Make a coding study: a study folder with one item for each distinct open answer.

    The folder is `data/coding/NAME` in the folder of the study. The coders see neither participant, condition nor
    model. Only the owner can read the folder.

    Parameters
    ----------
    study
        The study with the answers, or its folder.
    name
        Name of the coding under `analysis.coding`. It may be omitted if the study has one coding by coders.
    store
        File or database address of the study's store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    CodingStudy
        The folder, the numbers of answers, and the addresses of the coders.

    Raises
    ------
    InputError
        If the coding study exists already, or there are no answers to code.
    """
    study = loaded(study)
    folder = coding_folder(study, name)
    if folder.path.exists():
        raise InputError(
            f"{folder.path}: this coding study exists already. Fix: to add new answers, run `equipoise coding refresh "
            f"{study.folder} {folder.name}`."
        )
    record = CodingRecord(
        study=study.name,
        round=1,
        codes=folder.coding.code_names,
        several=folder.coding.several,
        salt=secrets.token_hex(16),
        answers={},
    )
    answers = answers_to_code(folder, trials_of(study, store), record.salt)
    if not answers:
        raise InputError(
            f"{study.folder}: no completed session has an answer to an item of the coding `{folder.name}`. Fix: "
            "collect responses first, or correct `items` in `analysis.coding`."
        )
    record.answers = {answer_id: answer.places for answer_id, answer in answers.items()}
    with new_private_folder(folder.path) as made:
        (made / "data").mkdir()
        folder.add_coders(made)
        (made / ".gitignore").write_text("*\n", encoding="utf-8")  # Every file may contain answers of participants.
        write_round(folder, record, answers, made)
        load_study(made)
    return described(folder, answers, len(answers))


def trials_of(study: Study, store: StoreAddress | None) -> pd.DataFrame:
    """Return the tidy table of a study. Raise InputError if there are no responses."""
    location = store_location(study, read_settings(store=setting_of(store)))
    if not may_have_responses(location):
        raise no_responses(location, study)
    return study_trials(study, location)


def write_round(
    folder: CodingFolder, record: CodingRecord, answers: dict[str, Answer], made: Path | None = None
) -> None:
    """Write the study files of a round, and then the record. `answers` are the answers that coders still have to code.

    `made` is the folder to write to, if the folder of the coding study has another name at first.
    """
    battery = battery_of(folder, record, answers)
    copy_assets(battery.items, (folder.study.folder / folder.study.definition.battery).parent, made or folder.path)
    folder.write_study(record, battery, made)
    folder.write(record, made)


def described(folder: CodingFolder, answers: dict[str, Answer], n_items: int) -> CodingStudy:
    """Return the description of a coding study. `n_items` is the number of distinct answers that are left to code."""
    n_answers = sum(len(answer.places) for answer in answers.values())
    return CodingStudy(folder.path, n_answers, n_items, folder.addresses())
