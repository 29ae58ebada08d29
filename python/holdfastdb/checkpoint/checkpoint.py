"""A checkpoint as a Python program uses it."""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from .._native import Checkpoint as NativeCheckpoint
from .._native import SavedState
from .._native import SaveTicket as NativeTicket
from ..checked import MOST, flag, one_of, whole
from ..errors import InvalidArgument, InvalidType, ObjectNotFound, PoolNotFound
from ..inspection import cuda_devices, name_of, path_text
from ..libraries import HOST
from ..messages import shown
from ..opening import mode_of
from ..pool import Pool
from ..transfer.files import replaceable
from .drain import Drain
from .elements import NUMPY, Given, bytes_of, require_array, torch_of, torch_type
from .gpu import Placed, Streams, may_have_gpu, place_of
from .safetensors import read, state_of, write
from .tree import Flat, no_collections, rebuild


class SaveTicket:
    """A save that is under way."""

    def __init__(self, native: NativeTicket) -> None:
        self._native = native

    def wait(self) -> None:
        """Returns when the save is durable. Raises what went wrong with it: then the state before stands. In a process
        that was forked while the save was under way it raises ObjectClosed."""
        self._native.wait()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidType("the ticket of a save cannot be pickled or copied: wait for it in the process that saves")

    @property
    def done(self) -> bool:
        """Whether `wait` would return, or raise, at once."""
        return self._native.is_done()


def _require_prefixes(prefixes: Sequence[Any]) -> None:
    for prefix in prefixes:
        if not isinstance(prefix, str):
            raise InvalidType(f"a prefix is {shown(prefix)}, of type {type(prefix).__name__}: give the begin of a name")
        try:
            prefix.encode()
        except UnicodeEncodeError:
            raise InvalidArgument(f"the prefix {shown(prefix)} has surrogates, as no name of an array has") from None


def _open(pool: Pool, name: str, copies: int, creates: bool) -> NativeCheckpoint:
    try:
        return NativeCheckpoint.open(pool._native, name)
    except ObjectNotFound:
        if not creates:
            raise
        return NativeCheckpoint.create(pool._native, name, copies)


