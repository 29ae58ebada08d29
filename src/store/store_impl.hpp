// store_impl.hpp: what a handle of a Store holds.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "holdfast/store.hpp"
#include "pool/kinds/open_object.hpp"
#include "store/cpu/quoted.hpp"
#include "store/cpu/rows.hpp"
#include "store/open_store.hpp"
#include "store/single_calls.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

inline StoreStatus status_of(store::Change change) {
  switch (change) {
    case store::Change::inserted: return StoreStatus::inserted;
    case store::Change::replaced:
    case store::Change::touched: return StoreStatus::updated;
    case store::Change::erased: return StoreStatus::erased;
    case store::Change::not_found: return StoreStatus::not_found;
    case store::Change::exists: return StoreStatus::exists;
    case store::Change::mismatch: return StoreStatus::mismatch;
    case store::Change::no_space: return StoreStatus::no_space;
    case store::Change::damaged: return StoreStatus::damaged;
    case store::Change::larger: break;
  }
  return StoreStatus::too_large;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline store::Content content_of(std::span<const std::byte> key, std::span<const std::byte> value,
                                 const ItemOptions& item) {
  store::Content content;
  content.key = key.data();
  content.key_bytes = static_cast<std::uint16_t>(key.size());
  content.value = value.data();
  content.value_bytes = static_cast<std::uint32_t>(value.size());
  content.flags = item.flags;
  content.expiry = item.expiry;
  content.cas = item.cas;
  return content;
}

/// How many rows an array has beside the keys'.
enum class Many : std::uint8_t { each, each_or_none, each_or_one_or_none };

/// Throws InvalidArgument.
inline void require_rows(const char* what, std::size_t given, std::size_t rows, Many many) {
  if (given == rows || (given == 0 && many != Many::each) || (given == 1 && many == Many::each_or_one_or_none)) return;
  throw InvalidArgument(std::string(what) + " has " + std::to_string(given) + " rows, and keys has " +
                        std::to_string(rows) + ": give one for each key");
}

class Store::Impl : public pool::OpenObject {
 public:
  Impl(std::shared_ptr<PoolAccess::Impl> pool, std::unique_ptr<store::StoreObject> object, const StoreOptions& options)
      : OpenObject(object->number(), object->path()), pool_(std::move(pool)), store_(std::move(object), options) {}
  ~Impl() override {
    try {
      close();
    } catch (const Error&) {
      // its next opening says what it lacks
    }
  }

  bool is_open() const override { return !forked() && store_.is_open(); }
  void close() override {
    if (forked()) return;  // its mappings and locks are the parent's
    const std::lock_guard guard(closing_);
    struct End {  // also where its medium has failed; not where rows are leased
      Impl& its;
      ~End() {
        if (!its.store_.is_open()) its.pool_.reset();
      }
    } const end{*this};
    store_.close();
  }
  /// Throws ObjectClosed. The caller keeps it.
  std::shared_ptr<PoolAccess::Impl> pool() {
    return use().search([this](store::cpu::Engine&) { return pool_; });
  }
  CheckReport check() override { return use().check(); }
  std::unique_ptr<pool::Quiesced> quiesce(const SnapshotOptions&) override {
    struct Still : pool::Quiesced {
      explicit Still(store::OpenStore& store) : held(store) {}
      store::OpenStore::Still held;
    };
    auto still = std::make_unique<Still>(store_);
    if (store_.object() == nullptr) return nullptr;
    still->object = store_.object();
    still->items = store_.items();
    still->damaged = store_.damaged();
    return still;
  }

  std::unique_ptr<pool::Frozen> freeze() override {
    struct Frozen : pool::Frozen {
      explicit Frozen(store::OpenStore& store) : its(store) {}
      bool begin() override { return its.begin(); }
      void read(const std::byte* from, std::uint64_t bytes, std::byte* to) override {
        its.lines().read(from, bytes, to);
      }
      store::OpenStore::Frozen its;
    };
    auto frozen = std::make_unique<Frozen>(store_);
    frozen->object = store_.object();
    return frozen->object != nullptr ? std::move(frozen) : nullptr;
  }

  /// Throws ObjectClosed in a forked child.
  store::OpenStore& use() {
    if (forked()) throw ObjectClosed(path + " was opened by the parent of this process: open it here");
    return store_;
  }
  [[noreturn]] void throw_too_many_leases() const {
    throw NoSpace(path + " has " + std::to_string(store::cpu::CellSpace::kMostLeases) +
                  " cells that are leased, and no more can be: release some");
  }
  /// Throws InvalidArgument. `row`: of a batch, or kOne.
  void require_key(std::size_t bytes, std::size_t row = kOne) const {
    if (bytes <= store::kMostKeyBytes) return;
    refuse("key", bytes, row, store::kMostKeyBytes, "give a shorter key, such as a hash of it");
  }
  void require_value(std::size_t bytes, std::size_t row = kOne) const {
    const std::uint32_t most = store_.options().max_value_bytes;
    if (bytes <= most) return;
    refuse("value", bytes, row, most, "open the store for larger values, or divide the value");
  }
  void require_item(const ItemOptions& item) const {
    if (item.expiry <= store::State::kTime) return;
    throw InvalidArgument(path + ": an expiry of " + std::to_string(item.expiry) +
                          " is more than 48 bits: give milliseconds since 1970");
  }
  /// Throws InvalidArgument unless row by row each is valid: `require(bytes, row)`.
  template <class Require>
  static store::cpu::ByteRows rows_of(const char* name, const StoreRows& rows, const Require& require) {
    const store::cpu::ByteRows its{static_cast<const std::byte*>(rows.bytes), rows.offsets, rows.size};
    if (rows.size == 0) return its;
    if (rows.offsets == nullptr || (rows.bytes == nullptr && rows.offsets[rows.size] != rows.offsets[0])) {
      throw InvalidArgument(std::string(name) + " has " + std::to_string(rows.size) + " rows, and its " +
                            (rows.offsets == nullptr ? "offsets are" : "bytes are") + " null: give their address");
    }
    for (std::size_t row = 0; row < rows.size; ++row) {
      if (rows.offsets[row + 1] < rows.offsets[row]) {
        throw InvalidArgument("the offsets of " + std::string(name) + " decrease at row " + std::to_string(row) +
                              ": give where each row begins, in order");
      }
      require(static_cast<std::size_t>(rows.offsets[row + 1] - rows.offsets[row]), row);
    }
    return its;
  }
  store::cpu::ByteRows keys_of(const StoreRows& keys) const {
    return rows_of("keys", keys, [&](std::size_t bytes, std::size_t row) { require_key(bytes, row); });
  }

  StoreStatus set(std::string_view key, std::string_view value, const ItemOptions& item,
                  store::cpu::Condition condition, std::uint64_t expected = 0) {
    require_key(key.size());
    require_value(value.size());
    require_item(item);
    store::cpu::Ask ask;
    ask.content = content_of(bytes_of(key), bytes_of(value), item);
    ask.condition = condition;
    ask.cas = expected;
    return status_of(single().change(ask));
  }
  StoreStatus extend(std::string_view key, std::string_view value, bool before) {
    require_key(key.size());
    const std::uint32_t most = store_.options().max_value_bytes;
    return use().change(1, [&](store::cpu::Engine& engine) {
      return answer(engine.extend(bytes_of(key), bytes_of(value), before, most), key);
    });
  }
  StoreStatus count(std::string_view key, std::uint64_t by, bool subtract, std::uint64_t& result) {
    store::cpu::Ask ask = ask_of(key, store::cpu::Ask::Kind::count, by);
    ask.subtracts = subtract;
    return answer(single().change(ask, &result), key);
  }
  /// Of a change that depends on the item. Throws PoolCorrupt where that is damaged.
  StoreStatus answer(store::Change change, std::string_view key) const {
    if (change != store::Change::damaged) return status_of(change);
    throw PoolCorrupt(path + ": the item of the key " + store::cpu::quoted(key) +
                      " does not match its checksum, and was not changed: set the key again, or erase it");
  }
  /// A change of the key that takes a number.
  store::cpu::Ask ask_of(std::string_view key, store::cpu::Ask::Kind kind, std::uint64_t number) const {
    require_key(key.size());
    store::cpu::Ask ask;
    ask.kind = kind;
    ask.content = content_of(bytes_of(key), {}, {});
    ask.number = number;
    return ask;
  }
  std::optional<StoreItem> get(std::string_view key) {
    require_key(key.size());
    StoreItem item;
    if (!single().read(bytes_of(key), &item)) return std::nullopt;
    return item;
  }
  store::SingleCalls& single() {
    use();
    return single_;
  }

 private:
  static constexpr std::size_t kOne = ~std::size_t{0};
  [[noreturn]] void refuse(const char* what, std::size_t bytes, std::size_t row, std::size_t most,
                           const char* advice) const {
    throw InvalidArgument(path + " takes " + what + "s of up to " + std::to_string(most) + " bytes, and the " + what +
                          (row == kOne ? std::string() : " of row " + std::to_string(row)) + " has " +
                          std::to_string(bytes) + ": " + advice);
  }

  std::mutex closing_;
  std::shared_ptr<PoolAccess::Impl> pool_;  ///< as long as the store is open; ends after it
  store::OpenStore store_;
  store::SingleCalls single_{store_};
};

}  // namespace holdfast
