"""Origin of the results of one CSV file: the file and its digest, the plan, the software and the time."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from analysis.preregistration.lock import plan_content
from experiment.study.planned_analyses import PlannedAnalyses


@dataclass(frozen=True)
class DataFileProvenance:
    """The data, the plan and the software from which the results of one CSV file were made."""

    data: str
    """Name of the file."""
    data_sha256: str
    """SHA-256 of the file (hexadecimal)."""
    plan: PlannedAnalyses
    """The plan: tables, models and tests."""
    software_version: str
    """Version of Equipoise."""
    made_at: str
    """Time of the analysis (UTC, ISO 8601)."""

    def as_json(self) -> dict[str, Any]:
        """Return the provenance as plain JSON values."""
        return {
            "data": self.data,
            "data_sha256": self.data_sha256,
            "plan": plan_content(self.plan),
            "software": f"equipoise {self.software_version}",
            "made_at": self.made_at,
        }


def data_file_provenance(
    path: Path, plan: PlannedAnalyses, software_version: str, made_at: datetime
) -> DataFileProvenance:
    """Return the provenance of an analysis of the file `path` with the plan `plan`."""
    return DataFileProvenance(
        data=path.name,
        data_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        plan=plan,
        software_version=software_version,
        made_at=made_at.astimezone(UTC).isoformat(timespec="seconds"),
    )
