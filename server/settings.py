"""The settings of a server with their defaults, and the function that reads them.

Each setting has an environment variable. The name of the variable is `EQUIPOISE_` and the name of the setting in
capitals. Some settings are also options of `equipoise serve`; an option replaces the variable. The properties of a
study are in `study.yaml`, not in the settings.
"""

import difflib
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from batteries.errors import InputError

PREFIX = "EQUIPOISE_"
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?")


class Settings(BaseSettings):
    """Settings of a server."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid")

    store: str | None = Field(
        default=None,
        repr=False,
        description=(
            "The store of the responses: a SQLite file, or `postgresql://user:password@host:port/database`. If "
            "omitted: `data/equipoise.db` in the study's folder."
        ),
    )
    host: str = Field(
        default="127.0.0.1",
        description="Address that the server listens on; by default, only this machine can connect.",
    )
    port: int = Field(default=8000, ge=1, le=65535, description="Port that the server listens on.")
    processes: int = Field(
        default=1,
        ge=1,
        le=256,
        description="Number of server processes. Several processes need PostgreSQL, and each process needs a "
        "processor core.",
    )
    threads: int = Field(
        default=32,
        ge=1,
        le=1024,
        description=(
            "Number of requests that a process handles at the same time. Most of the time, these requests wait for the "
            "store, which commits the responses of many requests together."
        ),
    )
    connections: int = Field(
        default=8192,
        ge=1,
        le=1_000_000,
        description=(
            "Largest number of connections to a process at the same time. For each connection, the process may need "
            "`EQUIPOISE_MAX_BODY_KB` of memory; in addition, up to 32 of them may need `EQUIPOISE_MAX_RESPONSES_KB`. "
            "Further connections wait until a connection ends."
        ),
    )
    proxies: int = Field(
        default=0,
        ge=0,
        le=10,
        description=(
            "Number of reverse proxies in front of the server. The server trusts the headers `X-Forwarded-For`, "
            "`X-Forwarded-Proto` and `X-Forwarded-Host` of these proxies. With 0, the server ignores these headers, "
            "because any client can send such headers."
        ),
    )
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description=(
            "Names under which participants reach the server, such as `study.example.org`, separated by commas. "
            "The server also accepts numeric addresses (127.0.0.1), `localhost`, the name of this machine and the name "
            "in `EQUIPOISE_HOST`. The server refuses a request with any other name, because a page of another site "
            "could send such a request (DNS rebinding)."
        ),
    )
    secrets: Path | None = Field(
        default=None,
        description=(
            "Folder of the files `signing-key` and `researcher-token`. The first start makes these files, which only "
            "their owner can read (mode 600). Servers on several machines need the same files. If omitted: `data` in "
            "the study's folder."
        ),
    )
    assets: Path | None = Field(
        default=None,
        description=(
            "Folder of the copies of pictures, sounds and videos. The start of the server makes these copies. Sessions "
            "under an earlier content of the study need the earlier copies, so servers on several machines need the "
            "same folder. If omitted: `data/assets` in the study's folder."
        ),
    )
    session_days: int = Field(
        default=7, ge=1, le=365, description="Days for which a participant's browser remembers the session."
    )
    max_body_kb: int = Field(
        default=64, ge=1, le=10_240, description="Largest size of a request without responses, in KB."
    )
    max_responses_kb: int = Field(
        default=4096,
        ge=1,
        le=10_240,
        description=(
            "Largest size of a request with responses, in KB. 100 responses to texts or boards need about 30 KB; a "
            "drawing or a recording may need megabytes. The participant's page reads this limit from the server."
        ),
    )
    starts_per_minute: int = Field(
        default=1200,
        ge=1,
        description=(
            "Largest number of new sessions per minute from one network address. All machines of a laboratory or a "
            "campus may have one address. If `EQUIPOISE_PROXIES` is too small, all participants behind a proxy seem to "
            "have one address too."
        ),
    )
    slots_per_address: int = Field(
        default=200,
        ge=1,
        description=(
            "Largest number of participants from one network address who have a slot at the same time. All machines of "
            "a laboratory or a campus may have one address. Participants of a panel have different addresses, so 5 is "
            "enough for a study with a panel."
        ),
    )
    prolific_keys: str | None = Field(
        default=None,
        description=(
            "File with Prolific's public keys (JWKS), for a study with `recruitment.prolific_secured_url`. The server "
            "reads the file again when the file is replaced."
        ),
    )
    requests_per_second: int = Field(
        default=50,
        ge=1,
        description="Largest number of requests of one session per second. A person sends less than one request per "
        "second.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="Lowest level of logged events."
    )

    @field_validator("hosts", mode="before")
    @classmethod
    def _are_names(cls, given: object) -> object:
        names = given.split(",") if isinstance(given, str) else given
        if not isinstance(names, list | tuple):
            return names
        plain = tuple(str(name).strip().lower().removesuffix(".") for name in names)
        for name in plain:
            if not HOST_NAME.fullmatch(name):
                raise ValueError(
                    f"`{name}` is not the name of a server. Fix: write names such as study.example.org, without "
                    "https:// and without a port."
                )
        return plain


def read_settings(**options: Any) -> Settings:
    """Return the settings. If an option is None, its environment variable is used, or else the default.

    Raises
    ------
    InputError
        If a setting is invalid, or an environment variable has a misspelt name.
    """
    for variable in os.environ:
        if variable.startswith(PREFIX):
            _refuse_misspelt(variable)
    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        source = f"--{name}" if options.get(name) is not None else f"the environment variable {PREFIX}{name.upper()}"
        problem = first["msg"].removeprefix("Value error, ")
        fix = "" if "Fix: " in problem else ". Fix: correct this value."
        raise InputError(f"{source}: {problem[0].lower()}{problem[1:]}{fix}") from None


def _refuse_misspelt(variable: str) -> None:
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    if variable not in known:
        close = difflib.get_close_matches(variable, known, n=1, cutoff=0.85)
        if close:
            raise InputError(
                f"the environment variable {variable} is not a setting. Fix: write {close[0]}, or unset {variable}."
            )
