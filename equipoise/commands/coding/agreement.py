"""`equipoise coding agreement`: the agreement of coders, and the list of disagreements."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.coding.coded_trials import CodedAnswers, code_answers
from analysis.coding.coders import CodersCodes
from analysis.coding.words import coding_sentences
from analysis.output_files import csv_bytes
from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from equipoise.commands.coding.answers import answers_to_code
from equipoise.commands.coding.codes import ANSWER, RESOLVED, codes_of_coding, withdrawn_answers
from equipoise.commands.coding.new import trials_of
from equipoise.commands.coding.record import DISAGREEMENTS, CodingFolder, coding_folder
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, write_private_csv
from experiment.study.answer_coding import BETWEEN_CODES


@dataclass(frozen=True)
class CodersAgreement:
    """The agreement of the coders of one coding."""

    coded: CodedAnswers
    """Numbers and tables."""
    sentences: list[str]
    """The result in words."""
    files: list[Path]
    """The written files: `agreement.csv`, `agreement_by_code.csv` and, if coders disagreed, `disagreements.csv`."""
    withdrawn: list[str]
    """Sentences on coding studies that still contain withdrawn answers."""


def coding_agreement(study: StudyFolder, name: str | None = None, store: StoreAddress | None = None) -> CodersAgreement:
    """Compute the agreement of the coders, and write it and the list of disagreements to the coding study's folder.

    In `disagreements.csv`, the researcher writes the final code of an answer into the column `resolved`. The command
    keeps these codes when it writes the file again.

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
    CodersAgreement
        The numbers, the result in words, and the written files.

    Raises
    ------
    InputError
        If there is no coding study, or no coder has coded an answer.
    """
    study = loaded(study)
    folder = coding_folder(study, name)
    folder.read()
    trials = trials_of(study, store)
    codes = codes_of_coding(folder, trials)
    if not codes.given:
        raise InputError(
            f"{folder.path}: no coder has coded an answer yet. Fix: start the coding study with `equipoise serve "
            f"{folder.path}`, without --store and EQUIPOISE_STORE, and give the coders their addresses."
        )
    confidence = study.definition.analysis.confidence
    _, (coded,) = code_answers(trials, {folder.name: folder.coding}, {folder.name: codes}, confidence)
    files = []
    for ending, table in (("agreement", coded.agreement), ("agreement_by_code", coded.by_code)):
        path = folder.path / f"{ending}.csv"
        with atomic_write(path, is_private=True) as file:
            file.write(csv_bytes(table).decode())
        files.append(path)
    files += write_disagreements(folder, trials)
    return CodersAgreement(coded, coding_sentences(coded, confidence), files, withdrawn_answers(study, trials))


def write_disagreements(folder: CodingFolder, trials: pd.DataFrame) -> list[Path]:
    """Write the list of disagreements, with the texts of the answers and the codes that are already resolved.

    The file contains answers of participants, so only its owner can read it. Disagreements that were resolved before
    the last refresh are left out. Without a disagreement, the file is deleted. Return the written files.
    """
    record, path = folder.read(), folder.path / DISAGREEMENTS
    codes: CodersCodes = codes_of_coding(folder, trials)
    answers = answers_to_code(folder, trials, record.salt)
    coders = codes.coders
    rows = [
        [
            answer,
            answers[answer].question,
            answers[answer].text,
            *(BETWEEN_CODES.join(codes.given[answer].get(coder, ())) for coder in coders),
            BETWEEN_CODES.join(codes.resolved.get(answer, ())),
        ]
        for answer in codes.disagreements()
        if answer in answers and answer not in record.resolved
    ]
    if not rows:
        path.unlink(missing_ok=True)
        return []
    write_private_csv(path, [ANSWER, "question", "text", *coders, RESOLVED], rows)
    return [path]
