"""The operations of a table that take keys, as batches."""

from __future__ import annotations

from typing import Any, Literal, overload

from . import batch, lookup
from ._native import Table as NativeTable
from .batch import Request
from .checked import flag, given_of, number, pair_of
from .errors import InvalidArgument
from .operands import Keys, TableShape
from .results import (
    ApplyResult,
    FindMissingResult,
    FindResult,
    FindStatusesResult,
    InsertAndFindResult,
    ResultKind,
    ScoresResult,
)
from .status import Op


class Operations:
    """Operations of `Table`, `Column` and `MemoryTable` on keys. `Table` documents the arguments that they share."""

    _native: NativeTable
    _shape: TableShape
    _dtype: Any = None
    """Element type of values that are read, if the call has no `dtype`."""

    # Operations.

    def insert(
        self,
        keys: Keys,
        values: Any = None,
        *,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Adds each absent key with its value. An existing key keeps its value.

        Returns
        -------
        statuses
            Shape (n,) of uint8: INSERTED, EXISTS, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.INSERT, keys, values, mask, unique, out, stream)

    def insert_or_assign(
        self,
        keys: Keys,
        values: Any = None,
        *,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Adds each absent key with its value, and replaces the value of each existing key.

        Returns
        -------
        statuses
            Shape (n,) of uint8: INSERTED, UPDATED, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.INSERT_OR_ASSIGN, keys, values, mask, unique, out, stream)

    def assign(
        self,
        keys: Keys,
        values: Any = None,
        *,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Replaces the value of each existing key.

        Returns
        -------
        statuses
            Shape (n,) of uint8: UPDATED, NOT_FOUND, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.ASSIGN, keys, values, mask, unique, out, stream)

    def erase(self, keys: Keys, *, mask: Any = None, unique: bool = False, out: Any = None, stream: Any = None) -> Any:
        """Removes each key with its value.

        Returns
        -------
        statuses
            Shape (n,) of uint8: ERASED, NOT_FOUND or NOT_RUN.
        """
        return self._change(Op.ERASE, keys, None, mask, unique, out, stream)

    def accumulate(
        self,
        keys: Keys,
        values: Any = None,
        *,
        op: str = "add",
        scale: float = 1.0,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Combines each row with the value of its key, element by element. An absent key is added with the row.

        Parameters
        ----------
        values
            Rows of int32, uint32, int64, uint64, float16, bfloat16, float32 or float64 elements.
            Integers wrap. Sums of 16-bit floats are computed in fp32 and rounded to nearest, ties to even, after
            each row.
        op
            "add", "min" or "max".
        scale
            Factor of the rows, also for new keys: -0.1 subtracts a tenth of a gradient. The product is not rounded
            before the sum. Only for "add" and floating-point elements.

        Returns
        -------
        statuses
            Shape (n,) of uint8: UPDATED, INSERTED, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.ACCUMULATE, keys, values, mask, unique, out, stream, op, number("scale", scale))

    @overload
    def find(
        self, keys: Keys, *, dtype: Any = None, mask: Any = None, unique: bool = False, out: Any = None,
        stream: Any = None, missing: Literal[False] = False, result: ResultKind = "numpy",
    ) -> FindResult: ...  # fmt: skip
    @overload
    def find(
        self, keys: Keys, *, dtype: Any = None, mask: Any = None, unique: bool = False, out: Any = None,
        stream: Any = None, missing: Literal[True], result: ResultKind = "numpy",
    ) -> FindMissingResult: ...  # fmt: skip
    def find(
        self,
        keys: Keys,
        *,
        dtype: Any = None,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
        missing: bool = False,
        result: ResultKind = "numpy",
    ) -> Any:
        """Reads the value of each key.

        Parameters
        ----------
        dtype
            Element type of the values; bytes by default. A value of one element gives the shape (n,).
        out
            An array for the values, or a pair for both results. Values are written directly into it. If `dtype` is
            given and `out` has another floating-point type, values are converted, rounded to nearest.
        missing
            Also returns the rows of absent keys. With arrays in GPU memory the call waits for their count.
        result
            Form of values of any length. "numpy": an object array of bytes and None. "arrow": an Arrow array of
            large_binary. "device": a pair of arrays in GPU memory, where the keys must be: the concatenated bytes,
            and (n + 1,) offsets; a row without a value has no bytes. Values of fixed length are arrays of the same
            kind as the keys.

        Returns
        -------
        values
            n rows of `value_bytes` bytes; zero if the key is absent. Of any length: bytes, or None if it is absent.
        found
            Shape (n,) of bool: the key is present.
        missing
            With `missing`: shape (m,) of int64, the numbers of the rows whose keys are absent, ascending.
        """
        values, found = pair_of(out)
        dtype, missing = self._dtype if dtype is None else dtype, flag("missing", missing)
        request = Request(Op.FIND, keys, mask=mask, dtype=dtype, stream=stream, unique=unique, out_values=values,
                          out_found=found, give_values=True, give_found=True,
                          result=result)  # fmt: skip
        if self._shape.any_length:
            got = self._run(request)
            absent = batch.rows_where(~got.found) if missing else None
        elif not missing and (values is None or dtype is None):
            got, absent = self._run(request), None
        else:
            got, absent = lookup.find(self._native, request, self._shape, missing)
        if missing:
            return FindMissingResult(got.values, got.found, absent)
        return FindResult(got.values, got.found)

    def contains(
        self, keys: Keys, *, mask: Any = None, unique: bool = False, out: Any = None, stream: Any = None
    ) -> Any:
        """Tests whether each key is present.

        Returns
        -------
        found
            Shape (n,) of bool.
        """
        request = Request(Op.CONTAINS, keys, mask=mask, stream=stream, unique=unique, out_found=out, give_found=True)
        return self._run(request).found

    def scores(
        self, keys: Keys, *, mask: Any = None, unique: bool = False, out: Any = None, stream: Any = None
    ) -> ScoresResult:
        """Reads the score of each key. Raises InvalidArgument for a table without scores.

        Parameters
        ----------
        out
            An array for the scores, or a pair for both results.

        Returns
        -------
        scores
            Shape (n,) of uint64 (PyTorch: the same 8 bytes as int64); 0 where the key is absent.
        found
            Shape (n,) of bool.
        """
        scores, found = pair_of(out)
        request = Request(Op.CONTAINS, keys, mask=mask, stream=stream, unique=unique, out_scores=scores,
                          out_found=found, give_scores=True, give_found=True)  # fmt: skip
        if self._shape.any_length:
            raise InvalidArgument(f"{self._shape.path} keeps no scores: keys and values of any length have none")
        result = self._run(request)
        return ScoresResult(result.scores, result.found)

    @overload
    def find_or_insert(
        self, keys: Keys, values: Any = None, *, init: Any = None, dtype: Any = None, mask: Any = None,
        unique: bool = False, out: Any = None, stream: Any = None, result: ResultKind = "numpy",
        statuses: Literal[False] = False,
    ) -> FindResult: ...  # fmt: skip
    @overload
    def find_or_insert(
        self, keys: Keys, values: Any = None, *, init: Any = None, dtype: Any = None, mask: Any = None,
        unique: bool = False, out: Any = None, stream: Any = None, result: ResultKind = "numpy",
        statuses: Literal[True],
    ) -> FindStatusesResult: ...  # fmt: skip
    def find_or_insert(
        self,
        keys: Keys,
        values: Any = None,
        *,
        init: Any = None,
        dtype: Any = None,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
        result: ResultKind = "numpy",
        statuses: bool = False,
    ) -> Any:
        """Reads the value of each key. An absent key is added with its row of `values`, or with a row made by `init`.

        Parameters
        ----------
        init
            Instead of `values`: a number; `holdfastdb.initial.Uniform(low, high, seed)`, `Normal(std, mean, seed)`
            or `Constant(value)`, which depend only on key, column and seed; or a function from keys to rows. The
            function is called with the missing keys, or, with arrays in GPU memory, with all keys, so that the host
            does not wait.
        dtype
            Element type of the values; required with `init`, unless `out` determines it.
        out
            As for `find`: values are converted if `out` has another floating-point type than `dtype`.
        result
            As for `find`.
        statuses
            Also returns the statuses.

        Returns
        -------
        values
            The values after the call: n rows, of `dtype`, by default of the element type of `values`. Zero if there
            was no space.
        found
            Shape (n,) of bool: the key was present before. False also if there was no space; the statuses distinguish
            this from an added key.
        statuses
            With `statuses`: shape (n,) of uint8: FOUND, INSERTED, NO_SPACE or NOT_RUN.
        """
        rows, found = pair_of(out)
        dtype, statuses = self._dtype if dtype is None else dtype, flag("statuses", statuses)
        request = Request(Op.FIND_OR_INSERT, keys, values, mask=mask, dtype=dtype, stream=stream, unique=unique,
                          out_values=rows, out_found=found, give_values=True, give_found=True,
                          result=result)  # fmt: skip
        if init is not None:
            if self._shape.any_length:
                raise InvalidArgument(
                    f"init makes values of fixed length, and those of {self._shape.path} have any: give values"
                )
            got = lookup.find_or_insert(self._native, request, self._shape, init)
        else:
            got = self._run(request)
        if statuses:
            return FindStatusesResult(got.values, got.found, got.statuses)
        return FindResult(got.values, got.found)

    def insert_and_find(
        self,
        keys: Keys,
        values: Any = None,
        *,
        dtype: Any = None,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
        result: ResultKind = "numpy",
    ) -> InsertAndFindResult:
        """Adds each absent key with its value, and reads the value of every key.

        Returns
        -------
        values
            As for `find_or_insert`.
        statuses
            Shape (n,) of uint8: INSERTED, EXISTS, NO_SPACE or NOT_RUN.
        """
        rows, statuses = pair_of(out)
        dtype = self._dtype if dtype is None else dtype
        got = self._run(
            Request(Op.INSERT_AND_FIND, keys, values, mask=mask, dtype=dtype, stream=stream, unique=unique,
                    out_values=rows, out_statuses=statuses, give_values=True, result=result)
        )  # fmt: skip
        return InsertAndFindResult(got.values, got.statuses)

    def apply(
        self,
        ops: Any,
        keys: Keys,
        values: Any = None,
        *,
        combine: str = "add",
        dtype: Any = None,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
        result: ResultKind = "numpy",
    ) -> ApplyResult:
        """Runs a batch with an operation for each row. Rows with equal keys, reads too, take effect in array order.

        Parameters
        ----------
        ops
            Shape (n,) of uint8, codes of `holdfastdb.Op`; or a list of them, or of their names.
        values
            A row for each key; ignored for operations without a value. None if no operation has one.
        combine
            How ACCUMULATE combines: "add", "min" or "max", with the element type of `values`.

        Returns
        -------
        statuses
            Shape (n,) of uint8.
        values
            n rows: the values that FIND, FIND_OR_INSERT and INSERT_AND_FIND read; zero for absent keys and for other
            operations.
        """
        statuses, rows = pair_of(out)
        dtype = self._dtype if dtype is None else dtype
        got = self._run(
            Request(Op.FIND, keys, values, ops=given_of("ops", ops), mask=mask, dtype=dtype, stream=stream,
                    unique=unique, combine=combine, out_values=rows, out_statuses=statuses,
                    give_values=True, result=result)
        )  # fmt: skip
        return ApplyResult(got.statuses, got.values)

    def _change(
        self, op: Op, keys: Any, values: Any, mask: Any, unique: bool, out: Any, stream: Any, combine: str = "add",
        scale: float = 1.0,
    ) -> Any:  # fmt: skip
        request = Request(op, keys, values, mask=mask, unique=unique, out_statuses=out, stream=stream, combine=combine,
                          scale=scale)  # fmt: skip
        return self._run(request).statuses

    def _note_keys(self, keys: Any) -> None:
        """Called before a change with these keys. A table that stores the type of its keys overrides it."""

    def _run(self, request: Request) -> batch.Results:
        request.note_keys = self._note_keys
        return batch.run(self._native, request, self._shape)
