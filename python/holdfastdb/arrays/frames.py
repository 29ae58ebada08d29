"""Columns and frames of pandas, Polars and Arrow as arrays of NumPy.

A table stores no nulls, and NumPy's arrays have none: whole numbers with a null in between would become floating-point
ones with a NaN. So each null is refused here, with its row and column. A NaN that is a number of the caller's stays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from ..errors import Error, InvalidArgument, InvalidType


def is_null(one: Any) -> bool:
    """Whether an object in a list or an object array stands for a missing value."""
    if one is None or (isinstance(one, float) and one != one):
        return True
    return type(one).__name__ in ("NAType", "NaTType") and type(one).__module__.startswith("pandas")


def refuse_null(place: str) -> NoReturn:
    """Raises for a null at a place such as "keys[3]"."""
    raise InvalidArgument(f"{place} is null, and nulls are not stored: fill such rows or leave them out")


def refuse_null_in(name: str, array: np.ndarray) -> None:
    """Raises for the first null of an array of Python objects, if it has one."""
    for at, one in enumerate(array.flat):
        if is_null(one):
            refuse_null(f"{name}[{', '.join(str(int(i)) for i in np.unravel_index(at, array.shape))}]")


def refuse_missing(name: str, array: np.ndarray) -> None:
    """Raises for the first NaN where whole numbers were to be given: so some libraries turn them into numbers."""
    if array.ndim == 1 and array.dtype.kind == "f" and (absent := np.isnan(array)).any():
        raise InvalidArgument(
            f"{name}[{int(absent.argmax())}] is null, a NaN of {array.dtype}: leave such rows out, and give whole "
            "numbers, as uint64 or int64"
        )


def is_known(value: Any) -> bool:
    """Whether it is of one of these libraries."""
    return any(kind.__module__.partition(".")[0] in _CONVERSIONS for kind in type(value).__mro__)


def array_of(name: str, value: Any) -> np.ndarray | None:
    """A column, or a frame with columns of one type, as an array; None for what is of none of these libraries."""
    for library, convert in _CONVERSIONS.items():
        module = sys.modules.get(library)
        if module is None:
            continue
        try:
            made = convert(name, value, module)
        except Error:
            raise
        except Exception as error:  # the library has no array for it, and says so in its own way
            raise InvalidType(
                f"{name} is of type {type(value).__name__}, of which {library} makes no array ({error}): give numbers"
            ) from error
        if made is not None:
            return made
    return None


def objects_of(value: Any) -> list[Any] | None:
    """The elements of a column of pandas or Polars, None where it is null; None for anything else."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(value, _pandas_columns(pandas)):
        return list(value)
    if polars is not None and isinstance(value, polars.Series):
        return list(value.to_list())
    return None


def _place(name: str, row: int, column: Any) -> str:
    return f"{name}[{row}]" if column is None else f"row {row} of column {str(column)!r} of {name}"


def _require_one_type(name: str, types: dict[str, Any]) -> None:
    """A common type of several would change numbers: of int64 and float64 it is float64."""
    if len(set(map(str, types.values()))) > 1:
        kinds = ", ".join(f"{column}: {kind}" for column, kind in types.items())
        raise InvalidType(
            f"{name} has columns of several types ({kinds}), and the rows of an array have one: convert them, or give "
            "each to a column of the table, as table.column(0, 8)"
        )


# pandas


def _pandas_columns(pd: Any) -> tuple[Any, ...]:
    return pd.Series, pd.Index, pd.api.extensions.ExtensionArray


def _from_pandas(name: str, value: Any, pd: Any) -> np.ndarray | None:
    if isinstance(value, pd.DataFrame):
        columns = [(label, value.iloc[:, at]) for at, label in enumerate(value.columns)]
        arrays = {str(label): _pandas_column(name, column, label, pd) for label, column in columns}
        return _stacked(name, arrays, len(value))
    return _pandas_column(name, value, None, pd) if isinstance(value, _pandas_columns(pd)) else None


