"""The documents of a Psych-DS dataset (https://psych-ds.github.io). The tests check the rules of Psych-DS."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.exports.codebook import ABOUT_TABLES, Column
from analysis.exports.documents import About, as_json_text, authors_of

SCHEMA_ORG = "http://schema.org/"
IGNORE = ".psychdsignore"
DESCRIPTION = "dataset_description.json"


def write_psych_ds_documents(
    folder: Path, about: About, codebook: dict[str, Sequence[Column]], tables: dict[str, str]
) -> None:
    """Write `dataset_description.json`, one metadata file for each table, `CHANGES.md` and `.psychdsignore`."""
    every: dict[str, Column] = {}
    for columns in codebook.values():
        for column in columns:
            every.setdefault(column.name, column)
    description = {
        "@context": {"@vocab": SCHEMA_ORG},
        "@type": "Dataset",
        "name": f"Data of the study {about.title}",
        "description": f"Trials, participants and sessions of the study {about.study}, version "
        f"{', '.join(about.versions)}, exported with Equipoise {about.software_version}.",
        "schemaVersion": "Psych-DS 0.4.0",
        "author": [{"@type": "Organization", "name": author} for author in authors_of(about)],
        "citation": "CITATION.cff",
        "license": about.license or "LICENSE",
        "keywords": ["psychology", "behavioral data"],
        "variableMeasured": [_variable(column) for column in every.values()],
    }
    (folder / DESCRIPTION).write_text(as_json_text(description), encoding="utf-8")
    for table, columns in codebook.items():
        sidecar = {
            "@context": {"@vocab": SCHEMA_ORG},
            "@type": "Dataset",
            "description": f"{ABOUT_TABLES[table].capitalize()}.",
            "variableMeasured": [_variable(column) for column in columns],
        }
        (folder / tables[table]).with_suffix(".json").write_text(as_json_text(sidecar), encoding="utf-8")
    (folder / "CHANGES.md").write_text(
        f"# Changes\n\n- {about.made_at[:10]}: exported from the store of the study.\n", encoding="utf-8"
    )
    (folder / IGNORE).write_text("LICENSE\nCITATION.cff\nSHA256SUMS\n", encoding="utf-8")


def _variable(column: Column) -> dict[str, Any]:
    described: dict[str, Any] = {"@type": "PropertyValue", "name": column.name, "description": column.label}
    if column.unit:
        described["unitText"] = column.unit
    if column.levels:
        described["valueReference"] = [
            {"@type": "PropertyValue", "value": level, **({"description": label} if label else {})}
            for level, label in column.levels.items()
        ]
    return described
