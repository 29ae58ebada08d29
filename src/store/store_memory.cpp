// store_memory.cpp: the public reservations and leases.
#include "holdfast/store_memory.hpp"

#include "store/store_impl.hpp"

namespace holdfast {

using store::cpu::Engine;

class StoreReservation::Impl {
 public:
  struct Row {
    store::NewItem item;
    std::vector<std::span<std::byte>> pieces;
  };
  explicit Impl(std::shared_ptr<Store::Impl> its_store) : store(std::move(its_store)), use(store->use()) {}
  ~Impl() {
    try {
      for (Row& row : rows) give(row);
    } catch (const Error&) {
      // the pool is lost, and with it all of them
    }
  }

  Row& require(std::size_t row) {
    if (row >= rows.size()) {
      throw InvalidArgument(store->path + ": there is no row " + std::to_string(row) + " among " +
                            std::to_string(rows.size()) + " reserved ones");
    }
    if (!rows[row].item.cell.none()) return rows[row];
    throw InvalidArgument(store->path + ": row " + std::to_string(row) +
                          " of a reservation has no memory: there was none, or it was committed or aborted before");
  }
  void give(Row& row) {
    if (row.item.cell.none()) return;
    use.search([&](Engine& engine) {
      engine.abort(row.item);
      return true;
    });
    row = {};
  }

  const std::shared_ptr<Store::Impl> store;
  store::OpenStore& use;
  const store::OpenStore::InPlace in_place{use};
  std::vector<Row> rows;
};

StoreReservation::StoreReservation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StoreReservation::StoreReservation(StoreReservation&&) noexcept = default;
StoreReservation& StoreReservation::operator=(StoreReservation&&) noexcept = default;
StoreReservation::~StoreReservation() = default;

std::size_t StoreReservation::size() const { return impl_ ? impl_->rows.size() : 0; }
bool StoreReservation::has(std::size_t row) const { return row < size() && !impl_->rows[row].item.cell.none(); }
std::span<const std::span<std::byte>> StoreReservation::pieces(std::size_t row) const {
  return impl_->require(row).pieces;
}
StoreStatus StoreReservation::commit(std::size_t row) {
  Impl::Row& its = impl_->require(row);
  const StoreStatus status = impl_->use.change(1, [&](Engine& engine) { return status_of(engine.commit(its.item)); });
  its = {};
  return status;
}
void StoreReservation::abort(std::size_t row) { impl_->give(impl_->require(row)); }

class StoreLease::Impl {
 public:
  explicit Impl(std::shared_ptr<Store::Impl> its_store) : store(std::move(its_store)), use(store->use()) {}
  ~Impl() {
    try {
      for (Engine::Leased& row : rows) give(row);
    } catch (const Error&) {
      // the pool is lost, and with it all of them
    }
  }

  Engine::Leased& require(std::size_t row) {
    if (row < rows.size() && !rows[row].cell.none()) return rows[row];
    throw InvalidArgument(store->path + ": row " + std::to_string(row) +
                          " of a lease has no value: its key was absent, or it was released before");
  }
  void give(Engine::Leased& row) {
    if (row.cell.none()) return;
    use.search([&](Engine& engine) {
      engine.end_lease(row);
      return true;
    });
    row = {};
  }

  const std::shared_ptr<Store::Impl> store;
  store::OpenStore& use;
  const store::OpenStore::InPlace in_place{use};
  std::vector<Engine::Leased> rows;
};

StoreLease::StoreLease(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StoreLease::StoreLease(StoreLease&&) noexcept = default;
StoreLease& StoreLease::operator=(StoreLease&&) noexcept = default;
StoreLease::~StoreLease() = default;

std::size_t StoreLease::size() const { return impl_ ? impl_->rows.size() : 0; }
bool StoreLease::has(std::size_t row) const { return row < size() && !impl_->rows[row].cell.none(); }
std::span<const std::span<const std::byte>> StoreLease::pieces(std::size_t row) const {
  return impl_->require(row).pieces;
}
std::uint64_t StoreLease::bytes(std::size_t row) const { return impl_->require(row).value.bytes; }
std::uint32_t StoreLease::flags(std::size_t row) const { return impl_->require(row).value.flags; }
std::uint64_t StoreLease::cas(std::size_t row) const { return impl_->require(row).value.cas; }
void StoreLease::release(std::size_t row) { impl_->give(impl_->require(row)); }

StoreReservation Store::reserve(const StoreRows& keys, std::span<const std::uint64_t> bytes,
                                std::span<const ItemOptions> items) {
  const store::cpu::Rows rows = impl_->keys_of(keys);
  require_rows("bytes", bytes.size(), rows.size, Many::each);
  require_rows("items", items.size(), rows.size, Many::each_or_one_or_none);
  for (const std::uint64_t size : bytes) impl_->require_value(size);
  for (const ItemOptions& item : items) impl_->require_item(item);
  auto reserved = std::make_unique<StoreReservation::Impl>(impl_.pointer());
  reserved->rows.resize(rows.size);
  impl_->use().change(0, [&](Engine& engine) {
    for (std::size_t row = 0; row < rows.size; ++row) {
      store::Content content =
          content_of(rows[row], {}, items.empty() ? ItemOptions{} : items[items.size() == 1 ? 0 : row]);
      content.value_bytes = static_cast<std::uint32_t>(bytes[row]);
      StoreReservation::Impl::Row& its = reserved->rows[row];
      its.item = engine.reserve(content);
      if (!its.item.cell.none()) its.pieces = engine.pieces_of(its.item);
    }
    return true;
  });
  return StoreReservation(std::move(reserved));
}

StoreLease Store::lease(const StoreRows& keys) {
  const store::cpu::Rows rows = impl_->keys_of(keys);
  auto leased = std::make_unique<StoreLease::Impl>(impl_.pointer());
  leased->rows.resize(rows.size);
  const bool fits = impl_->use().search([&](Engine& engine) {
    for (std::size_t row = 0; row < rows.size; ++row) {
      if (!engine.lease(rows[row], leased->rows[row])) {
        leased->rows[row] = {};
        return false;
      }
    }
    return true;
  });
  if (fits) return StoreLease(std::move(leased));
  throw NoSpace(impl_->path + " has " + std::to_string(store::cpu::CellSpace::kMostLeases) +
                " cells that are leased, and no more can be: release some");
}

std::size_t Store::lookup(const StoreRows& keys) const {
  const store::cpu::Rows rows = impl_->keys_of(keys);
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
