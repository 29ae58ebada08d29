// log_header.hpp: a log as it lies in a pool. docs/format.md, "Log".
#pragma once

#include <cstddef>
#include <string>

#include "core/bits.hpp"
#include "log/data_object.hpp"
#include "log/protocol/shape.hpp"

namespace holdfast::log {

struct LogHeader {
  DataHeader data;
  std::uint32_t kind, entry_words, capacity, blocks, threads;
  std::uint32_t reserved[3];
};
static_assert(sizeof(LogHeader) == 48 && offsetof(LogHeader, kind) == 16 && offsetof(LogHeader, reserved) == 36);

/// The flag of a transaction is the first word of the data; the tails begin on the next page, the entries on one behind them.
inline constexpr std::uint64_t kTailsAt = pool::kPage;
inline std::uint64_t entries_at(const LogShape& shape) {
  return kTailsAt + round_up(shape.places() * sizeof(std::uint32_t), pool::kPage);
}
inline std::uint64_t bytes_of(const LogShape& shape) {
  return entries_at(shape) + shape.words() * sizeof(std::uint32_t);
}

/// What is wrong with a shape; empty: nothing.
inline std::string flaw_in(const LogShape& shape) {
  const bool flat = shape.kind == LogKind::conventional;
  if (shape.entry_words == 0 || shape.entry_words > kMostEntryBytes / 4) return "entries have from 4 to 4,096 bytes";
  if (shape.capacity == 0 || shape.capacity > kMostEntries) return "a place has from 1 to 16,777,214 entries";
  if (shape.blocks == 0 || shape.blocks > 1u << 31) return "there are from 1 to 2^31 blocks or partitions";
  if (shape.threads == 0 || shape.threads > (flat ? 1 : kMostThreads)) return "a block has from 1 to 1,024 threads";
  const std::uint64_t most = (std::uint64_t{1} << 44) / shape.entry_words / shape.capacity;
  if (shape.places() > most) return "it has more than 64 TiB";
  return {};
}

inline LogShape shape_of(const LogHeader& header) {
  return {static_cast<LogKind>(header.kind), header.entry_words, header.capacity, header.blocks, header.threads};
}
inline LogHeader header_of(const LogShape& shape, bool eadr) {
  return {{bytes_of(shape), eadr ? 1u : 0u, 0},
          static_cast<std::uint32_t>(shape.kind),
          shape.entry_words,
          shape.capacity,
          shape.blocks,
          shape.threads,
          {}};
}
inline std::string flaw_in(const LogHeader& header) {
  if (header.kind > 1) return "it is a log of kind " + std::to_string(header.kind);
  if (header.reserved[0] != 0 || header.reserved[1] != 0 || header.reserved[2] != 0)
    return "reserved bytes of its header are not zero";
  std::string what = flaw_in(shape_of(header));
  if (what.empty() && header.data.bytes != bytes_of(shape_of(header))) what = "its size does not follow from its shape";
  return what;
}

}  // namespace holdfast::log
