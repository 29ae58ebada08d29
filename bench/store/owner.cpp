// owner.cpp: a store whose workers own their keys.
#include "store/owner.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/hash.hpp"

namespace holdfast::bench::store {

namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kLinesAhead = 32;  ///< of an item that are prefetched

std::uint64_t buckets_for(std::uint64_t items) { return std::bit_ceil(std::max<std::uint64_t>(16, items / 4)); }

}  // namespace

OwnedBatch::OwnedBatch(const DataSet& set, std::size_t most)
    : requests(set, most), answers(most), hashes(most), values(most * set.value_bytes) {}

void OwnedBatch::put(std::span<const Wanted> wanted) {
  requests.put(wanted);
  rows.clear();
  for (std::size_t row = 0; row < wanted.size(); ++row) rows.push_back(requests[row]);
}

std::uint64_t OwnedBatch::wrong() const {
  return requests.wrong([&](std::size_t row) { return answers[row]; });
}

Owner::Owner(const DataSet& set, std::uint64_t items)
    : mask_(buckets_for(items) - 1),
      most_buckets_(buckets_for(items) * 5 / 4),
      item_bytes_((sizeof(Item) + set.key_bytes + set.value_bytes + 7) / 8 * 8),
      most_bytes_(kLine + items * item_bytes_),
      next_bucket_(mask_ + 1),
      used_(kLine),  // no item is at place 0
      buckets_(most_buckets_ * sizeof(Bucket), true),
      items_(most_bytes_, true) {}

std::uint64_t Owner::hash_of(std::string_view key) {
  const auto word = [&](std::uint64_t i) {
    std::uint64_t word = 0;
    std::memcpy(&word, key.data() + 8 * i, std::min<std::size_t>(8, key.size() - 8 * i));
    return word;
  };
  return hash_bytes(key.size(), 0, word);
}

void Owner::add(std::uint64_t hash, std::string_view key, std::string_view value) {
  require(used_ + item_bytes_ <= most_bytes_, "memory for items");
  Item* const item = item_at(used_);
  *item = {static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
  std::memcpy(item->bytes(), key.data(), key.size());
  std::memcpy(item->bytes() + key.size(), value.data(), value.size());
  Bucket* bucket = &bucket_of(hash);
  while (true) {  // ends: the last bucket of the list has space, or gets a successor
    for (std::uint64_t& entry : bucket->entries) {
      if (entry != 0) continue;
      entry = (hash & ~kPlace) | used_;
      used_ += item_bytes_;
      return;
    }
    if (bucket->next == 0) {
      require(next_bucket_ < most_buckets_, "memory for buckets");
      bucket->next = next_bucket_++;
    }
    bucket = &buckets_.as<Bucket>()[bucket->next];
  }
}

/// The first item whose entry has these bits; the key is most often its.
void Owner::prefetch_item(std::uint64_t hash) {
  for (const std::uint64_t entry : bucket_of(hash).entries) {
    if (((entry ^ hash) & ~kPlace) != 0 || entry == 0) continue;
    const char* const first = reinterpret_cast<const char*>(item_at(entry));
    for (std::uint64_t at = 0; at < std::min(item_bytes_, kLinesAhead * kLine); at += kLine) {
      __builtin_prefetch(first + at);
    }
    return;
  }
}

Owner::Item* Owner::find(std::uint64_t hash, std::string_view key) {
  const Bucket* bucket = &bucket_of(hash);
  while (true) {  // ends: lists of buckets end
    for (const std::uint64_t entry : bucket->entries) {
      if (((entry ^ hash) & ~kPlace) == 0 && entry != 0 && item_at(entry)->has(key)) return item_at(entry);
    }
    if (bucket->next == 0) return nullptr;
    bucket = &buckets_.as<Bucket>()[bucket->next];
  }
}

void Owner::run(OwnedBatch& batch) {
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    batch.hashes[row] = hash_of(batch.rows[row].key);
    __builtin_prefetch(&bucket_of(batch.hashes[row]));
  }
  for (std::size_t row = 0; row < batch.rows.size(); ++row) prefetch_item(batch.hashes[row]);
  char* next = batch.values.data();
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    const StoreRequest& request = batch.rows[row];
    StoreAnswer& answer = batch.answers[row] = {};
    Item* const item = find(batch.hashes[row], request.key);
    if (item == nullptr) continue;
    char* const value = item->bytes() + item->key_bytes;
    if (request.op == StoreOp::get) {
      std::memcpy(next, value, item->value_bytes);
      answer = {.status = StoreStatus::found, .value = {next, item->value_bytes}};
      next += item->value_bytes;
    } else if (request.value.size() == item->value_bytes) {  // in place, as in MICA
      std::memcpy(value, request.value.data(), request.value.size());
      answer.status = StoreStatus::updated;
    }
  }
}

std::vector<std::unique_ptr<Owner>> owners_of(const Setup& setup, const DataSet& set) {
  std::vector<std::unique_ptr<Owner>> owners(setup.threads);
  const std::uint64_t most = setup.items / setup.threads * 11 / 10 + 1000;
  together(setup.threads, [&](unsigned thread) {
    owners[thread] = std::make_unique<Owner>(set, most);
    std::vector<std::byte> bytes(set.key_bytes + set.value_bytes);
    const char* const chars = reinterpret_cast<const char*>(bytes.data());
    for (std::uint64_t item = 0; item < setup.items; ++item) {
      write_key(set, item, bytes.data());
      const std::string_view key(chars, set.key_bytes);
      const std::uint64_t hash = Owner::hash_of(key);
      if (Owner::number_of(hash, setup.threads) != thread) continue;
      write_value(set, item, 1, bytes.data() + set.key_bytes);
      owners[thread]->add(hash, key, {chars + set.key_bytes, set.value_bytes});
    }
  });
  return owners;
}

std::vector<std::vector<Wanted>> by_owner(const DataSet& set, const std::vector<std::vector<Wanted>>& wanted) {
  const auto owners = static_cast<unsigned>(wanted.size());
  std::vector<std::vector<Wanted>> sorted(owners);
  std::vector<std::byte> key(set.key_bytes);
  for (const std::vector<Wanted>& of_client : wanted) {
    for (const Wanted& one : of_client) {
      write_key(set, one.item, key.data());
      const std::uint64_t hash = Owner::hash_of({reinterpret_cast<const char*>(key.data()), key.size()});
      sorted[Owner::number_of(hash, owners)].push_back(one);
    }
  }
  return sorted;
}

}  // namespace holdfast::bench::store
