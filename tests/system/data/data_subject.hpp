// data_subject.hpp: regions, logs, transactions and checkpoints of one pool under crashes, power cuts and faults: each call is there as a
// whole, or not at all, and what a transaction began is undone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/checkpoint.hpp"
#include "holdfast/transaction.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// What an object holds, as text; and whether all of it survives a power cut.
struct DataState {
  std::string text;
  bool synced = true;
};
/// The objects of a pool, by name.
using DataWorld = std::map<std::string, DataState>;

/// Two saves that are under way together, the second begun before the first counts.
class Overlap;

/// An open pool, and those of its objects that are open.
struct DataScene {
  DataScene();
  ~DataScene();

  std::optional<Pool> pool = {};
  std::map<std::string, Region> regions = {};
  std::map<std::string, Log> logs = {};
  std::map<std::string, Checkpoint> checkpoints = {};
  std::unique_ptr<Overlap> overlap;  ///< ends before what it saves to
  Region& region(const std::string& name);
  Log& log(const std::string& name);
  Checkpoint& checkpoint(const std::string& name);
  void close(const std::string& name);
};

/// What the object of this name, whose type the first letter of the name says (r, l or c), holds now.
std::string content_of(DataScene& scene, const std::string& name);

/// Whether that text may be left by a call that had `before` and makes `after`: what clears a log does so place by place, and saves
/// count one after another.
bool is_between(const std::string& name, const std::string& text, const std::string& before, const std::string& after);

struct DataStep {
  std::function<DataWorld(DataWorld)> intended;  ///< what there is afterwards
  std::function<void(DataScene&)> act;
};

inline constexpr const char *kDataRegion = "r", *kDataUndo = "lt";
inline constexpr std::size_t kDataWords = 4;  ///< of a region that its content tells, spread over its pages
inline constexpr unsigned kDataThreads = 32, kDataPartitions = 3;  ///< places of the logs "lh" and "lt", and of "lp"

/// Writes one word, durably, in a section of its own.
DataStep write_word(const std::string& region, std::size_t word, std::uint64_t value);
DataStep insert_entry(const std::string& log, unsigned place, std::uint64_t entry);
DataStep remove_entry(const std::string& log, unsigned place);
DataStep clear_place(const std::string& log, unsigned place);
DataStep clear_log(const std::string& log);
/// Words of a region and their new values; each word is updated by a place of its own.
using DataUpdates = std::vector<std::pair<std::size_t, std::uint64_t>>;
/// All of them, or nothing; not `committed`: begins that, and leaves it.
DataStep transact(const DataUpdates& updates, bool committed = true);
DataStep recover();  ///< undoes what a transaction began
/// A state of so many words; waits until it is durable.
DataStep save_state(const std::string& checkpoint, std::uint64_t step, std::size_t words = 40);
/// Saves `step` and `step` + 1, of which the first is acknowledged; the second is under way until `end_overlap`.
DataStep overlap_saves(const std::string& checkpoint, std::uint64_t step, std::size_t words = 40);
DataStep end_overlap(const std::string& checkpoint);
DataStep close_object(const std::string& name);
DataStep make_object(const std::string& name, bool overwrite = false);
DataStep drop_object(const std::string& name);
DataStep close_pool();

class DataSubject : public Subject {
 public:
  /// The pool has the objects r, lt (of the transactions of r), lh, lp (a conventional log) and c, with some content; with `used` also
  /// space that others have left full. With `killed` a transaction is under way in it.
  explicit DataSubject(std::vector<DataStep> steps, bool used = false, bool killed = false)
      : steps_(std::move(steps)), used_(used), killed_(killed) {}

  void prepare(const std::string& folder) override;
  void run(const std::string& folder, const std::function<void()>& said) override;
  std::string check(const std::string& folder, unsigned steps, Crash crash) override;
  std::string go_on(const std::string& folder) override;

 private:
  void make(const std::string& folder);
  static bool undo(DataScene& scene);
  void probe(DataScene& scene, const DataStep& failed);
  static std::string check_lost(const std::string& path, const std::string& name);

  const std::vector<DataStep> steps_;
  const bool used_, killed_;
  DataWorld first_;
  std::string bytes_;                ///< of the pool then
  std::vector<DataWorld> worlds_;    ///< after so many steps of the run
  std::vector<DataWorld> intended_;  ///< after one more, if it goes well
};

}  // namespace holdfast::proof
