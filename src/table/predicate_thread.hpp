// predicate_thread.hpp: a thread that excludes changes and runs a user's predicate; calls that would deadlock are refused.
#pragma once

#include <string>

namespace holdfast {

/// While it lives, this thread has passed `changes` of a table of `pool` (threads/gate.hpp), and runs functions of the caller's. A
/// handler of a signal that an interpreter runs inside of them is such a function too.
class PredicateThread {
 public:
  explicit PredicateThread(const void* pool);
  ~PredicateThread();
  PredicateThread(const PredicateThread&) = delete;
  PredicateThread& operator=(const PredicateThread&) = delete;

  /// Throws InvalidArgument if this thread decides for a table of `pool`, whose gates it is about to pass. `path` is for the message.
  static void refuse(const void* pool, const std::string& path) {
    if (innermost_ != nullptr) [[unlikely]]
      refuse_inside(pool, path);
  }

 private:
  static void refuse_inside(const void* pool, const std::string& path);

  inline static thread_local const PredicateThread* innermost_ = nullptr;
  const void* const pool_;
  const PredicateThread* const outer_;  ///< of a predicate that asks about another pool
};

}  // namespace holdfast
