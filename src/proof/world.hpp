// world.hpp: what the worlds of models have in common: words that a crash leaves in part, callers each of whose accesses is an event, and
// what each of them has seen. The world of a protocol derives from it, and the protocol's Memory in the model calls it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "proof/arena.hpp"

namespace holdfast::proof {

/// What happens around the accesses of a world.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void before() {}  ///< an access: other callers may go first
  virtual void stored() {}  ///< a store to the arena was made: a crash may keep it or not
};

class World {
 public:
  static constexpr unsigned kMostCallers = 4;

  World(Stores stores, ArenaPlan plan) : durable_(stores, std::move(plan)) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Arena& durable() { return durable_; }
  void set_watcher(Watcher* watcher);  ///< null: none
  /// Who makes the accesses that follow. With proof::Callers: in `resume`.
  void set_caller(unsigned caller) { caller_ = caller; }
  unsigned caller() const { return caller_; }
  void forget_seen(unsigned caller) { seen_[caller] = 0; }

  // Accesses of the current caller to the arena.
  std::uint64_t load(const std::uint64_t* word);
  void store(std::uint64_t* word, std::uint64_t value);
  void flush(const void* address, std::size_t bytes);
  void fence();
  /// One to a word that is not in the arena.
  template <class Word>
  Word peek(const Word* word) {
    access();
    note(*word);
    return *word;
  }
  /// Before any other: a watcher may let others go first.
  void access() { watcher_->before(); }
  /// The current caller has seen, or done, something on which its next steps depend.
  void note(std::uint64_t value);

 protected:
  ~World() = default;
  /// The arena is `image`, all of it durable, and no caller has seen anything.
  void restart(const Words& image);
  /// A hash of all that a caller has seen.
  std::uint64_t& seen(unsigned caller) { return seen_[caller]; }
  std::uint64_t seen(unsigned caller) const { return seen_[caller]; }

  Arena durable_;

 private:
  static Watcher nobody_;
  Watcher* watcher_ = &nobody_;
  unsigned caller_ = 0;
  std::array<std::uint64_t, kMostCallers> seen_ = {};
};

}  // namespace holdfast::proof
