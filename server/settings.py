"""The settings of a server with their defaults, and the function that reads them.

Each setting has an environment variable: `EQUIPOISE_` and the setting's name in capitals. Some settings are also
options of `equipoise serve`; an option replaces the variable. The properties of a study are in `study.yaml`.
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
    host: str = Field(default="127.0.0.1", description="Address to listen on; by default this machine only.")
    port: int = Field(default=8000, ge=1, le=65535, description="Port to listen on.")
    processes: int = Field(
        default=1, ge=1, le=256, description="Server processes. More than one needs PostgreSQL, and a core for each."
    )
    threads: int = Field(
        default=32,
        ge=1,
        le=1024,
        description="Requests that a process handles at once; most of the time they wait for the shared commit.",
    )
    connections: int = Field(
        default=8192,
        ge=1,
        le=1_000_000,
        description=(
            "Connections to a process at once; each may hold a request of `max_body_kb`. Further ones wait until "
            "others end."
        ),
    )
    proxies: int = Field(
        default=0,
        ge=0,
        le=10,
        description=(
            "Number of reverse proxies in front, whose `X-Forwarded-For`, `-Proto` and `-Host` are trusted. With 0 "
            "these headers are ignored, because any client can send them."
        ),
    )
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description=(
            "Names under which participants reach the server, such as `study.example.org`, separated by commas. "
            "Numbers (127.0.0.1), `localhost`, this machine's own name and the one in `host` are always accepted. "
            "A request under another name is refused, because a page of another site could send it (DNS rebinding)."
        ),
    )
    secrets: Path | None = Field(
        default=None,
        description=(
            "Folder of the files `signing-key` and `researcher-token`, made with mode 600 at the first start. "
            "Servers on several machines need the same files. If omitted: `data` in the study's folder."
        ),
    )
    session_days: int = Field(
        default=7, ge=1, le=365, description="Days for which a participant's browser remembers the session."
    )
    max_body_kb: int = Field(
        default=64, ge=1, le=10_240, description="Largest accepted request, in KB; 100 responses take about 30."
    )
    starts_per_minute: int = Field(
        default=1200,
        ge=1,
        description=(
            "New sessions from one network address per minute. A laboratory or a campus may share one address, and "
            "so do all participants behind a proxy that is not counted in `proxies`."
        ),
    )
    slots_per_address: int = Field(
        default=200,
        ge=1,
        description=(
            "Participants from one network address who may hold a slot at the same time. All machines of a "
            "laboratory or a campus may share one address; a panel's participants do not, and 5 is enough for them."
        ),
    )
    prolific_keys: str | None = Field(
        default=None,
        description=(
            "File with Prolific's public keys (JWKS), for a study with `recruitment.prolific_secured_url`. It is "
            "read again when it is replaced."
        ),
    )
    requests_per_second: int = Field(
        default=50, ge=1, description="Requests of one session per second; a person makes less than one."
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
                    f"`{name}` is not the name of a host. Fix: write names such as study.example.org, without https:// "
                    "and without a port."
                )
        return plain


def read_settings(**options: Any) -> Settings:
    """Return the settings from options that are not None, otherwise from the environment.

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
