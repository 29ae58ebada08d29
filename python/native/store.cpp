// store.cpp: the class holdfastdb._native.Store, and StoreScan. Single keys and values come as bytes, those of a batch as addresses.
#include "holdfast/store.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "native.hpp"
#include "store_rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

using HeldStore = Held<Store>;
/// Value, flags, CAS id, expiry, and whether it is stale.
using Item = nb::typed<nb::tuple, nb::bytes, std::uint32_t, std::uint64_t, std::uint64_t, bool>;
using KeyAndItem = nb::typed<nb::tuple, nb::bytes, Item>;

std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }

Item to_tuple(const StoreItem& item) {
  return nb::borrow<Item>(nb::make_tuple(bytes_of(item.value), item.flags, item.cas, item.expiry, item.is_stale));
}

std::optional<Item> to_tuple(const std::optional<StoreItem>& item) {
  if (!item) return std::nullopt;
  return to_tuple(*item);
}

/// `call(store)` without the interpreter lock.
template <class Call>
auto released(const Call& call) {
  const Unlocked guard;
  return call();
}

/// Both are there, or neither.
std::pair<HeldPool, HeldStore> create_in_new_pool(const std::string& path, const std::string& name,
                                                  const StoreOptions& options) {
  auto made = released([&] {
    std::optional<Store> store;
    Pool pool = Pool::create(path, false, [&](Pool& its) { store.emplace(Store::create(its, name, options)); });
    return std::pair<Pool, Store>(std::move(pool), std::move(*store));
  });
  return {HeldPool(std::move(made.first)), HeldStore(std::move(made.second))};
}

std::optional<nb::bytes> get(const HeldStore& store, const nb::bytes& key) {
  const auto item = released([&] { return store.get(view_of(key)); });
  if (!item) return std::nullopt;
  return bytes_of(item->value);
}

/// As StoreStatus.
using Code = unsigned;
enum class How : unsigned { set, add, replace, cas };

Code put(HeldStore& store, const nb::bytes& key, const nb::bytes& value, unsigned how, std::uint32_t flags,
         std::uint64_t expiry, std::uint64_t expected) {
  const ItemOptions item{.flags = flags, .expiry = expiry};
  return static_cast<Code>(released([&] {
    switch (static_cast<How>(how)) {
      case How::set: return store.set(view_of(key), view_of(value), item);
      case How::add: return store.add(view_of(key), view_of(value), item);
      case How::replace: return store.replace(view_of(key), view_of(value), item);
      case How::cas: break;
    }
    return store.cas(view_of(key), view_of(value), expected, item);
  }));
}

Code extend(HeldStore& store, const nb::bytes& key, const nb::bytes& value, bool before) {
  return static_cast<Code>(released([&] {
    return before ? store.prepend(view_of(key), view_of(value)) : store.append(view_of(key), view_of(value));
  }));
}

std::pair<Code, std::uint64_t> count(HeldStore& store, const nb::bytes& key, std::uint64_t by, bool subtract) {
  std::uint64_t result = 0;
  const StoreStatus status = released(
      [&] { return subtract ? store.decrement(view_of(key), by, result) : store.increment(view_of(key), by, result); });
  return {static_cast<Code>(status), result};
}

/// Writes (n,) flags, CAS ids and expiries to these addresses, or nothing to 0.
void get_many(const HeldStore& store, std::size_t size, std::uintptr_t bytes, std::uintptr_t offsets, HeldBlobs& values,
              std::uintptr_t flags, std::uintptr_t cas, std::uintptr_t expiry) {
  const Unlocked guard;
  StoreItems items;
  store.get(rows_at(size, bytes, offsets), items);
  static_cast<Blobs&>(values) = std::move(items.values);
  for (std::size_t i = 0; i < size && flags != 0; ++i) {
    at<std::uint32_t>(flags)[i] = items.flags[i];
    at<std::uint64_t>(cas)[i] = items.cas[i];
    at<std::uint64_t>(expiry)[i] = items.expiry[i];
  }
}

