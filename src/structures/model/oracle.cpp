// oracle.cpp: tries every order of a few operations.
#include "structures/model/oracle.hpp"

#include <utility>

namespace holdfast::structures::model {

namespace {

class Orders {
 public:
  explicit Orders(const std::vector<Event>& events) : events_(events) {}

  void visit(std::uint32_t done, const State& state) {
    if (!seen_.emplace(done, state).second) return;
    bool is_whole = true;
    for (unsigned i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if ((done >> i & 1) != 0) continue;
      is_whole &= !event.has_ended;
      if ((event.after & ~done) != 0) continue;  // what had ended before comes first
      State next = state;
      if (apply(event, next)) visit(done | 1u << i, next);
    }
    if (is_whole) states.insert(state);
  }

  std::set<State> states;

 private:
  /// False: the event answered otherwise.
  static bool apply(const Event& event, State& state) {
    const Operation& operation = event.operation;
    std::uint8_t& value = state[operation.key];
    const bool is_there = value != 0;
    Status status = Status::no_space;
    std::uint8_t read = 0;
    switch (operation.what) {
      case Do::insert:
      case Do::insert_new: status = is_there ? Status::exists : Status::inserted; break;
      case Do::find: status = is_there ? Status::found : Status::not_found; break;
      case Do::assign: status = is_there ? Status::updated : Status::not_found; break;
      case Do::erase: status = is_there ? Status::erased : Status::not_found; break;
      case Do::grow: status = Status::updated; break;
      case Do::clear: status = Status::erased; break;
    }
    if (status == Status::found) read = value;
    if (event.has_ended && event.status == Status::no_space) return true;
    if (event.has_ended && (event.status != status || event.value != read)) return false;
    if (status == Status::inserted || (status == Status::updated && operation.what == Do::assign))
      value = operation.value;
    if (status == Status::erased) value = 0;
    if (operation.what == Do::clear) state = {};
    return true;
  }

  const std::vector<Event>& events_;
  std::set<std::pair<std::uint32_t, State>> seen_;
};

}  // namespace

std::set<State> allowed(const std::vector<Event>& events, const State& first) {
  Orders orders(events);
  orders.visit(0, first);
  return std::move(orders.states);
}

}  // namespace holdfast::structures::model
