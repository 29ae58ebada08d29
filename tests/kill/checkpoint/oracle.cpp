// oracle.cpp: replays journals against the saves that a checkpoint had, and compares what was found in it.
#include "kill/checkpoint/oracle.hpp"

#include <algorithm>

namespace holdfast::proof::kill {

CheckpointCall CheckpointOracle::pending() const {
  return pending_.empty() ? CheckpointCall::none : pending_.front().call;
}

void CheckpointOracle::apply(const CheckpointEntry& entry) {
  if (entry.call == CheckpointCall::create) {
    expect(entry.number > number_, "a new checkpoint has the number of an older object");
    number_ = entry.number;
    steps_.clear();
    whole_ = 0;
  } else {
    steps_.push_back(entry.step);
    whole_ = std::min<std::uint64_t>(whole_ + 1, round_.copies);
  }
}

std::vector<std::string> CheckpointOracle::replay(const CheckpointShared& shared) {
  pending_.clear();
  for (std::uint32_t i = 0; i < shared.calls.begun.load(); ++i) {
    const CheckpointEntry& entry = shared.entries[i];
    if (entry.acknowledged == 0) {
      pending_.push_back(entry);
      continue;
    }
    expect(pending_.empty(), "a call was acknowledged before one that began earlier");
    counts_.add_acknowledged(entry.call);
    apply(entry);
  }
  if (pending() == CheckpointCall::save) {
    counts_.most_in_flight = std::max<std::uint64_t>(counts_.most_in_flight, pending_.size());
  }
  return take();
}

/// Lets the pending calls happen that did, which are the first of them: saves count in the order of the calls.
void CheckpointOracle::settle(const CheckpointFound& found) {
  std::size_t happened = 0;
  if (pending() == CheckpointCall::create) {
    happened = found.number > number_ ? 1 : 0;
    if (happened != 0) pending_.front().number = found.number;
  } else if (found.has_newest != 0) {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].step == found.newest.step) happened = i + 1;
    }
  }
  // Each save that does not count may have taken a copy.
  const std::uint64_t taken = pending() == CheckpointCall::save ? pending_.size() - happened : 0;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    counts_.add_pending(pending_[i].call, i < happened);
    if (i < happened) apply(pending_[i]);
  }
  whole_ -= std::min(whole_, taken);
  if (!steps_.empty()) whole_ = std::max<std::uint64_t>(whole_, 1);
  pending_.clear();
}

void CheckpointOracle::compare(const CheckpointFound& found) {
  expect(found.number == number_,
         "the checkpoint is object " + std::to_string(found.number) + ", not " + std::to_string(number_));
  if (number_ == 0 || found.number == 0) return;
  expect(found.copies == round_.copies, "it has " + std::to_string(found.copies) + " copies");
  expect((found.has_newest != 0) == !steps_.empty(), steps_.empty() ? "a new one has a state" : "all states are gone");
  if (steps_.empty() || found.has_newest == 0) return;
  expect(found.newest.step == steps_.back(), "the newest state is of step " + std::to_string(found.newest.step) +
                                                 ", and that of step " + std::to_string(steps_.back()) +
                                                 " was acknowledged");
  expect(found.newest.flaw[0] == 0, std::string("the newest state: ") + found.newest.flaw);
  expect(found.count >= whole_,
         "only " + std::to_string(found.count) + " copies count, and " + std::to_string(whole_) + " were whole");
  auto before = steps_.end();
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(found.count, 8); ++i) {
    const FoundCopy& copy = found.list[i];
    const auto at = std::find(steps_.begin(), before, copy.step);
    expect(at != before, "copy " + std::to_string(i) + " is of step " + std::to_string(copy.step) +
                             ", which was not saved before the one above it");
    expect(copy.flaw[0] == 0, "step " + std::to_string(copy.step) + ": " + copy.flaw);
    if (at == before) return;
    before = at;
    ++counts_.states;
  }
  whole_ = std::max<std::uint64_t>(whole_, found.count);
}

std::vector<std::string> CheckpointOracle::verify(const CheckpointFound& found, const char* check_errors,
                                                  const PoolInfo& info) {
  settle(found);
  compare(found);
  expect(found.objects == (number_ != 0 ? 1 : 0), std::to_string(found.objects) + " objects are in the pool");
  expect(found.damage[0] == 0, std::string("a restore passed over ") + found.damage);
  expect_sound(check_errors, info);
  return take();
}

}  // namespace holdfast::proof::kill
