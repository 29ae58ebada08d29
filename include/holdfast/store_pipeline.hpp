// store_pipeline.hpp: requests of many kinds to a store, executed together, so that their memory accesses overlap (Mega-KV §5 and §6). The threads that
// submit requests execute them.
//
//   holdfast::StorePipeline pipeline(store);
//   holdfast::StoreCaller caller = pipeline.caller();                   // one for each thread
//   holdfast::StoreBatch batch;
//   batch.add({.op = holdfast::StoreOp::set, .key = "user:17", .value = "Ada"});
//   const std::size_t row = batch.add({.key = "user:17"});             // a get
//   caller.submit(batch);                                               // other batches may follow
//   caller.wait(batch);                                                 // or caller.poll() until batch.is_done()
//   batch.answer(row).value;                                            // "Ada"
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "holdfast/held.hpp"
#include "holdfast/store.hpp"

namespace holdfast {

/// What a request asks for: the operation of `Store` with the same name.
enum class StoreOp : std::uint8_t {
  get,
  set,
  add,
  replace,
  cas,
  append,
  prepend,
  increment,
  decrement,
  touch,
  mark_stale,
  erase
};
inline constexpr unsigned kStoreOps = 12;

/// One operation on one key. The bytes of `key` and `value` are the caller's, and must not change until the batch is done.
struct StoreRequest {
  StoreOp op = StoreOp::get;
  std::string_view key, value = {};
  ItemOptions item = {};  ///< of set, add, replace and cas; touch and mark_stale take its `expiry`
  /// cas, erase: the CAS id that the item must have (erase: 0 for any). increment, decrement: by how much.
  std::uint64_t number = 0;
};

struct StoreAnswer {
  StoreStatus status = StoreStatus::not_found;
  std::string_view value = {};  ///< get: in memory of the batch, until it is cleared
  std::uint32_t flags = 0;      ///< get: as the three that follow
  std::uint64_t cas = 0, expiry = 0;
  bool is_stale = false;
  std::uint64_t number = 0;  ///< increment, decrement: the new value
};

namespace store::pipeline {
class Queue;
class Execution;
}  // namespace store::pipeline

/// Requests that are submitted together, and their answers. Rows of one key take effect in their order. The caller uses it until it is submitted,
/// and again when it is done. Not thread-safe.
class StoreBatch {
 public:
  StoreBatch() = default;
  ~StoreBatch();  ///< waits until it is done, if it was submitted
  StoreBatch(const StoreBatch&) = delete;
  StoreBatch& operator=(const StoreBatch&) = delete;

  /// Adds a request and returns its row. Throws InvalidArgument while the batch is being answered.
  std::size_t add(const StoreRequest& request);
  /// Removes requests and answers; their memory is used again. Throws as `add`.
  void clear();
  /// Sets what is called when every row has its answer, just before the batch is done, by a thread that submits, polls or waits: it may read answers, but
  /// must neither wait nor use the batch's caller. What it throws, `answer` throws. Throws as `add`.
  void on_done(std::function<void(const StoreBatch&)> callback);

  std::size_t size() const { return requests_.size(); }
  /// Whether all rows have their answers and the batch is the caller's again.
  bool is_done() const { return state_.load(std::memory_order_acquire) == State::done; }
  /// Throws InvalidArgument (there is no such row, or no answer yet), and the error that kept the batch from being executed: ObjectClosed, MediumError,
  /// ReadOnly. After an error some of its changes may have happened, as after an error of a single call.
  StoreAnswer answer(std::size_t row) const;

 private:
  friend class StoreCaller;
  friend class store::pipeline::Execution;
  enum class State : std::uint8_t { open, pending, answered, done };
  struct Row {
    StoreAnswer answer;
    std::size_t value_at = 0, value_bytes = 0;  ///< in `bytes_`
  };
  void require_open() const;
  std::byte* take(std::size_t at, std::size_t bytes);

