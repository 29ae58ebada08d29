// store_memory.cpp: the public reservations and leases.
#include "holdfast/store_memory.hpp"

#include <atomic>
#include <optional>

#include "store/row_copies.hpp"
#include "store/store_impl.hpp"

namespace holdfast {

using store::cpu::Engine;

bool StoreTransfer::poll() const { return !transfer_ || transfer_->poll(); }
void StoreTransfer::wait() const {
  if (transfer_) transfer_->wait();
}

namespace store {

/// Keeps the store open until the last row has ended.
class StaysOpen {
 public:
  explicit StaysOpen(OpenStore& store) : in_place_(std::in_place, store) {}
  void begin(std::size_t rows) {
    rows_ = rows;
    if (rows == 0) in_place_.reset();
  }
  void end_row() {
    if (rows_.fetch_sub(1) == 1) in_place_.reset();
  }

 private:
  std::optional<OpenStore::InPlace> in_place_;
  std::atomic<std::size_t> rows_ = 0;
};

/// The rows of a reservation or a lease. What has not ended with it is given back.
template <class StoreImpl, class RowType>
class HeldRows {
 public:
  using Row = RowType;
  HeldRows(std::shared_ptr<StoreImpl> its_store, std::size_t size)
      : store(std::move(its_store)), use(store->use()), stays_open(use), rows(store->path, use.device(), size) {}
  ~HeldRows() {
    rows.take_all([this](Row& row) { give(row); });
  }
  void give_back(std::size_t row, const char* how) {
    rows.take(row, how, true, [&](const Row& its, const auto&) {
      give(its);
      return true;
    });
    stays_open.end_row();
  }

  const std::shared_ptr<StoreImpl> store;
  OpenStore& use;
  StaysOpen stays_open;
  RowCopies<Row> rows;

