// world_trace.cpp: what a caller has seen, on which its next steps depend; and the events of a run, to be read after a failure.
#include "structures/gphash/model/world.hpp"

#include "core/both.hpp"

namespace holdfast::gphash::model {

void World::trace(Access access, const void* where, std::uint64_t value) {
  if (!tracing_) return;
  const auto* const word = static_cast<const std::uint64_t*>(where);
  std::uint32_t at = ~0u;
  if (durable_.holds(where)) at = static_cast<std::uint32_t>(word - durable_.words());
  if (word >= volatile_.data() && word < volatile_.data() + volatile_.size()) {
    at = regions_.words + static_cast<std::uint32_t>(word - volatile_.data());
  }
  trace_.push_back({static_cast<std::uint8_t>(caller()), access, at, value});
}

std::string World::describe(const Event& event) const {
  const Regions& at = regions_;
  std::string where;
  if (event.where == ~0u) {
    where = "";
  } else if (event.where >= at.words) {
    where = " tags[" + std::to_string(event.where - at.words) + "]";
  } else if (event.where >= at.heap_begin) {
    where = " cell " + std::to_string((event.where - at.heap_begin) / at.cell_words) + " word " +
            std::to_string((event.where - at.heap_begin) % at.cell_words);
  } else if (event.where < at.slots_begin) {
    where = " directory word " + std::to_string(event.where);
  } else {
    const unsigned word = (event.where - at.slots_begin) % at.slot_words;
    where = " slot " + std::to_string((event.where - at.slots_begin) / at.slot_words) +
            (word == 0   ? " key"
             : word == 1 ? " word"
                         : " key word " + std::to_string(word - 2));
  }
  return "caller " + std::to_string(event.caller) + ": " + name(event.access) + where + " " +
         std::to_string(event.value);
}

void World::looked_at(const std::uint64_t* word, std::uint64_t value) {
  callers_[caller()].last_word = word;
  callers_[caller()].last_value = value;
}

void World::note_misses(std::uint64_t misses) {
  Caller& me = callers_[caller()];
  if (misses == me.misses) {
    me.waits_for = nullptr;
    return;
  }
  me.misses = misses;
  me.waits_for = me.missed_move ? me.held : me.last_word;
  me.waits_while = me.missed_move ? me.held_value : me.last_value;
  me.missed_move = false;
  me.held = nullptr;
}

void World::begin_attempt(std::uint64_t misses) {
  Caller& me = callers_[caller()];
  const bool again = misses != me.misses;
  if (again && me.missed_move) {
    seen(caller()) = me.seen_before;  // else each attempt is a new state, without end
    return;
  }
  me.seen_before = seen(caller());
  if (again) return;
  me.missed_move = false;
  me.held = nullptr;
}

void World::note_held_move(const std::uint64_t* version_lock) {
  Caller& me = callers_[caller()];
  me.missed_move = true;
  if (me.last_word != version_lock) return;  // it was not held, but the item had gone: look again at once
  me.held = version_lock;
  me.held_value = me.last_value;
}

}  // namespace holdfast::gphash::model
