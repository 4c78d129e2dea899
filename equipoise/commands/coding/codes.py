"""Reading the codes of a coding: from the coding study's store, its record, and the list of disagreements."""

from pathlib import Path

import pandas as pd

from analysis.coding.coders import CodersCodes, CodeSet
from analysis.data.tidy_table import tidy_trials
from batteries.errors import InputError
from batteries.files.csv_files import parse_csv, refuse_duplicate_columns, unguarded
from batteries.files.file_reading import read_text
from equipoise.commands.coding.record import DISAGREEMENTS, CodingFolder, CodingRecord, Place, read_record
from equipoise.commands.study_trials import stored_rows
from experiment.load_study import load_study
from experiment.records import Kind
from experiment.study.definition import Study
from server.store.open import opened_store

RESOLVED = "resolved"
"""The column of disagreements.csv into which the researcher writes the final code."""
ANSWER = "answer"
"""The column of disagreements.csv with the id of the answer."""


def codes_of_coding(folder: CodingFolder, trials: pd.DataFrame) -> CodersCodes:
    """Return the codes of a coding for the answers that the study still has.

    Answers of withdrawn sessions are left out. `trials` is the tidy table of the study with the answers.
    """
    record = folder.read()
    there = places_with_answers(trials)
    answers = {place: answer for answer, places in record.answers.items() for place in places if place in there}
    present = set(answers.values())
    given = {answer: of for answer, of in all_given(folder, record).items() if answer in present}
    resolved = {answer: codes for answer, codes in all_resolved(folder, record).items() if answer in present}
    return CodersCodes(answers, given, resolved)


def places_with_answers(trials: pd.DataFrame) -> set[Place]:
    """Return the session and the trial index of each trial with a response."""
    answered = trials[trials["response"].notna()]
    return set(zip(answered["session"].astype("str"), answered["trial_index"].astype("int64"), strict=True))


def all_given(folder: CodingFolder, record: CodingRecord) -> dict[str, dict[str, CodeSet]]:
    """Return the codes by answer, then by coder: those of earlier rounds, and those of the present round.

    If a coder coded an answer twice, the first code counts.
    """
    given = {answer: dict(of) for answer, of in record.given.items()}
    for answer, coder, codes in _given_in_store(folder, record):
        given.setdefault(answer, {}).setdefault(coder, codes)
    return given


def _given_in_store(folder: CodingFolder, record: CodingRecord) -> list[tuple[str, str, CodeSet]]:
    if not folder.is_open or not folder.store.exists():
        return []
    study, place = load_study(folder.path), str(folder.store)
    rows = stored_rows(study, place)
    if rows.empty:
        return []
    with opened_store(place, must_exist=True) as store:
        coder_of = {one["session"]: _coder_name(one["external_id"]) for one in store.identities(study)}
    trials = tidy_trials(rows, place)
    trials = trials[trials["response"].notna() & trials["excluded_reason"].isna() & (trials["phase"] == "test")]
    people = trials["kind"] == Kind.HUMAN
    trials = trials[people] if people.any() else trials[trials["kind"] == Kind.SIMULATED]
    found = []
    for session, participant, item_id, response in trials.sort_values("received_at")[
        ["session", "participant", "item_id", "response"]
    ].itertuples(index=False):
        numbers = response if isinstance(response, list) else [response]
        codes = tuple(record.codes[number - 1] for number in numbers)
        found.append((str(item_id), coder_of.get(session, str(participant)), codes))
    return found


def _coder_name(external_id: str) -> str:
    """Return the name of a coder, such as `coder-1`. The secret part of the coder's id is left out."""
    return "-".join(external_id.split("-")[:2])


def all_resolved(folder: CodingFolder, record: CodingRecord) -> dict[str, CodeSet]:
    """Return the final codes that the researcher wrote for disagreements, by answer.

    Raises
    ------
    InputError
        If the list of disagreements cannot be read, or has an unknown code.
    """
    path = folder.path / DISAGREEMENTS
    return record.resolved | (_resolved_in(path, record) if path.exists() else {})


def _resolved_in(path: Path, record: CodingRecord) -> dict[str, CodeSet]:
    table = parse_csv(read_text(path), path)
    refuse_duplicate_columns(table.header, path)
    for column in (ANSWER, RESOLVED):
        if column not in table.header:
            raise InputError(
                f"{path}, line 1: there is no column `{column}`. Fix: restore the column, or delete the file and run "
                "`equipoise coding agreement` again."
            )
    found: dict[str, CodeSet] = {}
    for cells, line in zip(table.rows, table.lines, strict=True):
        row = dict(zip(table.header, (unguarded(cell).strip() for cell in cells), strict=False))
        if not row.get(RESOLVED):
            continue
        codes = [code.strip() for code in row[RESOLVED].split("+")]
        for code in codes:
            if code not in record.codes:
                raise InputError(
                    f"{path}, line {line}: `{code}` is not a code. Fix: write one of {', '.join(record.codes)}"
                    f"{', or several with + between them' if record.several else ''}."
                )
        if len(codes) > 1 and not record.several:
            raise InputError(f"{path}, line {line}: the answer has several codes. Fix: write one code.")
        found[row[ANSWER]] = tuple(sorted(set(codes), key=record.codes.index))
    return found


def withdrawn_answers(study: Study, trials: pd.DataFrame) -> list[str]:
    """Return a sentence for each coding study that still contains answers of sessions that were withdrawn.

    `trials` is the tidy table of the study with the answers.
    """
    withdrawn = set(trials.loc[trials["status"] == "withdrawn", "session"].astype("str"))
    return coding_studies_with(study, withdrawn)


def coding_studies_with(study: Study, sessions: set[str]) -> list[str]:
    """Return a sentence for each coding study that contains answers of these sessions, which were withdrawn."""
    sentences = []
    for path in sorted((study.folder / "data" / "coding").glob("*/data/coding.json")):
        record, folder = read_record(path), path.parent.parent
        if any(session in sessions for places in record.answers.values() for session, _ in places):
            sentences.append(
                f"{folder}: this coding study contains answers that were withdrawn. Fix: stop its server, and run "
                f"`equipoise coding refresh {study.folder} {folder.name}`, which deletes these answers."
            )
    return sentences
