"""The fixture of laboratory visits, for commands that write a laboratory's files."""

from tests.experiment.lab.conftest import lab

__all__ = ["lab"]
