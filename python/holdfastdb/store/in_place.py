"""Values of a store in place: memory that arrays are copied into before a change, and values to copy that stay."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, overload

import numpy as np

from .. import _native
from ..arrays import import_array, import_target, order_streams, stream_handle
from ..checked import flag, whole
from ..errors import InvalidArgument, InvalidType
from ..libraries import HOST, NUMPY, Library
from ..messages import shown
from ..operands import TableShape
from ..strings import Strings, take
from .items import StoreFound, StoreStatus
from .row_options import Flags, RowOptions, Seconds, numbers_of


class StoreTransfer:
    """The copies of a call: of `StoreReservation.copy_in` and `StoreLease.copy_out`. Those of arrays on the host are
    done when it returns. They end without this object, too."""

    def __init__(self, native: _native.StoreTransfer, arrays: list[Any]) -> None:
        self._native, self._arrays = native, arrays

    def done(self) -> bool:
        """Whether all bytes have arrived. Raises DeviceError where the GPU failed."""
        return self._native.poll()

    def wait(self) -> None:
        """Returns when all bytes have arrived. Raises DeviceError where the GPU failed."""
        self._native.wait()


class _Rows:
    """What reservations and leases share: rows, and the arrays that are copied."""

    _native: Any

    def __init__(self, native: Any, path: str) -> None:
        self._native, self._path = native, path
        self._transfers: list[StoreTransfer] = []
        """Of arrays on a GPU: their memory is not freed before they have ended."""

    def __len__(self) -> int:
        return self._native.size()

    def has(self, row: int) -> bool:
        """Whether the row has memory, and has not ended."""
        return self._native.has(self._row(row))

    def _row(self, row: int) -> int:
        if not len(self):
            raise InvalidArgument(f"row is {shown(row)}, and there is none")
        return whole("row", row, 0, len(self) - 1)

    def _live(self) -> list[int]:
        return [row for row in range(len(self)) if self._native.has(row)]

    def _end(self, row: int | None, end: Callable[[int], Any]) -> None:
        for one in self._live() if row is None else [self._row(row)]:
            end(one)
        if row is None:
            self._transfers.clear()

    def _copy(self, arrays: Any, rows: Any, offsets: Any, stream: Any, writes: bool) -> StoreTransfer:
        taken = _arrays(arrays, writes)
        numbers = np.zeros((5, len(taken)), np.uint64)
        if rows is None:
            if len(taken) > len(self) or (
                len(taken) < len(self) and not writes
            ):  # a row without one would have no bytes
                raise InvalidArgument(
                    f"there are {len(self)} rows, and arrays has {len(taken)}: give one for each, or name their rows"
                )
            numbers[0] = np.arange(len(taken), dtype=np.uint64)
        else:
            numbers[0] = numbers_of("rows", rows, len(taken), max(len(self), 1) - 1)
        numbers[1] = 0 if offsets is None else numbers_of("offsets", offsets, len(taken))
        places: dict[str, dict[str, Library]] = {}
        for i, (array, library) in enumerate(taken):
            place = library.place(array)
            numbers[2:, i] = library.pointer(array) if array.nbytes else 0, int(array.nbytes), place != HOST
            if place != HOST:
                places.setdefault(place, {})[library.name] = library
        if offsets is None:
            self._require_whole(numbers[0].tolist(), numbers[3].tolist())
        with _Streams(places, stream) as its:
            transfer = StoreTransfer(self._start(len(taken), NUMPY.pointer(numbers), its), [one for one, _ in taken])
        if places:
            self._transfers = [one for one in self._transfers if not one.done()]
            self._transfers.append(transfer)
        return transfer

    def _require_whole(self, rows: list[int], sizes: list[int]) -> None:
        """Refuses arrays that are smaller than the values of their rows; larger ones are refused by the copy."""
        for i, (row, size) in enumerate(zip(rows, sizes, strict=True)):
            if size < (bytes := self._native.value_bytes(row)):
                raise InvalidArgument(
                    f"arrays[{i}] has {size} bytes, and the value of row {row} {bytes}: give an array of {bytes} "
                    "bytes, or offsets to copy a part of the value"
                )

    def _start(self, size: int, numbers: int, stream: int) -> Any:
        raise NotImplementedError


class _Streams:
    """The stream of a call's copies: they come after what the libraries' current streams have, and before what those
    get later. 0: no array is on a GPU."""

    def __init__(self, places: dict[str, dict[str, Library]], stream: Any) -> None:
        if len(places) > 1:
            raise InvalidArgument(f"arrays are on {' and '.join(sorted(places))}: give those of one GPU in a call")
        given = None if stream is None else stream_handle(stream)
        self._place = next(iter(places), HOST)
        current = [library.stream(self._place) for library in places.get(self._place, {}).values()]
        self._stream = given if given is not None else (current or [0])[0]
        self._others = [one for one in current if one != self._stream]

    def __enter__(self) -> int:
        for other in self._others:
            order_streams(other, self._stream, self._place)
        return self._stream

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for other in self._others:
            order_streams(self._stream, other, self._place)


class StoreReservation(_Rows):
    """Memory for new values, of `Store.reserve`, until they are committed or aborted. As a context manager it aborts
    at the end what is left. Several threads may use it."""

    _native: _native.StoreReservation

    def __init__(self, native: Any, path: str) -> None:
        super().__init__(native, path)
        self._statuses = np.full(len(self), StoreStatus.NO_SPACE, np.uint8)
        self._ended = False
        """Whether a row was committed or aborted."""

    def copy_in(self, arrays: Any, rows: Any = None, offsets: Any = 0, *, stream: Any = None) -> StoreTransfer:
        """Copies the bytes of arrays to their places in values: those of the host before it returns; those of a GPU
        by its copy engine, after what their current stream has, and before what it gets later.

        Parameters
        ----------
        arrays
            A list of contiguous arrays of NumPy, CuPy or PyTorch, of any type; thousands in a call pay.
        rows
            Of the reservation, one for each array; by default there is an array for each row.
        offsets
            Where in the value each begins, in bytes; a number for all.
        stream
            The CUDA stream on which the arrays of a GPU are copied; by default the current one.

        Raises
        ------
        InvalidArgument, InvalidType
            Nothing was copied then.
        DeviceError
        """
        return self._copy(arrays, rows, offsets, stream, False)

    def commit(self, row: int | None = None) -> np.ndarray:
        """Makes a row, or all that are left, a `set` of its key, whole or absent, and durable when it returns. Its
        memory is not cleared: bytes that were not filled are those of former items. It waits for the copies of the row
        first.

        Returns (1,) or (n,) uint8 of StoreStatus: INSERTED, UPDATED or NO_SPACE, which is also the status of rows
        without memory. Of all rows, those that were committed before have their status of then, and those that were
        aborted NOT_RUN.

        Raises
        ------
        InvalidArgument
            The row was committed or aborted before; or all rows were.
        DeviceError
            A GPU failed to copy; the row is reserved as before.
        """

        def end(one: int) -> None:
            self._statuses[one] = self._native.commit(one)
            self._ended = True

        if row is None and self._ended and not self._live():
            raise InvalidArgument(f"{self._path}: all rows were committed or aborted before: reserve their keys again")
        self._end(row, end)
        return self._statuses.copy() if row is None else self._statuses[[self._row(row)]]

    def abort(self, row: int | None = None) -> None:
        """Gives the memory of a row, or of all that are left, back. It waits for copies first.

        Raises
        ------
        InvalidArgument
            The row was committed or aborted before.
        """

        def end(one: int) -> None:
            self._native.abort(one)
            self._statuses[one] = StoreStatus.NOT_RUN
            self._ended = True

        self._end(row, end)

    def __enter__(self) -> StoreReservation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    def __repr__(self) -> str:
        return f"<holdfastdb.StoreReservation {self._path}: {len(self._live())} of {len(self)} rows>"

    def _start(self, size: int, numbers: int, stream: int) -> Any:
        return self._native.copy_in(size, numbers, stream)


class StoreLease(_Rows):
    """Values that stay as they are until they are released, of `Store.lease`, also if their items are replaced or
    removed. As a context manager it releases them at the end. Several threads may use it."""

    _native: _native.StoreLease

    def size(self, row: int) -> int:
        """Bytes of a row's value. Raises InvalidArgument where its key was absent, or it was released."""
        return self._native.value_bytes(self._row(row))

    def value(self, row: int) -> bytes:
        """A copy of a row's value. Raises InvalidArgument where its key was absent, or it was released."""
        return self._native.value(self._row(row))

    def copy_out(self, arrays: Any, rows: Any = None, offsets: Any = None, *, stream: Any = None) -> StoreTransfer:
        """Fills arrays with values, as `StoreReservation.copy_in` copies them there.

        Parameters
        ----------
        arrays, rows, stream
            As for `copy_in`; a list of fewer arrays than rows is for the first rows.
        offsets
            None: whole values, each into an array of the same number of bytes (`size`). Or where in the values the
            copied parts begin, in bytes: then each array is filled, and may be smaller than what is left of the value.

        Raises
        ------
        InvalidArgument, InvalidType
            Nothing was copied then.
        DeviceError
        """
        return self._copy(arrays, rows, offsets, stream, True)

    def release(self, row: int | None = None) -> None:
        """Ends the lease of a row, or of all. It waits for copies first."""
        self._end(row, self._native.release)

    def __enter__(self) -> StoreLease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<holdfastdb.StoreLease {self._path}: {len(self._live())} of {len(self)} rows>"

    def _start(self, size: int, numbers: int, stream: int) -> Any:
        return self._native.copy_out(size, numbers, stream)