def _pandas_column(name: str, column: Any, label: Any, pd: Any) -> np.ndarray:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind not in "mM":
        return np.asarray(column)
    absent = np.asarray(pd.isna(column))
    if absent.any():
        refuse_null(_place(name, int(absent.argmax()), label))
    return np.asarray(column.to_numpy(getattr(column.dtype, "numpy_dtype", None)))


# Polars


def _from_polars(name: str, value: Any, pl: Any) -> np.ndarray | None:
    if isinstance(value, pl.DataFrame):
        arrays = {column.name: _polars_column(name, column, column.name, pl) for column in value.get_columns()}
        return _stacked(name, arrays, value.height)
    return _polars_column(name, value, None, pl) if isinstance(value, pl.Series) else None


def _polars_column(name: str, column: Any, label: str | None, pl: Any) -> np.ndarray:
    if isinstance(column.dtype, pl.Struct):
        return np.asarray(_from_polars(name, column.struct.unnest(), pl))
    if (row := _polars_null(column, pl)) is not None:
        refuse_null(_place(name, row, label))
    return np.asarray(column.to_numpy())


def _polars_null(column: Any, pl: Any) -> int | None:
    """The row of the first null, one in an array of a row included."""
    if column.null_count():
        return int(column.is_null().arg_true()[0])
    if not isinstance(column.dtype, pl.Array) or not column.dtype.size or not len(column):
        return None
    inner = _polars_null(column.explode(), pl)
    return None if inner is None else inner // int(column.dtype.size)


# Arrow


def whole_array(value: Any, pa: Any) -> Any:
    """A column of Arrow in one piece."""
    if not isinstance(value, pa.ChunkedArray):
        return value
    value = value.combine_chunks()
    if isinstance(value, pa.ChunkedArray):  # as older versions give it
        return pa.concat_arrays(value.chunks) if value.num_chunks else pa.array([], value.type)
    return value


def _from_arrow(name: str, value: Any, pa: Any) -> np.ndarray | None:
    if isinstance(value, pa.Table | pa.RecordBatch):
        labels = zip(value.schema.names, value.columns, strict=True)
        arrays = {label: _arrow_column(name, column, label, pa) for label, column in labels}
        return _stacked(name, arrays, value.num_rows)
    return _arrow_column(name, value, None, pa) if isinstance(value, pa.Array | pa.ChunkedArray) else None


def _arrow_column(name: str, column: Any, label: str | None, pa: Any) -> np.ndarray:
    column = whole_array(column, pa)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if column.null_count:
        refuse_null(_place(name, _first_null(column), label))
    if pa.types.is_fixed_size_binary(column.type):
        size = column.type.byte_width
        data = column.buffers()[1]
        held = np.frombuffer(data if data is not None else b"", np.uint8)
        return held[column.offset * size :][: len(column) * size].reshape(len(column), size)
    if pa.types.is_fixed_size_list(column.type):
        width, items = column.type.list_size, whole_array(column.flatten(), pa)
        if items.null_count:
            refuse_null(_place(name, _first_null(items) // width, label))
        inner = _arrow_column(name, items, label, pa)
        return inner.reshape(len(column), width, *inner.shape[1:])
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _first_null(column: Any) -> int:
    return int(column.is_null().to_pylist().index(True))


_CONVERSIONS: dict[str, Callable[[str, Any, Any], np.ndarray | None]] = {
    "pandas": _from_pandas,
    "polars": _from_polars,
    "pyarrow": _from_arrow,
}


def _stacked(name: str, arrays: dict[str, np.ndarray], rows: int) -> np.ndarray:
    """Columns of one type as an array of rows."""
    _require_one_type(name, {label: array.dtype for label, array in arrays.items()})
    columns: Iterable[np.ndarray] = arrays.values()
    if not arrays:
        return np.empty((rows, 0), np.uint8)
    if len({array.shape for array in columns}) > 1:
        raise InvalidType(f"{name} has columns whose rows differ in length: give columns of one length")
    return np.stack(list(columns), axis=1)