/// Fills (size, row_bytes) at `values` and (size,) statuses and sizes.
void get_into(const HeldStore& store, std::size_t size, std::uintptr_t bytes, std::uintptr_t offsets,
              std::uintptr_t values, std::uint64_t row_bytes, bool on_device, std::uintptr_t statuses,
              std::uintptr_t sizes, std::uintptr_t stream) {
  const Unlocked guard;
  store.get(rows_at(size, bytes, offsets), {at<void>(values), row_bytes, on_device}, {at<StoreStatus>(statuses), size},
            {at<std::uint64_t>(sizes), size}, at<void>(stream));
}

/// `items`: of how many items there are flags and expiries, one for all or one for each. `statuses`: (n,) StoreStatus. Returns how many rows were not
/// stored.
std::size_t set_many(HeldStore& store, std::size_t size, std::uintptr_t key_bytes, std::uintptr_t key_offsets,
                     std::uintptr_t value_bytes, std::uintptr_t value_offsets, std::size_t items, std::uintptr_t flags,
                     std::uintptr_t expiries, std::uintptr_t statuses) {
  const Unlocked guard;
  return store.set(rows_at(size, key_bytes, key_offsets), rows_at(size, value_bytes, value_offsets),
                   items_at(items, flags, expiries), {at<StoreStatus>(statuses), size});
}

std::size_t erase_many(HeldStore& store, std::size_t size, std::uintptr_t bytes, std::uintptr_t offsets,
                       std::uintptr_t statuses) {
  const Unlocked guard;
  return store.erase(rows_at(size, bytes, offsets), {at<StoreStatus>(statuses), size});
}

/// The items of a part, and whether there are more.
std::pair<bool, std::vector<KeyAndItem>> visit_some(const HeldStore& store, StoreScan& scan) {
  std::vector<std::pair<std::string, StoreItem>> items;
  const bool more = released([&] {
    return store.visit_some(scan, [&](std::string_view key, const StoreItem& item) {
      items.emplace_back(key, item);
      return true;
    });
  });
  std::vector<KeyAndItem> given;
  for (const auto& [key, item] : items) {
    given.push_back(nb::borrow<KeyAndItem>(nb::make_tuple(bytes_of(key), to_tuple(item))));
  }
  return {more, std::move(given)};
}

Dict snapshot(HeldStore& store, const std::string& path, bool overwrite, unsigned threads, const nb::object& progress) {
  const SnapshotOptions options = snapshot_options(overwrite, threads, true, progress);
  return to_dict(released([&] { return store.snapshot(path, options); }));
}

Dict stats(const HeldStore& store) {
  const StoreStats stats = released([&] { return store.stats(); });
  Dict result;
  result["items"] = stats.items;
  result["memory_bytes"] = stats.memory_bytes;
  result["limit_bytes"] = stats.limit_bytes;
  result["free_bytes"] = stats.free_bytes;
  result["evicted"] = stats.evicted;
  result["killed_at_open"] = stats.killed_at_open;
  result["damaged_at_open"] = stats.damaged_at_open;
  result["damaged_pieces"] = stats.damaged_pieces;
  result["open_ms"] = stats.open_ms;
  result["index"] = stats.index_on_gpu ? "gpu" : "cpu";
  result["index_failure"] = stats.index_failure;
  return result;
}

}  // namespace

