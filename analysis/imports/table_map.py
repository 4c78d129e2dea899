"""The map of the columns of a table (`--map`): a YAML file, or the name of a ready-made map."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator, model_validator

from batteries.errors import InputError
from batteries.files.file_reading import read_yaml

MAPS = Path(__file__).parent / "maps"

Phase = Literal["practice", "test", "attention_check"]


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


Columns = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""Name of a column, or a list of names. The first name that is in the table is used."""


class WideColumns(BaseModel):
    """The columns of a table with one row per participant. Each value is a regular expression with a group `item`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    response: str = Field(description="Columns with responses, such as `Q(?P<item>[0-9]+)`.")
    rt: str | None = Field(default=None, description="Columns with response times.")
    correct: str | None = Field(default=None, description="Columns that say if the response is correct.")

    @field_validator("response", "rt", "correct")
    @classmethod
    def _names_the_item(cls, pattern: str | None) -> str | None:
        if pattern is None:
            return None
        try:
            groups = re.compile(pattern).groupindex
        except re.error as error:
            raise ValueError(
                f"`{pattern}` is not a regular expression ({error}). Fix: correct the expression."
            ) from None
        if "item" not in groups:
            raise ValueError(f"`{pattern}` has no group `item`. Fix: write (?P<item>...) around the name of the item.")
        return pattern


class TableMap(BaseModel):
    """The columns of a table with trials. The table has one row per trial, or one row per participant (`wide`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str = Field(default="", description="The program and the file that this map describes.")
    participant: Columns = Field(description="Column with the id of the participant.")
    session: Columns = Field(default=(), description="Column with the id of the session, if there are several.")
    item: Columns = Field(default=(), description="Column with the id of the item.")
    response: Columns = Field(default=(), description="Column with the response.")
    wide: WideColumns | None = Field(
        default=None, description="Columns of a table with one row per participant, instead of `item` and `response`."
    )
    correct: Columns = Field(default=(), description="Column that says if the response is correct.")
    rt: Columns = Field(default=(), description="Column with the response time.")
    rt_unit: Literal["ms", "s"] = Field(default="ms", description="Unit of the response times: ms or s.")
    trial: Columns = Field(
        default=(), description="Column with the position of the trial. By default, the order of the rows."
    )
    phase: Columns = Field(default=(), description="Column with the phase of the trial.")
    phases: dict[str, Phase] = Field(
        default_factory=dict, description="The phase for each text in this column: practice, test or attention_check."
    )
    group: Columns = Field(default=(), description="Column with the counterbalance group, a whole number.")
    finished: Columns = Field(
        default=(), description="Column that says if the participant completed the session (true, 1 or yes)."
    )
    columns: dict[str, Columns] = Field(
        default_factory=dict, description="Further columns to keep: new name and name in the table."
    )
    responses: dict[str, JsonValue] = Field(
        default_factory=dict, description="The response for each text in the column of responses."
    )
    where: dict[str, Columns] = Field(
        default_factory=dict, description="Keep only rows in which this column has one of these texts."
    )
    skip_without: Columns = Field(
        default=(), description="Skip rows in which one of these columns is empty. By default, the item."
    )
    extra_header_rows: int = Field(
        default=0, ge=0, le=10, description="Number of rows below the header that are not data."
    )

    @model_validator(mode="after")
    def _says_where_the_responses_are(self) -> "TableMap":
        if self.wide is None and not (self.item and self.response):
            raise ValueError(
                "the map does not say which columns have the item and the response. Fix: add `item` and `response`, "
                "or `wide` for a table with one row per participant."
            )
        return self


def ready_made_maps() -> list[str]:
    """Return the names of the ready-made maps."""
    return sorted(path.stem for path in MAPS.glob("*.yaml"))


def read_table_map(given: str | Path) -> TableMap:
    """Return a ready-made map by its name, or a map from a YAML file.

    Raises
    ------
    InputError
        If there is no such map, or if the file is not a map.
    """
    if str(given) in ready_made_maps():
        return read_yaml(MAPS / f"{given}.yaml", TableMap)
    path = Path(given)
    if not path.exists():
        raise InputError(
            f"--map {given}: there is no such file or ready-made map. Fix: write a YAML file, or one of "
            f"{', '.join(ready_made_maps())}."
        )
    return read_yaml(path, TableMap)
