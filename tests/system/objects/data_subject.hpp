// data_subject.hpp: a pool with a region, a log of each kind, one of transactions, and a checkpoint, under crashes: each step is there as
// a whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/checkpoint.hpp"
#include "holdfast/table.hpp"
#include "holdfast/transaction.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// What the objects hold.
struct Data {
  std::vector<std::uint64_t> region;
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::uint64_t>> entries;  ///< by log and place
  std::uint64_t step = 0;                                                               ///< of the newest save
  std::vector<std::uint64_t> saves = {};  ///< of all copies that count: their steps
};

/// The objects while they are open.
struct DataScene {
  explicit DataScene(const std::string& folder);  ///< opens all, and undoes what a crash left
  Log& log(const std::string& name) { return name == "threads" ? threads : partitions; }
  Pool pool;
  Region region;
  Log undo, threads, partitions;
  Checkpoint checkpoint;
  bool undone;
};

struct DataStep {
  std::function<void(DataScene&)> act;
  std::function<void(Data&)> change;
};

DataStep append(const std::string& log, std::uint64_t place, std::uint64_t value);
DataStep remove_newest(const std::string& log, std::uint64_t place);
DataStep clear_place(const std::string& log, std::uint64_t place);
DataStep clear_log(const std::string& log);  ///< place by place
DataStep write_word(std::uint64_t word, std::uint64_t value);
/// Words and their new values, each by a thread of its own; `commits`: else it is undone.
using Updates = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
DataStep transact(const Updates& updates, bool commits = true);
DataStep save_state(std::uint64_t step);
DataStep close_pool();

class DataSubject : public Subject {
 public:
  explicit DataSubject(std::vector<DataStep> steps) : steps_(std::move(steps)) {}

  void prepare(const std::string& folder) override;
  void run(const std::string& folder, const std::function<void()>& said) override;
  std::string check(const std::string& folder, unsigned steps, Crash crash) override;
  std::string go_on(const std::string& folder) override;
  std::vector<Range> meaningless() const override;

 private:
  const std::vector<DataStep> steps_;
  std::vector<Data> states_;  ///< after so many steps
};

}  // namespace holdfast::proof
