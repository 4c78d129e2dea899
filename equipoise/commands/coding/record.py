"""The private file of a coding study: which answer belongs to which trial, and the codes of earlier rounds.

The file `data/coding.json` is in the folder of the coding study. The server never serves it, and only its owner can
read it. It contains no texts of answers.
"""

import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.coding.coders import CodeSet
from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.items import Battery, save_battery
from experiment.study.answer_coding import Coding
from experiment.study.definition import Study
from server.store.sql.identities import SUBMISSION_PARAMETER

Place = tuple[str, int]
"""The session and the trial index of an answer."""
CODER = "coder"
"""The parameter of a coder's address, and the first part of a coder's id."""
DISAGREEMENTS = "disagreements.csv"
SAME_SUBMISSION = "1"
"""The value of the address's `SESSION_ID`. The same value at each visit lets a coder resume in any browser."""


class CodingRecord(BaseModel):
    """The content of `data/coding.json`."""

    model_config = ConfigDict(extra="forbid")

    study: str
    """Name of the study with the answers."""
    round: int
    """Number of the coding study's version. A refresh begins a new round."""
    codes: list[str]
    """Names of the codes in the order of the options."""
    several: bool
    salt: str
    """Secret from which the ids of answers are made, so that an id does not reveal an answer."""
    answers: dict[str, list[Place]]
    """The trials of each distinct answer, by the id of the answer."""
    given: dict[str, dict[str, CodeSet]] = {}
    """Codes of earlier rounds, by the id of the answer, then by coder."""
    resolved: dict[str, CodeSet] = {}
    """Codes that the researcher wrote for disagreements of earlier rounds."""


class CodingFolder:
    """The folder of a coding study: `data/coding/NAME` in the folder of the study."""

    def __init__(self, study: Study, name: str) -> None:
        self.study, self.name = study, name
        self.coding: Coding = study.definition.analysis.coding[name]
        self.path = study.folder / "data" / "coding" / name

    @property
    def store(self) -> Path:
        """The store with the codes of the present round."""
        return self.path / "data" / "equipoise.db"

    @property
    def is_open(self) -> bool:
        """True if there are answers to code, so that the folder is a study."""
        return (self.path / "study.yaml").exists()

    def read(self) -> CodingRecord:
        """Return the record.

        Raises
        ------
        InputError
            If there is no coding study, if its file is damaged, or if the codes in study.yaml changed since.
        """
        path = record_path(self.path)
        if not path.exists():
            raise InputError(
                f"the coding `{self.name}` has no coding study yet. Fix: make it with `equipoise coding new "
                f"{self.study.folder} {self.name}`."
            )
        record = read_record(path)
        if record.codes != self.coding.code_names or record.several != self.coding.several:
            raise InputError(
                f"{self.study.folder / 'study.yaml'}: the codes of the coding `{self.name}` differ from those that "
                f"coders use ({', '.join(record.codes)}). Fix: restore the names and order of the codes and `several`. "
                f"To code again with other codes, delete the folder {self.path}."
            )
        return record

    def write(self, record: CodingRecord, folder: Path | None = None) -> None:
        """Write the record, into `folder` if the folder of the coding study has another name at first."""
        with atomic_write(record_path(folder or self.path), is_private=True) as file:
            file.write(record.model_dump_json())

    def write_study(self, record: CodingRecord, battery: Battery, folder: Path | None = None) -> None:
        """Write `study.yaml`, the battery and the instructions of the coding study."""
        folder = folder or self.path
        save_battery(battery, folder / "battery.jsonl")
        (folder / "battery.jsonl").chmod(0o600)
        for name, text in (("instructions.md", self._instructions()), ("study.yaml", self._definition(record))):
            with atomic_write(folder / name, is_private=True) as file:
                file.write(text)

    def delete_texts(self) -> None:
        """Delete the files with texts of answers, except the disagreements."""
        for name in ("study.yaml", "battery.jsonl", "instructions.md"):
            (self.path / name).unlink(missing_ok=True)

    def coder_ids(self) -> list[str]:
        """Return the secret ids of the coders, which their addresses contain."""
        path = coders_path(self.path)
        return path.read_text(encoding="utf-8").split() if path.exists() else []

    def addresses(self) -> list[str]:
        """Return the last part of each coder's address, after the address of the server."""
        return [f"/?{CODER}={one}&{SUBMISSION_PARAMETER}={SAME_SUBMISSION}" for one in self.coder_ids()]

    def add_coders(self, folder: Path | None = None) -> bool:
        """Make an id for each coder who has none. Return False if every coder has an id."""
        ids = self.coder_ids()
        missing = range(len(ids) + 1, (self.coding.coders or 0) + 1)
        new = [f"{CODER}-{number}-{secrets.token_hex(8)}" for number in missing]
        if new:
            with atomic_write(coders_path(folder or self.path), is_private=True) as file:
                file.writelines(f"{one}\n" for one in (*ids, *new))
        return bool(new)

    def _instructions(self) -> str:
        say = self.study.words.say
        codes = "\n".join(f"- **{words_of_code(code.name)}**: {code.definition}" for code in self.coding.codes)
        return f"{say('coding_instructions', leave=say('leave'))}\n\n## {say('coding_codes')}\n\n{codes}\n"

    def _definition(self, record: CodingRecord) -> str:
        main = self.study.definition
        entries: dict[str, Any] = {
            "study": f"{main.study}-{self.name}",
            "version": str(record.round),
            "title": self.study.words.say("coding_title"),
            "language": main.language,
            "battery": "battery.jsonl",
            "design": {"method": "deal", "groups": 1, "balance": ["coding"]},
            "timing": {"fixation_ms": 0},
            "timeline": {"instructions": ["instructions.md"], "breaks": {"every": 50}},
            "device": {"phones": True},
            "recruitment": {
                "entry": "panel",
                "panel_parameter": CODER,
                "kept_parameters": [SUBMISSION_PARAMETER],
                "panel_ids": "data/coders.txt",
                "time_out_min": 60 * 24 * 60,
            },
        }
        if main.texts:
            entries["texts"] = dict(main.texts)
        text = json.dumps(entries, ensure_ascii=False, indent=2)  # JSON is YAML too.
        return f"# Made by `equipoise coding`. Do not edit this file: a refresh writes it again.\n{text}\n"


