// deciding.hpp: a thread that keeps a table still and asks a user's predicate: what would wait for the thread itself is refused.
#pragma once

#include <string>

namespace holdfast {

/// While it lives, this thread has passed `changes` of a table of `pool` (threads/gate.hpp), and runs functions of the caller's. A
/// handler of a signal that an interpreter runs inside of them is such a function too.
class Deciding {
 public:
  explicit Deciding(const void* pool);
  ~Deciding();
  Deciding(const Deciding&) = delete;
  Deciding& operator=(const Deciding&) = delete;

  /// Throws InvalidArgument if this thread decides for a table of `pool`, whose gates it is about to pass. `path` is for the message.
  static void refuse(const void* pool, const std::string& path);

 private:
  const void* const pool_;
  const Deciding* const outer_;  ///< of a predicate that asks about another pool
};

}  // namespace holdfast
