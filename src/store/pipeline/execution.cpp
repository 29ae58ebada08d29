// execution.cpp: requests by the engine; batches by the durable number.
#include "store/pipeline/execution.hpp"

#include <algorithm>
#include <iterator>

#include "store/store_impl.hpp"

namespace holdfast::store::pipeline {

using cpu::Condition;
using cpu::Engine;
using cpu::Look;

namespace {

bool writes_item(StoreOp op) {
  return op == StoreOp::set || op == StoreOp::add || op == StoreOp::replace || op == StoreOp::cas;
}
Condition condition_of(StoreOp op) {
  return op == StoreOp::add       ? Condition::absent
         : op == StoreOp::replace ? Condition::present
         : op == StoreOp::cas     ? Condition::cas
                                  : Condition::none;
}
Content content_of(const StoreRequest& request) {
  return holdfast::content_of(bytes_of(request.key), bytes_of(request.value), request.item);
}

/// Of a change that is no `append` or `prepend`.
cpu::Ask ask_of(const StoreRequest& request) {
  using Kind = cpu::Ask::Kind;
  cpu::Ask ask;
  ask.content = content_of(request);
  ask.condition = condition_of(request.op);
  ask.cas = ask.number = request.number;
  ask.subtracts = request.op == StoreOp::decrement;
  switch (request.op) {
    case StoreOp::increment:
    case StoreOp::decrement: ask.kind = Kind::count; break;
    case StoreOp::erase: ask.kind = Kind::erase; break;
    case StoreOp::touch:
    case StoreOp::mark_stale:
      ask.kind = request.op == StoreOp::touch ? Kind::touch : Kind::mark_stale;
      ask.number = request.item.expiry;
      break;
    default: ask.kind = Kind::set;
  }
  return ask;
}

}  // namespace

void Execution::begin(StoreBatch& batch, Queue& queue) {
  batch.rows_.assign(batch.requests_.size(), {});
  batch.left_ = batch.requests_.size();
  batch.used_ = 0;
  batch.released_by_ = 0;
  batch.error_ = nullptr;
  batch.queue_ = &queue;
  batch.next_ = nullptr;
  batch.state_.store(StoreBatch::State::pending, std::memory_order_relaxed);
}

void Execution::take_back(StoreBatch& batch) { batch.state_.store(StoreBatch::State::open, std::memory_order_relaxed); }

void Execution::end(StoreBatch& batch) {
  if (batch.on_done_) {
    batch.state_.store(StoreBatch::State::answered, std::memory_order_relaxed);
    try {
      batch.on_done_(batch);
    } catch (...) {
      batch.error_ = std::current_exception();
    }
  }
  batch.state_.store(StoreBatch::State::done, std::memory_order_release);
}

void Execution::run(std::vector<Item>& items, Engine::Lookup* lookup, std::size_t first) {
  run_by(items, [&](Engine& engine) {
    if (lookup != nullptr) lookup->finish();
    const std::optional<cpu::LookedUp> rows = lookup != nullptr ? lookup->rows_from(first) : std::nullopt;
    execute(engine, items, rows ? &*rows : nullptr);
  });
}

void Execution::run_reads(std::vector<Item>& items, Engine::Lookup& lookup) {
  run_by(items, [&](Engine& engine) {
    lookup.finish();
    execute_reads(engine, items, lookup);
  });
}

template <class Execute>
void Execution::run_by(std::vector<Item>& items, const Execute& execute) {
  const auto changes =
      static_cast<std::size_t>(std::ranges::count_if(items, [](const Item& item) { return !reads(item); }));
  bool begun = false;
  const auto use = [&](Engine& engine) {
    begun = true;
    execute(engine);
    return true;
  };
  try {
    if (changes == 0) {
      shared_.store.search(use);
    } else {
      shared_.store.change(changes, use);
    }
  } catch (...) {
    fail(items, begun || changes == 0);
  }
  if (!begun && changes != 0) {  // a store that is only read refused the changes, and reads may be executed
    const auto refused =
        std::stable_partition(items.begin(), items.end(), [](const Item& item) { return !item.batch->error_; });
    std::for_each(refused, items.end(), [this](const Item& item) { ended(item); });
    items.erase(refused, items.end());
    if (!items.empty()) return run(items);
  }
  for (const Item& item : items) ended(item);
  items.clear();
}

/// The current exception kept requests from being executed; or those of batches that change something.
void Execution::fail(std::span<const Item> items, bool reads_too) {
  for (const Item& item : items) {
    if (!item.batch->error_ && (reads_too || !reads(item))) item.batch->error_ = std::current_exception();
  }
}

void Execution::execute(Engine& engine, std::span<const Item> items, const cpu::LookedUp* looked_up) {
  Engine::Group group(engine);
  const auto words = [&](std::size_t i) {
    const StoreRequest& request = request_of(items[i]);
    if (writes_item(request.op)) return content_of(request).header().words();
    return request.op == StoreOp::get ? Engine::Group::kReads : Engine::Group::kNoCell;
  };
  const auto run = [&](std::size_t i) {
    if (items[i].batch->error_) return;
    if (!reads(items[i])) return change(engine, group, items[i]);
    read(engine, items[i], [&](const auto& copy) { return group.read(copy) ? Look::found : Look::absent; });
  };
  group.run(Keys{items}, items.size(), words, run, looked_up);
}

void Execution::execute_reads(Engine& engine, std::span<const Item> items, Engine::Lookup& lookup) {
  lookup.run(Keys{items}, items.size(), looked_again_, [&](std::size_t i, const auto& look) {
    return items[i].batch->error_ ? Look::absent : read(engine, items[i], look);
  });
}

/// `look(copy)` as in `Lookup::run`. An item that is looked up again has no answer yet.
template <class LookAt>
Look Execution::read(Engine& engine, const Item& item, const LookAt& look) {
  StoreBatch& batch = *item.batch;
  StoreBatch::Row& row = batch.rows_[item.row];
  row.value_at = batch.used_;
  std::uint64_t number = 0;
  const Look found = look([&](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
    row.value_bytes = header.value_bytes;
    row.answer = {StoreStatus::found, {}, header.flags, engine.cas_of(header, sequence, cell), state.expiry(),
                  state.is_stale(),   0};
    number = sequence;
    return engine.copy_value(header, sequence, cell, batch.take(row.value_at, header.value_bytes));
  });
  if (found != Look::found) {
    batch.used_ = row.value_at;
    row = {};
    number = newest(engine);
  }
  if (found != Look::again) shows(batch, number);
  return found;
}

void Execution::change(Engine& engine, Engine::Group& group, const Item& item) {
  const StoreRequest& request = request_of(item);
  StoreAnswer& answer = item.batch->rows_[item.row].answer;
  if (request.op == StoreOp::append || request.op == StoreOp::prepend) {
    const std::uint32_t most = shared_.store.options().max_value_bytes;
    const bool before = request.op == StoreOp::prepend;
    answer.status = status_of(engine.extend(bytes_of(request.key), bytes_of(request.value), before, most));
  } else {
    answer.status = status_of(group.change(ask_of(request), answer.number));
  }
  shows(*item.batch, newest(engine));
}

/// Up to which number an answer shows changes, if that matters: every change writes the engine's.
std::uint64_t Execution::newest(const Engine& engine) const {
  return shared_.durability != nullptr ? engine.newest() : 0;
}

/// An answer of the batch shows changes up to this number.
void Execution::shows(StoreBatch& batch, std::uint64_t number) {
  batch.released_by_ = std::max(batch.released_by_, number);
}

void Execution::ended(const Item& item) {
  if (--item.batch->left_ != 0) return;
  *last_ = item.batch;
  last_ = &item.batch->next_;
}

void Execution::release() {
  if (executed_ == nullptr) return;
  const std::uint64_t durable = shared_.durability != nullptr ? shared_.durability->durable() : ~std::uint64_t{0};
  StoreBatch** at = &executed_;
  while (*at != nullptr) {  // ends: the list does
    StoreBatch& batch = **at;
    if (batch.released_by_ > durable) {
      at = &batch.next_;
      continue;
    }
    *at = batch.next_;
    Queue& queue = *batch.queue_;
    end(batch);
    queue.end_one();
  }
  last_ = at;
}

}  // namespace holdfast::store::pipeline
