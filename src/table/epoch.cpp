// epoch.cpp: a thread's stay in a table: calls with one key.
#include "holdfast/epoch.hpp"

#include "core/both.hpp"
#include "table/impl.hpp"
#include "threads/thread_number.hpp"

namespace holdfast {

Epoch::Epoch(Table& table) : impl_(table.impl_.pointer()), thread_(threads::thread_number()) {
  static_cast<void>(*table.impl_);  // throws ObjectClosed if it was moved from
}

Epoch::~Epoch() { leave(); }

void Epoch::leave() { impl_->leave(thread_); }

BatchResult Epoch::run(const Batch& batch) {
  HOLDFAST_ASSERT(threads::thread_number() == thread_);  // an epoch belongs to one thread
  return impl_->run(batch, true);
}

/// As a batch of one row.
Status Epoch::run_row(Op op, const void* key, const void* value, void* result) {
  Status status = Status::not_run;
  Batch batch;
  batch.op = op;
  batch.size = 1;
  batch.keys = key;
  batch.values = value;
  batch.out = result;
  batch.statuses = &status;
  run(batch);
  return status;
}

bool Epoch::search(Op op, const void* key, void* value) {
  HOLDFAST_ASSERT(threads::thread_number() == thread_);
  const Status status = impl_->find_one(key, value, thread_);
  return (status != Status::not_run ? status : run_row(op, key, nullptr, value)) == Status::found;
}

Status Epoch::change(Op op, const void* key, const void* value, void* result) {
  HOLDFAST_ASSERT(threads::thread_number() == thread_);
  const Status status = impl_->change_one({op, key, value, result}, thread_);
  return status != Status::not_run ? status : run_row(op, key, value, result);
}

bool Epoch::find(const void* key, void* value) { return search(Op::find, key, value); }
bool Epoch::contains(const void* key) { return search(Op::contains, key, nullptr); }
Status Epoch::insert(const void* key, const void* value) { return change(Op::insert, key, value, nullptr); }
Status Epoch::insert_or_assign(const void* key, const void* value) {
  return change(Op::insert_or_assign, key, value, nullptr);
}
Status Epoch::assign(const void* key, const void* value) { return change(Op::assign, key, value, nullptr); }
Status Epoch::erase(const void* key) { return change(Op::erase, key, nullptr, nullptr); }
Status Epoch::find_or_insert(const void* key, const void* value, void* result) {
  return change(Op::find_or_insert, key, value, result);
}

std::uint32_t Epoch::key_bytes() const { return impl_->key_bytes; }
std::uint32_t Epoch::value_bytes() const { return impl_->value_bytes; }

}  // namespace holdfast
