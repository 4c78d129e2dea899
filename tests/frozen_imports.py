"""Imported last by `tests.fork_server`: no fork searches the imported modules for garbage, also not at its end."""

import gc

gc.collect()
gc.freeze()
