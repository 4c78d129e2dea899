"""Locations of a study's store and of a server's secrets."""

import subprocess
import sys
from pathlib import Path

import pytest

from server.locations import secrets_folder, without_password
from server.settings import Settings


def test_the_name_of_a_store_has_no_password() -> None:
    assert without_password("postgresql://me:hunter2@127.0.0.1/study") == "the database"
    assert without_password("data/equipoise.db") == "data/equipoise.db"


def test_the_folder_of_the_secrets_is_the_one_in_the_settings(tmp_path: Path, small_study: object) -> None:
    assert secrets_folder(small_study, Settings(secrets=tmp_path)) == tmp_path  # type: ignore[arg-type]


@pytest.mark.parametrize("module", ["equipoise.commands.store_access", "equipoise.commands.analyze"])
def test_a_command_that_only_reads_a_store_loads_no_server(module: str) -> None:
    program = f"import sys, {module}; print(*sorted({{'flask', 'granian'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_server_loads_neither_pandas_nor_numpy_but_can_load_them_later() -> None:
    program = (
        "import sys, server.app; print(*sorted({'pandas', 'numpy'} & set(sys.modules)), end='.'); import pandas;"
        "from server.store.sqlite.sqlite_utils_alone import Database; print(pandas.Series([1]).sum())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ".1\n"
