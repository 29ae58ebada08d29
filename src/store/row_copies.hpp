// row_copies.hpp: the rows of a reservation or a lease, and the copies that use them. A row ends when none does.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "holdfast/store_memory.hpp"
#include "store/device_side.hpp"

namespace holdfast::store {

/// Rows of memory in cells. `Row` has `is_there()`, `bytes()`, `pieces`, and for errors `kNothing`, what a row is that never was there, and `kAgain`,
/// what to do about one that has ended. One whose bytes are summed also has `add_jobs(sources, table)`: as in value_sum.hpp. Thread-safe.
template <class Row>
class RowCopies {
 public:
  /// `device` may be null, and outlives it.
  RowCopies(std::string path, DeviceSide* device, std::size_t rows)
      : path_(std::move(path)), device_(device), entries_(rows) {}
  /// To fill a row in, before others use this.
  Row& make(std::size_t row) { return entries_[row].row; }
  /// Leaves out the rows from `row` on, which are not there.
  void shorten(std::size_t rows) { entries_.resize(rows); }

  std::size_t size() const { return entries_.size(); }
  bool has(std::size_t row) const {
    const std::lock_guard guard(mutex_);
    return row < size() && entries_[row].is_there();
  }
  std::size_t live() const {
    const std::lock_guard guard(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(entries_, [](const Entry& entry) { return entry.is_there(); }));
  }
  /// It stays where it is until the row ends. Throws InvalidArgument.
  const Row& require(std::size_t row) const {
    const std::lock_guard guard(mutex_);
    return require_locked(row).row;
  }

  /// The same, and its bytes may be written otherwise from now on.
  const Row& expose(std::size_t row) {
    const std::lock_guard guard(mutex_);
    Entry& entry = require_locked(row);
    ++entry.times_written;
    entry.summed_by = nullptr;
    return entry.row;
  }

  template <class Memory>
  StoreTransfer copy(std::span<const StorePart<Memory>> parts, Direction direction, void* stream) {
    std::vector<Move> host, device;
    Summed summed;
    begin(parts, host, device, summed);
    std::shared_ptr<Transfer> transfer;
    try {
      if (!device.empty()) transfer = device_->copy(device, direction, stream, summed.table);
      for (const Move& move : host) {
        direction == Direction::in ? std::memcpy(move.cell, move.memory, move.bytes)
                                   : std::memcpy(move.memory, move.cell, move.bytes);
      }
    } catch (...) {
      end(parts, nullptr, {});
      throw;
    }
    end(parts, transfer, summed);
    return StoreTransfer(std::move(transfer));
  }

  /// Takes a row out when its copies have ended: `use(row, sums)`, and the row is there no more. Where a copy has failed, or `use` throws, the row
  /// stays. `how` says, in errors, what became of it. `failed_too`: the row's copies may have failed. `sums`: those of its jobs, or none.
  template <class Use>
  auto take(std::size_t row, const char* how, bool failed_too, const Use& use) {
    std::unique_lock lock(mutex_);
    Entry& entry = require_locked(row);
    entry.ends = how;
    ended_.wait(lock, [&] { return entry.copying == 0; });
    lock.unlock();  // nothing else uses an entry that ends
    try {
      for (const auto& transfer : entry.transfers) wait_for(*transfer, failed_too);
      const auto result = use(entry.row, entry.sums());
      lock.lock();
      entry = {};
      entry.ends = how;
      return result;
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      entry.ends = nullptr;
      throw;
    }
  }
  /// All rows that are there, with `use(row)`, which does not throw. The caller is alone.
  template <class Use>
  void take_all(const Use& use) noexcept {
    for (Entry& entry : entries_) {
      if (!entry.is_there()) continue;
      for (const auto& transfer : entry.transfers) wait_for(*transfer, true);
      use(entry.row);
    }
  }

 private:
  struct Entry {
    Row row;
    unsigned copying = 0;        ///< calls that copy bytes now
    const char* ends = nullptr;  ///< "committed", "aborted" or "released", also while that is done; null: it was not
    std::vector<std::shared_ptr<Transfer>> transfers;
    std::uint64_t times_written = 0;      ///< calls that copied bytes, or gave its memory to the caller
    std::shared_ptr<Transfer> summed_by;  ///< has the sums of all its bytes, or null
    std::size_t first_sum = 0, sum_count = 0;
    bool is_there() const { return row.is_there() && ends == nullptr; }
    std::span<const std::uint64_t> sums() const {
      return summed_by ? summed_by->sums().subspan(first_sum, sum_count) : std::span<const std::uint64_t>();
    }
  };
  /// The sums that a call asks for.
  struct Summed {
    struct One {
      std::size_t row, first, count;
      std::uint64_t times_written;  ///< the row's, as long as no other call writes its bytes
    };
    SumTable table;
    std::vector<One> rows;
  };
  /// Shorter values are summed by the CPU as fast. A GPU takes the sum of a chunk in the time in which it copies kLeastChunks of them.
  static constexpr std::uint64_t kLeastSummed = 32 << 10, kLeastChunks = 16;

  static constexpr std::size_t kMostKept = 8;  ///< transfers of a row; then those that are done are left out

