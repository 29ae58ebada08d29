// pipeline.cpp: the public pipeline: batches, callers, and the threads that answer them.
#include <mutex>
#include <string>
#include <thread>

#include "store/pipeline/direct.hpp"
#include "store/pipeline/staged.hpp"
#include "store/store_impl.hpp"
#include "threads/thread_group.hpp"

namespace holdfast {

using store::pipeline::Direct;
using store::pipeline::Execution;
using store::pipeline::Queue;
using store::pipeline::Shared;
using store::pipeline::Staged;

namespace {

constexpr double kMostCycle = 1e6;
constexpr unsigned kMostWorkers = 1024, kMostCallers = 65'536, kMostPending = 65'536;

void require_between(const char* what, unsigned given, unsigned most) {
  if (given >= 1 && given <= most) return;
  throw InvalidArgument("a pipeline cannot have " + std::to_string(given) + " " + what + ": give 1 to " +
                        std::to_string(most));
}

}  // namespace

StoreBatch::~StoreBatch() {
  const auto is_pending = [&] {  // otherwise the queue may be gone
    const State state = state_.load(std::memory_order_acquire);
    return state != State::open && state != State::done;
  };
  while (is_pending() && queue_->is_here()) {
    const std::uint32_t done = queue_->done();
    if (is_pending()) queue_->wait(done);
  }
}

void StoreBatch::require_open() const {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::open || state == State::done) return;
  throw InvalidArgument("a batch that was submitted is being answered: use it again when it is done");
}

std::size_t StoreBatch::add(const StoreRequest& request) {
  require_open();
  requests_.push_back(request);
  return size() - 1;
}

void StoreBatch::clear() {
  require_open();
  requests_.clear();
  rows_.clear();
}

void StoreBatch::on_done(std::function<void(const StoreBatch&)> callback) {
  require_open();
  on_done_ = std::move(callback);
}

StoreAnswer StoreBatch::answer(std::size_t row) const {
  const State state = state_.load(std::memory_order_acquire);
  if (state != State::answered && state != State::done) {
    throw InvalidArgument("a batch has no answers before it is done: submit it, and wait");
  }
  if (row >= rows_.size()) {
    throw InvalidArgument("there is no row " + std::to_string(row) + " among the " + std::to_string(rows_.size()) +
                          " answers of a batch");
  }
  if (error_) std::rethrow_exception(error_);
  StoreAnswer answer = rows_[row].answer;
  answer.value = {reinterpret_cast<const char*>(bytes_.get()) + rows_[row].value_at, rows_[row].value_bytes};
  return answer;
}

/// Memory for a value, from `at` on; all before it stays.
std::byte* StoreBatch::take(std::size_t at, std::size_t bytes) {
  used_ = at + bytes;
  if (used_ > capacity_) {
    const std::size_t capacity = std::max(used_, 2 * capacity_);
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (at != 0) std::memcpy(larger.get(), bytes_.get(), at);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }
  return bytes_.get() + at;
}

class StorePipeline::Impl {
 public:
  Impl(std::shared_ptr<Store::Impl> its_store, const StorePipelineOptions& options)
      : store(std::move(its_store)), shared{store->use(), options.durability, {}} {
    require_between("workers", options.workers, kMostWorkers);
    require_between("callers", options.callers, kMostCallers);
    require_between("pending batches", options.pending, kMostPending);
    require_open();
    shared.queues.resize(options.callers);
    for (auto& queue : shared.queues) queue = std::make_unique<Queue>(options.pending);
    in_use.resize(options.callers);
    if (options.mode == StoreMode::direct) {
      for (const auto& queue : shared.queues) {
        direct.push_back(std::make_unique<Direct>(shared, *queue));
        queue->execute_by(direct.back().get());
      }
      return;
    }
    cycle_us = cycle_of(options);
    for (unsigned i = 0; i < options.workers; ++i) {
      staged.push_back(std::make_unique<Staged>(shared, i, options.workers, cycle_us));
    }
    constexpr unsigned kEach = Staged::kThreads;
    const std::string why =
        threads->start_numbered(kEach * options.workers, [this](unsigned i) { staged[i / kEach]->run(i % kEach); });
    if (why.empty()) return;
    close();
    throw SystemError(store->path + ": a pipeline cannot start " + std::to_string(kEach * options.workers) +
                      " threads: " + why + "; give fewer workers, or raise the limit of threads (ulimit -u)");
  }
  ~Impl() { close(); }

  void require_open() const {
    if (!store->is_open()) throw ObjectClosed(store->path + " is closed: open it again");
    if (shared.closing.load()) throw ObjectClosed("the pipeline of " + store->path + " is closed: make another one");
  }
  void close() {
    if (!process.is_this()) {  // its threads are the parent's
      static_cast<void>(threads.release());
      return;
    }
    const std::lock_guard lock(closing);
    shared.closing.store(true);
    for (const auto& pair : staged) pair->bell().ring();
    threads->join();
    for (std::size_t i = 0; i < direct.size(); ++i) {
      for (; !shared.queues[i]->is_over(); std::this_thread::sleep_for(Queue::kLook)) direct[i]->execute();
    }
  }
  unsigned take_queue() {
    const std::lock_guard lock(callers);
    for (unsigned i = 0; i < in_use.size(); ++i) {
      if (in_use[i]) continue;
      in_use[i] = true;
      shared.used.store(std::max(shared.used.load(), i + 1));
      return i;
    }
    throw InvalidArgument("the pipeline of " + store->path + " has " + std::to_string(in_use.size()) +
                          " callers: end one, or give more `callers`");
  }
  void give_queue(unsigned queue) {
    const std::lock_guard lock(callers);
    in_use[queue] = false;
  }

