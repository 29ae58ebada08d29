"""A store's items as `dump` reads a table's of any length: keys and values, without flags, expiry and CAS ids."""

from __future__ import annotations

import numpy as np

from ..schema.layout import Layout
from ..store import Store

_BATCH_BYTES = 16 << 20


class StoreRows:
    """Stands for a table. Its items have no order that another process finds again, so a dump begins anew."""

    any_length, key_bytes, value_bytes = True, 0, 0
    score, mode, layout = None, "r+", Layout()

    def __init__(self, store: Store) -> None:
        self.path = store.path
        self._store, self._items = store, store.scan()
        self._pool_path = store._pool_path

    def __len__(self) -> int:
        return len(self._store)

    def export_batch(self, most: int, cursor: int) -> tuple[np.ndarray, np.ndarray, int | None]:
        """The next items, at most so many and 16 MiB or one more, and None in place of the cursor at the end."""
        keys: list[bytes] = []
        values: list[bytes] = []
        size = 0
        for key, item in self._items:
            keys.append(key)
            values.append(item.value)
            size += len(key) + len(item.value)
            if len(keys) == most or size >= _BATCH_BYTES:
                return _array(keys), _array(values), cursor + 1
        return _array(keys), _array(values), None


def _array(parts: list[bytes]) -> np.ndarray:
    array = np.empty(len(parts), object)
    array[:] = parts
    return array
