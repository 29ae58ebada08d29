// oracle.cpp: replays journals against the model of one key, and compares what was found in the pool.
#include "kill/table/oracle.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "proof/kill/shared.hpp"
#include "support/model.hpp"

namespace holdfast::proof::kill {

using namespace test;

namespace {

using Value = std::optional<std::string>;

std::uint64_t digest_of(const Value& value) { return value ? digest(value->data(), value->size()) : 0; }
std::uint64_t digest_of(const State& state) { return state ? digest_of(Value(state->value)) : 0; }

/// The entries of a journal, the last of which may not be acknowledged.
std::vector<const Entry*> entries_of(const Journal& journal) {
  std::vector<const Entry*> entries;
  const std::uint64_t used = journal.used.load(std::memory_order_acquire);
  const std::uint64_t begun = journal.number.load(std::memory_order_acquire);
  for (std::uint64_t at = 0; at < used;) {
    const auto* entry = reinterpret_cast<const Entry*>(journal.arena + at);
    if (entry->number > begun) break;  // written down, but the call had not begun
    entries.push_back(entry);
    at += (sizeof(Entry) + entry->n * std::uint64_t{9} + 7) / 8 * 8;
  }
  return entries;
}

Status status_of(const Entry& entry, std::uint32_t i) {
  return static_cast<Status>(reinterpret_cast<const std::uint8_t*>(&entry + 1)[i] & ~kFoundBit);
}

bool found_bit_of(const Entry& entry, std::uint32_t i) {
  return (reinterpret_cast<const std::uint8_t*>(&entry + 1)[i] & kFoundBit) != 0;
}

std::uint64_t digest_of(const Entry& entry, std::uint32_t i) {
  std::uint64_t sum = 0;
  std::memcpy(&sum, reinterpret_cast<const std::uint8_t*>(&entry + 1) + entry.n + std::size_t{i} * 8, 8);
  return sum;
}

Answer<std::string> do_step(const Round& round, const Plan& plan, std::size_t i, State& state) {
  Value value = state ? Value(state->value) : Value();
  const std::uint64_t before = state ? state->score : 0;
  const Answer<std::string> answer =
      step(static_cast<Op>(plan.ops[i]), value, value_of(round, plan.versions[i]),
           [&](const std::string& a, const std::string& b) { return combined(a, b, plan.combine, plan.element); });
  const bool writes = answer.status == Status::inserted || answer.status == Status::updated;
  state = value ? State({*value, round.scored && writes ? before + 1 : before}) : State();
  return answer;
}

}  // namespace

std::string Oracle::name(std::uint32_t index) const {
  return "key #" + std::to_string(index) + " (" + std::to_string(key_of(round_, index)) + ")";
}

Content Oracle::content() const {
  Content content(round_.keys, 0);
  for (std::uint32_t index = 0; index < round_.keys; index += round_.threads) {
    const State& state = states_[index];
    if (state) content[index] = item_digest(state->value.data(), state->value.size(), state->score);
  }
  return content;
}

void Oracle::replay_call(const Plan& plan, const Entry& entry, unsigned thread) {
  const std::string where = "thread " + std::to_string(thread) + " call " + std::to_string(entry.number) + ": ";
  ++calls_;
  for (std::uint32_t index = 0; index < round_.keys && plan.call == Call::clear; ++index) states_.set(index, {});
  if (plan.call == Call::snapshot) snapshots_.taken(content(), true);
  if (plan.call != Call::batch) return;
  operations_ += plan.indices.size();
  for (std::uint32_t i = 0; i < plan.indices.size(); ++i) {
    const std::uint32_t index = plan.indices[i];
    const Op op = static_cast<Op>(plan.ops[i]);
    const std::string what = where + "operation " + std::to_string(i) + " (kind " + std::to_string(plan.ops[i]) +
                             ") on " + name(index) + " ";
    const Status got = status_of(entry, i);
    if (plan.masked && plan.mask[i] == 0) {
      expect(got == Status::not_run, what + "was masked out and ran");
      continue;
    }
    State state = states_[index];
    const bool present = state.has_value();
    const Answer<std::string> answer = do_step(round_, plan, i, state);
    states_.set(index, std::move(state));
    expect(got == answer.status, what + "answered status " + std::to_string(static_cast<int>(got)) + ", not " +
                                     std::to_string(static_cast<int>(answer.status)));
    expect(found_bit_of(entry, i) == present, what + "answered a wrong `found`");
    if (reads_value(op)) {
      const std::uint64_t read = digest_of(entry, i);
      expect(read == digest_of(answer.out), what + "read a wrong value");
    }
  }
}

void Oracle::add_pending(const Plan& plan) {
  for (std::uint32_t index = 0; index < round_.keys && plan.call == Call::clear; ++index) states_.may_become(index, {});
  if (plan.call == Call::snapshot) snapshots_.taken(content(), false);
  if (plan.call != Call::batch) return;
  std::unordered_map<std::uint32_t, State> now;
  for (std::uint32_t i = 0; i < plan.indices.size(); ++i) {
    const std::uint32_t index = plan.indices[i];
    if (plan.masked && plan.mask[i] == 0) continue;
    auto [at, is_new] = now.try_emplace(index, states_[index]);
    do_step(round_, plan, i, at->second);
    states_.may_become(index, at->second);
  }
}

void Oracle::bind_reads(const Plan& plan, const Entry& entry, unsigned thread) {
  // The other thread was in its last call, or about to be, when this read began: what it returned must survive, so
  // states older than the oldest one that fits are not allowed any more (rule 2).
  for (std::uint32_t i = 0; i < plan.indices.size(); ++i) {
    const std::uint32_t index = plan.indices[i];
    auto& states = states_.pending(index);
    const std::uint64_t read = digest_of(entry, i);
    if (read == digest_of(states_[index])) continue;
    const auto at = std::find_if(states.begin(), states.end(), [&](const State& s) { return digest_of(s) == read; });
    expect(at != states.end(), "thread " + std::to_string(thread) + " call " + std::to_string(entry.number) +
                                   ": read of " + name(index) + " saw no state that it ever had");
    if (at == states.end()) continue;
    ++reads_bound_;
    const std::vector<State> left(at, states.end());
    states_.set(index, left.front());
    states.assign(left.begin() + 1, left.end());
  }
}

std::vector<std::string> Oracle::replay(const TableShared& shared, std::uint32_t life) {
  settle();
  snapshots_.begin_life();
  std::vector<std::uint64_t> pending_call(round_.threads, 0);
  std::vector<std::vector<const Entry*>> entries;
  for (unsigned thread = 0; thread < round_.threads; ++thread) {
    entries.push_back(entries_of(shared.journal[thread]));
    for (const Entry* entry : entries.back()) {
      const Plan plan = make_plan(round_, life, thread, entry->number);
      if (entry->acknowledged != 0) {
        replay_call(plan, *entry, thread);
      } else {
        pending_call[thread] = entry->number;
        add_pending(plan);
      }
    }
  }
  for (unsigned thread = 0; thread < round_.threads && round_.threads > 1; ++thread) {
    const std::uint64_t bound = pending_call[1 - thread];
    for (const Entry* entry : entries[thread]) {
      if (bound == 0 || entry->acknowledged == 0 || entry->others_number != bound) continue;
      const Plan plan = make_plan(round_, life, thread, entry->number);
      if (plan.call == Call::foreign_read) bind_reads(plan, *entry, thread);
    }
  }
  return take();
}

std::vector<std::string> Oracle::verify(const Found& found, const char* check_errors) {
  const std::size_t bytes = round_.value_bytes;
  std::uint64_t present = 0;
  for (std::uint32_t index = 0; index < round_.keys; ++index) {
    const auto* value = reinterpret_cast<const char*>(found.values) + index * bytes;
    const std::uint64_t score = round_.scored ? found.scores[index] : 0;
    const State now = found.found[index] ? State({std::string(value, bytes), score}) : State{};
    present += found.found[index] ? 1 : 0;
    expect(found.contained[index] == found.found[index], name(index) + ": contains and find disagree");
    expect(now || std::all_of(value, value + bytes, [](char c) { return c == 0; }),
           name(index) + ": is absent, and its row is not zero");
    const bool was_there = states_[index].has_value();
    expect(states_.found(index, now),
           name(index) + ": " +
               (now ? was_there ? "holds a value that no call gave it" : "is there, and was erased" : "is lost"));
  }
  std::map<std::uint64_t, std::uint32_t> index_of;
  for (std::uint32_t index = 0; index < round_.keys; ++index) index_of[key_of(round_, index)] = index;
  std::vector<unsigned> times(round_.keys, 0);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(found.exported, round_.keys); ++i) {
    const auto at = index_of.find(found.exported_keys[i]);
    expect(at != index_of.end(),
           "export gave a key that was never inserted: " + std::to_string(found.exported_keys[i]));
    if (at == index_of.end()) continue;
    expect(++times[at->second] == 1, name(at->second) + ": exported twice");
    expect(std::memcmp(found.exported_values + i * bytes, found.values + at->second * bytes, bytes) == 0,
           name(at->second) + ": export and find give different values");
  }
  expect(found.exported == present,
         "export gave " + std::to_string(found.exported) + " items, find " + std::to_string(present));
  expect(found.size == present, "size says " + std::to_string(found.size) + ", find " + std::to_string(present));
  expect(found.check_items == present,
         "check counted " + std::to_string(found.check_items) + " items, find " + std::to_string(present));
  expect(check_errors[0] == 0, std::string("check says: ") + check_errors);
  expect(found.again_differs == 0, "another look a while later saw something else");
  for (const std::string& wrong : snapshots_.verify(round_, found)) expect(false, wrong);
  settle();
  return take();
}

}  // namespace holdfast::proof::kill
