// weak_memory.hpp: memory as weak as a GPU's, for a few actors on a few words, in every order that is possible.
//
// Each word keeps all its values. A load may see any that is not older than what its caller is known to have seen; an
// acquiring one also takes over what the releasing store's caller had seen; a swap sees the newest; a fence takes over what
// all fences before it had seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/both.hpp"
#include "proof/fiber.hpp"

namespace holdfast::proof {

inline constexpr unsigned kMostWords = 8, kMostActors = 4;
inline constexpr unsigned kMostValues = 16;  // of a word in one execution

struct View {
  std::uint8_t seen[kMostWords] = {};
  void join(const View& other) {
    for (unsigned i = 0; i < kMostWords; ++i) seen[i] = std::max(seen[i], other.seen[i]);
  }
};

/// One execution after another: the choices of the one before, with the last that had another alternative changed.
class Choices {
 public:
  unsigned pick(unsigned of) {
    if (at_ == taken_.size()) taken_.push_back({0, of});
    return taken_[at_++].first;
  }
  bool next() {
    at_ = 0;
    while (!taken_.empty() && taken_.back().first + 1 == taken_.back().second) taken_.pop_back();
    if (taken_.empty()) return false;
    ++taken_.back().first;
    return true;
  }

 private:
  std::vector<std::pair<unsigned, unsigned>> taken_;
  std::size_t at_ = 0;
};

class WeakMemory;
inline WeakMemory* weak = nullptr;

class WeakMemory {
 public:
  WeakMemory(Fibers& fibers, Choices& choices) : fibers_(fibers), choices_(choices) {}
  /// Before all others.
  void begin(unsigned at, std::uint64_t value) { history_[at][0].value = value; }

  void run(unsigned who) {
    who_ = who;
    fibers_.enter(who);
  }
  std::uint64_t load(unsigned at, bool acquires) {
    fibers_.to_main();
    View& view = views_[who_];
    const unsigned oldest = view.seen[at];
    const unsigned index = oldest + choices_.pick(sizes_[at] - oldest);
    view.seen[at] = static_cast<std::uint8_t>(index);
    if (acquires) view.join(history_[at][index].released);
    return history_[at][index].value;
  }
  void store(unsigned at, std::uint64_t value, bool releases) {
    fibers_.to_main();
    add(at, value, releases);
  }
  bool swap(unsigned at, std::uint64_t seen, std::uint64_t value) {
    fibers_.to_main();
    View& view = views_[who_];
    view.seen[at] = static_cast<std::uint8_t>(sizes_[at] - 1);
    view.join(history_[at][view.seen[at]].released);
    if (history_[at][view.seen[at]].value != seen) return false;
    add(at, value, true);
    return true;
  }
  /// Changes some bits of the newest value; what it was.
  std::uint64_t update(unsigned at, std::uint64_t keep, std::uint64_t set) {
    fibers_.to_main();
    View& view = views_[who_];
    view.seen[at] = static_cast<std::uint8_t>(sizes_[at] - 1);
    view.join(history_[at][view.seen[at]].released);
    const std::uint64_t old = history_[at][view.seen[at]].value;
    add(at, (old & keep) | set, true);
    return old;
  }
  void fence() {
    fibers_.to_main();
    views_[who_].join(fenced_);
    fenced_ = views_[who_];
  }
  std::uint64_t newest(unsigned at) const { return history_[at][sizes_[at] - 1].value; }

  bool ended[kMostActors] = {};
  bool wrong = false;
  bool cached = false;  ///< a reader used the copy

 private:
  struct Message {
    std::uint64_t value = 0;
    View released;
  };
  void add(unsigned at, std::uint64_t value, bool releases) {
    HOLDFAST_ASSERT(sizes_[at] < kMostValues);
    views_[who_].seen[at] = static_cast<std::uint8_t>(sizes_[at]);
    history_[at][sizes_[at]++] = {value, releases ? views_[who_] : View{}};
  }

  Fibers& fibers_;
  Choices& choices_;
  unsigned who_ = 0;
  Message history_[kMostWords][kMostValues];
  unsigned sizes_[kMostWords] = {1, 1, 1, 1, 1, 1, 1, 1};
  View views_[kMostActors], fenced_;
};

/// What all executions came to.
struct Executions {
  std::uint64_t executions = 0, wrong = 0, cached = 0;
};

/// Runs `actors` in every order in which at most `preemptions` of them are preempted. `begin` says what the words hold at
/// first, `act` what an actor does, `ready` when one may continue; `end` checks the result.
struct Play {
  unsigned actors = kMostActors;
  unsigned preemptions = ~0u;
  std::uint64_t most = ~std::uint64_t{0};  ///< executions: the first so many
  std::function<void(WeakMemory&)> begin;
  std::function<void(unsigned)> act;
  std::function<bool(const WeakMemory&, unsigned)> ready = [](const WeakMemory&, unsigned) { return true; };
  std::function<void(WeakMemory&)> end = [](WeakMemory&) {};
};

/// `until_wrong`: no further than the first execution that goes wrong.
inline Executions run_all(const Play& play, bool until_wrong = false) {
  Executions seen;
  Choices choices;
  Fibers fibers(play.actors);
  const std::function<void(unsigned)> body = [&](unsigned who) {
    play.act(who);
    weak->ended[who] = true;
    fibers.to_main();
  };
  do {
    WeakMemory memory(fibers, choices);
    weak = &memory;
    play.begin(memory);
    for (unsigned who = 0; who < play.actors; ++who) {
      fibers.start(who, &body);
      memory.run(who);  // up to its first access
    }
    unsigned last = play.actors, left = play.preemptions;
    for (;;) {
      unsigned ready[kMostActors], size = 0;
      bool last_is_ready = false;
      for (unsigned who = 0; who < play.actors; ++who) {
        if (memory.ended[who] || !play.ready(memory, who)) continue;
        last_is_ready |= who == last;
        ready[size++] = who;
      }
      if (size == 0) break;
      const unsigned next = last_is_ready && left == 0 ? last : ready[choices.pick(size)];
      if (last_is_ready && next != last) --left;
      memory.run(last = next);
    }
    play.end(memory);
    ++seen.executions;
    seen.wrong += memory.wrong ? 1 : 0;
    seen.cached += memory.cached ? 1 : 0;
  } while (!(until_wrong && seen.wrong != 0) && seen.executions < play.most && choices.next());
  weak = nullptr;
  return seen;
}

}  // namespace holdfast::proof
