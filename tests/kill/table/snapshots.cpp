// snapshots.cpp: compares a snapshot with those that killed writers made, or were making.
#include "kill/table/snapshots.hpp"

#include <algorithm>

namespace holdfast::proof::kill {

void SnapshotOracle::taken(Content content, bool acknowledged) {
  if (acknowledged) possible_.clear();
  is_tidy_ = acknowledged;
  is_pending_ = !acknowledged && std::find(possible_.begin(), possible_.end(), content) == possible_.end();
  possible_.emplace_back(std::move(content));
}

std::vector<std::string> SnapshotOracle::verify(const Round& round, const Found& found) {
  std::vector<std::string> wrong;
  const FoundSnapshot& snapshot = found.snapshot;
  std::optional<Content> now;
  if (snapshot.exists != 0) {
    ++verified_;
    now.emplace(found.in_snapshot, found.in_snapshot + round.keys);
    const auto items = static_cast<std::uint64_t>(now->size() - std::count(now->begin(), now->end(), 0u));
    if (snapshot.errors[0] != 0) wrong.push_back(std::string("a snapshot: ") + snapshot.errors);
    if (snapshot.clean == 0) wrong.emplace_back("a snapshot is not clean");
    if (snapshot.items != items)
      wrong.push_back("a snapshot says it has " + std::to_string(snapshot.items) + " items, find " +
                      std::to_string(items));
    for (std::uint32_t index = 0; index < round.keys; ++index) {
      if (index % round.threads != 0) (*now)[index] = 0;
    }
  }
  const auto is = std::find(possible_.begin(), possible_.end(), now);
  if (is == possible_.end())
    wrong.emplace_back(now ? "a snapshot holds what the table did not when it was made" : "a snapshot is gone");
  if (is_pending_) ++(is == possible_.end() - 1 ? kept_ : lost_);
  is_pending_ = false;
  possible_ = {std::move(now)};
  return wrong;
}

}  // namespace holdfast::proof::kill
