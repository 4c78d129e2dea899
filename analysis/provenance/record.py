"""Origin of the numbers in a report: study, data digest, plan, software and time."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.coding.coded_trials import CodedAnswers
from analysis.data.columns import DERIVED, FORMER_COLUMNS, SIGNALS, SINCE_THE_DIGEST
from analysis.data.tidy_table import read_trials
from analysis.provenance.row_digest import row_digests
from experiment.study.analysis_plan import AnalysisPlan


def data_digest(trials: pd.DataFrame | Path) -> str:
    """Return a digest of the trials (SHA-256, hexadecimal). The order of rows and columns does not change the digest.

    Each row becomes canonical JSON: columns are sorted by name, and missing values are null. The computed columns
    (`DERIVED`, such as `correct`) are omitted. A column of `SINCE_THE_DIGEST` is omitted if it has no value in any
    row. The digest is the SHA-256 of the sorted SHA-256 digests of the rows. A store and its export have the same
    digest. For columns in `FORMER_COLUMNS`, the JSON has the former name, so that the digest of older data does not
    change.

    Parameters
    ----------
    trials : DataFrame or Path
        The tidy table (`read_trials`), or the path of a file with the trials.
    """
    table = read_trials(trials) if isinstance(trials, Path) else trials
    digest = RunningDigest(columns_since_the_digest(table))
    digest.add(table)
    return digest.value()


def columns_since_the_digest(table: pd.DataFrame) -> set[str]:
    """Return the columns of `SINCE_THE_DIGEST` that have a value in some row. A signal that is 0 counts as no value."""
    return {
        column
        for column in SINCE_THE_DIGEST
        if (table[column].gt(0) if column in SIGNALS else table[column].notna()).any()
    }


class RunningDigest:
    """The digest of a table that is read in portions. See `data_digest`.

    Parameters
    ----------
    since
        The columns of `SINCE_THE_DIGEST` that have a value in some portion.
    """

    def __init__(self, since: set[str]) -> None:
        self._left_out = {*DERIVED, *(column for column in SINCE_THE_DIGEST if column not in since)}
        self._digests = bytearray()

    def add(self, table: pd.DataFrame) -> None:
        """Add rows of the tidy table."""
        names = {name: FORMER_COLUMNS.get(name, name) for name in table.columns if name not in self._left_out}
        self._digests += row_digests(table, names)

    def value(self) -> str:
        """Return the digest of all rows."""
        in_order = np.frombuffer(self._digests, dtype="S32").copy()
        in_order.sort()
        return hashlib.sha256(in_order.data).hexdigest()


@dataclass(frozen=True)
class Provenance:
    """The data, the plan and the software from which the results of one analysis were made."""

    studies: list[str]
    """Studies and versions, such as `blackbox-predict, version 1.0`."""
    batteries: list[str]
    """Digests (SHA-256) of the batteries."""
    data_digest: str
    """Digest of the trials; see the function `data_digest`."""
    plan: AnalysisPlan
    """The plan, with exclusion rules, factors and the confidence level."""
    software_version: str
    """Version of Equipoise."""
    made_at: str
    """Time of the analysis (UTC, ISO 8601)."""
    notes: list[str]
    """Further notes for the reader, in sentences."""
    codes: dict[str, str] = field(default_factory=dict)
    """Digest (SHA-256) of the codes of each coding, by the name of the coding."""

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
            **({"codes": self.codes} if self.codes else {}),
        }


def provenance_of(
    trials: pd.DataFrame,
    plan: AnalysisPlan,
    software_version: str,
    made_at: datetime,
    notes: Sequence[str] = (),
    coding: Sequence[CodedAnswers] = (),
) -> Provenance:
    """Return the provenance of an analysis of `trials` with `plan`. `notes` are further notes for the reader."""
    studies = trials[["study", "study_version"]].drop_duplicates().sort_values(["study", "study_version"])
    return Provenance(
        studies=[f"{study}, version {version}" for study, version in studies.itertuples(index=False)],
        batteries=sorted(trials["battery"].unique()),
        data_digest=data_digest(trials),
        plan=plan,
        software_version=software_version,
        made_at=made_at.astimezone(UTC).isoformat(timespec="seconds"),
        notes=list(notes),
        codes={one.name: one.digest for one in coding},
    )
