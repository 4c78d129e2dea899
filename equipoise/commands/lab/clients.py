"""Clients for the store on this machine, and for a server."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from batteries.errors import InputError
from equipoise.commands.store_access import StoreAddress, setting_of, store_of
from experiment.lab.server_client import LabClient
from experiment.study.definition import Study
from server.app import create_app
from server.security.secret_files import Secrets
from server.settings import read_settings
from server.store import Store

THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}
TOKEN_VARIABLE = "EQUIPOISE_RESEARCHER_TOKEN"  # noqa: S105 - the name of a variable


@contextmanager
def local_client(study: Study, location: StoreAddress | None) -> Iterator[tuple[LabClient, Store]]:
    """Run the server's application in this process, without a network.

    Yield a client of the application, and the store.
    """
    settings = read_settings(store=setting_of(location))
    with store_of(study, location) as store:
        # The token is not in a file, because the researcher could mistake the file for the server's token file.
        own = Secrets(secrets.token_urlsafe(), secrets.token_urlsafe())
        app = create_app(study, store, own, settings)
        with httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://localhost") as client:
            yield LabClient(client, own.researcher_token), store


@contextmanager
def remote_client(server: str) -> Iterator[LabClient]:
    """Yield a client of a server on the network.

    Raises
    ------
    InputError
        If the address is invalid or not encrypted (https), or the environment variable with the token is not set.
    """
    try:
        address = httpx.URL(server)
    except httpx.InvalidURL:
        address = httpx.URL()
    if not address.host or address.scheme not in {"http", "https"}:
        raise InputError(
            f"--server {server}: this is not a server's address. Fix: write https:// and the server's name."
        )
    if address.scheme == "http" and address.host not in THIS_MACHINE:
        raise InputError(
            f"--server {server}: without encryption, others on the network could read the researcher's token and the "
            "responses. Fix: use the https:// address of the server. Only if an encrypted tunnel (such as `ssh -L`) "
            "connects this machine to the server, use the tunnel's address http://localhost:PORT."
        )
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise InputError(
            f"--server {server}: the researcher's token of this server is missing. Fix: set the environment variable "
            f"{TOKEN_VARIABLE} to the content of the file `researcher-token` on the server."
        )
    with httpx.Client(base_url=address, timeout=20) as client:
        yield LabClient(client, token)
