// structure_subject.hpp: a persistent hash table under crashes, power cuts and faults: it is changed, it grows, and it is recovered.
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

/// Which table it is.
enum class Scheme : std::uint8_t { group, linear, pfht, path };

/// An open pool, and its table.
struct StructureScene {
  std::optional<Pool> pool = {};
  std::optional<HashTable> table = {};
};

struct StructureStep {
  std::function<void(PoolState&)> intended;  ///< what there is afterwards if all goes well
  /// Does it, and changes the state as far as the table acknowledged it.
  std::function<void(StructureScene&, PoolState&)> act;
};

StructureStep insert_one(std::uint64_t key, std::uint64_t version);
StructureStep assign_one(std::uint64_t key, std::uint64_t version);
StructureStep erase_one(std::uint64_t key);
StructureStep grow_once();
StructureStep sync_structure();
StructureStep close_structure();

/// Keys 0, 1, … that the smallest table, of one group of 64 cells a level or of 64 cells, takes before it grows.
std::uint64_t keys_before_growth(Scheme scheme, bool wide);

class StructureSubject : public Subject {
 public:
  /// The table has the keys below `keys`, closed; `wide`: items of 32 bytes. `killed`: instead of that the process was killed while it
  /// assigned a value to key 0, and of linear probing while it erased the key whose erase moves most items: the log has an entry, or of group
  /// hashing with values of two words, key 0 has two cells.
  StructureSubject(Scheme scheme, bool wide, std::uint64_t keys, bool killed, std::vector<StructureStep> steps)
      : scheme_(scheme), wide_(wide), killed_(killed), keys_(keys), steps_(std::move(steps)) {}

  void prepare(const std::string& folder) override;
  void run(const std::string& folder, const std::function<void()>& said) override;
  std::string check(const std::string& folder, unsigned steps, Crash crash) override;
  std::string go_on(const std::string& folder) override;

 private:
  HashTable open(Pool& pool, bool flush = false) const;
  void die_changing(const std::string& path);
  void write_left(const std::string& path) const;
  void probe(StructureScene& scene, const StructureStep& failed);

  const Scheme scheme_;
  const bool wide_, killed_;
  const std::uint64_t keys_;
  const std::vector<StructureStep> steps_;
  std::string left_;  ///< by the kill: the bytes of the file
  PoolState first_;
  std::vector<PoolState> states_;    ///< after so many steps of the run
  std::vector<PoolState> intended_;  ///< after one more, if it goes well
};

}  // namespace holdfast::proof
