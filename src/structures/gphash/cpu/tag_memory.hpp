// tag_memory.hpp: zeroed, page-aligned memory for the tags, in huge pages where the system gives them.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::gphash::cpu {

class TagMemory {
 public:
  TagMemory() = default;
  /// `path`: of the table, for the error. Throws SystemError.
  TagMemory(std::uint64_t words, const std::string& path) : bytes_(round(words * sizeof(std::uint64_t))) {
    // A huge page is used only where one fits, so ask for space to align to it.
    mapped_ = bytes_ + kHuge;
    base_ = system::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED) {
      throw SystemError(path + " needs " + std::to_string(mapped_) + " bytes of memory for its tags: " +
                        std::strerror(errno) + "; free some, or raise the limit on address space (ulimit -v)");
    }
    words_ = reinterpret_cast<std::uint64_t*>((reinterpret_cast<std::uintptr_t>(base_) + kHuge - 1) / kHuge * kHuge);
    system::madvise(words_, bytes_, MADV_HUGEPAGE);
  }
  TagMemory(TagMemory&& other) noexcept { swap(other); }
  TagMemory& operator=(TagMemory&& other) noexcept {
    TagMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~TagMemory() {
    if (words_ != nullptr) system::munmap(base_, mapped_);
  }

  std::uint64_t* words() const { return words_; }

 private:
  static constexpr std::size_t kHuge = 2u << 20;
  static std::size_t round(std::size_t bytes) {
    const std::size_t unit = bytes < kHuge ? 4096 : kHuge;
    return (bytes + unit - 1) / unit * unit;
  }
  void swap(TagMemory& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(words_, other.words_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
  }

  void* base_ = nullptr;
  std::uint64_t* words_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace holdfast::gphash::cpu