class Checkpoint:
    """States of a program, saved into a pool: after a crash the newest that was acknowledged is there, or a later one.

    Parameters
    ----------
    pool
        A path, of a pool that is made if there is none; or an open `Pool`, in which tables may lie beside it.
    copies
        Of a new checkpoint, 2 to 8: one fewer saves may be in flight.
    name
        Of the object in the pool.
    mode
        None, the default: the mode of an open `Pool`; of a path "r+", and the pool and the checkpoint are created if
        they do not exist. "r+" to save into what exists, "r" to read it. With "r" restored arrays of the CPU lie in the
        pool, and are not copied; they keep it open.
    drain, every
        A file that gets the newest durable state after every so many saves, in the background, as `export` writes it:
        always whole, and replaced by the next. With 3 copies no save waits for it. What goes wrong is raised by the
        next `save`, `wait` or `close`.
    """

    def __init__(
        self,
        pool: str | os.PathLike[str] | Pool,
        copies: int = 2,
        *,
        name: str = "checkpoint",
        mode: str | None = None,
        drain: str | os.PathLike[str] | None = None,
        every: int = 1,
    ) -> None:
        copies, name = whole("copies", copies, 2, 8), name_of(name)
        every, target = whole("every", every, 1, MOST), None if drain is None else Path(path_text(drain))
        mode = None if mode is None else mode_of(mode, "checkpoint")
        if target is not None and "r" in (mode, pool.mode if isinstance(pool, Pool) else None):
            raise InvalidArgument(
                'a checkpoint that is opened with mode="r" saves nothing, so nothing drains: use export'
            )
        creates = mode is None and (pool.mode == "r+" if isinstance(pool, Pool) else True)
        self._owned: Pool | None = None
        if not isinstance(pool, Pool):
            path = pool
            try:
                pool = self._owned = Pool.open(path, mode or "r+")
            except PoolNotFound:
                if mode == "r":
                    raise
                if mode is not None:
                    raise PoolNotFound(
                        f"{path_text(path)} does not exist; correct the path, or leave mode out to create it"
                    ) from None
                pool = self._owned = Pool.create(path)
        elif mode not in (None, pool.mode):
            raise InvalidArgument(f"mode is {shown(mode)}, and the pool's {shown(pool.mode)}: leave it out")
        self._path, self._maps = f"{pool.path}:{name}", pool.mode == "r"
        try:
            self._native = _open(pool, name, copies, creates)
        except BaseException:
            if self._owned is not None:
                self._owned.close()
            raise
        self._damage: tuple[str, ...] = ()
        self._drain = None
        if target is not None:
            try:
                self._drain = Drain(self._native, target, every)
            except BaseException:
                self.close()
                raise

    def save(self, state: Any, step: int, *, wait: bool = True, stage: bool = True) -> SaveTicket:
        """Copies a state into the pool, after which its arrays may change, and lets it count in the background.

        Parameters
        ----------
        state
            Dicts, lists and tuples, nested, of NumPy, CuPy and PyTorch arrays, numbers, strings, bytes, bools and None.
        step
            Restored with it.
        wait
            While all copies are in flight: wait, or raise ObjectInUse.
        stage
            Arrays of a GPU are copied within GPU memory first, on the current stream: later work on it may change them,
            and it does not wait for the link. It takes as much GPU memory as they have. With False the stream waits
            until they are in the pool. A state's arrays on a second GPU are copied to the host.

        Raises
        ------
        InvalidType
            The state has an object that is no data; the message says where.
        NoSpace, ObjectInUse, ReadOnly, ObjectClosed, DeviceError
            The states that were saved stand.
        """
        step, wait, stage = whole("step", step, 0, MOST), flag("wait", wait), flag("stage", stage)
        with no_collections():
            return self._save_parts(Flat(state, cuda_devices()[0] if may_have_gpu() else 0), step, wait, stage)

    def _save_parts(self, flat: Flat, step: int, wait: bool, stage: bool) -> SaveTicket:
        if flat.place is None:
            return self._save(step, flat.tensors, flat.text, wait)
        streams = Streams(flat.place)
        ticket = self._save(step, flat.tensors, flat.text, wait, flat.on_gpu, stage, streams.stream)
        streams.go_on()
        return ticket

    def restore(self, sequence: int | None = None, *, device: Any = None) -> tuple[Any, int]:
        """The newest state that verifies, and its step. `damage` says which newer ones do not.

        Parameters
        ----------
        sequence
            Of one of `saved`: that state, and no other.
        device
            "cuda" or "cuda:N": arrays that were saved from a GPU are restored to this one, and verified there; CuPy's
            as CuPy's. Others stay on the host. By default all are restored to the host.

        Raises
        ------
        ObjectNotFound
            Nothing was saved yet, or that state is not there any more.
        PoolCorrupt
            All copies are damaged, or that one is.
        DeviceError
            There is no such GPU, or its memory does not suffice.
        """
        number = 0 if sequence is None else whole("sequence", sequence, 1, MOST)
        if device is not None and (place := place_of(device)) != HOST:
            return self._restore_to(place, number)
        saved = self._restore([], number)
        tensors = {given[0]: given for given in saved.tensors()}
        made: dict[tuple[str, str], Any] = {}

        def array_of(kind: str, name: str) -> Any:
            if (kind, name) not in made:
                made[kind, name] = self._array(saved, kind, tensors[name])
            return made[kind, name]

        return rebuild(saved.text, array_of), saved.step

    def arrays(self, *prefixes: str, kind: str = "numpy") -> dict[str, Any]:
        """Arrays of the newest state, by name ("model/layer.weight"): those that begin so. Only they are verified.

        Parameters
        ----------
        kind
            "numpy" or "torch"; NumPy has no 8-bit and 16-bit "brain" floating-point numbers.
        """
        one_of("kind", kind, ("numpy", "torch"))
        _require_prefixes(prefixes)
        saved = self._restore(list(prefixes))
        return {given[0]: self._array(saved, kind, given) for given in saved.tensors()}

    def export(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Writes the newest state that verifies as a safetensors file, whole or not at all; returns its step. Each
        array is a tensor, and the rest of the state is in the metadata, so that `import_` restores all of it.

        Parameters
        ----------
        overwrite
            Replace an existing file; a pool is never replaced.

        Raises
        ------
        PoolExists, NoSpace, MediumError, SystemError
            What was there before stands.
        InvalidArgument
            The state has what the format has not: elements of complex128, a tensor with the name "__metadata__".
        ObjectNotFound, PoolCorrupt
            As `restore`.
        """
        target, overwrite = Path(path_text(path)), flag("overwrite", overwrite)
        replaced = replaceable(target, "an export", overwrite)
        saved = self._restore([])
        try:
            write(target, replaced, saved.step, saved.text, saved.tensors())
            return saved.step
        finally:
            del saved  # the traceback of an error would hold its copy

    def import_(
        self, path: str | os.PathLike[str], step: int | None = None, *, kind: str = "numpy", wait: bool = True
    ) -> SaveTicket:
        """Saves what a safetensors file has. An exported state comes back as it was; a file from elsewhere becomes a
        dict of arrays.

        Parameters
        ----------
        step
            By default that of the exported state, and 0 for another file.
        kind
            What the arrays of another file are restored as, "numpy" or "torch".
        wait
            As `save` has it.

        Raises
        ------
        InputError
            The file cannot be read, is cut off, or is no safetensors file; the message says what is wrong.
        NoSpace, ObjectInUse, ReadOnly, ObjectClosed
            The states that were saved stand.
        """
        one_of("kind", kind, ("numpy", "torch"))
        wait = flag("wait", wait)
        source = Path(path_text(path))
        loaded = read(source)
        found, text = state_of(source, loaded, kind)
        step = found if step is None else whole("step", step, 0, MOST)
        return self._save(step, loaded.tensors, text, wait)

    @property
    def damage(self) -> tuple[str, ...]:
        """What the last `restore` had to pass over; empty if nothing was damaged."""
        return self._damage

    @property
    def saved(self) -> list[dict[str, Any]]:
        """The copies that count, newest first."""
        return list(self._native.list())

    @property
    def drained(self) -> int | None:
        """The step of the state that was last drained by this object; None: none was."""
        return self._drain.step if self._drain is not None else None

    def wait(self) -> None:
        """Waits until no save and no drain is running. Raises a drain's error; tickets report those of saves."""
        self._native.wait()
        if self._drain is not None:
            self._drain.wait()
            self._drain.raise_error()

    def close(self) -> None:
        """Waits for saves and drains under way, and closes the checkpoint, and the pool if it was given as a path. Then
        raises what went wrong with a drain."""
        if self._drain is not None:
            self._drain.wait()
        self._native.close()
        if self._owned is not None:
            self._owned.close()
        if self._drain is not None:
            self._drain.raise_error()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidType(
            f"a checkpoint cannot be pickled or copied: it is an object of the open pool {self._path}. Pass the path "
            "instead, and open it again"
        )

    def __repr__(self) -> str:
        return f"<holdfastdb.Checkpoint {self._path}{'' if self._native.is_open() else ': closed'}>"

    def _save(self, step: int, tensors: list[Given], text: str, wait: bool, *gpu: Any) -> SaveTicket:
        if self._drain is not None:
            self._drain.raise_error()
        ticket = self._native.save(step, tensors, text, wait, *gpu)
        if self._drain is not None:
            self._drain.after(ticket)
        return SaveTicket(ticket)

    def _restore(self, prefixes: Sequence[str], sequence: int = 0) -> SavedState:
        saved = self._native.restore(list(prefixes), sequence)
        self._damage = tuple(saved.damage)
        return saved

    def _restore_to(self, place: str, sequence: int) -> tuple[Any, int]:
        placed, streams = Placed(place), Streams(place)
        saved = self._native.restore_to(placed.make, streams.stream, sequence)
        self._damage = tuple(saved.damage)
        return rebuild(saved.text, placed.array_of), saved.step

    def _array(self, saved: SavedState, kind: str, given: Given) -> Any:
        name, element, shape, address = given
        require_array(kind, given)
        raw = np.empty(0, np.uint8)
        if (size := bytes_of(given)) != 0:
            memory = (ctypes.c_uint8 * size).from_address(address)
            memory.held = saved  # type: ignore[attr-defined]
            raw = np.frombuffer(memory, np.uint8)  # type: ignore[call-overload]
        raw = raw.view() if self._maps else raw.copy()
        raw.flags.writeable = not self._maps
        if kind == "torch":
            torch, dtype = torch_of(name), torch_type(name, element)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it must not be written
                if raw.size == 0:
                    return torch.empty(shape, dtype=dtype)
                return torch.from_numpy(raw).view(dtype).reshape(shape)
        array = raw.view(NUMPY[element]).reshape(shape)
        return array[()] if kind == "scalar" else array
