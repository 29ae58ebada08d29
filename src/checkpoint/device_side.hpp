// device_side.hpp: what a checkpoint does on a GPU. A build with CUDA has one (cuda/); to others no tensor of a GPU can come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "checkpoint/pieces.hpp"

namespace holdfast::checkpoint {

/// Which pieces the tensors of a state have, kept for as long as the same arrays are saved again.
class DevicePlan {
 public:
  virtual ~DevicePlan() = default;
};

/// The GPU's part of a save, under way.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Returns when all of it is in the pool, for the CPU to see. Throws DeviceError.
  virtual void wait() const = 0;
};

/// A copy in the pool that is written, or read.
struct CopyParts {
  std::byte* data;
  std::uint64_t* sums;  ///< of blocks
  std::uint64_t data_bytes;
};

/// Thread-safe.
class DeviceSide {
 public:
  virtual ~DeviceSide() = default;
  /// Maps memory of the pool for the GPU, if that was not done. Where it cannot be mapped, the caller's thread waits for copies.
  virtual void map(std::byte* address, std::uint64_t bytes, bool read_only) = 0;
  virtual void unmap(std::byte* address) noexcept = 0;

  /// Throws InvalidArgument where `tensors` are not in the memory of one GPU.
  virtual std::shared_ptr<const DevicePlan> plan(std::span<const Placed> tensors, std::uint64_t end) = 0;

  /// Brings the tensors of a plan to the beginning of a copy's data, and the checksums of its first `blocks` blocks beside it.
  /// Later work on `stream` may change the tensors. `stage`: by way of GPU memory, so that it need not wait for the link.
  /// Throws DeviceError, InvalidArgument; then nothing of it is under way.
  virtual std::unique_ptr<Transfer> save(std::shared_ptr<const DevicePlan> plan, const CopyParts& copy,
                                         std::uint64_t blocks, void* stream, bool stage) = 0;

  /// Fills `tensors` from a copy after what `stream` has now, and returns when they are full. The first block of theirs whose
  /// checksum is wrong, if any: then they have any contents.
  virtual std::optional<std::uint64_t> load(std::span<const Placed> tensors, const CopyParts& copy, void* stream) = 0;
};

/// Throws DeviceError where this Holdfast was built without CUDA.
std::unique_ptr<DeviceSide> make_device_side();

}  // namespace holdfast::checkpoint
