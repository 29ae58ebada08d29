// store_batch.cpp: the public Store: batches, and visits of all items.
#include <limits>

#include "store/store_impl.hpp"

namespace holdfast {

using store::cpu::Engine;

namespace {

constexpr unsigned kLastPass = 2, kDone = 3;

/// Begins the next pass: what it visits has numbers that no later item has.
void begin_pass(Engine& engine, StoreScan& scan, unsigned pass) {
  scan.pass = pass;
  scan.piece = 0;
  scan.from = scan.to;
  scan.to = pass == kLastPass ? std::numeric_limits<std::uint64_t>::max() : engine.newest();
}

}  // namespace

void Store::get(const StoreRows& keys, StoreItems& items) const {
  const store::cpu::ByteRows rows = impl_->keys_of(keys);
  items.values.reset(rows.size);
  items.flags.assign(rows.size, 0);
  items.cas.assign(rows.size, 0);
  items.expiry.assign(rows.size, 0);
  Blob* const values = items.values.rows();
  Arena& arena = items.values.arena();
  impl_->use().search([&](Engine& engine) {
    const auto copy = [&](std::size_t row, const store::Header& header, store::State state, std::uint64_t sequence,
                          const store::Cell& cell) {
      std::byte* const to = arena.take(header.value_bytes);
      const bool is_whole = engine.copy_value(header, sequence, cell, to);
      values[row] = {to, header.value_bytes};
      items.flags[row] = header.flags;
      items.cas[row] = engine.cas_of(header, sequence, cell);
      items.expiry[row] = state.expiry();
      return is_whole;
    };
    engine.read(rows, copy, [&](std::size_t row, bool found) {
      if (found) return;
      values[row] = {};
      items.flags[row] = 0;
      items.cas[row] = items.expiry[row] = 0;
    });
    return true;
  });
}

void Store::getk(const StoreRows& keys, StoreCandidates& candidates) const {
  const store::cpu::ByteRows rows = impl_->keys_of(keys);
  candidates = {};
  candidates.first.assign(rows.size + 1, 0);
  impl_->use().search([&](Engine& engine) {
    StoreCandidate seen;
    const auto copy = [&](const store::Header& header, store::State state, std::uint64_t sequence,
                          const store::Cell& cell) {
      std::byte* const key = candidates.memory.take(header.key_bytes);
      std::byte* const value = candidates.memory.take(header.value_bytes);
      engine.copy_key(header, cell, key);
      seen.key = {reinterpret_cast<const char*>(key), header.key_bytes};
      seen.value = {reinterpret_cast<const char*>(value), header.value_bytes};
      seen.flags = header.flags;
      seen.cas = engine.cas_of(header, sequence, cell);
      seen.expiry = state.expiry();
      return engine.copy_value(header, sequence, cell, value);
    };
    const auto keep = [&](std::size_t row) {
      candidates.items.push_back(seen);
      candidates.first[row + 1] = candidates.items.size();
    };
    engine.read_candidates(rows, copy, keep, [&](std::size_t row) {
      candidates.items.resize(candidates.first[row]);
      candidates.first[row + 1] = candidates.first[row];
    });
    return true;
  });
}

std::size_t Store::set(const StoreRows& keys, const StoreRows& values, std::span<const ItemOptions> items,
                       std::span<StoreStatus> statuses) {
  require_rows("values", values.size, keys.size, Many::each);
  require_rows("items", items.size(), keys.size, Many::each_or_one_or_none);
  require_rows("statuses", statuses.size(), keys.size, Many::each_or_none);
  for (const ItemOptions& item : items) impl_->require_item(item);
  const store::cpu::ByteRows rows = impl_->keys_of(keys);
  const store::cpu::ByteRows its =
      Impl::rows_of("values", values, [&](std::size_t bytes, std::size_t row) { impl_->require_value(bytes, row); });
  return impl_->use().change(rows.size, [&](Engine& engine) {
    std::size_t failed = 0;
    const auto content = [&](std::size_t row) {
      const ItemOptions none;
      return content_of(rows[row], its[row], items.empty() ? none : items[items.size() == 1 ? 0 : row]);
    };
    engine.set(rows, content, store::cpu::Condition::none, [&](std::size_t row, store::Change change) {
      const StoreStatus status = status_of(change);
      failed += status == StoreStatus::inserted || status == StoreStatus::updated ? 0 : 1;
      if (!statuses.empty()) statuses[row] = status;
    });
    return failed;
  });
}

std::size_t Store::erase(const StoreRows& keys, std::span<StoreStatus> statuses) {
  require_rows("statuses", statuses.size(), keys.size, Many::each_or_none);
  const store::cpu::ByteRows rows = impl_->keys_of(keys);
  return impl_->use().change(rows.size, [&](Engine& engine) {
    std::size_t erased = 0;
    engine.erase(rows, [&](std::size_t row, store::Change change) {
      erased += change == store::Change::erased ? 1 : 0;
      if (!statuses.empty()) statuses[row] = status_of(change);
    });
    return erased;
  });
}

bool Store::visit_some(StoreScan& scan, const Visit& visit) const {
  store::OpenStore& store = impl_->use();
  if (!visit) throw InvalidArgument(impl_->path + ": there is nothing to call for each item: give a function");
  if (scan.generation == 0) {
    scan = {};
    store.alone([&](Engine& engine) {
      begin_pass(engine, scan, 0);
      scan.generation = engine.next_generation();
      return true;
    });
    scan.from = 0;
  }
  const auto as_item = [](std::span<const std::byte> value, const store::cpu::Value& its) {
    return StoreItem{std::string(reinterpret_cast<const char*>(value.data()), value.size()), its.flags, its.cas,
                     its.expiry, its.is_stale};
  };
  const auto text = [](std::span<const std::byte> bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  std::vector<std::pair<std::string, StoreItem>> items;  // `visit` may use the store
  const auto collect = [&](std::span<const std::byte> key, std::span<const std::byte> value,
                           const store::cpu::Value& its) {
    items.emplace_back(text(key), as_item(value, its));
    return true;
  };
  if (scan.pass < kLastPass) {
    const bool ends = store.search([&](Engine& engine) {
      engine.visit(scan.piece, scan.pass == 0 ? 0 : scan.generation, scan.from, scan.to, collect);
      return ++scan.piece >= engine.slabs();
    });
    if (ends) {
      store.alone([&](Engine& engine) {
        begin_pass(engine, scan, scan.pass + 1);
        if (scan.pass < kLastPass) {
          scan.last_generation = engine.next_generation();
          return true;
        }
        for (std::uint64_t slab = 0; slab < engine.slabs(); ++slab) {
          engine.visit(slab, scan.last_generation, scan.from, scan.to, collect);
        }
        scan.pass = kDone;
        return true;
      });
    }
  }
  for (const auto& [key, item] : items) {
    if (visit(key, item)) continue;
    scan.pass = kDone;
    return false;
  }
  return scan.pass != kDone;
}

void Store::for_each(const Visit& visit) const {
  StoreScan scan;
  while (visit_some(scan, visit)) {
  }
}

}  // namespace holdfast
