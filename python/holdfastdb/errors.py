"""The errors of the package, as include/holdfast/error.hpp has them. Each message says what, where, and what to do.

The native module raises these classes; they are registered here.
"""

from . import _native


class Error(Exception):
    """The base of all of Holdfast's errors."""


class InvalidArgument(Error, ValueError):
    """An argument is out of range or does not fit the table."""


class InvalidType(Error, TypeError):
    """An argument is of the wrong type."""


class PoolNotFound(Error, FileNotFoundError):
    """There is no pool at the path."""


class PoolExists(Error, FileExistsError):
    """The path exists already, and `overwrite` was not asked for."""


class PoolInUse(Error):
    """Another process has the pool open."""


class ObjectNotFound(Error):
    """The pool has no object of that name."""


class ObjectExists(Error):
    """The pool has an object of that name already."""


class ObjectInUse(Error):
    """The object, or the whole pool, is open in this process: it opens once at a time and is not replaced meanwhile."""


class PoolCorrupt(Error):
    """The file is not a pool, or is a damaged one."""


class PoolVersion(Error):
    """The pool, or an object in it, was made by a newer version of Holdfast, or has a retired format."""


class PoolMismatch(Error):
    """The table has other key or value sizes than those asked for, or the object is of another kind."""


class PowerLost(Error):
    """The machine lost power while a pool that survives only processes was open."""


class NoSpace(Error):
    """The medium has no space for the pool, or for its growth."""


class MediumError(Error):
    """The medium cannot do what was asked: read-only, not DAX, not mappable by the GPU."""


class DeviceError(Error):
    """No such device, or the device failed."""


class ObjectClosed(Error):
    """The object or its pool was closed, or inherited by a forked child."""


class ReadOnly(Error):
    """The table or its pool was opened with mode="r"."""


class InputError(Error):
    """A file with data to read cannot be opened, or is not what it should be; the message has file and line."""


class SystemError(Error, OSError):
    """A call of the operating system failed; the message has its reason."""


class MissingExtra(Error, ImportError):
    """A package that an extra of holdfastdb installs is not there. Python's own: the library has no extras."""


__all__ = [
    "DeviceError",
    "Error",
    "InputError",
    "InvalidArgument",
    "InvalidType",
    "MediumError",
    "MissingExtra",
    "NoSpace",
    "ObjectClosed",
    "ObjectExists",
    "ObjectInUse",
    "ObjectNotFound",
    "PoolCorrupt",
    "PoolExists",
    "PoolInUse",
    "PoolMismatch",
    "PoolNotFound",
    "PoolVersion",
    "PowerLost",
    "ReadOnly",
    "SystemError",
]

for _name in __all__:
    globals()[_name].__module__ = "holdfastdb"  # what a traceback shows: holdfastdb.PoolInUse
_native.use_errors({_name: globals()[_name] for _name in __all__})