  std::vector<StoreRequest> requests_;
  std::vector<Row> rows_;
  std::unique_ptr<std::byte[]> bytes_;  ///< of values that were read
  std::size_t capacity_ = 0, used_ = 0;
  std::size_t left_ = 0;  ///< rows without an answer
  std::exception_ptr error_;
  std::function<void(const StoreBatch&)> on_done_;
  std::uint64_t released_by_ = 0;  ///< the largest sequence number that an answer shows
  store::pipeline::Queue* queue_ = nullptr;
  StoreBatch* next_ = nullptr;  ///< executed, and not released yet
  std::atomic<State> state_ = State::open;
};

/// Says up to which change of a store all are durable where it counts: on another machine, for example. The store itself makes each change
/// durable before it answers.
class StoreDurability {
 public:
  virtual ~StoreDurability() = default;
  /// Every change with a sequence number up to it is durable. Called by all callers' threads; does not decrease, and throws nothing.
  virtual std::uint64_t durable() const = 0;
};

enum class StoreMode : std::uint8_t {
  direct,  ///< a batch is executed when it is submitted
  /// The index is searched for all reads of a cycle at once, while those of the cycle before are answered. A read is done within three cycles, a
  /// change within five, if the caller submits, polls or waits in each cycle, and executes in one what it received in one: no other thread ends
  /// cycles. For an index on a GPU.
  staged
};

struct StorePipelineOptions {
  StoreMode mode = StoreMode::direct;
  unsigned callers = 64;  ///< that exist at a time, at most 65,536
  unsigned pending = 64;  ///< batches of a caller that are not done, at most; more wait in `submit`. 1 to 65,536
  /// An answer is released when what it shows is durable by this: the answer of a change, or of a key that has no item, when all that was changed
  /// before it is; that of a read when the item is. It lives as long as the pipeline. Null: at once.
  const StoreDurability* durability = nullptr;
  /// Staged: microseconds of a cycle, up to a second. 0: as short as `rate` requests a second of each caller allow, `reads` of them reads, by
  /// Mega-KV's equation 2, with the times of the index measured at the start.
  double cycle_us = 0;
  double rate = 0;  ///< 0: half of the highest rate for which there is a cycle
  double reads = 0.95;
};

struct StorePipelineStats {
  double cycle_us = 0;       ///< 0: it is direct
  std::uint64_t cycles = 0;  ///< of all callers, since the start
};

/// Submits batches. Those of one caller are executed in the order in which they were submitted; they may be done in another. Movable. One thread at a
/// time uses it.
class StoreCaller {
 public:
  StoreCaller(StoreCaller&&) noexcept;
  StoreCaller& operator=(StoreCaller&&) noexcept;
  ~StoreCaller();  ///< waits until its batches are done

  /// Submits a batch, which must live until it is done. Waits while `pending` batches of this caller are not done. Throws InvalidArgument (a key, a
  /// value or an expiry is too large, or the batch is being answered) and ObjectClosed; then nothing was submitted.
  void submit(StoreBatch& batch);
  /// The same, but returns false instead of waiting.
  bool try_submit(StoreBatch& batch);
  /// Executes what is due, and releases answers: for a caller that has nothing to submit, and other work than to wait.
  void poll();
  /// Executes until a batch that was submitted by this caller is done.
  void wait(const StoreBatch& batch) const;

 private:
  friend class StorePipeline;
  class Impl;
  explicit StoreCaller(std::unique_ptr<Impl> impl);
  Held<std::unique_ptr<Impl>> impl_;
};

/// Answers requests of many callers to one store. Each key is linearizable, and the operations of `Store` may be used beside it. A store that is
/// closed meanwhile answers ObjectClosed. Thread-safe.
class StorePipeline {
 public:
  /// Throws InvalidArgument, ObjectClosed.
  explicit StorePipeline(Store& store, const StorePipelineOptions& options = {});
  ~StorePipeline();  ///< closes it
  StorePipeline(const StorePipeline&) = delete;
  StorePipeline& operator=(const StorePipeline&) = delete;

  /// Throws ObjectClosed, InvalidArgument (there are as many as the options say).
  StoreCaller caller();
  /// Takes no more batches, and executes the submitted ones until they are done. Idempotent.
  void close();
  bool is_open() const;
  StorePipelineStats stats() const;

 private:
  friend class StoreCaller;
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
