// gate.cpp: which gates a thread has passed, in builds with assertions.
#include "threads/gate.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <vector>

namespace holdfast::threads {

#if defined(NDEBUG)

void Gate::before_waiting(void (*)()) {}

#else

namespace {

std::atomic<void (*)()> check_before{nullptr};

std::vector<const Gate*>& passed() {
  thread_local std::vector<const Gate*> gates;
  return gates;
}

}  // namespace

void Gate::before_waiting(void (*check)()) { check_before = check; }

void Gate::enter() {
  if (void (*const check)() = check_before) check();
  std::vector<const Gate*>& gates = passed();
  bool has_pool = false, changes_another = false;
  for (const Gate* const gate : gates) {
    const Position& held = gate->position_;
    assert(gate != this && "a thread passes a gate that it has passed already");
    if (held.pool != position_.pool) continue;
    assert(position_.rank != Rank::pool && "a thread passes a pool's gate after one of a table of that pool");
    assert((held.table != position_.table || held.rank < position_.rank) &&
           "a thread passes a table's gates in the wrong order");
    has_pool = has_pool || held.rank == Rank::pool;
    changes_another = changes_another || held.rank == Rank::changes;
  }
  assert((position_.rank != Rank::changes || !changes_another || has_pool) &&
         "a thread keeps two tables of a pool still without the pool's gate");
  gates.push_back(this);
}

void Gate::leave() {
  std::vector<const Gate*>& gates = passed();
  const auto last = std::find(gates.rbegin(), gates.rend(), this);
  assert(last != gates.rend() && "a thread leaves a gate that it has not passed");
  gates.erase(std::next(last).base());
}

#endif

}  // namespace holdfast::threads