class InPlace:
    """What `Store` can do with values in place."""

    _native: _native.Store
    _path: str
    _shape: TableShape

    def reserve(
        self, keys: Any, sizes: Any, *, ttl: Seconds = None, expires: Seconds = None, flags: Flags = 0
    ) -> StoreReservation:
        """Memory for new values of keys, to be filled and committed. A row for which there is none has none
        (`StoreReservation.has`). It counts against the limit, and the store cannot be closed meanwhile. The memory is
        not cleared: fill all of it, or the value has bytes of former items.

        Parameters
        ----------
        keys
            As for `get_many`.
        sizes
            Bytes of each value; a number for all.
        ttl, expires, flags
            As for `set_many`.
        """
        strings = take("keys", keys, self._shape)
        bytes = np.ascontiguousarray(numbers_of("sizes", sizes, strings.n))
        options = RowOptions(self._native, strings.n, ttl, expires, flags)
        native = _native.StoreReservation.of(
            self._native,
            strings.n,
            strings.pointer,
            strings.offsets_at,
            NUMPY.pointer(bytes),
            *options.given,
        )
        return StoreReservation(native, self._path)

    def lease(self, keys: Any) -> StoreLease:
        """The values of keys, which stay as they are until they are released. A key that is absent has no row
        (`StoreLease.has`). Eviction goes around them, and the store cannot be closed meanwhile.

        Raises
        ------
        NoSpace
            A million cells are leased.
        """
        return self._leased(take("keys", keys, self._shape), False)

    @overload
    def lookup(self, keys: Any, *, lease: Literal[False] = ...) -> int: ...
    @overload
    def lookup(self, keys: Any, *, lease: Literal[True]) -> StoreLease: ...
    @overload
    def lookup(self, keys: Any, *, lease: bool) -> int | StoreLease: ...
    def lookup(self, keys: Any, *, lease: bool = False) -> int | StoreLease:
        """How many keys of a list are present, up to the first that is absent: an int. With `lease`, a StoreLease of
        these keys, whose `len` is that number; it has to be released."""
        leased = flag("lease", lease)
        strings = take("keys", keys, self._shape)
        if leased:
            return self._leased(strings, True)
        return _native.StoreLease.lookup(self._native, strings.n, strings.pointer, strings.offsets_at)

    def _read_into(self, strings: Strings, out: Any, stream: Any) -> StoreFound:
        array, library = _array("out", out, True)
        rows = array.shape[0] if array.ndim else 0
        if rows != strings.n:
            raise InvalidArgument(f"out has {rows} rows, and keys {strings.n}: give one for each key")
        sizes, statuses = np.zeros(rows, np.uint64), np.full(rows, StoreStatus.NOT_FOUND, np.uint8)
        place, bytes = library.place(array), int(array.nbytes)
        with _Streams({} if place == HOST else {place: {library.name: library}}, stream) as its:
            self._native.get_into(
                rows,
                strings.pointer,
                strings.offsets_at,
                library.pointer(array) if bytes else 0,
                bytes // max(rows, 1),
                place != HOST,
                NUMPY.pointer(statuses),
                NUMPY.pointer(sizes),
                its,
            )
        return StoreFound(sizes, statuses)

    def _leased(self, strings: Strings, present: bool) -> StoreLease:
        native = _native.StoreLease.of(self._native, strings.n, strings.pointer, strings.offsets_at, present)
        return StoreLease(native, self._path)


def _arrays(given: Any, writes: bool) -> list[tuple[Any, Library]]:
    if not isinstance(given, list | tuple):
        raise InvalidType(f"arrays is of type {type(given).__name__}: give a list of arrays")
    return [_array(f"arrays[{i}]", one, writes) for i, one in enumerate(given)]


def _array(name: str, given: Any, writes: bool) -> tuple[Any, Library]:
    found = import_target(name, given) if writes else import_array(name, given)
    if found is None:
        raise InvalidType(f"{name} is {shown(given)}, of type {type(given).__name__}: give an array")
    array, library = found
    if not library.is_contiguous(array):
        raise InvalidArgument(f"{name} is not contiguous: give an array whose elements lie one behind the other")
    if writes and not library.writable(array):
        raise InvalidArgument(f"{name} cannot be written to: give an array that can")
    return array, library
