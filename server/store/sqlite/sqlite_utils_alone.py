"""`Database` and `Migrations` of sqlite-utils, imported without pandas and numpy.

sqlite-utils imports pandas and numpy if they are installed, only to recognize values of their types. The server has no
such values. Without the two packages, the server starts with a fifth less processor time and 45 MB less memory
(`benchmarks/server_start.py`).
"""

import sys

_UNNEEDED = ("pandas", "numpy")

_hidden = [name for name in _UNNEEDED if name not in sys.modules]
# To Python, a module that is None in this table is not installed.
sys.modules.update(dict.fromkeys(_hidden))  # type: ignore[arg-type]
try:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations
finally:
    for _name in _hidden:
        del sys.modules[_name]

__all__ = ["Database", "Migrations"]
