// runner.hpp: submits batches to the shipped driver, as the CPU machine does for one sub-batch, and notes the answers.
#pragma once

#include <cstdint>
#include <functional>

#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/model/oracle.hpp"
#include "structures/gphash/model/world.hpp"

namespace holdfast::gphash::model {

inline constexpr unsigned kMaxBatch = 4;

/// Bit patterns of a value. The second word of a cell is three times the first, which sums keep; or it is the second column.
State decode(const std::uint64_t* words, unsigned value_bytes, bool columns = false);
void encode(State value, std::uint64_t* words, unsigned value_bytes, bool columns = false);
/// Of variable-length values: one word or two, so that an update often takes a cell of another class.
unsigned words_of(State value);
State decode_variable(const void* bytes, std::size_t size);

/// One caller's batches. Holds no heap memory, so that it can be forgotten in the middle.
class Runner {
 public:
  /// `grow`: called when an insert finds no slot, outside of epochs; without it the operation answers `no_space`.
  /// `single`: a batch of one operation takes the path for one key (gphash/cpu/one_key.hpp).
  Runner(World& world, cpu::Driver& driver, unsigned caller, bool single, const std::function<void()>* grow = nullptr)
      : world_(world), driver_(driver), caller_(caller), single_(single), grow_(grow) {}

  /// All are about one column, or about whole values. `as_run`: all operations are on one key, applied as one change
  /// (structures/gphash/protocol/run.hpp). `in_phases`: as gphash/protocol/phases.hpp does.
  void run(Operation* operations, unsigned count, bool as_run, const gphash::Layout& layout, bool in_phases = false);

 private:
  struct Arrays;
  void answer(Operation* operations, unsigned count, const Arrays& arrays) const;

  World& world_;
  cpu::Driver& driver_;
  unsigned caller_;
  bool single_;
  const std::function<void()>* grow_;
  cpu::Tally tally_;
};

}  // namespace holdfast::gphash::model
