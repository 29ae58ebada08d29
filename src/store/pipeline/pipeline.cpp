// pipeline.cpp: the public pipeline: batches and callers.
#include <mutex>
#include <string>

#include "store/pipeline/executor.hpp"
#include "store/store_impl.hpp"

namespace holdfast {

using store::pipeline::Execution;
using store::pipeline::Executor;
using store::pipeline::Queue;
using store::pipeline::Shared;

namespace {

constexpr double kMostCycle = 1e6;
constexpr unsigned kMostCallers = 65'536, kMostPending = 65'536;

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
      : store(std::move(its_store)),
        shared{store->use(), options.durability, options.mode == StoreMode::staged},
        most(options.callers),
        pending(options.pending) {
    require_between("callers", options.callers, kMostCallers);
    require_between("pending batches", options.pending, kMostPending);
    require_open();
    if (!shared.is_staged) return;
    cycle_us = cycle_of(options);
    shared.cycle = std::chrono::nanoseconds(static_cast<std::int64_t>(cycle_us * 1000));
  }
  ~Impl() { close(); }

  void require_open() const {
    if (!store->is_open()) throw ObjectClosed(store->path + " is closed: open it again");
    if (shared.closing.load()) throw ObjectClosed("the pipeline of " + store->path + " is closed: make another one");
  }
  void close() {
    shared.closing.store(true);
    const std::lock_guard lock(mutex);
    for (const auto& source : sources) source->queue.finish();
  }

  struct Source {
    Source(Shared& shared, unsigned pending) : queue(pending), executor(shared, queue) {}
    Queue queue;
    Executor executor;
    bool in_use = true;  ///< it has a caller
  };
  Source& take_source() {
    const std::lock_guard lock(mutex);
    for (const auto& source : sources) {
      if (!source->in_use) return source->in_use = true, *source;
    }
    if (sources.size() == most) {
      throw InvalidArgument("the pipeline of " + store->path + " has " + std::to_string(most) +
                            " callers: end one, or give more `callers`");
    }
    sources.push_back(std::make_unique<Source>(shared, pending));
    return *sources.back();
  }
  void give_source(Source& source) {
    const std::lock_guard lock(mutex);
    source.in_use = false;
  }

  const std::shared_ptr<Store::Impl> store;
  Shared shared;
  const unsigned most, pending;
  double cycle_us = 0;

 private:
  double cycle_of(const StorePipelineOptions& options) {
    if (!(options.cycle_us >= 0 && options.cycle_us <= kMostCycle)) {
      throw InvalidArgument("a pipeline cannot have cycles of " + std::to_string(options.cycle_us) +
                            " microseconds: give up to 1000000, or 0 for the shortest that suffices");
    }
    if (options.cycle_us != 0) return options.cycle_us;
    if (!(options.rate >= 0)) {
      throw InvalidArgument("a pipeline cannot have " + std::to_string(options.rate) +
                            " requests a second: give a rate, or 0 for half of the highest");
    }
    if (!(options.reads >= 0 && options.reads <= 1)) {
      throw InvalidArgument("a pipeline cannot have a share of reads of " + std::to_string(options.reads) +
                            ": give 0 to 1");
    }
    return store::pipeline::measured_cycle_us(shared, options.rate, options.reads);
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<Source>> sources;
};

StorePipeline::StorePipeline(Store& store, const StorePipelineOptions& options)
    : impl_(std::make_shared<Impl>((static_cast<void>(*store.impl_), store.impl_.pointer()), options)) {}
StorePipeline::~StorePipeline() { close(); }
void StorePipeline::close() { impl_->close(); }
StorePipelineStats StorePipeline::stats() const {
  return {impl_->cycle_us, impl_->shared.cycles.load(std::memory_order_relaxed)};
}
bool StorePipeline::is_open() const { return !impl_->shared.closing.load() && impl_->store->is_open(); }

class StoreCaller::Impl {
 public:
  explicit Impl(std::shared_ptr<StorePipeline::Impl> its_pipeline)
      : pipeline(std::move(its_pipeline)),
        source(pipeline->take_source()),
        queue(source.queue),
        executor(source.executor) {}
  ~Impl() {
    for (std::uint32_t done = queue.done(); queue.is_here() && done != queue.submitted(); done = queue.done()) {
      queue.wait(done);
    }
    pipeline->give_source(source);
  }

  void require_valid(const StoreBatch& batch) const {
    batch.require_open();
    const Store::Impl& store = *pipeline->store;
    for (std::size_t row = 0; row < batch.requests_.size(); ++row) {
      const StoreRequest& request = batch.requests_[row];
      if (static_cast<unsigned>(request.op) >= kStoreOps) {
        throw InvalidArgument(store.path + ": the request of row " + std::to_string(row) + " has the operation " +
                              std::to_string(static_cast<unsigned>(request.op)) + ": there are " +
                              std::to_string(kStoreOps));
      }
      store.require_key(request.key.size(), row);
      store.require_value(request.value.size(), row);
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
    if (pushed) executor.execute(false);
    if (pushed || (open && is_empty)) return true;
    Execution::take_back(batch);
    pipeline->require_open();
    return false;
  }

  const std::shared_ptr<StorePipeline::Impl> pipeline;
  StorePipeline::Impl::Source& source;
  Queue& queue;
  Executor& executor;
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

void StoreCaller::poll() {
  if (impl_->queue.is_here()) impl_->executor.execute(false);
}

void StoreCaller::wait(const StoreBatch& batch) const {
  if (batch.queue_ != &impl_->queue) {
    throw InvalidArgument("this caller has not submitted the batch: wait for it with the caller that did");
  }
  for (;;) {  // ends: what was submitted is executed here
    const std::uint32_t done = impl_->queue.done();
    if (batch.state_.load(std::memory_order_acquire) == StoreBatch::State::done || !impl_->queue.is_here()) return;
    impl_->queue.wait(done);
  }
}

}  // namespace holdfast
