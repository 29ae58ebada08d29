// persist.cpp: the flush instructions of x86-64, each compiled for itself and chosen at run time.
#include "pool/medium/persist.hpp"

#include <cpuid.h>
#include <immintrin.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast::pool {

namespace {

constexpr unsigned kClflushoptBit = 1u << 23;  // CPUID leaf 7, EBX
constexpr unsigned kClwbBit = 1u << 24;

std::atomic<FlushObserver*> watching = nullptr;

FlushKind best_of_cpu() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return FlushKind::clflush;
  if ((b & kClwbBit) != 0) return FlushKind::clwb;
  if ((b & kClflushoptBit) != 0) return FlushKind::clflushopt;
  return FlushKind::clflush;
}

// In assembly: the intrinsics want functions for processors that have them, and pointers to what may change.
void clwb(const char* line) { asm volatile("clwb %0" : : "m"(*line) : "memory"); }
void clflushopt(const char* line) { asm volatile("clflushopt %0" : : "m"(*line) : "memory"); }
void clflush(const char* line) { asm volatile("clflush %0" : : "m"(*line) : "memory"); }

}  // namespace

FlushObserver* observe_flushes(FlushObserver* observer) noexcept { return watching.exchange(observer); }

FlushKind best_flush() {
  if (watching.load() != nullptr) return FlushKind::watched;
  static const FlushKind cpu = best_of_cpu();
  const char* const asked = std::getenv("HOLDFAST_FLUSH");
  if (asked == nullptr || *asked == '\0') return cpu;
  for (const FlushKind kind : {FlushKind::clflush, FlushKind::clflushopt, FlushKind::clwb}) {
    if (std::string(name(kind)) == asked) return kind < cpu ? kind : cpu;
  }
  throw InvalidArgument(std::string("HOLDFAST_FLUSH is \"") + asked +
                        "\" in the environment; set it to clflush, clflushopt or clwb, or unset it");
}

const char* name(FlushKind kind) {
  switch (kind) {
    case FlushKind::none: return "none";
    case FlushKind::clflush: return "clflush";
    case FlushKind::clflushopt: return "clflushopt";
    case FlushKind::clwb: return "clwb";
    case FlushKind::watched: return "watched";
  }
  return "unknown";
}

void Persist::flush(const void* address, std::size_t bytes) const {
  switch (kind) {
    case FlushKind::none: return;
    case FlushKind::clflush: return each_line(address, bytes, clflush);
    case FlushKind::clflushopt: return each_line(address, bytes, clflushopt);
    case FlushKind::clwb: return each_line(address, bytes, clwb);
    case FlushKind::watched:
      if (FlushObserver* const observer = watching.load()) observer->flush(address, bytes);
      return;
  }
}

void Persist::fence() const {
  // x86 keeps stores in order, so without flushes only the compiler has to.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (kind == FlushKind::watched) {
    if (FlushObserver* const observer = watching.load()) observer->fence();
  } else if (kind != FlushKind::none) {
    _mm_sfence();
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace holdfast::pool