  static void wait_for(Transfer& transfer, bool failed_too) {
    try {
      transfer.wait();
    } catch (const DeviceError&) {
      if (!failed_too) throw;
    }
  }
  static bool is_done(Transfer& transfer) {
    try {
      return transfer.poll();
    } catch (const DeviceError&) {
      return false;  // for the row's end to report
    }
  }
  const Entry& require_locked(std::size_t row) const {
    if (row < size() && entries_[row].is_there()) return entries_[row];
    const std::string what = path_ + ": row " + std::to_string(row) + " ";
    if (row >= size()) {
      throw InvalidArgument(what + "is not among the " + std::to_string(size()) + " there are: give a smaller number");
    }
    const char* const ends = entries_[row].ends;
    throw InvalidArgument(what +
                          (ends == nullptr ? Row::kNothing : std::string("was ") + ends + " before: " + Row::kAgain));
  }
  Entry& require_locked(std::size_t row) { return const_cast<Entry&>(std::as_const(*this).require_locked(row)); }

  /// Checks all parts, cuts them where pieces end, and notes that their rows are in use.
  template <class Memory>
  void begin(std::span<const StorePart<Memory>> parts, std::vector<Move>& host, std::vector<Move>& device,
             Summed& summed) {
    host.reserve(parts.size());
    device.reserve(parts.size());
    const std::lock_guard guard(mutex_);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      require_part(parts[i], i);
      cut(parts[i], parts[i].on_device ? device : host);
    }
    if constexpr (requires(const Row& row) { row.add_jobs({}, summed.table); }) sum(parts, !device.empty(), summed);
    for (const auto& part : parts) ++entries_[part.row].copying;
  }
  /// Asks for the sums of rows whose bytes all come from a GPU, in this call.
  template <class Memory>
  void sum(std::span<const StorePart<Memory>> parts, bool any_on_device, Summed& summed) {
    std::vector<const StorePart<Memory>*> order;
    if (any_on_device) {
      order.reserve(parts.size());
      for (const auto& part : parts) order.push_back(&part);
      std::ranges::sort(order, {}, [](const auto* part) { return std::pair(part->row, part->offset); });
    }
    std::vector<SumPart> sources;
    std::uint64_t all = 0, longest = 0;
    for (std::size_t i = 0; i < order.size();) {
      const std::size_t row = order[i]->row;
      sources.clear();
      bool is_whole = entries_[row].times_written == 0;
      std::uint64_t at = 0;
      for (; i < order.size() && order[i]->row == row; ++i) {
        is_whole = is_whole && order[i]->on_device && order[i]->offset == at && at % 8 == 0;
        at += order[i]->bytes;
        if (order[i]->bytes != 0) sources.push_back({static_cast<const std::byte*>(order[i]->memory), order[i]->bytes});
      }
      const Row& its = entries_[row].row;
      if (!is_whole || at != its.bytes() || at < kLeastSummed) continue;
      const std::size_t first = summed.table.jobs.size();
      its.add_jobs(sources, summed.table);
      summed.rows.push_back({row, first, summed.table.jobs.size() - first, 0});
      all += at;
      longest = std::max<std::uint64_t>(longest, its.pieces.front().size());
    }
    if (all < kLeastChunks * longest) summed = {};
    for (const auto& part : parts) {
      ++entries_[part.row].times_written;
      entries_[part.row].summed_by = nullptr;
    }
    for (auto& one : summed.rows) one.times_written = entries_[one.row].times_written;
  }
  template <class Memory>
  void require_part(const StorePart<Memory>& part, std::size_t number) const {
    const Row& row = require_locked(part.row).row;
    const std::string what = path_ + ": part " + std::to_string(number) + ", of row " + std::to_string(part.row);
    if (part.offset > row.bytes() || part.bytes > row.bytes() - part.offset) {
      throw InvalidArgument(what + ", has " + std::to_string(part.bytes) + " bytes from " +
                            std::to_string(part.offset) + " on, and the value has " + std::to_string(row.bytes()) +
                            ": give a part of the value");
    }
    if (part.memory == nullptr && part.bytes != 0) throw InvalidArgument(what + ", has no memory: give its address");
    if (part.on_device && device_ == nullptr) {
      throw InvalidArgument(what + ", is in the memory of a GPU, and the store was opened without one: open it with " +
                            "the option gpu");
    }
  }
  template <class Memory>
  void cut(const StorePart<Memory>& part, std::vector<Move>& moves) const {
    auto* memory = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(part.memory)));
    std::uint64_t skip = part.offset, left = part.bytes;
    for (const auto& piece : entries_[part.row].row.pieces) {
      if (left == 0) return;
      const std::uint64_t from = std::min<std::uint64_t>(skip, piece.size());
      const std::uint64_t bytes = std::min<std::uint64_t>(piece.size() - from, left);
      if (bytes != 0) moves.push_back({const_cast<std::byte*>(piece.data()) + from, memory, bytes});
      memory += bytes;
      left -= bytes;
      skip -= from;
    }
    HOLDFAST_ASSERT(left == 0);
  }
  template <class Memory>
  void end(std::span<const StorePart<Memory>> parts, const std::shared_ptr<Transfer>& transfer, const Summed& summed) {
    const std::lock_guard guard(mutex_);
    for (const auto& part : parts) {
      Entry& entry = entries_[part.row];
      --entry.copying;
      if (!transfer || !part.on_device) continue;
      if (!entry.transfers.empty() && entry.transfers.back() == transfer) continue;
      if (entry.transfers.size() >= kMostKept)
        std::erase_if(entry.transfers, [](const auto& its) { return is_done(*its); });
      entry.transfers.push_back(transfer);
    }
    for (const auto& one : summed.rows) {
      Entry& entry = entries_[one.row];
      if (entry.times_written != one.times_written) continue;
      entry.summed_by = transfer;
      entry.first_sum = one.first;
      entry.sum_count = one.count;
    }
    ended_.notify_all();
  }

  const std::string path_;
  DeviceSide* const device_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Entry> entries_;
};

}  // namespace holdfast::store
