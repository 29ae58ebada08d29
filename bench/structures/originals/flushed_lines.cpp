// flushed_lines.cpp: the study `flushed-lines`: the lines flushed and the fences for each new key, into tables that grow and into tables with
// space. Our durable table in batches and with one key a call, and the published code of other tables (--originals), on one thread.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "frame/json.hpp"
#include "frame/keys.hpp"
#include "holdfast/error.hpp"
#include "holdfast/table.hpp"
#include "pool/medium/persist.hpp"
#include "structures/originals/library.hpp"
#include "structures/setup.hpp"

namespace holdfast::bench::structures {
namespace {

constexpr std::uint64_t kLinesSeed = 13, kLinesBatch = 65536, kFewItems = 4096;

/// Counts the lines that are flushed, and the fences that have flushes to wait for, by tables that are made while it lives.
class LineCounter final : public pool::FlushObserver {
 public:
  LineCounter() : before_(pool::observe_flushes(this)) {}
  ~LineCounter() override { pool::observe_flushes(before_); }
  LineCounter(const LineCounter&) = delete;
  LineCounter& operator=(const LineCounter&) = delete;
  void flush(const void* address, std::size_t bytes) noexcept override {
    pool::each_line(address, bytes, [this](const char*) { ++lines_; });
    has_flushed_ = true;
  }
  void fence() noexcept override {
    fences_ += has_flushed_ ? 1 : 0;
    has_flushed_ = false;
  }
  void restart() { lines_ = fences_ = 0; }
  /// A row of the result, but for what it is about.
  Json row(std::uint64_t items) const {
    return {{"lines_flushed", rounded(static_cast<double>(lines_) / static_cast<double>(items))},
            {"persists", rounded(static_cast<double>(fences_) / static_cast<double>(items))}};
  }

 private:
  pool::FlushObserver* const before_;
  std::uint64_t lines_ = 0, fences_ = 0;
  bool has_flushed_ = false;
};

/// Inserts into our table.
Json lines_of_table(const Setup& setup, std::uint64_t items, bool grows, std::uint64_t keys_a_call,
                    std::uint32_t value_bytes) {
  LineCounter counter;
  CreateOptions options;
  options.shape.key_bytes = 8;
  options.shape.value_bytes = value_bytes;
  options.shape.capacity = grows ? kFewItems : items;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  options.tuning.flush = true;
  options.overwrite = true;
  Table table = Table::create(setup.pool, options);
  counter.restart();
  std::vector<std::uint64_t> keys(keys_a_call), values(keys_a_call * value_bytes / 8);
  std::vector<Status> statuses(keys_a_call);
  std::uint64_t inserted = 0;
  for (std::uint64_t at = 0; at < items; at += keys_a_call) {
    const std::uint64_t size = std::min(keys_a_call, items - at);
    for (std::uint64_t i = 0; i < size; ++i) keys[i] = key_of(at + i, kLinesSeed);
    table.insert(keys.data(), values.data(), size, statuses.data());
    inserted += static_cast<std::uint64_t>(std::count(statuses.data(), statuses.data() + size, Status::inserted));
  }
  const Json row = counter.row(items);
  table.close();
  unlink(setup.pool.c_str());
  if (inserted != items) throw Error("the table took " + std::to_string(inserted) + " items only");
  return row;
}

/// Inserts into another table, one key a call.
Json lines_of_original(const HoldfastOriginal& original, std::uint64_t items, bool grows) {
  LineCounter counter;
  const HoldfastPersistence persistence{&counter,
                                        [](void* self, const void* address, std::size_t bytes) {
                                          static_cast<LineCounter*>(self)->flush(address, bytes);
                                        },
                                        [](void* self) { static_cast<LineCounter*>(self)->fence(); }};
  void* const table = original.create(grows ? kFewItems : 2 * items, &persistence);
  if (table == nullptr) throw Error(std::string(original.name) + " made no table: measure smaller ones with --bits");
  counter.restart();
  std::uint64_t inserted = 0;
  for (std::uint64_t i = 0; i < items; ++i) inserted += original.insert(table, key_of(i, kLinesSeed), i + 1) == 1;
  const Json row = counter.row(items);
  original.destroy(table);
  if (inserted != items) throw Error(std::string(original.name) + " took " + std::to_string(inserted) + " items only");
  return row;
}

Json study_flushed_lines(const Setup& setup) {
  const std::uint64_t items = std::uint64_t{1} << (setup.bits == 0 ? 22 : setup.bits);
  Json peers = Json::array(), rows = Json::array();
  const std::vector<const HoldfastOriginal*> originals = load_originals(setup, peers);
  for (const bool grows : {true, false}) {
    const auto add = [&](const std::string& scheme, std::uint64_t keys_a_call, unsigned value_bytes, Json row) {
      progress("flushed lines: " + scheme + (grows ? ", growing" : ", with space"));
      row["scheme"] = scheme;
      row["capacity"] = grows ? "growing" : "space";
      row["keys_a_call"] = keys_a_call;
      row["value_bytes"] = value_bytes;
      rows.push_back(std::move(row));
    };
    for (const unsigned value_bytes : {8u, 16u}) {
      for (const std::uint64_t keys : {kLinesBatch, std::uint64_t{1}})
        add("table", keys, value_bytes, lines_of_table(setup, items, grows, keys, value_bytes));
    }
    for (const HoldfastOriginal* const one : originals) add(one->name, 1, 8, lines_of_original(*one, items, grows));
  }
  return {{"items", items}, {"peers", peers}, {"rows", std::move(rows)}};
}
const Study kFlushedLines("flushed-lines", study_flushed_lines);

}  // namespace
}  // namespace holdfast::bench::structures
