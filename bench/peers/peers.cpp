// peers.cpp: libcuckoo and TBB behind a benchmark's batches: one call of theirs an operation. Neither is durable.
#include <utility>

#include "holdfast/error.hpp"
#include "peers/target.hpp"

#ifdef HOLDFAST_HAVE_LIBCUCKOO
#include <libcuckoo/cuckoohash_map.hh>
#endif
#ifdef HOLDFAST_HAVE_TBB
#include <tbb/concurrent_hash_map.h>
#endif

namespace holdfast::bench {
namespace {

[[maybe_unused]] Status if_found(bool found, Status then) { return found ? then : Status::not_found; }

/// Runs a batch by calling `one(op, key, value in, value out)` for each operation, the loop specialised where all are alike.
template <class One>
[[maybe_unused]] void each_operation(const Work& work, One&& one) {
  const auto* values = reinterpret_cast<const std::uint64_t*>(work.values);
  auto* out = reinterpret_cast<std::uint64_t*>(work.out);
  const auto loop = [&](auto op_of) {
    for (std::size_t i = 0; i < work.size; ++i) {
      work.statuses[i] = one(op_of(i), work.keys[i], values + i, out + i);
    }
  };
  if (work.ops != nullptr) return loop([&](std::size_t i) { return static_cast<Op>(work.ops[i]); });
  switch (work.op) {
    case Op::find: return loop([](std::size_t) { return Op::find; });
    case Op::insert: return loop([](std::size_t) { return Op::insert; });
    case Op::assign: return loop([](std::size_t) { return Op::assign; });
    case Op::erase: return loop([](std::size_t) { return Op::erase; });
    case Op::accumulate: return loop([](std::size_t) { return Op::accumulate; });
    default: throw InvalidArgument("the peers run find, insert, assign, erase and accumulate only");
  }
}

#ifdef HOLDFAST_HAVE_LIBCUCKOO
class LibcuckooTarget final : public Target {
 public:
  explicit LibcuckooTarget(std::uint64_t capacity) : map_(capacity) {}

  void run(const Work& work) override {
    each_operation(work, [this](Op op, std::uint64_t key, const std::uint64_t* value, std::uint64_t* out) {
      switch (op) {
        case Op::find: return if_found(map_.find(key, *out), Status::found);
        case Op::insert: return map_.insert(key, *value) ? Status::inserted : Status::exists;
        case Op::assign: return if_found(map_.update(key, *value), Status::updated);
        case Op::erase: return if_found(map_.erase(key), Status::erased);
        case Op::accumulate:
          return map_.upsert(
                     key, [value](std::uint64_t& there) { there += *value; }, *value)
                     ? Status::inserted
                     : Status::updated;
        default: return Status::not_run;
      }
    });
  }
  std::string name() const override { return "libcuckoo"; }
  std::uint64_t size() const override { return map_.size(); }
  std::size_t value_bytes() const override { return 8; }

 private:
  libcuckoo::cuckoohash_map<std::uint64_t, std::uint64_t> map_;
};
#endif

#ifdef HOLDFAST_HAVE_TBB
class TbbTarget final : public Target {
  using Map = tbb::concurrent_hash_map<std::uint64_t, std::uint64_t>;

 public:
  explicit TbbTarget(std::uint64_t capacity) : map_(capacity) {}

  void run(const Work& work) override {
    each_operation(work, [this](Op op, std::uint64_t key, const std::uint64_t* value, std::uint64_t* out) {
      switch (op) {
        case Op::find: {
          Map::const_accessor item;
          if (!map_.find(item, key)) return Status::not_found;
          *out = item->second;
          return Status::found;
        }
        case Op::insert: return map_.insert(std::make_pair(key, *value)) ? Status::inserted : Status::exists;
        case Op::assign: {
          Map::accessor item;
          if (!map_.find(item, key)) return Status::not_found;
          item->second = *value;
          return Status::updated;
        }
        case Op::erase: return if_found(map_.erase(key), Status::erased);
        case Op::accumulate: {
          Map::accessor item;
          const bool added = map_.insert(item, std::make_pair(key, *value));
          if (!added) item->second += *value;
          return added ? Status::inserted : Status::updated;
        }
        default: return Status::not_run;
      }
    });
  }
  std::string name() const override { return "tbb"; }
  std::uint64_t size() const override { return map_.size(); }
  std::size_t value_bytes() const override { return 8; }

 private:
  Map map_;
};
#endif

}  // namespace

std::unique_ptr<Target> libcuckoo_target([[maybe_unused]] std::uint64_t capacity) {
#ifdef HOLDFAST_HAVE_LIBCUCKOO
  return std::make_unique<LibcuckooTarget>(capacity);
#else
  throw InvalidArgument("this build has no libcuckoo: install libcuckoo-dev and build again");
#endif
}

std::unique_ptr<Target> tbb_target([[maybe_unused]] std::uint64_t capacity) {
#ifdef HOLDFAST_HAVE_TBB
  return std::make_unique<TbbTarget>(capacity);
#else
  throw InvalidArgument("this build has no TBB: install libtbb-dev and build again");
#endif
}

std::vector<std::string> peers() {
  std::vector<std::string> names;
#ifdef HOLDFAST_HAVE_LIBCUCKOO
  names.emplace_back("libcuckoo");
#endif
#ifdef HOLDFAST_HAVE_TBB
  names.emplace_back("tbb");
#endif
  return names;
}

}  // namespace holdfast::bench
