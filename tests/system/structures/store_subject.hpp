// store_subject.hpp: a store under crashes, power cuts and faults: it is changed, it grows, it evicts, it is copied, and it is recovered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../items.hpp"
#include "holdfast/store.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// What a store must hold: of each key the version of its value, plus kTouched for each time that its expiry was replaced.
struct StoreState : PoolState {
  bool may_evict = false;  ///< any item may be absent: a change that evicts was not acknowledged
};
inline constexpr std::uint64_t kTouched = 1000;

/// The store of a pool, and that of its copy.
struct StoreWorld {
  StoreState store = {};
  std::optional<StoreState> copy = {};
};

/// An open pool, and its store.
struct StoreScene {
  std::string folder = {};
  std::optional<Pool> pool = {};
  std::optional<Store> store = {};
  bool again = false;  ///< the step failed before, and may have been done then
};

struct StoreStep {
  std::function<void(StoreWorld&)> intended;  ///< what there is afterwards if all goes well
  /// Does it, and changes the world as far as the store acknowledged it.
  std::function<void(StoreScene&, StoreWorld&)> act;
  bool makes_file = false;
};

/// Values of versions below 100 have 100 bytes, those below 200 have 900,000, and the others 2,200,000, which lie in two chunks.
inline constexpr std::uint64_t kLargeValue = 100, kChunkedValue = 200;
StoreStep set_item(std::uint64_t key, std::uint64_t version);
/// The same where memory is lacking.
StoreStep set_evicting(std::uint64_t key, std::uint64_t version);
/// One batch of keys first to last - 1.
StoreStep set_items(std::uint64_t first, std::uint64_t last, std::uint64_t version);
/// Reserves memory for the value, fills it, and commits.
StoreStep fill_item(std::uint64_t key, std::uint64_t version);
StoreStep append_nothing(std::uint64_t key);  ///< replaces an item by one that is equal to it
StoreStep touch_item(std::uint64_t key);
StoreStep erase_item(std::uint64_t key);
StoreStep flush_items();
StoreStep sync_store();
StoreStep copy_store();  ///< a snapshot of the pool
StoreStep close_store();

class StoreSubject : public Subject {
 public:
  /// The store has the keys below `keys`, closed. `killed`: instead of that the process was killed when it had committed a replacement of
  /// key 0, and not killed the old item.
  StoreSubject(std::uint64_t keys, bool killed, std::vector<StoreStep> steps, StoreOptions options = {})
      : killed_(killed), keys_(keys), options_(options), steps_(std::move(steps)) {}

  void prepare(const std::string& folder) override;
  void run(const std::string& folder, const std::function<void()>& said) override;
  std::string check(const std::string& folder, unsigned steps, Crash crash) override;
  std::string go_on(const std::string& folder) override;

 private:
  void die_replacing(const std::string& folder);
  void write_left(const std::string& path) const;
  void probe(StoreScene& scene, const StoreStep& failed);
  bool copies() const;

  const bool killed_;
  const std::uint64_t keys_;
  const StoreOptions options_;
  const std::vector<StoreStep> steps_;
  std::string left_;  ///< by the kill: the bytes of the file
  StoreWorld first_;
  std::vector<StoreWorld> worlds_;    ///< after so many steps of the run
  std::vector<StoreWorld> intended_;  ///< after one more, if it goes well
};

}  // namespace holdfast::proof
