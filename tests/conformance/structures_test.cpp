// structures_test.cpp: persistent hash tables of the comparison under the conformance suite, operation by operation.
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "conformance/suite.hpp"
#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

/// Batches on a table of single operations, such as a GroupTable.
template <class Single>
class OneByOne {
 public:
  OneByOne(Pool pool, Single table) : pool_(std::move(pool)), table_(std::move(table)) {}

  BatchResult run(const Batch& batch) {
    BatchResult result;
    const std::size_t bytes = table_.key_bytes();
    for (std::size_t row = 0; row < batch.size; ++row) {
      const bool runs = batch.mask == nullptr || batch.mask[row] != 0;
      const Op op = batch.ops != nullptr ? static_cast<Op>(batch.ops[row]) : batch.op;
      const auto* const key = static_cast<const std::uint8_t*>(batch.keys) + row * bytes;
      Value given(bytes), seen(bytes, 0);
      if (batch.values != nullptr) {
        const auto* const from = static_cast<const std::uint8_t*>(batch.values) + row * bytes;
        given.assign(from, from + bytes);
      }
      const bool found = runs && table_.find(key, seen.data()) == Status::found;
      const Status status =
          runs ? apply(op, key, given, seen, batch.accumulate.value_or(Accumulate{})) : Status::not_run;
      seen.assign(bytes, 0);
      if (runs && reads_value(op)) table_.find(key, seen.data());
      if (batch.out != nullptr) std::memcpy(static_cast<std::uint8_t*>(batch.out) + row * bytes, seen.data(), bytes);
      if (batch.statuses != nullptr) batch.statuses[row] = status;
      if (batch.found != nullptr) batch.found[row] = found;
      ++result.count[static_cast<unsigned>(status)];
    }
    result.next = batch.size;
    return result;
  }
  std::size_t export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n) {
    const std::size_t bytes = table_.key_bytes();
    if (cursor == 0) {
      exported_.clear();
      table_.for_each([&](const void* key, const void* value) {
        for (const void* from : {key, value}) {
          exported_.insert(exported_.end(), static_cast<const std::uint8_t*>(from),
                           static_cast<const std::uint8_t*>(from) + bytes);
        }
        return true;
      });
    }
    const std::uint64_t all = exported_.size() / (2 * bytes);
    std::size_t got = 0;
    for (; got < n && cursor + got < all; ++got) {
      const std::uint8_t* const from = exported_.data() + (cursor + got) * 2 * bytes;
      std::memcpy(static_cast<std::uint8_t*>(keys) + got * bytes, from, bytes);
      std::memcpy(static_cast<std::uint8_t*>(values) + got * bytes, from + bytes, bytes);
    }
    cursor = cursor + got == all ? ~std::uint64_t{0} : cursor + got;
    return got;
  }
  std::uint64_t size() const { return table_.size(); }
  std::uint64_t slots() const { return table_.cells(); }
  std::uint32_t key_bytes() const { return table_.key_bytes(); }
  std::uint32_t value_bytes() const { return table_.key_bytes(); }
  void clear() { table_.clear(); }
  void reserve(std::uint64_t items) { table_.reserve(items); }
  CheckReport check() { return table_.check(); }

 private:
  Status apply(Op op, const void* key, const Value& given, const Value& there, const Accumulate& how) {
    switch (op) {
      case Op::insert:
      case Op::insert_and_find: return table_.insert(key, given.data());
      case Op::find_or_insert: {
        const Status status = table_.insert(key, given.data());
        return status == Status::exists ? Status::found : status;
      }
      case Op::assign: return table_.assign(key, given.data());
      case Op::erase: return table_.erase(key);
      case Op::find:
      case Op::contains: {
        Value unused(key_bytes());
        return table_.find(key, unused.data());
      }
      case Op::insert_or_assign: break;
      case Op::accumulate: {
        Value sum = there;
        combine_value(sum, given.data(), how.combine, how.element);
        const Status status = table_.assign(key, sum.data());
        return status == Status::not_found ? table_.insert(key, given.data()) : status;
      }
    }
    const Status status = table_.insert(key, given.data());
    return status == Status::exists ? table_.assign(key, given.data()) : status;
  }

  Pool pool_;
  Single table_;
  std::vector<std::uint8_t> exported_;
};

/// Any of them: what creates it, and what opens it.
struct OneTable {
  std::function<HashTable(Pool&)> create, open;
};
template <class Single, class Options>
OneTable table_of(Options options) {
  Options reopened = options;
  return {[=](Pool& pool) -> HashTable { return Single::create(pool, "a", options); },
          [=](Pool& pool) -> HashTable { return Single::open(pool, "a", reopened); }};
}
using Batches = OneByOne<HashTable>;
static_assert(BatchTable<Batches> && SelfChecking<Batches>);

ConformanceSubject<Batches> subject_of(const std::string& name, const OneTable& table) {
  const std::string path = "/dev/shm/holdfast-conformance-" + name + "-" + std::to_string(getpid()) + ".hold";
  struct Removed {
    std::string path;
    ~Removed() { unlink(path.c_str()); }
  };
  const auto removed = std::make_shared<Removed>(path);
  ConformanceSubject<Batches> subject;
  subject.name = name;
  subject.seed = 7;
  subject.create = [=] {
    Pool pool = Pool::create(removed->path, true);
    HashTable made = table.create(pool);
    return std::make_unique<Batches>(std::move(pool), std::move(made));
  };
  subject.reopen = [=] {
    Pool pool = Pool::open(removed->path);
    HashTable opened = table.open(pool);
    return std::make_unique<Batches>(std::move(pool), std::move(opened));
  };
  return subject;
}

ConformanceSubject<Batches> group_of(std::uint32_t item_bytes, std::uint32_t group_size, bool flush) {
  const std::string name =
      "items" + std::to_string(item_bytes) + "_groups" + std::to_string(group_size) + (flush ? "_power" : "");
  return subject_of(name,
                    table_of<GroupTable>(GroupTableOptions{
                        .item_bytes = item_bytes, .cells = 16, .group_size = group_size, .seed = 7, .flush = flush}));
}
/// A scheme with its log, flushed, and without; both sizes of items.
template <class Single>
std::vector<ConformanceSubject<Batches>> forms_of(const std::string& scheme) {
  std::vector<ConformanceSubject<Batches>> subjects;
  for (const std::uint32_t bytes : {16u, 32u}) {
    for (const bool log : {false, true}) {
      const SchemeTableOptions options{.item_bytes = bytes, .cells = 16, .undo_log = log, .seed = 7, .flush = log};
      subjects.push_back(
          subject_of(scheme + (log ? "_log" : "") + "_items" + std::to_string(bytes), table_of<Single>(options)));
    }
  }
  return subjects;
}

const Conformance<Batches> group_tables("GroupTable", {group_of(16, 64, true), group_of(16, 256, false),
                                                       group_of(32, 64, false), group_of(32, 256, true)});
const Conformance<Batches> linear_tables("LinearTable", forms_of<LinearTable>("linear"));
const Conformance<Batches> pfht_tables("PfhtTable", forms_of<PfhtTable>("pfht"));
const Conformance<Batches> path_tables("PathTable", forms_of<PathTable>("path"));

}  // namespace
}  // namespace holdfast::test
