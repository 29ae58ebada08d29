// native.hpp: what the parts of the Python module share. It is a thin binding: arrays come as addresses and sizes from
// the Python layer, which owns their lifetimes and has checked them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "gil.hpp"
#include "holdfast/memory_table.hpp"
#include "holdfast/pool.hpp"
#include "holdfast/table.hpp"

namespace holdfast::python {

/// Adds `use_errors`, and translates C++ errors into the Python classes that it was given.
void bind_errors(nanobind::module_& module);

/// The Python error for one of ours.
nanobind::object python_error_of(const std::exception_ptr& thrown);

/// A handle as Python holds it. When the last reference goes, what it names ends, and that may wait for the disk, for threads or
/// for a lock: so it goes without the interpreter lock. What waits for a lock of ours never holds that one, since who has ours
/// may need it (threads/gate.hpp). When the interpreter has stopped a thread inside a call, that thread may have ours for ever: then the
/// process ends with the handle open, as after a kill.
template <class Handle>
class Held : public Handle {
 public:
  Held() = default;
  explicit Held(Handle&& handle) : Handle(std::move(handle)) {}
  Held(Held&&) = default;
  ~Held() {
    const Unlocked released;
    Handle& ending = *this;
    if (!may_wait()) {
      static_cast<void>(new Handle(std::move(ending)));
      return;
    }
    const Handle gone = std::move(ending);
  }
};
using HeldTable = Held<Table>;
using HeldPool = Held<Pool>;
using HeldMemoryTable = Held<MemoryTable>;
using HeldBlobs = Held<Blobs>;
using HeldDeviceBlobs = Held<DeviceBlobs>;

/// Adds the records `CreateOptions` and `OpenOptions`, and those in them.
void bind_options(nanobind::module_& module);

/// Adds the record `Batch`, which a table of either kind runs.
void bind_batch(nanobind::module_& module);

/// Adds the class `Table`.
void bind_table(nanobind::module_& module);

/// Adds the class `Pool`.
void bind_pool(nanobind::module_& module);

/// Adds the classes `Checkpoint`, `SaveTicket` and `SavedState`.
void bind_checkpoint(nanobind::module_& module);

/// Adds the classes `Store`, `StoreOptions` and `StoreScan`.
void bind_store(nanobind::module_& module);

/// Adds the classes `StoreReservation`, `StoreLease` and `StoreTransfer`, after `Store`.
void bind_store_memory(nanobind::module_& module);

/// Adds the classes `Blobs` and `DeviceBlobs`, which `Table` takes.
void bind_blobs(nanobind::module_& module);

/// Adds the operations on selected items to it.
void bind_selection(nanobind::class_<HeldTable>& table);

/// Adds the class `MemoryTable`.
void bind_memory_table(nanobind::module_& module);

/// Adds the class `KmerCounts`, and `kmer_text`.
void bind_kmers(nanobind::module_& module);

/// Adds `order_streams` and `pointer_device`, which need CUDA and say so where the build has none.
void bind_cuda(nanobind::module_& module);

/// What lies at an address that Python gave.
template <class T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

using Dict = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;

using Dicts = nanobind::typed<nanobind::list, Dict>;

// Reports as dicts with the names of the C++ members.
Dict to_dict(const CheckReport& report);
Dict to_dict(const SnapshotResult& result);
Dicts to_dicts(const std::vector<ObjectInfo>& objects);

/// How a snapshot asks for signals, and calls `progress` if it is not None, every few hundredths of a second; both may raise.
SnapshotOptions snapshot_options(bool overwrite, unsigned threads, bool wait_for_sessions,
                                 const nanobind::object& progress);

}  // namespace holdfast::python
