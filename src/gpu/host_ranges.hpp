// host_ranges.hpp: ranges of host memory that kernels read and write at the addresses that the CPU has for them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::gpu {

/// Pages are pinned and mapped while they are here (cudaHostRegister). One thread at a time.
class HostRanges {
 public:
  HostRanges() = default;
  ~HostRanges();
  HostRanges(const HostRanges&) = delete;
  HostRanges& operator=(const HostRanges&) = delete;

  /// A range that cannot be mapped is left out, and `error` says why: the caller may be unable to handle an exception.
  void add(void* address, std::size_t bytes, bool read_only);
  void remove(void* address) noexcept;
  void remove_all() noexcept;
  /// Why a range could not be mapped; empty if all could.
  const std::string& error() const { return error_; }

 private:
  std::vector<void*> ranges_;
  std::string error_;
};

}  // namespace holdfast::gpu
