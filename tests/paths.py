"""Folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "equipoise" / "studies"
FIXTURES = ROOT / "tests" / "analysis" / "fixtures"
"""Results of R, which the statistics are checked against, with the scripts that made them."""
