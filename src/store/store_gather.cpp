// store_gather.cpp: the public Store: values that a batch of reads puts into an array, on the host or over the link to a GPU.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "store/store_impl.hpp"

namespace holdfast {

using store::cpu::ByteRows;
using store::cpu::Engine;

namespace {

constexpr std::size_t kGatheredAtOnce = std::size_t{1}
                                        << 14;  ///< rows: the GPU copies them while the next are looked up

/// Where the answers of a call go.
struct ArrayAnswers {
  const StoreArray& values;
  std::span<StoreStatus> statuses;
  std::span<std::uint64_t> bytes;

  std::byte* row(std::size_t row) const { return static_cast<std::byte*>(values.memory) + row * values.row_bytes; }
  void say(std::size_t row, StoreStatus status, std::uint64_t size) const {
    if (!statuses.empty()) statuses[row] = status;
    if (!bytes.empty()) bytes[row] = size;
  }
  StoreStatus fits(std::uint64_t size) const {
    return size <= values.row_bytes ? StoreStatus::found : StoreStatus::too_large;
  }
};

/// Rows whose values a GPU copies. They are leased until it has: no bytes of another item come between.
class GatheredRows {
 public:
  explicit GatheredRows(Engine& engine) : engine_(engine) {}
  ~GatheredRows() {
    try {
      end();
    } catch (const Error&) {
      // another error is under way
    }
  }
  GatheredRows(const GatheredRows&) = delete;
  GatheredRows& operator=(const GatheredRows&) = delete;

  /// Looks the keys of rows [first, first + keys.size) up, and enqueues the copies of their values. False: too many cells are leased.
  bool begin(const ByteRows& keys, std::size_t first, const ArrayAnswers& answers, store::DeviceSide& device,
             void* stream) {
    rows_.resize(keys.size);
    if (!engine_.lease(keys, [&](std::size_t row) -> Engine::Leased& { return rows_[row]; })) return false;
    std::vector<store::Move> moves;
    moves.reserve(keys.size);
    bool is_full = true;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Engine::Leased& its = rows_[i];
      const StoreStatus status = its.cell.none() ? StoreStatus::not_found : answers.fits(its.value.bytes);
      answers.say(first + i, status, its.value.bytes);
      is_full = is_full && status == StoreStatus::found && its.value.bytes == answers.values.row_bytes;
      if (status != StoreStatus::found) continue;
      std::byte* to = answers.row(first + i);
      for (const auto& piece : its.pieces) {
        moves.push_back({const_cast<std::byte*>(piece.data()), to, piece.size()});
        to += piece.size();
      }
    }
    if (!is_full) device.clear(answers.row(first), rows_.size() * answers.values.row_bytes, stream);
    if (!moves.empty()) transfer_ = device.copy(moves, store::Direction::out, stream, {});
    return true;
  }
  /// Waits for the copies. Throws DeviceError; the leases have ended then, too.
  void end() {
    const auto leased = std::exchange(rows_, {});
    const auto transfer = std::exchange(transfer_, nullptr);
    const auto release = [&] {
      for (const Engine::Leased& row : leased) {
        if (!row.cell.none()) engine_.end_lease(row);
      }
    };
    try {
      if (transfer) transfer->wait();
    } catch (...) {
      release();
      throw;
    }
    release();
  }

 private:
  Engine& engine_;
  std::vector<Engine::Leased> rows_;
  std::shared_ptr<store::Transfer> transfer_;
};

bool gather_rows(Engine& engine, const ByteRows& keys, const ArrayAnswers& answers, store::DeviceSide& device,
                 void* stream) {
  GatheredRows both[] = {GatheredRows(engine), GatheredRows(engine)};
  bool fits = true;
  for (std::size_t first = 0; fits && first < keys.size; first += kGatheredAtOnce) {
    const ByteRows some{keys.bytes, keys.offsets + first, std::min(kGatheredAtOnce, keys.size - first)};
    GatheredRows& next = both[first / kGatheredAtOnce % 2];
    next.end();
    fits = next.begin(some, first, answers, device, stream);
  }
  for (GatheredRows& each : both) each.end();
  return fits;
}

void copy_rows_to_array(Engine& engine, const ByteRows& keys, const ArrayAnswers& answers) {
  std::uint64_t size = 0;
  const auto copy = [&](std::size_t row, const store::Header& header, store::State, std::uint64_t sequence,
                        const store::Cell& cell) {
    size = header.value_bytes;
    return answers.fits(size) != StoreStatus::found || engine.copy_value(header, sequence, cell, answers.row(row));
  };
  engine.read(keys, copy, [&](std::size_t row, bool found) {
    if (!found) size = 0;
    const StoreStatus status = found ? answers.fits(size) : StoreStatus::not_found;
    answers.say(row, status, size);
    const std::uint64_t copied = status == StoreStatus::found ? size : 0;
    if (copied < answers.values.row_bytes) {
      std::memset(answers.row(row) + copied, 0, answers.values.row_bytes - copied);
    }
  });
}

}  // namespace

void Store::get(const StoreRows& keys, const StoreArray& values, std::span<StoreStatus> statuses,
                std::span<std::uint64_t> bytes, void* stream) const {
  require_rows("statuses", statuses.size(), keys.size, Many::each_or_none);
  require_rows("bytes", bytes.size(), keys.size, Many::each_or_none);
  const ByteRows rows = impl_->keys_of(keys);
  if (values.memory == nullptr && rows.size * values.row_bytes != 0) {
    throw InvalidArgument(impl_->path + ": values has no memory: give its address");
  }
  store::OpenStore& use = impl_->use();
  if (values.on_device && use.device() == nullptr) {
    throw InvalidArgument(impl_->path +
                          ": values is in the memory of a GPU, and the store was opened without one: open it with " +
                          "the option gpu");
  }
  const ArrayAnswers answers{values, statuses, bytes};
  const bool fits = use.search([&](Engine& engine) {
    if (values.on_device && values.row_bytes != 0) return gather_rows(engine, rows, answers, *use.device(), stream);
    copy_rows_to_array(engine, rows, answers);
    return true;
  });
  if (!fits) impl_->throw_too_many_leases();
}

}  // namespace holdfast
