// value_sum.cpp: which words of which memory a value's sums are of.
#include "store/value_sum.hpp"

#include <algorithm>

namespace holdfast::store {

std::uint64_t sum_job(const SumTable& table, std::size_t number) {
  const SumJob& job = table.jobs[number];
  const auto word = [](const std::byte* from) { return padded_word(from, 8, 0); };
  const auto tail = [](const std::byte* from, std::uint64_t bytes) { return padded_word(from, bytes, 0); };
  const auto lane = [&](unsigned its) { return sum_lane(job, table.parts.data(), its, word, tail); };
  return join_job(job, table.parts.data(), lane, tail);
}

void add_jobs(const NewItem& item, std::span<const std::span<std::byte>> pieces, std::span<const SumPart> sources,
              SumTable& table) {
  std::uint64_t used = 0;  // bytes of the first source
  const auto begin_job = [&] { table.jobs.push_back({0, static_cast<std::uint32_t>(table.parts.size()), 0}); };
  const auto add = [&](const SumPart& part) {
    table.parts.push_back(part);
    table.jobs.back().words += (part.bytes + 7) / 8;
    ++table.jobs.back().size;
  };
  if (item.header.chunks == 0) {  // what is between the header and the value counts, too
    begin_job();
    const std::uint64_t words = item.header.value_at() - kHeaderWords;
    if (words != 0) add({reinterpret_cast<const std::byte*>(item.cell.words + kHeaderWords), 8 * words});
  }
  for (const std::span<std::byte> piece : pieces) {
    if (item.header.chunks != 0) begin_job();
    for (std::uint64_t left = piece.size(); left != 0;) {  // ends: the sources have all bytes of the pieces
      const SumPart& source = sources.front();
      const std::uint64_t bytes = std::min(left, source.bytes - used);
      if (bytes != 0) add({source.from + used, bytes});
      left -= bytes;
      used += bytes;
      if (used == source.bytes) {
        sources = sources.subspan(1);
        used = 0;
      }
    }
  }
}

}  // namespace holdfast::store
