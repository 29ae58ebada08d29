// checker.cpp: the search through the orders of one key's operations.
#include "checker.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "support/model.hpp"
#include "support/random.hpp"

namespace holdfast::test::linear {
namespace {

std::uint64_t combined(Combine combine, std::uint64_t old, std::uint64_t given) {
  return combine == Combine::add ? old + given : combine == Combine::min ? std::min(old, given) : std::max(old, given);
}

/// Which operations have taken effect, and what the key holds then.
struct Point {
  std::uint64_t done;
  State state;
  bool operator==(const Point&) const = default;
};

struct PointHash {
  std::size_t operator()(const Point& point) const {
    return mix(mix(point.done, point.state.value_or(0)), point.state.has_value() ? 1 : 0);
  }
};

class Search {
 public:
  explicit Search(const Epoch& epoch) : epoch_(epoch) {
    if (epoch.size() > kMaxOperations) throw std::length_error("an epoch has at most 64 operations on a key");
    for (std::size_t i = 0; i < epoch.size(); ++i) {
      if (epoch[i].ended != kPending) required_ |= std::uint64_t{1} << i;
    }
  }

  void from(const State& state) {
    std::vector<Point> open{{0, state}};
    while (!open.empty()) {
      const Point point = open.back();
      open.pop_back();
      if (!seen_.insert(point).second) continue;
      if ((point.done & required_) == required_) ends_.insert(point.state);
      for (std::size_t i = 0; i < epoch_.size(); ++i) {
        if (!may_come_next(i, point.done)) continue;
        Point next{point.done | std::uint64_t{1} << i, point.state};
        if (takes_effect(epoch_[i], next.state)) open.push_back(next);
      }
    }
  }

  const std::set<State>& ends() const { return ends_; }

 private:
  bool may_come_next(std::size_t i, std::uint64_t done) const {
    if ((done >> i & 1) != 0) return false;
    const Operation& operation = epoch_[i];
    if (operation.after != kNone && (done >> operation.after & 1) == 0) return false;
    for (std::size_t j = 0; j < epoch_.size(); ++j) {
      if ((done >> j & 1) == 0 && epoch_[j].ended < operation.begun) return false;  // it had returned before
    }
    return true;
  }

  /// The same, of one that `op` does not name.
  static bool special_takes_effect(const Operation& operation, State& state) {
    const bool has_ended = operation.ended != kPending;
    if (operation.special == Special::flush) {
      state.reset();
      return true;
    }
    if (operation.special == Special::take) {
      const State had = state;
      state.reset();
      return !has_ended ||
             (had ? operation.status == Status::erased && operation.out == had : operation.status == Status::not_found);
    }
    Status status = Status::not_found;
    if (state && operation.special == Special::compare && *state != operation.expected) {
      status = Status::exists;
    } else if (state) {
      status = Status::updated;
      state = operation.special == Special::compare ? operation.given : *state + operation.given;
    }
    const bool reads = operation.special == Special::increment && status == Status::updated;
    return !has_ended || (operation.status == status && (!reads || operation.out == state));
  }
  /// Applies the operation; false if its caller saw something else.
  static bool takes_effect(const Operation& operation, State& state) {
    if (operation.special != Special::none) return special_takes_effect(operation, state);
    const bool present = state.has_value();
    const auto answer = step(operation.op, state, operation.given, [&](std::uint64_t old, std::uint64_t given) {
      return combined(operation.combine, old, given);
    });
    if (operation.ended == kPending) return true;
    return operation.status == answer.status && operation.found == present &&
           (!reads_value(operation.op) || operation.out == answer.out);
  }

  const Epoch& epoch_;
  std::uint64_t required_ = 0;
  std::unordered_set<Point, PointHash> seen_;
  std::set<State> ends_;
};

}  // namespace

std::set<State> linearize(const Epoch& epoch, const std::set<State>& before) {
  Search search(epoch);
  for (const State& state : before) search.from(state);
  return search.ends();
}

bool is_linearizable(const std::vector<Epoch>& epochs, const State& first) {
  std::set<State> states{first};
  for (const Epoch& epoch : epochs) states = linearize(epoch, states);
  return !states.empty();
}

}  // namespace holdfast::test::linear
