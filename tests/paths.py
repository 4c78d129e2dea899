"""Folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "equipoise" / "studies"
FIXTURES = ROOT / "tests" / "analysis" / "fixtures"
"""Results of R, with which the statistics are compared, and the scripts that made these results."""
MEDIA = ROOT / "tests" / "media"
"""Small sounds and videos."""
