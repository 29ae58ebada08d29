// group_subject.hpp: a group table under crashes, power cuts and faults: it is changed, it grows, and it is recovered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../items.hpp"
#include "holdfast/structures.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// An open pool, and its group table.
struct GroupScene {
  std::optional<Pool> pool = {};
  std::optional<GroupTable> table = {};
};

struct GroupStep {
  std::function<void(PoolState&)> intended;  ///< what there is afterwards if all goes well
  /// Does it, and changes the state as far as the table acknowledged it.
  std::function<void(GroupScene&, PoolState&)> act;
};

GroupStep insert_one(std::uint64_t key, std::uint64_t version);
GroupStep assign_one(std::uint64_t key, std::uint64_t version);
GroupStep erase_one(std::uint64_t key);
GroupStep grow_once();
GroupStep sync_group();
GroupStep close_group();

/// Keys 0, 1, … that a table of one group of 64 cells a level takes before it grows.
std::uint64_t keys_of_one_group(bool wide);

class GroupSubject : public Subject {
 public:
  /// The table has the keys below `keys`, closed; `wide`: items of 32 bytes. `killed`: instead of that the process was killed while it
  /// assigned a value of two words to key 0, which then has two cells.
  GroupSubject(bool wide, std::uint64_t keys, bool killed, std::vector<GroupStep> steps)
      : wide_(wide), killed_(killed), keys_(keys), steps_(std::move(steps)) {}

  void prepare(const std::string& folder) override;
  void run(const std::string& folder, const std::function<void()>& said) override;
  std::string check(const std::string& folder, unsigned steps, Crash crash) override;
  std::string go_on(const std::string& folder) override;
  std::vector<Range> meaningless() const override;

 private:
  void die_assigning(const std::string& path);
  void probe(GroupScene& scene, const GroupStep& failed);

  const bool wide_, killed_;
  const std::uint64_t keys_;
  const std::vector<GroupStep> steps_;
  PoolState first_;
  std::vector<PoolState> states_;    ///< after so many steps of the run
  std::vector<PoolState> intended_;  ///< after one more, if it goes well
};

}  // namespace holdfast::proof
