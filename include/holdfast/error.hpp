// error.hpp: every error that Holdfast throws. Each message says what happened, to which object, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace holdfast {

/// The base of all errors.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument is out of range or does not fit the table. Python: ValueError.
class InvalidArgument : public Error {
  using Error::Error;
};
/// There is no pool at the path.
class PoolNotFound : public Error {
  using Error::Error;
};
/// The path already exists, and `overwrite` was not given.
class PoolExists : public Error {
  using Error::Error;
};
/// Another process has the pool open.
class PoolInUse : public Error {
  using Error::Error;
};
/// The pool has no object of that name.
class ObjectNotFound : public Error {
  using Error::Error;
};
/// The pool has an object of that name already.
class ObjectExists : public Error {
  using Error::Error;
};
/// The object, or its pool, is already open in this process, and cannot be opened again, dropped or replaced.
class ObjectInUse : public Error {
  using Error::Error;
};
/// The file is not a pool, or is a damaged one.
class PoolCorrupt : public Error {
  using Error::Error;
};
/// The pool, or an object in it, was made by a newer version of Holdfast, or has a retired format.
class PoolVersion : public Error {
  using Error::Error;
};
/// The table has other key or value sizes than requested, or the object is of another kind.
class PoolMismatch : public Error {
  using Error::Error;
};
/// The machine lost power while a pool in domain `process` was open. Python: PowerLost.
class PowerLost : public Error {
  using Error::Error;
};
/// The medium has no space for the pool, or for its growth.
class NoSpace : public Error {
  using Error::Error;
};
/// The medium does not support the operation: read-only, not DAX, not mappable by the GPU.
class MediumError : public Error {
  using Error::Error;
};
/// No such device, or the device failed.
class DeviceError : public Error {
  using Error::Error;
};
/// The object or its pool was closed, moved from, or inherited by a forked child.
class ObjectClosed : public Error {
  using Error::Error;
};
class ReadOnly : public Error {
  using Error::Error;
};
/// An input file cannot be opened or is malformed; the message has file and line.
class InputError : public Error {
  using Error::Error;
};
/// An operating system call failed; the message has its reason.
class SystemError : public Error {
  using Error::Error;
};

}  // namespace holdfast
