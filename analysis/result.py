"""The results of the analysis of a study, and of the analysis of any other table."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.coding.coded_trials import CodedAnswers
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
    """The excluded and included trials and participants, and the flow table."""
    tables: dict[str, pd.DataFrame]
    """All tables. The keys are file names without `.csv`."""
    planned: PlannedResults
    """The tables, statistical models and tests that the plan requests."""
    figures: dict[str, Drawing]
    """All figures of the study. The keys are file names without the file extension."""
    figures_of_plan: dict[str, list[Drawing]]
    """The figures of the plan; the keys are those of `planned_figures`."""
    notes: list[str]
    """Notes for the reader, in sentences. The report contains all notes."""
    provenance: Provenance
    """The data, the plan and the software of the analysis, and its time."""
    registration: Registration
    """The statement on the preregistration: when the plan was locked, and deviations from the locked plan."""
    coding: tuple[CodedAnswers, ...] = ()
    """The codings of open answers."""


@dataclass(frozen=True)
class TableAnalysis:
    """The results of the analysis of a table that is not a study's trials."""

    data: pd.DataFrame
    """The analyzed table."""
    planned: PlannedResults
    """The tables, statistical models and tests that the plan requests."""
    figures_of_plan: dict[str, list[Drawing]]
    """The figures of the plan; the keys are those of `planned_figures`."""
    notes: list[str]
    """Notes for the reader, in sentences. The report contains all notes."""
    provenance: DataFileProvenance
    """The data, the plan and the software of the analysis, and its time."""
    registration: Registration
    """The statement on the preregistration: when the plan was locked, and deviations from the locked plan."""
