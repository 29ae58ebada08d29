// explorer.cpp: depth-first over orders, by running again from the start. States that were seen before are not entered again.
#include "proof/explorer.hpp"

#include <functional>

#include "core/both.hpp"
#include "core/hash.hpp"
#include "holdfast/error.hpp"

namespace holdfast::proof {

namespace {

constexpr unsigned kDone = ~0u;
constexpr unsigned kAbort = ~0u - 1;

}  // namespace

class Explorer {
 public:
  Explorer(Callers& callers, std::uint64_t most_states)
      : callers_(callers), count_(callers.count()), most_states_(most_states), fibers_(count_) {
    HOLDFAST_ASSERT(count_ <= kMostCallers);
  }

  Explored run() {
    const std::function<void(unsigned)> body = [this](unsigned caller) { this->body(caller); };
    while (result_.failure.empty()) {
      ++result_.executions;
      restart();
      for (unsigned i = 0; i < count_; ++i) fibers_.start(i, &body);
      callers_.explorer_ = this;
      const unsigned first = choose();
      if (first < count_) {
        current_ = first;
        callers_.resume(first);
        fibers_.enter(first);
      }
      callers_.explorer_ = nullptr;
      if (over_ && result_.failure.empty()) fail(callers_.end());
      if (result_.states >= most_states_) result_.complete = false;
      if (!result_.complete || !backtrack()) break;
    }
    return result_;
  }

  void access() {
    const unsigned me = current_;
    if (started_ >> me & 1) {
      const unsigned next = choose();
      if (next != me) go(next);
    }
    started_ |= 1u << me;
    callers_.begin(me);
  }

 private:
  void restart() {
    callers_.restart();
    depth_ = 0;
    current_ = started_ = finished_ = 0;
    over_ = false;
  }

  /// What a caller does, on its own stack. Holds no heap memory: it is left wherever the order ends.
  void body(unsigned caller) {
    try {
      callers_.run(caller);
    } catch (const Error& error) {
      fail(error.what());
      return go(kAbort);
    }
    finished_ |= 1u << caller;
    go(choose());
  }

  /// Switches to `next`, from a fiber.
  void go(unsigned next) {
    if (next >= count_) {
      over_ = next == kDone;
      return fibers_.to_main();
    }
    current_ = next;
    callers_.resume(next);
    fibers_.switch_to(next);
  }

  unsigned enabled() const {
    unsigned mask = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (!(finished_ >> i & 1) && !callers_.is_blocked(i)) mask |= 1u << i;
    }
    return mask;
  }

  /// Who makes the next access. Beyond the order that is being repeated, checks the state that was reached.
  unsigned choose() {
    if (depth_ < taken_.size()) return taken_[depth_++];
    const std::uint64_t state = mix(callers_.hash() + finished_);
    if (!visited_.insert(state).second) return kAbort;
    ++result_.states;
    fail(callers_.crash());
    if (!result_.failure.empty()) return kAbort;
    const unsigned can = enabled();
    if (can == 0) {
      if (finished_ == (std::uint64_t{1} << count_) - 1) return kDone;
      fail("the callers wait for each other");
      return kAbort;
    }
    const unsigned pick = can >> current_ & 1 ? current_ : static_cast<unsigned>(__builtin_ctz(can));
    taken_.push_back(static_cast<std::uint8_t>(pick));
    rest_.push_back(can & ~(1u << pick));
    ++depth_;
    return pick;
  }

  bool backtrack() {
    while (!taken_.empty()) {
      if (rest_.back() != 0) {
        taken_.back() = static_cast<std::uint8_t>(__builtin_ctz(rest_.back()));
        rest_.back() &= rest_.back() - 1;
        return true;
      }
      taken_.pop_back();
      rest_.pop_back();
    }
    return false;
  }

  void fail(const std::string& what) {
    if (!what.empty() && result_.failure.empty()) result_.failure = callers_.explain(what);
  }

  Callers& callers_;
  const unsigned count_;
  const std::uint64_t most_states_;
  Fibers fibers_;
  std::vector<std::uint8_t> taken_;  // the order
  std::vector<std::uint32_t> rest_;  // and who else could have been chosen, at each of its places
  std::size_t depth_ = 0;
  unsigned current_ = 0, started_ = 0, finished_ = 0;
  bool over_ = false;
  std::unordered_set<std::uint64_t> visited_;
  Explored result_;
};

void Callers::access() {
  if (explorer_ != nullptr) explorer_->access();
}

Explored explore(Callers& callers, std::uint64_t most_states) { return Explorer(callers, most_states).run(); }

}  // namespace holdfast::proof
