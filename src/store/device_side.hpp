// device_side.hpp: what a store does on a GPU. A build with CUDA has one (cuda/); others refuse a store that asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "holdfast/store.hpp"
#include "store/value_sum.hpp"
#include "structures/cuckoo/any_index.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"

namespace holdfast::store {

/// Bytes that are copied between a cell and memory of the caller.
struct Move {
  std::byte* cell = nullptr;
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
};

enum class Direction : std::uint8_t { in, out };  ///< into cells, out of cells

/// Copies that a GPU makes. Thread-safe.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Whether all of them are done. Throws DeviceError, every time, where the GPU failed.
  virtual bool poll() = 0;
  virtual void wait() = 0;
  /// Those that `DeviceSide::copy` was asked for, when they are done.
  virtual std::span<const std::uint64_t> sums() const { return {}; }
};

/// Thread-safe.
class DeviceSide {
 public:
  virtual ~DeviceSide() = default;
  /// Maps memory of the pool for GPUs. `error` says why it could not.
  virtual void map(std::byte* address, std::uint64_t bytes, bool read_only) noexcept = 0;
  virtual void unmap(std::byte* address) noexcept = 0;
  virtual std::string error() const = 0;  ///< empty: all memory is mapped

  /// Enqueues copies after what `stream` has now; what it gets later comes after them. Throws InvalidArgument (`memory` is not a GPU's, or not
  /// that of one; the stream is another GPU's, or is captured), DeviceError; then no copy is under way.
  /// `sums`: taken of what is copied, meanwhile.
  virtual std::shared_ptr<Transfer> copy(const std::vector<Move>& moves, Direction direction, void* stream,
                                         const SumTable& sums) = 0;
  /// Zeroes memory of a GPU, in the order of `stream`. Throws as `copy`.
  virtual void clear(std::byte* memory, std::uint64_t bytes, void* stream) = 0;
};

/// Throws DeviceError where this Holdfast was built without CUDA.
std::unique_ptr<DeviceSide> make_device_side();

/// An index in the memory of GPU number `device`, of the capacity and the signatures of `options`. Throws DeviceError.
std::unique_ptr<cuckoo::AnyIndex> make_device_index(const cuckoo::cpu::CpuOptions& options, int device);
/// The same on several GPUs, each with the keys of a share of the hashes; on GPU 0 if no device is named. Throws DeviceError.
std::unique_ptr<cuckoo::AnyIndex> make_device_indexes(const std::vector<int>& devices,
                                                      const cuckoo::cpu::CpuOptions& options);

/// Throws InvalidArgument where an index cannot be on the devices of the options.
void require_device_list(const StoreOptions& options, const std::string& label);
/// Throws DeviceError unless the number is that of one of so many devices.
void require_device(int device, int devices);

}  // namespace holdfast::store
