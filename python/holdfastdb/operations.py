"""Batches: the operations of a table that are given keys."""

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
    """What `Table` and `Column` do with keys; the documentation of `Table` says what the arguments are that all of
    them share."""

    _native: NativeTable
    _shape: TableShape
    _dtype: Any = None
    """Element type of what is read, where the call gives none."""

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
        """Adds each key with its value; a key that is there keeps its value.

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
        """Adds each key with its value, or replaces the value of a key that is there.

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
        """Replaces the value of each key that is there.

        Returns
        -------
        statuses
            Shape (n,) of uint8: UPDATED, NOT_FOUND, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.ASSIGN, keys, values, mask, unique, out, stream)

    def erase(self, keys: Keys, *, mask: Any = None, unique: bool = False, out: Any = None, stream: Any = None) -> Any:
        """Removes each key.

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
        """Combines each value with the one that is there, element by element, or adds the key with it.

        Parameters
        ----------
        values
            Rows of int32, uint32, int64, uint64, float16, bfloat16, float32 or float64: that is what is combined.
            Integers wrap. Sums of 16 bits are taken in fp32 and rounded to nearest, ties to even, once for each row.
        op
            "add", "min" or "max".
        scale
            What is added is `scale` times the value, to a new key's zero too: -0.1 subtracts a tenth of a gradient.
            The product is not rounded before the sum. For "add" and floating-point elements.

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
            An array for the values, or a pair for both results. Values are written straight into it. If `dtype` is
            given and it is of another floating-point type, they are converted on the way, rounded to nearest.
        missing
            Give the rows of absent keys too. With arrays in GPU memory the call waits for their count.
        result
            How values of any length come. "numpy": an object array of bytes and None. "arrow": an Arrow array of
            large_binary. "device": a pair of arrays in GPU memory, where the keys must be: all bytes, and (n + 1,)
            offsets; a row without value has no bytes. Values of fixed length always come in the kind of the keys.

        Returns
        -------
        values
            n rows of `value_bytes` bytes; zero where the key is absent. Of any length: bytes, and None where it is.
        found
            Shape (n,) of bool.
        missing
            If asked for: shape (m,) of int64, the numbers of the rows, rising, whose keys are absent.
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
        """Asks for each key.

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
        """Reads the score of each key's item, in a table that keeps scores.

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
        """Reads the value of each key, or adds the key with the value given, or with one that `init` makes.

        Parameters
        ----------
        init
            Instead of values: a number; `holdfastdb.initial.Uniform(low, high, seed)`, `Normal(std, mean, seed)` or
            `Constant(value)`, drawn from each key; or a function that gets keys, and gives a row for each. It is
            called with the missing keys, or, in GPU memory, with all, so that nothing waits for the host.
        dtype
            Element type of the values; with `init`, needed unless `out` has it.
        out
            As for `find`: converted if it is of another floating-point type than `dtype`.
        result
            As for `find`.
        statuses
            Give the statuses too.

        Returns
        -------
        values
            What is there now: n rows, of the kind of the values given unless `dtype` says otherwise. Zero where there
            was no space.
        found
            Shape (n,) of bool: the key was there before. False also where there was no space, which the statuses report
            from a key that was added.
        statuses
            If asked for: shape (n,) of uint8: FOUND, INSERTED, NO_SPACE or NOT_RUN.
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
        """Adds each key with its value if it is absent, and reads what is there afterwards.

        Returns
        -------
        values
            As of `find_or_insert`.
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
        """Runs a mixed batch: a different operation for each key, those of one key in array order, reads too.

        Parameters
        ----------
        ops
            Shape (n,) of uint8, codes of `holdfastdb.Op`; or a list of them, or of their names.
        values
            A row for each key; ignored where the operation takes no value. None if no operation takes one.
        combine
            How ACCUMULATE combines: "add", "min" or "max"; its element type is the values'.

        Returns
        -------
        statuses
            Shape (n,) of uint8.
        values
            n rows: what FIND, FIND_OR_INSERT and INSERT_AND_FIND read; zero for absent keys and for other
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
        """Before a change with such keys: for a table that remembers their type."""

    def _run(self, request: Request) -> batch.Results:
        request.note_keys = self._note_keys
        return batch.run(self._native, request, self._shape)
