"""Locations of a study's store, of a server's secrets, and of its copies of pictures, sounds and videos."""

from pathlib import Path

from experiment.study.definition import Study
from server.settings import Settings
from server.store.open import is_address


def store_location(study: Study, settings: Settings) -> str:
    """Return the location of a study's store: the path of a file, or the address of a database."""
    return settings.store or str(study.store_path)


def assets_folder(study: Study, settings: Settings) -> Path:
    """Return the folder with the server's copies of a study's pictures, sounds and videos."""
    return settings.assets or study.folder / "data" / "assets"


def without_password(location: str) -> str:
    """Return a store's name for messages.

    A database is always named “the database”, because its address may contain a password.
    """
    return "the database" if is_address(location) else location


def secrets_folder(study: Study, settings: Settings) -> Path:
    """Return the folder of a server's secrets."""
    return settings.secrets or study.folder / "data"
