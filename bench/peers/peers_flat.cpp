// peers_flat.cpp: Boost's concurrent_flat_map, and absl::flat_hash_map in 256 shards, each under a lock, behind a benchmark's
// batches: one call of theirs an operation.
#include "holdfast/error.hpp"
#include "peers/target.hpp"

#ifdef HOLDFAST_HAVE_BOOST
#include <boost/unordered/concurrent_flat_map.hpp>
#endif
#ifdef HOLDFAST_HAVE_ABSL
#include <absl/container/flat_hash_map.h>

#include <array>
#include <mutex>
#endif

namespace holdfast::bench {
namespace {

[[maybe_unused]] Status found_if(bool found, Status then) { return found ? then : Status::not_found; }

/// Calls `one(op, key, value in, value out)` for each operation.
template <class One>
[[maybe_unused]] void run_each(const Work& work, One&& one) {
  const auto* values = reinterpret_cast<const std::uint64_t*>(work.values);
  auto* out = reinterpret_cast<std::uint64_t*>(work.out);
  for (std::size_t i = 0; i < work.size; ++i) {
    const Op op = work.ops != nullptr ? static_cast<Op>(work.ops[i]) : work.op;
    work.statuses[i] = one(op, work.keys[i], values + i, out + i);
  }
}

#ifdef HOLDFAST_HAVE_BOOST
class BoostTarget final : public Target {
 public:
  explicit BoostTarget(std::uint64_t capacity) : map_(capacity) {}

  void run(const Work& work) override {
    run_each(work, [this](Op op, std::uint64_t key, const std::uint64_t* value, std::uint64_t* out) {
      switch (op) {
        case Op::find:
          return found_if(map_.cvisit(key, [out](const auto& item) { *out = item.second; }) != 0, Status::found);
        case Op::insert: return map_.emplace(key, *value) ? Status::inserted : Status::exists;
        case Op::insert_or_assign: return map_.insert_or_assign(key, *value) ? Status::inserted : Status::updated;
        case Op::assign:
          return found_if(map_.visit(key, [value](auto& item) { item.second = *value; }) != 0, Status::updated);
        case Op::erase: return found_if(map_.erase(key) != 0, Status::erased);
        case Op::accumulate:
          return map_.emplace_or_visit(key, *value, [value](auto& item) { item.second += *value; }) ? Status::inserted
                                                                                                    : Status::updated;
        default: return Status::not_run;
      }
    });
  }
  std::string name() const override { return "boost"; }
  std::uint64_t size() const override { return map_.size(); }
  std::size_t value_bytes() const override { return 8; }

 private:
  boost::concurrent_flat_map<std::uint64_t, std::uint64_t> map_;
};
#endif

#ifdef HOLDFAST_HAVE_ABSL
class AbslTarget final : public Target {
 public:
  explicit AbslTarget(std::uint64_t capacity) {
    for (Shard& shard : shards_) shard.map.reserve(capacity / kShards + capacity / kShards / 64 + 64);
  }

  void run(const Work& work) override {
    run_each(work, [this](Op op, std::uint64_t key, const std::uint64_t* value, std::uint64_t* out) {
      Shard& shard = shards_[mix(key) >> 56];
      const std::lock_guard lock(shard.mutex);
      switch (op) {
        case Op::find: {
          const auto at = shard.map.find(key);
          if (at == shard.map.end()) return Status::not_found;
          *out = at->second;
          return Status::found;
        }
        case Op::insert: return shard.map.emplace(key, *value).second ? Status::inserted : Status::exists;
        case Op::insert_or_assign:
          return shard.map.insert_or_assign(key, *value).second ? Status::inserted : Status::updated;
        case Op::assign: {
          const auto at = shard.map.find(key);
          if (at == shard.map.end()) return Status::not_found;
          at->second = *value;
          return Status::updated;
        }
        case Op::erase: return found_if(shard.map.erase(key) != 0, Status::erased);
        case Op::accumulate: {
          const auto [at, added] = shard.map.try_emplace(key, *value);
          if (!added) at->second += *value;
          return added ? Status::inserted : Status::updated;
        }
        default: return Status::not_run;
      }
    });
  }
  std::string name() const override { return "absl"; }
  std::uint64_t size() const override {
    std::uint64_t items = 0;
    for (const Shard& shard : shards_) items += shard.map.size();
    return items;
  }
  std::size_t value_bytes() const override { return 8; }

 private:
  static constexpr std::size_t kShards = 256;
  static std::uint64_t mix(std::uint64_t key) { return (key ^ key >> 29) * 0x9e37'79b9'7f4a'7c15; }
  struct alignas(64) Shard {
    std::mutex mutex;
    absl::flat_hash_map<std::uint64_t, std::uint64_t> map;
  };
  std::array<Shard, kShards> shards_;
};
#endif

}  // namespace

std::unique_ptr<Target> boost_target([[maybe_unused]] std::uint64_t capacity) {
#ifdef HOLDFAST_HAVE_BOOST
  return std::make_unique<BoostTarget>(capacity);
#else
  throw InvalidArgument("this build has no boost::concurrent_flat_map: install libboost1.83-dev and build again");
#endif
}

std::unique_ptr<Target> absl_target([[maybe_unused]] std::uint64_t capacity) {
#ifdef HOLDFAST_HAVE_ABSL
  return std::make_unique<AbslTarget>(capacity);
#else
  throw InvalidArgument("this build has no absl::flat_hash_map: install libabsl-dev and build again");
#endif
}

}  // namespace holdfast::bench
