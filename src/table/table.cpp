// table.cpp: the public Table: checks what it is asked, and hands it to the machine.
#include "holdfast/table.hpp"

#include <utility>

#include "system/calls.hpp"
#include "table/impl.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

namespace {

Batch host_batch(Op op, KeyPointer keys, std::size_t n) {
  Batch batch;
  batch.op = op;
  batch.keys = keys.get();
  batch.size = n;
  return batch;
}

Batch changing_batch(Op op, KeyPointer keys, const void* values, std::size_t n, Status* statuses) {
  Batch batch = host_batch(op, keys, n);
  batch.values = values;
  batch.statuses = statuses;
  return batch;
}

}  // namespace

Table::Table(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(Table&&) noexcept = default;
Table::~Table() = default;

BatchResult Table::insert(KeyPointer keys, const void* values, std::size_t n, Status* statuses) {
  return run(changing_batch(Op::insert, keys, values, n, statuses));
}

BatchResult Table::insert_or_assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses) {
  return run(changing_batch(Op::insert_or_assign, keys, values, n, statuses));
}

BatchResult Table::assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses) {
  return run(changing_batch(Op::assign, keys, values, n, statuses));
}

BatchResult Table::erase(KeyPointer keys, std::size_t n, Status* statuses) {
  return run(changing_batch(Op::erase, keys, nullptr, n, statuses));
}

BatchResult Table::accumulate(KeyPointer keys, const void* values, std::size_t n, Combine combine, Element element,
                              Status* statuses) {
  Batch batch = changing_batch(Op::accumulate, keys, values, n, statuses);
  batch.accumulate = Accumulate{.combine = combine, .element = element};
  return run(batch);
}

BatchResult Table::find(KeyPointer keys, void* values, std::size_t n, bool* found) {
  Batch batch = host_batch(Op::find, keys, n);
  batch.out = values;
  batch.found = found;
  return run(batch);
}

BatchResult Table::contains(KeyPointer keys, std::size_t n, bool* found) {
  Batch batch = host_batch(Op::contains, keys, n);
  batch.found = found;
  return run(batch);
}

BatchResult Table::scores(KeyPointer keys, std::uint64_t* scores, std::size_t n, bool* found) {
  impl_->require_scores();
  Batch batch = host_batch(Op::contains, keys, n);
  batch.scores = scores;
  batch.found = found;
  return run(batch);
}

std::size_t Table::export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n, std::uint64_t* scores) {
  const auto use = impl_->use_between_sessions();
  if (impl_->key_bytes == kVariableBytes) {
    throw InvalidArgument("keys and values of " + impl_->path + " are of any length: export them with export_pairs");
  }
  if (scores != nullptr) impl_->require_scores();
  const gphash::ExportArrays to{static_cast<std::byte*>(keys), static_cast<std::byte*>(values), scores};
  const std::size_t count = cursor == ~std::uint64_t{0} ? 0 : impl_->machine().export_batch(cursor, to, n);
  impl_->must_be_whole();
  return count;
}

void Table::end_export(std::uint64_t cursor) {
  const auto use = impl_->use();
  impl_->machine().end_export(cursor);
}

std::size_t Table::export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n) {
  const auto use = impl_->use();
  if (impl_->key_bytes != kVariableBytes) {
    throw InvalidArgument("keys and values of " + impl_->path + " are of fixed length: export them with export_batch");
  }
  for (Blobs* blobs : {keys, values}) {
    if (blobs != nullptr) blobs->reset(0);
  }
  const std::size_t count = cursor == ~std::uint64_t{0} ? 0 : impl_->machine().export_pairs(cursor, keys, values, n);
  impl_->must_be_whole();
  return count;
}

std::string Table::description() const {
  const auto use = impl_->use();
  return impl_->object().description();
}

void Table::describe(std::string_view text) {
  const auto use = impl_->change();
  impl_->require_writable();
  impl_->object().describe(text);
}

Score Table::score() const { return impl_->score; }

void Table::set_step(std::uint64_t step) {
  const auto use = impl_->use();
  if (impl_->score != Score::step) {
    throw InvalidArgument("scores of " + impl_->path + " are of kind \"" + name(impl_->score) +
                          "\", which knows no steps: create a table with score \"step\"");
  }
  impl_->step.store(step, std::memory_order_relaxed);
}

std::uint64_t Table::step() const { return impl_->step.load(std::memory_order_relaxed); }

std::uint64_t Table::size() const {
  const auto use = impl_->use();
  return impl_->machine().size();
}

std::uint64_t Table::slots() const {
  const auto use = impl_->use();
  return impl_->machine().slots();
}

double Table::load_factor() const {
  const auto use = impl_->use();
  return static_cast<double>(impl_->machine().size()) / static_cast<double>(impl_->machine().slots());
}

std::uint32_t Table::key_bytes() const { return impl_->key_bytes; }
std::uint32_t Table::value_bytes() const { return impl_->value_bytes; }
const std::string& Table::path() const { return impl_->path; }
bool Table::is_open() const { return impl_ && impl_->is_open(); }

bool Table::on_gpu() const {
  const auto use = impl_->use();
  return impl_->machine().on_gpu();
}

void Table::clear() {
  const auto use = impl_->use_alone();
  impl_->about_to_change();
  impl_->machine().clear();
  impl_->must_be_whole();
}

void Table::reserve(std::uint64_t items) {
  const auto use = impl_->change();
  if (items > (std::uint64_t{1} << 40)) throw InvalidArgument("reserve: give at most 2^40 items");
  impl_->about_to_change();
  impl_->machine().reserve(items);
  impl_->must_be_whole();
}

SnapshotResult Table::snapshot(const std::string& path, const SnapshotOptions& options) {
  std::shared_ptr<Pool::Impl> pool;
  {
    const auto use = impl_->use();
    pool = impl_->pool();
  }
  return pool->snapshot(path, options);
}

void Table::load_cache() {
  const auto use = impl_->use_between_sessions();
  impl_->machine().load_cache();
}

void Table::sync() {
  const auto use = impl_->use_alone();
  impl_->machine().wait();
  if (!impl_->object().read_only()) impl_->object().sync();
}

void Table::close() {
  if (impl_) impl_->close();
}

CheckReport Table::check() { return impl_->check(); }

Stats Table::stats() const {
  const auto use = impl_->use();
  const gphash::TableObject& object = impl_->object();
  Stats stats;
  stats.place.path = impl_->path;
  stats.place.object = object.number();
  stats.place.medium = object.medium();
  stats.place.domain = object.kept(impl_->machine().on_gpu());
  stats.machine.device = impl_->machine().on_gpu() ? "cuda:" + std::to_string(impl_->choice().device) : "cpu";
  stats.machine.reason = impl_->choice().why;
  stats.space.score = impl_->score;
  stats.recovery.map_ms = object.map_ms();
  stats.recovery.left_out = impl_->left_out;
  stats.recovery.was_clean = object.was_clean();
  stats.machine.flush_instruction = pool::name(object.persist().kind);
  impl_->machine().stats(stats);
  return stats;
}

}  // namespace holdfast
