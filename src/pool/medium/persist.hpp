// persist.hpp: how a CPU makes stores durable: clwb, clflushopt or clflush, chosen at run time. Rule 10.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::pool {

inline constexpr std::size_t kLine = 64;

enum class FlushKind : std::uint8_t { none, clflush, clflushopt, clwb, watched /**< calls an observer instead */ };

/// Observes flushes and fences, on the threads that execute them. For tests.
class FlushObserver {
 public:
  virtual ~FlushObserver() = default;
  virtual void flush(const void* address, std::size_t bytes) noexcept = 0;
  virtual void fence() noexcept = 0;
};

/// From now on pools that are opened, and flush, call `observer`; null ends it. Returns the previous one.
FlushObserver* observe_flushes(FlushObserver* observer) noexcept;

/// The best flush instruction of this CPU. HOLDFAST_FLUSH=clflush|clflushopt|clwb in the environment chooses a lesser one
/// (for checkers that do not know the instruction).
FlushKind best_flush();
const char* name(FlushKind kind);

/// Calls `each` with every line that [address, address + bytes) has a byte in.
template <class Each>
void each_line(const void* address, std::size_t bytes, const Each& each) {
  if (bytes == 0) return;
  const char* const start = static_cast<const char*>(address);
  const char* const end = start + bytes;
  for (const char* line = start - reinterpret_cast<std::uintptr_t>(start) % kLine; line < end; line += kLine)
    each(line);
}

/// Flushes and fences as a pool's domain asks for. With FlushKind::none (domain `process`) both do nothing but order.
struct Persist {
  FlushKind kind = FlushKind::none;

  bool flushes() const { return kind != FlushKind::none; }
  /// Starts writing back every line of [address, address + bytes).
  void flush(const void* address, std::size_t bytes) const;
  /// Waits until what was flushed is durable, and orders it before later stores.
  void fence() const;
};

}  // namespace holdfast::pool
