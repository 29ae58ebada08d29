// memory_handle.cpp: one thread's queue on a table in memory, as a C++ program uses it.
#include <atomic>
#include <string>
#include <utility>

#include "structures/dramhit/table_impl.hpp"

namespace holdfast {

class MemoryHandle::Impl {
 public:
  Impl(const MemoryTable::Impl& table, std::unique_ptr<dramhit::Lane> lane, const MemoryHandleOptions& options)
      : table_(table), lane_(std::move(lane)), options_(options) {
    if (!table.delegation) return;
    producer_ =
        std::make_unique<dramhit::Producer>(*table.delegation, Combining{options_.combine, options_.element, 1, false});
  }

  ~Impl() {
    std::uint64_t ids[64];
    for (;;) {  // ends: each turn answers some of what waits
      dramhit::Results results;
      results.ids = ids;
      results.space = 64;
      if (lane_->flush(results)) return;
    }
  }

  std::size_t submit(Op op, const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                     MemoryAnswers& answers) {
    const InUse use(*this);
    if (n != 0 && !keys) throw InvalidArgument("keys are not there: give " + std::to_string(n) + " of them");
    if (n != 0 && takes_value(op) && !values && table_.format.value_bytes != 0) {
      throw InvalidArgument("values are not there: give " + std::to_string(n) + " of " +
                            std::to_string(table_.format.value_bytes) + " bytes");
    }
    if (!ids.empty() && ids.size() != n) {
      throw InvalidArgument("there are " + std::to_string(ids.size()) + " ids for " + std::to_string(n) +
                            " keys: give one each, or none");
    }
    if (op == Op::accumulate) check_element();
    if (producer_ && changes(op)) return send(op, keys, values, n);
    dramhit::Results& results = results_of(answers);
    dramhit::Rows rows;
    rows.keys = static_cast<const std::byte*>(keys);
    rows.values = static_cast<const std::byte*>(values);
    rows.ids = ids.empty() ? nullptr : ids.data();
    rows.end = n;
    rows.op = op;
    rows.with = {options_.combine, options_.element, 1, false};
    rows.reads_only = !changes(op);
    rows.silent = options_.silent && changes(op);
    lane_->submit(rows, results);
    answers.size = results.size;
    return rows.next;
  }

  bool flush(MemoryAnswers& answers) {
    const InUse use(*this);
    dramhit::Results& results = results_of(answers);
    if (producer_) {
      table_.delegation->must_be_here();
      producer_->flush();
    }
    const bool done = lane_->flush(results);
    answers.size = results.size;
    return done;
  }

  std::size_t waiting() const { return lane_->waiting(); }

 private:
  void check_element() const {
    const std::uint32_t bytes = table_.format.value_bytes, of_element = element_bytes(options_.element);
    if (bytes % of_element == 0) [[likely]]
      return;
    throw InvalidArgument("values of " + std::to_string(bytes) + " bytes hold no whole number of elements of " +
                          std::to_string(of_element) + " bytes: give the handle another element to combine");
  }

  std::size_t send(Op op, const void* keys, const void* values, std::size_t n) {
    table_.delegation->must_be_here();
    const dramhit::Geometry& geometry = table_.core.view_now()->geometry;
    const std::uint32_t bytes = table_.format.value_bytes;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t key = load_bytes(static_cast<const std::byte*>(keys) + i * 8, 8);
      const std::uint64_t value =
          takes_value(op) ? load_bytes(static_cast<const std::byte*>(values) + i * bytes, bytes) : 0;
      if (!producer_->send(op, geometry.hash(key), value)) return i;
    }
    return n;
  }

  /// Notices, in builds with assertions, that another thread is in a call.
  class InUse {
   public:
#if defined(NDEBUG)
    explicit InUse(Impl&) {}
#else
    explicit InUse(Impl& impl) : impl_(impl) {
      if (impl_.used_.exchange(true)) {
        throw Error("two threads are in calls of one MemoryHandle: make one for each, by MemoryTable::handle");
      }
    }
    ~InUse() { impl_.used_ = false; }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    Impl& impl_;
#endif
  };

