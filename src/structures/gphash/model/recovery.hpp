// recovery.hpp: recovers crash images with the shipped code, crashes that too, and says what each image may come to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "reclaim/epochs.hpp"
#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/model/oracle.hpp"
#include "structures/gphash/model/world.hpp"
#include "threads/thread_team.hpp"

namespace holdfast::gphash::model {

/// What recovery makes of an image: the state of every key, or what is wrong with the table.
struct Recovered {
  std::vector<State> states;
  std::string error;
  bool operator==(const Recovered&) const = default;
};

/// Reads a quiet table in every way: find, what export walks over, size and cells agree, or `error` says what does not.
Recovered inspect(World& world, cpu::Driver& driver, const gphash::Layout& layout,
                  const std::vector<std::uint64_t>& keys);

/// Every image that is recovered on one shape. Equal images are recovered once.
class Recovery {
 public:
  /// `keys`: all that images may hold, and some that they do not: with those the table is filled after recovery.
  Recovery(Flavour flavour, const ModelShape& shape, std::vector<std::uint64_t> keys, bool thorough);
  ~Recovery();

  const std::vector<std::uint64_t>& keys() const { return keys_; }

  /// What may be found after a crash that left `image`: by recovery alone, and by recovery after a recovery that was itself
  /// killed at any of its stores, any number of times. For some images (`thorough`: for all) the operations that fill
  /// the table afterwards are crashed too.
  const std::vector<Recovered>& outcomes(const Image& image, std::uint64_t hash);

  struct Counts {
    std::uint64_t recoveries = 0;      ///< runs of the recovery code
    std::uint64_t crashed = 0;         ///< images left by crashes inside recovery
    std::uint64_t second_rounds = 0;   ///< tables filled after recovery
    std::uint64_t second_crashes = 0;  ///< images left by crashes in those second rounds
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Found {
    Image image;
    std::uint64_t hash;
  };
  struct Node {
    Recovered result;
    std::vector<std::uint64_t> next;  // images that a crash inside this recovery leaves
  };
  struct Check {
    Found found;
    std::vector<std::vector<State>> allowed;
  };
  class Collector;
  class SecondCrashes;

  std::vector<Recovered> closure(const Image& image, std::uint64_t hash);
  Node recover(const Image& image, std::uint64_t hash, std::vector<Found>& found);
  Recovered run(std::vector<Check>* checks);
  std::string second_round(const gphash::Layout& layout, const Recovered& before, std::vector<Check>* checks);
  std::string check_no_space(const gphash::Layout& layout, std::uint64_t key, State value) const;
  bool deserves_more(const Image& image, std::uint64_t hash) const;

  Flavour flavour_;
  ModelShape shape_;
  std::vector<std::uint64_t> keys_;
  bool thorough_;
  World world_;
  reclaim::Epochs epochs_;
  const std::unique_ptr<heap::CellSet> cells_ = heap::make_cells(shape_.variable, epochs_);
  threads::ThreadTeam workers_{1};
  std::unique_ptr<cpu::Driver> driver_;
  std::unordered_map<std::uint64_t, Node> nodes_;
  std::unordered_map<std::uint64_t, std::vector<Recovered>> outcomes_;
  std::unordered_set<std::uint64_t> checked_;
  Counts counts_;
};

}  // namespace holdfast::gphash::model
