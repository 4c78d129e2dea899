"""The results of an analysis: of a study, or of any other table."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.exclusions.flow import Exclusions
from analysis.figures import Drawing
from analysis.planned.results import PlannedResults
from analysis.preregistration.deviations import Registration
from analysis.provenance.data_file import DataFileProvenance
from analysis.provenance.record import Provenance


@dataclass(frozen=True)
class Analysis:
    """The results of the analysis of a study."""

    out: Path
    """The folder of the results."""
    exclusions: Exclusions
    """Marked trials, participants, and the flow."""
    tables: dict[str, pd.DataFrame]
    """Every table by its file's name without `.csv`."""
    planned: PlannedResults
    """The plan's own tables, models and tests."""
    figures: dict[str, Drawing]
    """Every figure of the study by its file's name without the ending."""
    figures_of_models: dict[str, list[Drawing]]
    """The figures of each model of the plan."""
    notes: list[str]
    """Notes for the reader, in sentences; the report contains them."""
    provenance: Provenance
    """Origin of the numbers."""
    registration: Registration
    """State of the preregistration: whether the plan was locked before the data, and the deviations from it."""


@dataclass(frozen=True)
class TableAnalysis:
    """The results of the analysis of any other table."""

    data: pd.DataFrame
    """The table."""
    planned: PlannedResults
    """The plan's tables, models and tests."""
    figures_of_models: dict[str, list[Drawing]]
    """The figures of each model of the plan."""
    notes: list[str]
    """Notes for the reader, in sentences; the report contains them."""
    provenance: DataFileProvenance
    """Origin of the numbers."""
    registration: Registration
    """State of the preregistration: whether the plan was locked before the data, and the deviations from it."""