  /// Kept from call to call: it is not small.
  dramhit::Results& results_of(const MemoryAnswers& answers) {
    const std::size_t space = answers.ids.size(), bytes = table_.format.value_bytes;
    const auto refuse = [&](const std::string& what, std::size_t has, std::size_t wants) {
      throw InvalidArgument("answers have space for " + std::to_string(space) + " ids, but " + std::to_string(has) +
                            what + ": give " + std::to_string(wants) + ", or none");
    };
    if (!answers.statuses.empty() && answers.statuses.size() != space)
      refuse(" statuses", answers.statuses.size(), space);
    if (!answers.values.empty() && answers.values.size() != space * bytes) {
      refuse(" bytes of values", answers.values.size(), space * bytes);
    }
    if (answers.size > space) refuse(" of them filled", answers.size, space);
    results_.ids = space == 0 ? &nowhere_ : answers.ids.data();
    results_.statuses = answers.statuses.empty() ? nullptr : answers.statuses.data();
    results_.out = answers.values.empty() ? nullptr : answers.values.data();
    results_.space = space;
    results_.size = answers.size;
    return results_;
  }

  const MemoryTable::Impl& table_;
  std::unique_ptr<dramhit::Lane> lane_;
  std::unique_ptr<dramhit::Producer> producer_;  ///< of a partitioned table: its changes
  const MemoryHandleOptions options_;
  dramhit::Results results_;
  std::uint64_t nowhere_ = 0;  ///< stands for no ids: nothing is written to it
#if !defined(NDEBUG)
  std::atomic<bool> used_{false};
#endif
};

MemoryHandle::MemoryHandle(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MemoryHandle::MemoryHandle(MemoryHandle&&) noexcept = default;
MemoryHandle& MemoryHandle::operator=(MemoryHandle&&) noexcept = default;
MemoryHandle::~MemoryHandle() = default;

std::size_t MemoryHandle::get(const void* keys, std::span<const std::uint64_t> ids, std::size_t n,
                              MemoryAnswers& answers) {
  return impl_->submit(Op::find, keys, nullptr, ids, n, answers);
}
std::size_t MemoryHandle::put(const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                              MemoryAnswers& answers) {
  return impl_->submit(Op::insert_or_assign, keys, values, ids, n, answers);
}
std::size_t MemoryHandle::upsert(const void* keys, const void* values, std::span<const std::uint64_t> ids,
                                 std::size_t n, MemoryAnswers& answers) {
  return impl_->submit(Op::accumulate, keys, values, ids, n, answers);
}
std::size_t MemoryHandle::erase(const void* keys, std::span<const std::uint64_t> ids, std::size_t n,
                                MemoryAnswers& answers) {
  return impl_->submit(Op::erase, keys, nullptr, ids, n, answers);
}
std::size_t MemoryHandle::insert(const void* keys, const void* values, std::span<const std::uint64_t> ids,
                                 std::size_t n, MemoryAnswers& answers) {
  return impl_->submit(Op::insert, keys, values, ids, n, answers);
}
std::size_t MemoryHandle::assign(const void* keys, const void* values, std::span<const std::uint64_t> ids,
                                 std::size_t n, MemoryAnswers& answers) {
  return impl_->submit(Op::assign, keys, values, ids, n, answers);
}
std::size_t MemoryHandle::find_or_insert(const void* keys, const void* values, std::span<const std::uint64_t> ids,
                                         std::size_t n, MemoryAnswers& answers) {
  return impl_->submit(Op::find_or_insert, keys, values, ids, n, answers);
}
bool MemoryHandle::flush(MemoryAnswers& answers) { return impl_->flush(answers); }
std::size_t MemoryHandle::waiting() const { return impl_->waiting(); }

MemoryHandle MemoryTable::handle(const MemoryHandleOptions& options) {
  dramhit::check_depth(options.depth);
  const unsigned depth = options.depth != 0 ? options.depth : impl_->depth;
  return MemoryHandle(std::make_unique<MemoryHandle::Impl>(*impl_, impl_->engine.lane(impl_->core, depth), options));
}

}  // namespace holdfast
