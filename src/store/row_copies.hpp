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

/// Rows of memory in cells. `Row` has `is_there()`, `bytes()`, `pieces` and `static std::string missing(row, rows)`, which completes an error. Thread-safe.
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

  template <class Memory>
  StoreTransfer copy(std::span<const StorePart<Memory>> parts, Direction direction, void* stream) {
    std::vector<Move> host, device;
    begin(parts, host, device);
    std::shared_ptr<Transfer> transfer;
    try {
      if (!device.empty()) transfer = device_->copy(device, direction, stream);
      for (const Move& move : host) {
        direction == Direction::in ? std::memcpy(move.cell, move.memory, move.bytes)
                                   : std::memcpy(move.memory, move.cell, move.bytes);
      }
    } catch (...) {
      end(parts, nullptr);
      throw;
    }
    end(parts, transfer);
    return StoreTransfer(std::move(transfer));
  }

  /// Takes a row out when its copies have ended: `use(row)`, and the row is there no more. Where a copy has failed, or `use` throws, the row
  /// stays. `failed_too`: the row's copies may have failed.
  template <class Use>
  auto take(std::size_t row, bool failed_too, const Use& use) {
    std::unique_lock lock(mutex_);
    Entry& entry = require_locked(row);
    entry.ends = true;
    ended_.wait(lock, [&] { return entry.copying == 0; });
    lock.unlock();  // nothing else uses an entry that ends
    try {
      for (const auto& transfer : entry.transfers) wait_for(*transfer, failed_too);
      const auto result = use(entry.row);
      lock.lock();
      entry = {};
      return result;
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      entry.ends = false;
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
    unsigned copying = 0;  ///< calls that copy bytes now
    bool ends = false;     ///< it is committed, aborted or released
    std::vector<std::shared_ptr<Transfer>> transfers;
    bool is_there() const { return row.is_there() && !ends; }
  };

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
    throw InvalidArgument(path_ + ": row " + std::to_string(row) + " " + Row::missing(row, size()));
  }
  Entry& require_locked(std::size_t row) { return const_cast<Entry&>(std::as_const(*this).require_locked(row)); }

  /// Checks all parts, cuts them where pieces end, and notes that their rows are in use.
  template <class Memory>
  void begin(std::span<const StorePart<Memory>> parts, std::vector<Move>& host, std::vector<Move>& device) {
    host.reserve(parts.size());
    device.reserve(parts.size());
    const std::lock_guard guard(mutex_);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      require_part(parts[i], i);
      cut(parts[i], parts[i].on_device ? device : host);
    }
    for (const auto& part : parts) ++entries_[part.row].copying;
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
                            "gpu = true");
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
  void end(std::span<const StorePart<Memory>> parts, const std::shared_ptr<Transfer>& transfer) {
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
    ended_.notify_all();
  }

  const std::string path_;
  DeviceSide* const device_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Entry> entries_;
};

}  // namespace holdfast::store
