"""Tables as SPSS files (.sav), with the labels of variables and values."""

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.exports.codebook import Column
from analysis.exports.table_files import TableFile, parquet_values
from batteries.errors import InputError

_RESERVED = {"ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"}
MOST_BYTES = 32_767
"""Longest text of SPSS, in bytes of UTF-8."""
_LONGEST_NAME, _LONGEST_LABEL, _LONGEST_VALUE_LABEL = 64, 256, 120
_YES_NO = {0: "false", 1: "true"}


def spss_names(columns: Sequence[Column]) -> list[str]:
    """Return a name for each column that SPSS accepts: letters, digits and `_`, unique in small and large letters."""
    names: list[str] = []
    taken: set[str] = set()
    for column in columns:
        name = re.sub(r"[^A-Za-z0-9_]", "_", column.name)
        name = name if re.match(r"[A-Za-z]", name) and name.upper() not in _RESERVED else f"v_{name}"
        name = name[:_LONGEST_NAME].rstrip("_")
        number = 2
        unique = name
        while unique.upper() in taken:
            unique, number = f"{name[: _LONGEST_NAME - 4]}_{number}", number + 1
        taken.add(unique.upper())
        names.append(unique)
    return names


class SpssFile(TableFile):
    """An SPSS file. SPSS files cannot be written in portions, so all rows are in memory."""

    def _open(self) -> None:
        self._values: list[list[Any]] = [[] for _ in self.columns]

    def write(self, rows: pd.DataFrame) -> None:
        for of_column, column in zip(self._values, self.columns, strict=True):
            of_column.extend(parquet_values(rows[column.name], column))

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.close()

    def close(self) -> None:
        """Write the file."""
        import pyreadstat  # noqa: PLC0415 - an extra

        names = spss_names(self.columns)
        table: dict[str, pd.Series] = {}
        for name, column in zip(names, self.columns, strict=True):
            cells = self._values.pop(0)
            is_text = column.type in {"text", "time", "JSON"}
            if is_text and any(value is not None and len(value.encode()) > MOST_BYTES for value in cells):
                raise InputError(
                    f"{self.path.name}: the column `{column.name}` has a text of more than {MOST_BYTES:,} bytes, which "
                    "SPSS cannot read. Fix: export with --format csv."
                )
            texts = ["" if value is None else value for value in cells] if is_text else cells
            table[name] = pd.Series(texts, dtype=object if is_text else "float64")
        pyreadstat.write_sav(
            pd.DataFrame(table),
            str(self.path),
            column_labels=[_label(column, name) for column, name in zip(self.columns, names, strict=True)],
            variable_value_labels={
                name: labels
                for column, name in zip(self.columns, names, strict=True)
                if (labels := _value_labels(column))
            },
            variable_measure={name: _measure(column) for column, name in zip(self.columns, names, strict=True)},
            row_compress=True,
        )


def _label(column: Column, name: str) -> str:
    unit = f" ({column.unit})" if column.unit else ""
    before = "" if name == column.name else f"{column.name}: "
    return f"{before}{column.label}{unit}"[:_LONGEST_LABEL]


def _value_labels(column: Column) -> dict[Any, str]:
    if column.type == "true or false":
        return dict(_YES_NO)
    if column.type != "text":
        return {}
    return {level: (label or level)[:_LONGEST_VALUE_LABEL] for level, label in column.levels.items()}


def _measure(column: Column) -> str:
    return "scale" if column.type in {"whole number", "number"} else "nominal"
