"""Where the numbers come from: the digest of the data, and all that a report must name (invariant 8 of the design)."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.columns import DERIVED, factor_columns
from analysis.data import read_trials
from batteries.errors import InputError
from experiment.preregistration import AnalysisPlan


def data_digest(trials: pd.DataFrame | Path) -> str:
    """Return the SHA-256 (hexadecimal) of the trials' content, whatever the order of their rows and columns.

    Each row becomes canonical JSON (columns sorted by name, missing values null) without the derived columns
    (`correct`, `score`, `chance`, `excluded_by`); the sorted SHA-256 digests of the rows are hashed together. A store
    and its export have the same digest.

    Parameters
    ----------
    trials : DataFrame or Path
        The tidy table (`read_trials`), or the file it is read from.
    """
    table = read_trials(trials) if isinstance(trials, Path) else trials
    names = sorted(column for column in table.columns if column not in DERIVED)
    cells = [_canonical_cells(table[name], f"{json.dumps(name, ensure_ascii=False)}:") for name in names]
    rows = (hashlib.sha256(",".join(row).encode()).digest() for row in zip(*cells, strict=True))
    return hashlib.sha256(b"".join(sorted(rows))).hexdigest()


def _canonical_cells(column: pd.Series, before: str = "") -> list[str]:
    """Return each cell as canonical JSON with a text before it; equal cells are written once."""
    values = column.tolist()
    identities: list[Any] = values
    if column.dtype == object:
        identities = [id(value) if isinstance(value, (dict, list)) else (type(value), value) for value in values]
    known: dict[Any, str] = {}
    for identity, value in zip(identities, values, strict=True):
        if identity not in known:
            missing = not isinstance(value, (dict, list)) and pd.isna(value)
            known[identity] = before + json.dumps(None if missing else value, sort_keys=True, ensure_ascii=False)
    return [known[identity] for identity in identities]


@dataclass(frozen=True)
class Provenance:
    """What every table, figure and report of one analysis rests on."""

    studies: list[str]
    """Study and version, such as `blackbox-predict 1.0`."""
    batteries: list[str]
    """Digests of the batteries."""
    data_digest: str
    """See `data_digest`."""
    plan: AnalysisPlan
    """Exclusion rules, factors and interval settings."""
    software_version: str
    """Version of Equipoise."""
    made_at: str
    """ISO 8601, UTC."""
    notes: list[str]
    """Remarks of the caller, in sentences."""

    def as_json(self) -> dict[str, Any]:
        """Return the provenance as plain JSON values."""
        return {
            "studies": self.studies,
            "batteries": self.batteries,
            "data_digest": self.data_digest,
            "plan": self.plan.model_dump(mode="json"),
            "software": f"equipoise {self.software_version}",
            "made_at": self.made_at,
            "notes": self.notes,
        }


def provenance_of(
    trials: pd.DataFrame, plan: AnalysisPlan, software_version: str, made_at: datetime, notes: Sequence[str] = ()
) -> Provenance:
    """Return the provenance of an analysis of `trials` by `plan`, with the remarks of the caller."""
    studies = trials[["study", "study_version"]].drop_duplicates().sort_values(["study", "study_version"])
    return Provenance(
        studies=[f"{study}, version {version}" for study, version in studies.itertuples(index=False)],
        batteries=sorted(trials["battery"].unique()),
        data_digest=data_digest(trials),
        plan=plan,
        software_version=software_version,
        made_at=made_at.astimezone(UTC).isoformat(timespec="seconds"),
        notes=list(notes),
    )


def refuse_changed_items(trials: pd.DataFrame) -> None:
    """Raise InputError if one item id stands for two different items, as when a battery was edited between sessions."""
    test = trials[trials["phase"] == "test"]
    names = ["item_id", "task", "content", "key"]
    if (
        test["battery"].nunique() > 1
    ):  # an item whose levels changed would be in one cell for people, in another for a run
        names += factor_columns(trials)
    texts = pd.DataFrame({name: _canonical_cells(test[name]) for name in names}).drop_duplicates()
    changed = texts["item_id"][texts["item_id"].duplicated()]
    if not changed.empty:
        item_id = json.loads(changed.iloc[0])
        versions = ", ".join(f"{battery[:12]}..." for battery in sorted(test["battery"].unique()))
        raise InputError(
            f"item `{item_id}` does not have one text, key and levels throughout the data (batteries {versions}); "
            "analyse one version of the study at a time (--study-version), or leave the simulated participants out "
            "(--without-simulated), or, where neither parts the batteries, begin afresh in a copy of the study's "
            "folder without `data`."
        )
