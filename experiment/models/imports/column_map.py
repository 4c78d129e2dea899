"""The map of columns (`--map`), which says where a CSV or JSON Lines file has the item, the reply and the model.

A short map is text: `item=scene_id,reply=answer,model==gpt-4`. `NAME=COLUMN` names a column, `NAME==TEXT` gives a fixed
text, and `item=a+b` names several columns. A longer map is a YAML file, which can describe a wide table with one column
per model.
"""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from batteries.errors import InputError
from batteries.files.file_reading import describe, read_yaml


class FixedText(BaseModel):
    """A text that is the same for all rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(min_length=1, description="The text.")


Source = str | FixedText
"""Name of a column, or a fixed text."""


class RunColumns(BaseModel):
    """The columns of one run, that is, of one model's replies.

    If a column names the model, each model has its own run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reply: str | None = Field(default=None, description="Column with the raw reply, which Equipoise reads.")
    choice: str | None = Field(
        default=None, description="Column with the response: the number or text of an option, or the outcome."
    )
    model: Source | None = Field(default=None, description="The model's name.")
    model_version: Source | None = Field(default=None, description="The provider's exact name of the model.")
    prompt: Source | None = Field(default=None, description="Name of the prompt or condition.")
    temperature: Source | float | None = Field(default=None, description="Sampling temperature.")
    epoch: Source | int | None = Field(default=None, description="Number of the repetition, from 1.")
    rt_ms: str | None = Field(default=None, description="Column with the time from request to reply, in ms.")
    finish_reason: str | None = Field(default=None, description="Column with the reason why the reply ended.")
    thinking: str | None = Field(default=None, description="Column with the model's thinking.")


class ColumnMap(RunColumns):
    """The map of the columns of a file. A map in YAML has the same fields."""

    item: str | tuple[str, ...] | dict[str, str] | None = Field(
        default=None,
        description="The item of each reply: the column with the id of the item or request, a list of columns with "
        "the names of factors, or {factor: column}.",
    )
    values: dict[str, str | int] = Field(
        default_factory=dict,
        description="The response for each text in the column that `choice` names. Any other text is the response "
        "itself.",
    )
    runs: tuple[RunColumns, ...] = Field(
        default=(), description="One entry for each run of a wide table. Fields that an entry lacks come from the map."
    )

    @field_validator("item", mode="before")
    @classmethod
    def _list_is_tuple(cls, item: object) -> object:
        return tuple(item) if isinstance(item, list) else item

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not self.describes_table:
            return self
        if not self.item:
            raise ValueError("the map does not say which column contains the item. Fix: add `item`.")
        for run in self.all_runs:
            if (run.reply is None) == (run.choice is None):
                raise ValueError(
                    "each run needs either the column `reply` (the text of the reply) or the column `choice` (the "
                    "chosen option). Fix: name one of these columns."
                )
            if run.model is None:
                raise ValueError("the map does not say which model wrote the replies. Fix: add `model`.")
        return self

    @property
    def describes_table(self) -> bool:
        """True if the map describes the columns of a table; False if it only has facts such as the model's name."""
        return bool(self.item or self.reply or self.choice or self.runs)

    @property
    def all_runs(self) -> list[RunColumns]:
        """The columns of each run. An entry of `runs` gets the fields that it lacks from the map."""
        own = {name: getattr(self, name) for name in RunColumns.model_fields}
        if not self.runs:
            return [RunColumns(**own)]
        return [RunColumns(**own | run.model_dump(exclude_unset=True)) for run in self.runs]

    @property
    def fixed_model(self) -> str | None:
        """The fixed text for the model; None if there is none."""
        return self.model.text if isinstance(self.model, FixedText) else None


def read_map(given: str | Path) -> ColumnMap:
    """Return a map from a YAML file, or from a short text such as `item=id,reply=answer,model==gpt-4`.

    Raises
    ------
    InputError
        If the map is not valid.
    """
    text = str(given)
    return _from_text(text) if "=" in text and not Path(text).exists() else read_yaml(Path(text), ColumnMap)


def _from_text(text: str) -> ColumnMap:
    fields: dict[str, object] = {}
    known = [name for name in ColumnMap.model_fields if name not in {"runs", "values"}]
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        is_fixed = value.startswith("=")
        value = value.removeprefix("=").strip()
        if not equals or not value or name not in known:
            raise InputError(
                f"--map {text}: `{part.strip()}` is not a part of a map. Fix: write NAME=COLUMN with one of the names "
                f"{', '.join(known)}."
            )
        if name in fields:
            raise InputError(f"--map {text}: `{name}` appears twice. Fix: keep one of the two parts.")
        fields[name] = {"text": value} if is_fixed else value
        if name == "item" and not is_fixed and "+" in value:
            fields[name] = tuple(column.strip() for column in value.split("+"))
        if is_fixed and name in {"item", "reply", "choice", "rt_ms", "finish_reason", "thinking"}:
            raise InputError(
                f"--map {text}: `{name}` must be the name of a column, not a fixed text. Fix: write {name}=COLUMN, "
                "with one equals sign."
            )
    try:
        return ColumnMap.model_validate(fields)
    except ValidationError as error:
        raise InputError(f"--map {text}: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    return describe(error, ColumnMap)
