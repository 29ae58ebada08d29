// sources.hpp: the requests of some callers, collected in the order in which each caller submitted them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "store/open_store.hpp"
#include "store/pipeline/queue.hpp"

namespace holdfast::store::pipeline {

/// What all threads of a pipeline share.
struct Shared {
  OpenStore& store;
  const StoreDurability* const durability;
  std::vector<std::unique_ptr<Queue>> queues;  ///< of all callers that there may be
  std::atomic<unsigned> used = 0;              ///< the first ones, which have had a caller
  std::atomic<bool> closing = false;
};

/// A request of a batch that was taken from its queue.
struct Item {
  StoreBatch* batch;
  std::size_t row;
};

/// Every `step`th queue, from number `first` on. For one thread.
class Sources {
 public:
  Sources(Shared& shared, unsigned first, unsigned step) : shared_(shared), first_(first), step_(step) {
    sources_.reserve(shared.queues.size() / step + 1);
  }

  /// Calls `take(item, source)` for requests of all callers, beginning with another one each time, as long as `more()`. `source`: the number of
  /// the caller's queue here. False: there are none.
  template <class More, class Take>
  bool collect(const More& more, const Take& take) {
    find_queues();
    bool any = false;
    for (std::size_t i = 0; i < sources_.size() && more(); ++i) {
      const std::size_t number = (next_ + i) % sources_.size();
      Source& source = sources_[number];
      while (more() && source.has_row()) {
        take(Item{source.batch, source.row++}, number);
        any = true;
      }
    }
    if (!sources_.empty()) next_ = (next_ + 1) % sources_.size();
    return any;
  }
  /// Whether a caller has submitted something since. By the same thread.
  bool has_work() const {
    const unsigned used = shared_.used.load();
    for (std::size_t i = first_; i < used; i += step_) {
      if (!shared_.queues[i]->is_empty()) return true;
    }
    return false;
  }
  /// Whether the pipeline closes and everything was collected.
  bool is_done() const {
    if (!shared_.closing.load()) return false;
    for (const Source& source : sources_) {
      if (source.row < source.rows) return false;
    }
    const unsigned used = shared_.used.load();
    for (std::size_t i = first_; i < used; i += step_) {
      if (!shared_.queues[i]->is_idle()) return false;
    }
    return true;
  }

 private:
  struct Source {
    Queue* queue;
    StoreBatch* batch = nullptr;  ///< some of its rows were collected
    std::size_t rows = 0, row = 0;

    bool has_row() {
      while (row == rows) {
        batch = queue->take();
        if (batch == nullptr) return false;
        rows = batch->size();
        row = 0;
      }
      return true;
    }
  };
  void find_queues() {
    const unsigned used = shared_.used.load(std::memory_order_acquire);
    for (std::size_t i = first_ + sources_.size() * step_; i < used; i += step_) {
      sources_.push_back({shared_.queues[i].get()});
    }
  }

  Shared& shared_;
  const std::size_t first_, step_;
  std::vector<Source> sources_;
  std::size_t next_ = 0;  ///< the source that comes first
};

}  // namespace holdfast::store::pipeline
