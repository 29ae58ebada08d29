// thin.hpp: a medium in memory that gives space and has none: a file is as long as its pool wants, and a page is there once it is
// written. So a test has offsets beyond 2^32 for some kilobytes.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "system/calls.hpp"

namespace holdfast::proof {

/// Watches as long as it lives. For files of a tmpfs.
class ThinMedium : public system::Observer {
 public:
  ThinMedium() : before_(system::observe(this)) {}
  ~ThinMedium() override { system::observe(before_); }
  ThinMedium(const ThinMedium&) = delete;
  ThinMedium& operator=(const ThinMedium&) = delete;

  int before(const system::Event& event) noexcept override {
    using system::Call;
    if (event.call == Call::posix_fallocate) return ENOSPC;
    const bool takes_pages = event.flags == MADV_POPULATE_READ || event.flags == kCollapse;
    return event.call == Call::madvise && takes_pages ? EINVAL : 0;
  }
  void after(system::Event& event) noexcept override {
    using system::Call;
    if (event.call == Call::posix_fallocate) give(event);
    if (event.error != 0) return;
    if (event.call == Call::text && std::strcmp(event.path, "/proc/meminfo") == 0) {
      *static_cast<std::string*>(event.out) = "MemAvailable: 1099511627776 kB\n";
    }
    if (event.call ==
        Call::fstat) {  // more blocks than a pool needs to be believed, and fewer than a file without holes
      auto& status = *static_cast<struct stat*>(event.out);
      status.st_blocks = status.st_size / 512 / 4 * 3;
    }
  }

 private:
  static constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers lack
  static void give(system::Event& event) noexcept {
    struct stat status = {};
    const auto end = static_cast<off_t>(event.offset + event.bytes);
    if (::fstat(event.fd, &status) != 0 || (status.st_size < end && ::ftruncate(event.fd, end) != 0)) return;
    event.result = event.error = 0;
  }

  system::Observer* const before_;
};

}  // namespace holdfast::proof
