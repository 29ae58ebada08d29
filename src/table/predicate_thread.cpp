// predicate_thread.cpp: the pools for which a thread runs predicates.
#include "table/predicate_thread.hpp"

#include "core/both.hpp"
#include "holdfast/error.hpp"

namespace holdfast {

PredicateThread::PredicateThread(const void* pool) : pool_(pool), outer_(innermost_) { innermost_ = this; }
PredicateThread::~PredicateThread() {
  HOLDFAST_ASSERT(innermost_ == this);
  innermost_ = outer_;
}

void PredicateThread::refuse_inside(const void* pool, const std::string& path) {
  for (const PredicateThread* one = innermost_; one != nullptr; one = one->outer_) {
    if (one->pool_ != pool) continue;
    throw InvalidArgument("a predicate of erase_if (or a signal's handler in it) changes, syncs, copies or closes " +
                          path + ", whose pool it keeps still: it may search the tables there; change them afterwards");
  }
}

}  // namespace holdfast