def coders_path(folder: Path) -> Path:
    """Return the path of the list of the coders' ids in the folder of a coding study."""
    return folder / "data" / "coders.txt"


def record_path(folder: Path) -> Path:
    """Return the path of the record in the folder of a coding study."""
    return folder / "data" / "coding.json"


def read_record(path: Path) -> CodingRecord:
    """Read a record. Raise InputError if it is damaged."""
    try:
        return CodingRecord.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError):
        raise InputError(f"{path}: this file was changed or damaged. Fix: restore the file from a backup.") from None


def words_of_code(name: str) -> str:
    """Return the name of a code as words.

    Examples
    --------
    >>> words_of_code("no_answer")
    'no answer'
    """
    return name.replace("_", " ")


def coding_folder(study: Study, name: str | None) -> CodingFolder:
    """Return the folder of a coding by coders. `name` may be None if the study has one such coding.

    Raises
    ------
    InputError
        If the study has no such coding, or if there are several and no name is given.
    """
    codings = study.definition.analysis.coding
    by_coders = [one for one, coding in codings.items() if not coding.is_by_rule]
    if name is None and len(by_coders) == 1:
        return CodingFolder(study, by_coders[0])
    where = study.folder / "study.yaml"
    if not by_coders:
        raise InputError(
            f"{where}: there is no coding by coders. Fix: add an entry under `analysis.coding`, with `codes` and the "
            "number of `coders` (see docs/how-to/code-open-answers.md)."
        )
    if name is None:
        raise InputError(f"{where}: there are several codings. Fix: name one of {_names(by_coders)}.")
    if name not in by_coders:
        what = "is by rule, so it needs no coders" if name in codings else "does not exist"
        raise InputError(f"{where}: the coding `{name}` {what}. Fix: name one of {_names(by_coders)}.")
    return CodingFolder(study, name)


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
