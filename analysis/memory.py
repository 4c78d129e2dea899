"""Memory that is given back when a large array is freed."""

import ctypes
import sys

_M_MMAP_THRESHOLD = -3
"""The parameter of glibc's `mallopt(3)`: larger blocks are mapped alone, and given back alone."""
_THRESHOLD_BYTES = 2**20


def give_back_freed_arrays() -> None:
    """Have the memory of each array of a megabyte or more given back to the system when the array is freed.

    By itself glibc raises its threshold to 32 MB as such arrays are freed, and then keeps their memory in a heap with
    gaps: 140 MB of them at a million answers. Other C libraries are left as they are.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
