// oracle.cpp: replays journals against the entries and words that logs and a region had, and compares what was found in them.
#include "kill/log/oracle.hpp"

#include <algorithm>

#include "holdfast/log_status.hpp"

namespace holdfast::proof::kill {

LogOracle::LogOracle(const LogRound& round, LogCounts& counts)
    : round_(round), counts_(counts), region_(round.region_words()) {
  for (std::uint32_t log = 0; log < 2; ++log) logs_[log].places.resize(round.logs[log].places());
}

std::uint32_t LogOracle::apply(const LogEntry& entry) {
  State& log = logs_[entry.log];
  std::vector<std::uint32_t>& ids = log.places[entry.place];
  switch (entry.call) {
    case LogCall::insert:
      if (ids.size() >= round_.logs[entry.log].capacity) return static_cast<std::uint32_t>(LogStatus::full);
      ids.push_back(entry.id);
      break;
    case LogCall::remove:
      if (ids.empty()) return static_cast<std::uint32_t>(LogStatus::empty);
      ids.pop_back();
      break;
    case LogCall::clear: ids.clear(); break;
    case LogCall::transaction:
      if (gives_up(round_, entry.id)) break;
      for (const LogUpdate& update : updates_of(round_, entry.id)) {
        std::copy_n(update.words, update.count, region_.begin() + update.offset);
      }
      break;
    case LogCall::create:
      expect(entry.number > log.number, "a new log has the number of an older object");
      log.number = entry.number;
      [[fallthrough]];
    default:  // truncate
      for (std::vector<std::uint32_t>& place : log.places) place.clear();
  }
  return static_cast<std::uint32_t>(LogStatus::ok);
}

std::vector<std::string> LogOracle::replay(const LogShared& shared) {
  has_pending_ = false;
  made_ = std::max(made_, shared.made.load());
  for (std::uint32_t log = 0; log < std::min(shared.made.load(), 2u); ++log) {
    State& its = logs_[log];
    expect(its.number == 0 || its.number == shared.numbers[log], std::string(kLogObjectNames[log]) + " was replaced");
    its.number = shared.numbers[log];
  }
  for (std::uint32_t i = 0; i < shared.calls.begun.load(); ++i) {
    const LogEntry& entry = shared.entries[i];
    expect(!has_pending_, "a call began before the one before it was acknowledged");
    if (entry.acknowledged == 0) {
      pending_ = entry;
      has_pending_ = true;
      continue;
    }
    counts_.add_acknowledged(entry.call);
    counts_.given_up += entry.call == LogCall::transaction && gives_up(round_, entry.id) ? 1 : 0;
    const std::uint32_t status = apply(entry);
    expect(entry.acknowledged == 1 + status, std::string(kLogCallNames[static_cast<unsigned>(entry.call)]) + " said " +
                                                 std::to_string(entry.acknowledged - 1) + ", not " +
                                                 std::to_string(status));
  }
  return take();
}

/// A call that was killed at one log: true if it happened, wholly or, where all places are cleared, at some of them.
bool LogOracle::settle_log(const LogFound& found) {
  const FoundLog& there = found.logs[pending_.log];
  State& log = logs_[pending_.log];
  if (pending_.call == LogCall::create) {
    if (there.number <= log.number) return false;
    pending_.number = there.number;
    apply(pending_);
    return true;
  }
  if (pending_.call == LogCall::truncate) {
    bool some = false;
    for (std::uint32_t place = 0; place < log.places.size(); ++place) {
      if (there.count[place] != 0 || log.places[place].empty()) continue;
      log.places[place].clear();
      some = true;
    }
    return some;
  }
  std::vector<std::uint32_t>& ids = log.places[pending_.place];
  const std::vector<std::uint32_t> before = ids;
  apply(pending_);
  if (there.count[pending_.place] == ids.size() && ids != before) return true;
  ids = before;
  return false;
}

/// Lets the pending call happen if it did.
void LogOracle::settle(const LogFound& found) {
  if (!has_pending_) return;
  bool happened = false;
  if (pending_.call == LogCall::transaction) {
    const std::vector<std::uint32_t> before = region_;
    apply(pending_);
    happened = region_ != before && std::equal(region_.begin(), region_.end(), found.region);
    if (!happened) region_ = before;
  } else {
    happened = settle_log(found);
  }
  counts_.add_pending(pending_.call, happened);
  has_pending_ = false;
}

void LogOracle::compare(std::uint32_t number, const FoundLog& found) {
  State& log = logs_[number];
  const std::string name = kLogObjectNames[number];
  if (found.number == 0) return expect(made_ <= number, name + " is gone");
  if (log.number == 0) log.number = found.number;
  expect(found.number == log.number,
         name + " is object " + std::to_string(found.number) + ", not " + std::to_string(log.number));
  expect(found.places == log.places.size(), name + " has " + std::to_string(found.places) + " places");
  for (std::uint32_t place = 0; place < log.places.size(); ++place) {
    const std::vector<std::uint32_t>& ids = log.places[place];
    const std::string where = name + ", place " + std::to_string(place) + ": ";
    expect(found.count[place] == ids.size(),
           where + std::to_string(found.count[place]) + " entries, and not " + std::to_string(ids.size()));
    if (found.count[place] != ids.size()) continue;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      expect(found.ids[place][i] == ids[i], where + "entry " + std::to_string(i) + " is of call " +
                                                std::to_string(found.ids[place][i]) + ", and not of " +
                                                std::to_string(ids[i]));
      ++counts_.entries;
    }
  }
}

void LogOracle::compare_region(const LogFound& found) {
  if (found.region_words == 0) return expect(made_ <= kCells, "the region is gone");
  expect(found.region_words == region_.size(), "the region has " + std::to_string(found.region_words) + " words");
  const auto differs = std::mismatch(region_.begin(), region_.end(), found.region);
  expect(differs.first == region_.end(),
         "word " + std::to_string(differs.first - region_.begin()) +
             " of the region is not what all acknowledged transactions, and all or nothing of the last, left");
  ++counts_.regions;
}

std::vector<std::string> LogOracle::verify(const LogFound& found, const char* check_errors, const PoolInfo& info) {
  settle(found);
  for (std::uint32_t log = 0; log < 2; ++log) compare(log, found.logs[log]);
  compare_region(found);
  counts_.undone += found.undone;
  made_ = std::max(made_, found.objects);
  expect(found.objects == made_, std::to_string(found.objects) + " objects are in the pool");
  expect(found.undone_again == 0, "a second recovery undid a transaction");
  expect(found.left == 0, std::to_string(found.left) + " entries are in the log of transactions after recovery");
  expect_sound(check_errors, info);
  return take();
}

}  // namespace holdfast::proof::kill