  const std::shared_ptr<Store::Impl> store;
  const system::OwningProcess process;
  Shared shared;
  std::vector<std::unique_ptr<Direct>> direct;  ///< of each queue, in direct mode
  std::vector<std::unique_ptr<Staged>> staged;
  double cycle_us = 0;

 private:
  double cycle_of(const StorePipelineOptions& options) {
    if (!(options.cycle_us >= 0 && options.cycle_us <= kMostCycle)) {
      throw InvalidArgument("a pipeline cannot have cycles of " + std::to_string(options.cycle_us) +
                            " microseconds: give up to 1000000, or 0 for the shortest that suffices");
    }
    if (options.cycle_us != 0) return options.cycle_us;
    if (!(options.rate >= 0) || !(options.reads >= 0 && options.reads <= 1)) {
      throw InvalidArgument("a pipeline cannot have " + std::to_string(options.rate) + " requests a second of which " +
                            std::to_string(options.reads) +
                            " are reads: give a rate, or 0 for half of the highest, and a part of 1");
    }
    return store::pipeline::measured_cycle_us(shared, options.rate, options.reads);
  }

  std::mutex closing, callers;
  std::vector<bool> in_use;  ///< queues that have a caller
  std::unique_ptr<threads::ThreadGroup> threads = std::make_unique<threads::ThreadGroup>();
};

StorePipeline::StorePipeline(Store& store, const StorePipelineOptions& options)
    : impl_(std::make_shared<Impl>((static_cast<void>(*store.impl_), store.impl_.pointer()), options)) {}
StorePipeline::~StorePipeline() { close(); }
void StorePipeline::close() { impl_->close(); }
StorePipelineStats StorePipeline::stats() const {
  return {impl_->cycle_us, impl_->staged.empty() ? 0 : impl_->staged.front()->cycles()};
}
bool StorePipeline::is_open() const { return !impl_->shared.closing.load() && impl_->store->is_open(); }

class StoreCaller::Impl {
 public:
  explicit Impl(std::shared_ptr<StorePipeline::Impl> its_pipeline)
      : pipeline(std::move(its_pipeline)),
        number(pipeline->take_queue()),
        queue(*pipeline->shared.queues[number]),
        direct(pipeline->direct.empty() ? nullptr : pipeline->direct[number].get()),
        staged(direct != nullptr ? nullptr : pipeline->staged[number % pipeline->staged.size()].get()) {}
  ~Impl() {
    for (std::uint32_t done = queue.done(); queue.is_here() && done != queue.submitted(); done = queue.done()) {
      queue.wait(done);
    }
    pipeline->give_queue(number);
  }

  void require_valid(const StoreBatch& batch) const {
    batch.require_open();
    const Store::Impl& store = *pipeline->store;
    for (const StoreRequest& request : batch.requests_) {
      if (static_cast<unsigned>(request.op) >= kStoreOps) {
        throw InvalidArgument(store.path + ": a request has the operation " +
                              std::to_string(static_cast<unsigned>(request.op)) + ": there are " +
                              std::to_string(kStoreOps));
      }
      store.require_key(request.key.size());
      store.require_value(request.value.size());
      store.require_item(request.item);
    }
    pipeline->store->use();  // throws in a forked child
  }
  /// False: there are too many.
  bool push(StoreBatch& batch) {
    Execution::begin(batch, queue);
    queue.enter();
    const bool open = pipeline->store->is_open() && !pipeline->shared.closing.load();
    const bool is_empty = batch.size() == 0;
    const bool pushed = open && !is_empty && queue.push(batch);
    queue.leave();
    if (open && is_empty) Execution::end(batch);
    if (pushed && direct != nullptr) direct->execute();
    if (pushed && staged != nullptr) staged->bell().ring();
    if (pushed || (open && is_empty)) return true;
    Execution::take_back(batch);
    pipeline->require_open();
    return false;
  }

  const std::shared_ptr<StorePipeline::Impl> pipeline;
  const unsigned number;
  Queue& queue;
  Direct* const direct;  ///< null: staged
  Staged* const staged;
};

StoreCaller StorePipeline::caller() {
  impl_->require_open();
  return StoreCaller(std::make_unique<StoreCaller::Impl>(impl_));
}

StoreCaller::StoreCaller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StoreCaller::StoreCaller(StoreCaller&&) noexcept = default;
StoreCaller& StoreCaller::operator=(StoreCaller&&) noexcept = default;
StoreCaller::~StoreCaller() = default;

bool StoreCaller::try_submit(StoreBatch& batch) {
  impl_->require_valid(batch);
  return impl_->push(batch);
}

void StoreCaller::submit(StoreBatch& batch) {
  impl_->require_valid(batch);
  for (;;) {  // ends: batches that are pending are done at some time
    const std::uint32_t done = impl_->queue.done();
    if (impl_->push(batch)) return;
    impl_->queue.wait(done);
  }
}

void StoreCaller::wait(const StoreBatch& batch) const {
  if (batch.queue_ != &impl_->queue) {
    throw InvalidArgument("this caller has not submitted the batch: wait for it with the caller that did");
  }
  for (;;) {  // ends: a pipeline, when it closes too, answers what was submitted
    const std::uint32_t done = impl_->queue.done();
    if (batch.state_.load(std::memory_order_acquire) == StoreBatch::State::done || !impl_->queue.is_here()) return;
    impl_->queue.wait(done);
  }
}

}  // namespace holdfast
