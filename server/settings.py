"""How a server runs, as against what a study is: all settings, their defaults, and their one way in.

Each can be given as an environment variable, `EQUIPOISE_` and its name in capitals; those that `equipoise serve` has an
option for, there too, and the option wins.
"""

import difflib
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from batteries.errors import InputError

PREFIX = "EQUIPOISE_"


class Settings(BaseSettings):
    """Settings of a server."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid")

    store: str | None = Field(
        default=None,
        repr=False,
        description="Where answers go: a SQLite file, or `postgresql://user:password@host:port/database`. "
        "Left out: `data/equipoise.db` in the study's folder.",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on; this machine's own by default.")
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
    proxies: int = Field(
        default=0,
        ge=0,
        le=10,
        description="Reverse proxies in front, whose `X-Forwarded-For`, `-Proto` and `-Host` are believed. "
        "With 0 none is, as anybody can send these headers.",
    )
    secrets: Path | None = Field(
        default=None,
        description="Folder of the files `signing-key` and `researcher-token`, made with mode 600 at the first start. "
        "Servers on several machines need the same. Left out: `data` in the study's folder.",
    )
    session_days: int = Field(
        default=7, ge=1, le=365, description="Days for which a participant's browser remembers the session."
    )
    max_body_kb: int = Field(
        default=64, ge=1, le=10_240, description="Largest request that is read, in KB; 100 answers take some 30."
    )
    starts_per_minute: int = Field(
        default=1200,
        ge=1,
        description="New sessions from one network address in a minute. A laboratory or a campus may share one "
        "address, and so do all who come through a proxy that is not counted in `proxies`.",
    )
    requests_per_second: int = Field(
        default=50, ge=1, description="Requests of one session in a second; a person makes less than one."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="Least level of what is logged."
    )


def read_settings(**options: Any) -> Settings:
    """Return the settings from options, those that are None left out, and else from the environment.

    Raises
    ------
    InputError
        If one cannot be used, or a variable is called almost like a setting.
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
        raise InputError(f"{source}: {first['msg'][0].lower()}{first['msg'][1:]}; mend it.") from None


def _refuse_misspelt(variable: str) -> None:
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    if variable not in known:
        close = difflib.get_close_matches(variable, known, n=1, cutoff=0.85)
        if close:
            raise InputError(f"the environment variable {variable} means nothing; write {close[0]}, or take it away.")