 private:
  void give(const Row& row) noexcept {
    try {
      use.search([&](Engine& engine) {
        row.give(engine);
        return true;
      });
    } catch (const Error&) {
      // the pool is lost, and with it all of them
    }
  }
};

struct ReservedRow {
  NewItem item;
  std::vector<std::span<std::byte>> pieces;
  bool is_there() const { return !item.cell.none(); }
  std::uint64_t bytes() const { return item.header.value_bytes; }
  void add_jobs(std::span<const SumPart> sources, SumTable& table) const {
    store::add_jobs(item, pieces, sources, table);
  }
  void give(Engine& engine) const { engine.abort(item); }
  static constexpr const char* kAgain = "reserve its key again";
  static constexpr const char* kNothing =
      "of a reservation has no memory: the store had none when it was reserved; raise its limit, or leave the row out";
};
struct LeasedRow : Engine::Leased {
  bool is_there() const { return !cell.none(); }
  std::uint64_t bytes() const { return value.bytes; }
  void give(Engine& engine) const { engine.end_lease(*this); }
  static constexpr const char* kAgain = "lease its key again";
  static constexpr const char* kNothing = "of a lease has no value: its key was absent; leave the row out";
};

}  // namespace store

class StoreReservation::Impl : public store::HeldRows<Store::Impl, store::ReservedRow> {
  using HeldRows::HeldRows;
};
class StoreLease::Impl : public store::HeldRows<Store::Impl, store::LeasedRow> {
  using HeldRows::HeldRows;
};

StoreReservation::StoreReservation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StoreReservation::StoreReservation(StoreReservation&&) noexcept = default;
StoreReservation& StoreReservation::operator=(StoreReservation&&) noexcept = default;
StoreReservation::~StoreReservation() = default;

std::size_t StoreReservation::size() const { return impl_ ? impl_->rows.size() : 0; }
bool StoreReservation::has(std::size_t row) const { return impl_ && impl_->rows.has(row); }
std::span<const std::span<std::byte>> StoreReservation::pieces(std::size_t row) const {
  return impl_->rows.expose(row).pieces;
}
StoreTransfer StoreReservation::copy_in(std::span<const StoreSource> parts, void* stream) {
  return impl_->rows.copy(parts, store::Direction::in, stream);
}
StoreStatus StoreReservation::commit(std::size_t row) {
  const StoreStatus status =
      impl_->rows.take(row, "committed", false, [&](const Impl::Row& its, std::span<const std::uint64_t> sums) {
        return impl_->use.change(1, [&](Engine& engine) { return status_of(engine.commit(its.item, sums)); });
      });
  impl_->stays_open.end_row();
  return status;
}
void StoreReservation::abort(std::size_t row) { impl_->give_back(row, "aborted"); }

StoreLease::StoreLease(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StoreLease::StoreLease(StoreLease&&) noexcept = default;
StoreLease& StoreLease::operator=(StoreLease&&) noexcept = default;
StoreLease::~StoreLease() = default;

std::size_t StoreLease::size() const { return impl_ ? impl_->rows.size() : 0; }
bool StoreLease::has(std::size_t row) const { return impl_ && impl_->rows.has(row); }
std::span<const std::span<const std::byte>> StoreLease::pieces(std::size_t row) const {
  return impl_->rows.require(row).pieces;
}
std::uint64_t StoreLease::bytes(std::size_t row) const { return impl_->rows.require(row).value.bytes; }
std::uint32_t StoreLease::flags(std::size_t row) const { return impl_->rows.require(row).value.flags; }
std::uint64_t StoreLease::cas(std::size_t row) const { return impl_->rows.require(row).value.cas; }
StoreTransfer StoreLease::copy_out(std::span<const StoreTarget> parts, void* stream) {
  return impl_->rows.copy(parts, store::Direction::out, stream);
}
void StoreLease::release(std::size_t row) { impl_->give_back(row, "released"); }

StoreReservation Store::reserve(const StoreRows& keys, std::span<const std::uint64_t> bytes,
                                std::span<const ItemOptions> items) {
  const store::cpu::ByteRows rows = impl_->keys_of(keys);
  require_rows("bytes", bytes.size(), rows.size, Many::each);
  require_rows("items", items.size(), rows.size, Many::each_or_one_or_none);
  for (std::size_t row = 0; row < bytes.size(); ++row) impl_->require_value(bytes[row], row);
  for (const ItemOptions& item : items) impl_->require_item(item);
  auto reserved = std::make_unique<StoreReservation::Impl>(impl_.pointer(), rows.size);
  impl_->use().change(0, [&](Engine& engine) {
    for (std::size_t row = 0; row < rows.size; ++row) {
      store::Content content =
          content_of(rows[row], {}, items.empty() ? ItemOptions{} : items[items.size() == 1 ? 0 : row]);
      content.value_bytes = static_cast<std::uint32_t>(bytes[row]);
      StoreReservation::Impl::Row& its = reserved->rows.make(row);
      its.item = engine.reserve(content);
      if (its.is_there()) its.pieces = engine.pieces_of(its.item);
    }
    return true;
  });
  reserved->stays_open.begin(reserved->rows.live());
  return StoreReservation(std::move(reserved));
}

namespace {
constexpr std::size_t kLookedUpAtOnce =
    256;  ///< rows that are leased before it is known whether all of them are wanted
}

StoreLease Store::lease(const StoreRows& keys) { return lease(keys, false); }
StoreLease Store::lease_present(const StoreRows& keys) { return lease(keys, true); }

StoreLease Store::lease(const StoreRows& keys, bool ends_at_absent) {
  const store::cpu::ByteRows rows = impl_->keys_of(keys);
  auto leased = std::make_unique<StoreLease::Impl>(impl_.pointer(), rows.size);
  const std::size_t at_once = ends_at_absent ? kLookedUpAtOnce : std::max<std::size_t>(rows.size, 1);
  const bool fits = impl_->use().search([&](Engine& engine) {
    for (std::size_t first = 0; first < rows.size; first += at_once) {
      const store::cpu::ByteRows some{rows.bytes, rows.offsets + first, std::min(at_once, rows.size - first)};
      const auto row_of = [&](std::size_t row) -> StoreLease::Impl::Row& { return leased->rows.make(first + row); };
      if (!engine.lease(some, row_of)) return false;
      if (!ends_at_absent) continue;
      std::size_t present = 0;
      while (present < some.size && row_of(present).is_there()) ++present;
      if (present == some.size) continue;
      for (std::size_t row = present; row < some.size; ++row) {
        if (row_of(row).is_there()) engine.end_lease(std::exchange(row_of(row), {}));
      }
      leased->rows.shorten(first + present);
      break;
    }
    return true;
  });
  leased->stays_open.begin(leased->rows.live());
  if (!fits) impl_->throw_too_many_leases();
  return StoreLease(std::move(leased));
}

std::size_t Store::lookup(const StoreRows& keys) const {
  const store::cpu::ByteRows rows = impl_->keys_of(keys);
  return impl_->use().search([&](Engine& engine) {
    std::size_t present = rows.size;
    const auto nothing = [](std::size_t, const store::Header&, store::State, std::uint64_t, const store::Cell&) {
      return true;
    };
    engine.read(rows, nothing,
                [&](std::size_t row, bool found) { present = found ? present : std::min(present, row); });
    return present;
  });
}

}  // namespace holdfast
