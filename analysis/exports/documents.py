"""The files of an export for readers: README, licence, citation, provenance and checksums."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from analysis.exports.codebook import ABOUT_TABLES
from batteries.errors import InputError

CHECKSUMS = "SHA256SUMS"
"""The file with the checksums, in the format of the program sha256sum."""
PROVENANCE = "provenance.json"
FORMAT_VERSION = 1
"""Version of the layout of exports. A change that earlier versions of Equipoise cannot read increases this number."""

LICENSES = {
    "CC0-1.0": ("Creative Commons Zero 1.0 Universal", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0 International",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ),
    "CC-BY-NC-4.0": (
        "Creative Commons Attribution-NonCommercial 4.0 International",
        "https://creativecommons.org/licenses/by-nc/4.0/",
    ),
    "ODbL-1.0": ("Open Database License 1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "PDDL-1.0": ("Public Domain Dedication and License 1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
}
"""The licences that `--license` accepts, by their SPDX names: full name and address of the text."""


@dataclass(frozen=True)
class About:
    """The facts about an export."""

    format: str
    study: str
    """Name of the study."""
    title: str
    versions: tuple[str, ...]
    """Versions of the study in the data."""
    batteries: tuple[str, ...]
    """Digests of the batteries in the data."""
    n_rows: Mapping[str, int]
    """Number of rows of each table."""
    n_participants: Mapping[str, int]
    """Number of participants of each kind: `human`, `simulated`, `model`."""
    data_digest: str
    """Digest of the trials, as in the report of the analysis. None of the files changes this digest."""
    made_at: str
    """Time of the export, UTC, ISO 8601."""
    software_version: str
    is_full: bool
    """True if free texts and exact answers about participants are included."""
    authors: tuple[str, ...]
    license: str | None
    """SPDX name of the licence; None if the researcher has chosen no licence."""


def check_license(license_name: str | None) -> None:
    """Raise an InputError if a licence is unknown."""
    if license_name is not None and license_name not in LICENSES:
        raise InputError(
            f"--license {license_name}: unknown licence. Fix: write one of {', '.join(LICENSES)}, or leave out "
            "--license and write your licence into the file LICENSE."
        )


def license_text(about: About) -> str:
    """Return the text of the file LICENSE."""
    if about.license is None:
        return (
            "No licence was chosen for these data, so all rights are reserved. Ask the researchers before you use the\n"
            "data. (Researchers: export again with --license, or replace this text by your licence.)\n"
        )
    name, address = LICENSES[about.license]
    return f"These data are licensed under {name} (SPDX: {about.license}).\nThe text of the licence: {address}\n"


def citation_text(about: About) -> str:
    """Return the text of the file CITATION.cff (https://citation-file-format.github.io)."""
    lines = [
        "cff-version: 1.2.0",
        "message: If you use these data, please cite them.",
        f"title: {_quoted(f'Data of the study {about.title}')}",
        "type: dataset",
        f"version: {_quoted(', '.join(about.versions))}",
        f'date-released: "{about.made_at[:10]}"',
    ]
    if about.license is not None:
        lines.append(f"license: {about.license}")
    lines += ["authors:", *(f"  - name: {_quoted(author)}" for author in authors_of(about))]
    return "\n".join(lines) + "\n"


def authors_of(about: About) -> tuple[str, ...]:
    """Return the names of the authors. Without names, it is the group of researchers of the study."""
    return about.authors or (f"The researchers of the study {about.title}",)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def provenance_json(about: About, layout: Mapping[str, Any]) -> str:
    """Return the text of `provenance.json`. `layout` says where the parts of the export are."""
    return as_json_text(
        {
            "equipoise_export": FORMAT_VERSION,
            "format": about.format,
            "study": about.study,
            "study_versions": list(about.versions),
            "batteries": list(about.batteries),
            "data_digest": about.data_digest,
            "full": about.is_full,
            "n_rows": dict(about.n_rows),
            "n_participants": dict(about.n_participants),
            "software": f"equipoise {about.software_version}",
            "made_at": about.made_at,
            **layout,
        }
    )


def as_json_text(value: Any) -> str:
    """Return a JSON value as an indented text."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def readme_text(about: About, files: Mapping[str, str], tables: Mapping[str, str], about_trials: str) -> str:
    """Return the text of README.md.

    Parameters
    ----------
    about
        The facts about the export.
    files
        The meaning of each file that is not a table.
    tables
        The file of each table. A pattern names the files if a table has several files.
    about_trials
        The content of the files with trials.
    """
    meanings = ABOUT_TABLES | {"trials": about_trials}
    coarse = (
        "This is a full export. It has free texts and exact answers about participants, which may identify a person. "
        "Do not publish these files."
        if about.is_full
        else "Free texts of participants are replaced. Numbers in answers about participants are bands, and rare "
        "answers are put together."
    )
    plan = next(file for file in files if file.endswith("analysis-plan.yaml"))
    reading = (
        f"To read the data back for an analysis, run `equipoise import FOLDER -o trials.csv`. Then run `equipoise "
        f"analyze --data trials.csv --plan {plan} -o results`."
        if about_trials == ABOUT_TABLES["trials"]
        else "Inspect's viewer and its data frames read the logs."
    )
    paragraphs = [
        f"# Data of the study {_one_line(about.title)}",
        f"Study `{about.study}`, version {', '.join(about.versions)}. Exported on {about.made_at} (UTC) with Equipoise "
        f"{about.software_version}, in the format `{about.format}`.",
        f"Participants: {_participants_words(about.n_participants)}.",
        _table(("file", "content", "rows"), [(f"`{file}`", meanings[table], f"{about.n_rows[table]:,}")
                                             for table, file in tables.items()]),
        _table(("file", "content"), [(f"`{file}`", meaning) for file, meaning in files.items()]),
        "The codebook describes every column: type, unit, meaning and levels. Join tables by `session` or "
        "`participant`. In the tables, an empty cell (in BIDS `n/a`) has no value. JSON cells have a plain text where "
        "this is unambiguous.",
        "Participants have random pseudonyms. No panel id, code or name of a participant is in these files. "
        f"{coarse} Times of day are exact, and the table of sessions describes the devices.",
        f"Digest of the trials: `{about.data_digest}`. Two sets of files with this digest have the same trials. To "
        f"check that no file has changed, run `sha256sum -c {CHECKSUMS}` in this folder. {reading}",
        "The licence is in the file LICENSE, and the citation is in CITATION.cff.",
    ]  # fmt: skip
    return "\n\n".join(text if text.startswith("|") else fill(text, 110, break_long_words=False,
                       break_on_hyphens=False) for text in paragraphs) + "\n"  # fmt: skip


def _participants_words(n_participants: Mapping[str, int]) -> str:
    words = {"human": "people", "simulated": "simulated participants (programs, not people)",
             "model": "runs of language models"}  # fmt: skip
    return ", ".join(f"{n_participants[kind]:,} {word}" for kind, word in words.items() if n_participants.get(kind))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file (hexadecimal)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CHECKSUMS)
    lines = [f"{file_digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8", newline="\n")


def read_checksums(folder: Path) -> dict[str, str]:
    """Return the checksum of each file in an export.

    Raises
    ------
    InputError
        If the file with the checksums is missing or is not a list of checksums.
    """
    path = folder / CHECKSUMS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except (OSError, ValueError):
        raise InputError(
            f"{path}: this file is missing or is not a list of checksums. Fix: name the complete folder of an export."
        ) from None


def check_files(folder: Path, names: Sequence[str]) -> None:
    """Raise an InputError if a file of an export is missing or was changed."""
    known = read_checksums(folder)
    for name in names:
        path = folder / name
        if name not in known or not path.is_file():
            raise InputError(f"{path}: this file of the export is missing. Fix: name the complete folder of an export.")
        if file_digest(path) != known[name]:
            raise InputError(f"{path}: this file was changed after the export. Fix: export the data again.")
