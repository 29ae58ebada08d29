// counters.cpp: perf_event_open, in user mode.
#include "dramhit/counters.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::bench::dramhit {
namespace {

constexpr std::uint64_t misses_of(std::uint64_t cache) {
  return cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
}

constexpr struct {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
} kCounters[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"tlb_misses", PERF_TYPE_HW_CACHE, misses_of(PERF_COUNT_HW_CACHE_DTLB)},
};

int open_counter(std::uint32_t type, std::uint64_t config) {
  perf_event_attr wanted = {};
  wanted.size = sizeof(wanted);
  wanted.type = type;
  wanted.config = config;
  wanted.disabled = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  constexpr int kThisThread = 0, kAnyCpu = -1, kNoGroup = -1;
  return static_cast<int>(syscall(SYS_perf_event_open, &wanted, kThisThread, kAnyCpu, kNoGroup, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

Counters::Counters() {
  for (const auto& counter : kCounters) {
    const int file = open_counter(counter.type, counter.config);
    if (file >= 0) open_.push_back({counter.name, file});
  }
}

Counters::~Counters() {
  for (const One& one : open_) close(one.file);
}

void Counters::start() {
  for (const One& one : open_) ioctl(one.file, PERF_EVENT_IOC_ENABLE, 0);
}

void Counters::stop() {
  for (const One& one : open_) ioctl(one.file, PERF_EVENT_IOC_DISABLE, 0);
}

std::map<std::string, double> Counters::counted() const {
  std::map<std::string, double> counted;
  for (const One& one : open_) {
    std::uint64_t count = 0;
    if (read(one.file, &count, sizeof(count)) == sizeof(count)) counted[one.name] = static_cast<double>(count);
  }
  return counted;
}

}  // namespace holdfast::bench::dramhit
