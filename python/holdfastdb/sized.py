"""What every kind of table says of its items without reading them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidArgument
from .operations import Operations


class Sized(Operations):
    """Operations, and how many items there are."""

    def __len__(self) -> int:
        return int(self._native.size())

    def __contains__(self, key: Any) -> bool:
        found = self.contains([key] if isinstance(key, int | np.integer | bytes) else key)
        if found.shape != (1,):
            raise InvalidArgument(f"`in` asks for one key, and got {found.shape[0]}: use contains(keys)")
        return bool(found[0])

    def size(self) -> int:
        """Items in the table; the same as `len`."""
        return len(self)
