// store.cpp: the public Store: single operations.
#include <algorithm>

#include "store/store_impl.hpp"
#include "store/store_kind.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

using store::Change;
using store::cpu::Ask;
using store::cpu::Condition;
using store::cpu::Engine;

namespace {

constexpr const char* kNames[kStoreStatuses] = {"inserted", "updated",  "erased",    "found",   "not_found", "exists",
                                                "mismatch", "no_space", "too_large", "not_run", "damaged"};

}  // namespace

const char* name(StoreStatus status) { return kNames[static_cast<unsigned>(status)]; }

Store::Store(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Store Store::create(Pool& pool, const std::string& name, const StoreOptions& options) {
  const auto make = [&](pool::Edit& edit, const std::shared_ptr<pool::PoolFile>& file, const std::string& label) {
    store::require_valid(options, label);
    const store::StoreUse use{
        .label = label, .seed = options.seed, .flush = options.flush, .limit = options.limit_bytes};
    return std::make_shared<Impl>(PoolAccess::of(pool).shared_from_this(),
                                  store::StoreObject::create(edit, file, name, use), options);
  };
  return Store(PoolAccess::create<Impl>(pool, kinds::store_kind(), name, options.overwrite, make));
}

Store Store::open(Pool& pool, const std::string& name, const StoreOptions& options) {
  const auto reopen = [&](const std::shared_ptr<pool::PoolFile>& file, const pool::ObjectEntry& entry,
                          const std::string& label) {
    store::require_valid(options, label);
    const store::StoreUse use{.label = label, .flush = options.flush, .salvage = PoolAccess::of(pool).options.salvage};
    return std::make_shared<Impl>(PoolAccess::of(pool).shared_from_this(), store::StoreObject::open(file, entry, use),
                                  options);
  };
  return Store(PoolAccess::open<Impl>(pool, name, reopen));
}

std::optional<StoreItem> Store::get(std::string_view key) const { return impl_->get(key); }
std::optional<StoreItem> Store::get_and_touch(std::string_view key, std::uint64_t expiry) {
  impl_->require_key(key.size());
  impl_->require_item({.expiry = expiry});
  return impl_->use().change(1, [&](Engine& engine) -> std::optional<StoreItem> {
    StoreItem item;
    store::State state;
    const store::ItemCopier copy{engine, item};
    const Change change = engine.get_and_touch(bytes_of(key), expiry, copy, state);
    if (impl_->answer(change, key) != StoreStatus::updated) return std::nullopt;
    item.expiry = state.expiry();
    item.is_stale = state.is_stale();
    return item;
  });
}
bool Store::contains(std::string_view key) const {
  impl_->require_key(key.size());
  return impl_->single().read(bytes_of(key), nullptr);
}

StoreStatus Store::set(std::string_view key, std::string_view value, const ItemOptions& item) {
  return impl_->set(key, value, item, Condition::none);
}
StoreStatus Store::add(std::string_view key, std::string_view value, const ItemOptions& item) {
  return impl_->set(key, value, item, Condition::absent);
}
StoreStatus Store::replace(std::string_view key, std::string_view value, const ItemOptions& item) {
  return impl_->set(key, value, item, Condition::present);
}
StoreStatus Store::cas(std::string_view key, std::string_view value, std::uint64_t expected, const ItemOptions& item) {
  return impl_->set(key, value, item, Condition::cas, expected);
}
StoreStatus Store::append(std::string_view key, std::string_view value) { return impl_->extend(key, value, false); }
StoreStatus Store::prepend(std::string_view key, std::string_view value) { return impl_->extend(key, value, true); }
StoreStatus Store::increment(std::string_view key, std::uint64_t by, std::uint64_t& result) {
  return impl_->count(key, by, false, result);
}
StoreStatus Store::decrement(std::string_view key, std::uint64_t by, std::uint64_t& result) {
  return impl_->count(key, by, true, result);
}
StoreStatus Store::touch(std::string_view key, std::uint64_t expiry) {
  impl_->require_item({.expiry = expiry});
  return impl_->answer(impl_->single().change(impl_->ask_of(key, Ask::Kind::touch, expiry)), key);
}
StoreStatus Store::mark_stale(std::string_view key, std::uint64_t expiry) {
  impl_->require_item({.expiry = expiry});
  return impl_->answer(impl_->single().change(impl_->ask_of(key, Ask::Kind::mark_stale, expiry)), key);
}
StoreStatus Store::erase(std::string_view key, std::uint64_t expected) {
  Ask ask = impl_->ask_of(key, Ask::Kind::erase, 0);
  ask.cas = expected;
  return status_of(impl_->single().change(ask));
}
void Store::flush_all() {
  impl_->use().change(1, [](Engine& engine) {
    engine.flush_all();
    return true;
  });
}
void Store::flush_all_at(std::uint64_t time) {
  impl_->require_item({.expiry = time});
  impl_->use().change(1, [&](Engine& engine) {
    engine.flush_all_at(time);
    return true;
  });
}

std::uint64_t Store::size() const {
  return impl_->use().search([](Engine& engine) { return engine.size(); });
}
std::uint64_t Store::now() const {
  return impl_->use().search([](Engine& engine) { return engine.now(); });
}
StoreStats Store::stats() const { return impl_->use().stats(); }
void Store::set_limit(std::uint64_t bytes) { impl_->use().set_limit(bytes); }
std::uint64_t Store::reclaim() {
  return impl_->use().change(
      1, [](Engine& engine) { return engine.reclaim(std::max<std::uint64_t>(1, engine.slabs() / 16)); });
}
/// A store without damage stays clean.
std::uint64_t Store::drop_damaged() {
  if (!impl_->use().search([](Engine& engine) { return engine.damaged() != 0; })) return 0;
  return impl_->use().change(1, [](Engine& engine) { return engine.drop_damaged(); });
}
Domain Store::domain() const { return impl_->use().domain(); }
SnapshotResult Store::snapshot(const std::string& path, const SnapshotOptions& options) {
  return impl_->pool()->snapshot(path, options);
}
CheckReport Store::check() const { return impl_->check(); }
void Store::sync() { impl_->use().sync(); }
void Store::close() {
  if (impl_) impl_->close();
}
bool Store::is_open() const { return impl_ && impl_->is_open(); }

}  // namespace holdfast
