"""The made-up data of the tests that are compared with R."""

import pandas as pd
import pytest

from analysis.data.data_file_reader import read_data_file
from tests.paths import FIXTURES


@pytest.fixture(scope="session")
def made_up() -> pd.DataFrame:
    return read_data_file(FIXTURES / "planned_analyses.csv")