void bind_store(nb::module_& module) {
  const auto unlocked = nb::call_guard<Unlocked>();
  nb::enum_<StoreIndex>(module, "StoreIndex")
      .value("automatic", StoreIndex::automatic)
      .value("cpu", StoreIndex::cpu)
      .value("gpu", StoreIndex::gpu);
  nb::class_<StoreOptions>(module, "StoreOptions")
      .def(nb::init<>())
      .def_rw("limit_bytes", &StoreOptions::limit_bytes)
      .def_rw("evict", &StoreOptions::evict)
      .def_rw("expected_items", &StoreOptions::expected_items)
      .def_rw("max_value_bytes", &StoreOptions::max_value_bytes)
      .def_rw("flush", &StoreOptions::flush)
      .def_rw("gpu", &StoreOptions::gpu)
      .def_rw("index", &StoreOptions::index)
      .def_rw("devices", &StoreOptions::devices)
      .def_rw("seed", &StoreOptions::seed)
      .def_rw("overwrite", &StoreOptions::overwrite);
  nb::class_<StoreScan>(module, "StoreScan").def(nb::init<>());
  nb::class_<HeldStore>(module, "Store")
      .def_static(
          "create",
          [](HeldPool& pool, const std::string& name, const StoreOptions& options) {
            const Unlocked guard;
            return HeldStore(Store::create(pool, name, options));
          },
          "pool"_a, "name"_a, "options"_a)
      .def_static("create_in_new_pool", &create_in_new_pool, "path"_a, "name"_a, "options"_a)
      .def_static(
          "open",
          [](HeldPool& pool, const std::string& name, const StoreOptions& options) {
            const Unlocked guard;
            return HeldStore(Store::open(pool, name, options));
          },
          "pool"_a, "name"_a, "options"_a)
      .def("get", &get, "key"_a)
      .def(
          "item",
          [](const HeldStore& store, const nb::bytes& key) {
            return to_tuple(released([&] { return store.get(view_of(key)); }));
          },
          "key"_a)
      .def(
          "get_and_touch",
          [](HeldStore& store, const nb::bytes& key, std::uint64_t expiry) {
            return to_tuple(released([&] { return store.get_and_touch(view_of(key), expiry); }));
          },
          "key"_a, "expiry"_a)
      .def(
          "contains",
          [](const HeldStore& store, const nb::bytes& key) {
            return released([&] { return store.contains(view_of(key)); });
          },
          "key"_a)
      .def("put", &put, "key"_a, "value"_a, "how"_a = 0, "flags"_a = 0, "expiry"_a = 0, "expected"_a = 0)
      .def("extend", &extend, "key"_a, "value"_a, "before"_a)
      .def("count", &count, "key"_a, "by"_a, "subtract"_a)
      .def(
          "touch",
          [](HeldStore& store, const nb::bytes& key, std::uint64_t expiry) {
            return static_cast<Code>(released([&] { return store.touch(view_of(key), expiry); }));
          },
          "key"_a, "expiry"_a)
      .def(
          "mark_stale",
          [](HeldStore& store, const nb::bytes& key, std::uint64_t expiry) {
            return static_cast<Code>(released([&] { return store.mark_stale(view_of(key), expiry); }));
          },
          "key"_a, "expiry"_a)
      .def(
          "erase",
          [](HeldStore& store, const nb::bytes& key, std::uint64_t expected) {
            return static_cast<Code>(released([&] { return store.erase(view_of(key), expected); }));
          },
          "key"_a, "expected"_a = 0)
      .def("get_many", &get_many, "size"_a, "bytes"_a, "offsets"_a, "values"_a, "flags"_a = 0, "cas"_a = 0,
           "expiry"_a = 0)
      .def("get_into", &get_into, "size"_a, "bytes"_a, "offsets"_a, "values"_a, "row_bytes"_a, "on_device"_a,
           "statuses"_a, "sizes"_a, "stream"_a)
      .def("set_many", &set_many, "size"_a, "key_bytes"_a, "key_offsets"_a, "value_bytes"_a, "value_offsets"_a,
           "items"_a, "flags"_a, "expiries"_a, "statuses"_a)
      .def("erase_many", &erase_many, "size"_a, "bytes"_a, "offsets"_a, "statuses"_a)
      .def("visit_some", &visit_some, "scan"_a)
      .def("flush_all", &Store::flush_all, unlocked)
      .def("flush_all_at", &Store::flush_all_at, "time"_a, unlocked)
      .def("size", &Store::size, unlocked)
      .def("now", &Store::now, unlocked)
      .def("stats", &stats)
      .def("set_limit", &Store::set_limit, "bytes"_a, unlocked)
      .def("reclaim", &Store::reclaim, unlocked)
      .def("drop_damaged", &Store::drop_damaged, unlocked)
      .def("domain", [](const HeldStore& store) { return name(released([&] { return store.domain(); })); })
      .def("snapshot", &snapshot, "path"_a, "overwrite"_a, "threads"_a, "progress"_a.none(), "Copies the store's pool.")
      .def("check", [](const HeldStore& store) { return to_dict(released([&] { return store.check(); })); })
      .def("sync", &Store::sync, unlocked)
      .def("close", &Store::close, unlocked)
      .def("is_open", &Store::is_open);
}

}  // namespace holdfast::python
