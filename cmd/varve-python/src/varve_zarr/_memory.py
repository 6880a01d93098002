"""Memory that a connection shares with the varve process. Blocks of elements are passed through it."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

SLOT = 4 << 20
SLOTS = 4
# Smaller selections are faster through the socket.
MIN_SIZE = 512 << 10


class Stage:
    """An anonymous file in memory, divided into slots. ``descriptor`` is sent to the varve process once."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("varve")
        try:
            os.ftruncate(self.descriptor, SLOT * SLOTS)
            self._map = mmap.mmap(self.descriptor, SLOT * SLOTS)
        except BaseException:
            os.close(self.descriptor)
            raise
        self._bytes: npt.NDArray[Any] = np.frombuffer(self._map, "u1")

    def copy(self, slot: int, to: npt.NDArray[Any]) -> None:
        """Copy the bytes of a slot. Other threads run meanwhile, because NumPy releases the GIL."""
        np.copyto(to, self._bytes[slot * SLOT : slot * SLOT + len(to)])

    def close(self) -> None:
        os.close(self.descriptor)
        del self._bytes
        self._map.close()


def create() -> Stage | None:
    """Return a new stage, or None if the system has no shared memory. Then elements are sent through the socket."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        return Stage()
    except OSError:
        return None
