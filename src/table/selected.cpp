// selected.cpp: operations on the items that a selection means. Each walks the table as an export does.
#include <algorithm>
#include <vector>

#include "core/both.hpp"
#include "structures/gphash/exports.hpp"
#include "table/impl.hpp"
#include "table/item_filter.hpp"
#include "table/predicate_thread.hpp"

namespace holdfast {

namespace {

constexpr std::uint64_t kPastEnd = gphash::Exports::kEnd;
constexpr std::size_t kPiece = std::size_t{1} << 14;     // items that changes wait for while they are erased
constexpr std::size_t kGpuPiece = std::size_t{1} << 19;  // a batch that is worth its launches
constexpr std::size_t kPieceBytes = std::size_t{64} << 20;

/// An export that ends with a scope.
struct Walk {
  explicit Walk(Table& table) : table_(table) {}
  ~Walk() {
    try {
      table_.end_export(cursor);
    } catch (const Error&) {  // closed meanwhile
    }
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  std::uint64_t cursor = 0;

 private:
  Table& table_;
};

/// Arrays for one piece.
struct Workspace {
  Workspace(bool on_gpu, const table::ItemFilter& filter, std::uint32_t key_bytes, std::uint32_t value_bytes)
      : size(std::min(on_gpu ? kGpuPiece : kPiece, std::max<std::size_t>(1, kPieceBytes / (key_bytes + value_bytes)))),
        keys(size * key_bytes),
        values(filter.reads_values() ? size * value_bytes + 1 : 0),
        scores(filter.reads_scores() ? size : 0) {}
  gphash::ExportArrays arrays() {
    return {keys.data(), values.empty() ? nullptr : values.data(), scores.empty() ? nullptr : scores.data()};
  }
  std::size_t size;
  std::vector<std::byte> keys, values;
  std::vector<std::uint64_t> scores;
};

void require_fixed(const Table& table) {
  if (table.key_bytes() != kVariableBytes) return;
  throw InvalidArgument(table.path() +
                        " has keys and values of any length, from which none are selected in this version: export its "
                        "items, choose, and erase the keys");
}

}  // namespace

std::uint64_t Table::erase_if(const Selection& selection) {
  require_fixed(*this);
  table::ItemFilter filter(selection, key_bytes(), value_bytes());
  if (filter.reads_scores()) impl_->require_scores();
  Workspace workspace(on_gpu(), filter, key_bytes(), value_bytes());
  Walk walk(*this);
  std::uint64_t erased = 0;
  while (walk.cursor != kPastEnd && !filter.stops()) {
    // Nothing changes between the look at an item and its end.
    const auto still = impl_->keep_still();
    impl_->require_writable();
    std::size_t n = impl_->machine().export_batch(walk.cursor, workspace.arrays(), workspace.size);
    impl_->must_be_whole();
    HOLDFAST_ASSERT(n <= workspace.size);
    {
      const PredicateThread running(impl_->pool_name);
      n = filter.choose(workspace.arrays(), n);
    }
    if (n == 0) continue;
    impl_->about_to_change();
    Batch batch;
    batch.op = Op::erase;
    batch.keys = workspace.keys.data();
    batch.size = n;
    BatchResult done;
    impl_->machine().run(batch, OpSet(Op::erase), 0, 0, done);
    erased += done.of(Status::erased);
    impl_->must_be_whole();
  }
  return erased;
}

std::uint64_t Table::size_if(const Selection& selection) {
  require_fixed(*this);
  table::ItemFilter filter(selection, key_bytes(), value_bytes());
  if (filter.reads_scores()) impl_->require_scores();
  Workspace workspace(on_gpu(), filter, key_bytes(), value_bytes());
  const gphash::ExportArrays items = workspace.arrays();
  Walk walk(*this);
  std::uint64_t count = 0;
  while (walk.cursor != kPastEnd && !filter.stops())
    count += filter.choose(items, export_batch(walk.cursor, items.keys, items.values, workspace.size, items.scores));
  return count;
}

std::size_t Table::export_if(const Selection& selection, std::uint64_t& cursor, void* keys, void* values, std::size_t n,
                             std::uint64_t* scores) {
  require_fixed(*this);
  table::ItemFilter filter(selection, key_bytes(), value_bytes());
  if (scores != nullptr || filter.reads_scores()) impl_->require_scores();
  std::vector<std::byte> own_values(values == nullptr && filter.reads_values() ? n * value_bytes() + 1 : 0);
  std::vector<std::uint64_t> own_scores(scores == nullptr && filter.reads_scores() ? n : 0);
  const gphash::ExportArrays all{static_cast<std::byte*>(keys),
                                 own_values.empty() ? static_cast<std::byte*>(values) : own_values.data(),
                                 own_scores.empty() ? scores : own_scores.data()};
  std::size_t count = 0;
  while (count < n && cursor != kPastEnd && !filter.stops()) {
    gphash::ExportArrays rest = all;
    rest.keys += count * key_bytes();
    if (rest.values != nullptr) rest.values += count * value_bytes();
    if (rest.scores != nullptr) rest.scores += count;
    count += filter.choose(rest, export_batch(cursor, rest.keys, rest.values, n - count, rest.scores));
    HOLDFAST_ASSERT(count <= n);
  }
  return count;
}

}  // namespace holdfast
