// inflate.hpp: gzip, as a stream of members, by ISA-L.
//
// ISA-L and not libdeflate, which needs a whole member in memory, and its size before: reads come in members of many gigabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace holdfast::kmers {

class Inflater {
 public:
  /// Throws InputError where the library was built without ISA-L.
  Inflater();
  ~Inflater();

  struct Step {
    std::size_t taken = 0, given = 0;  ///< bytes
  };
  /// Inflates some; behind the last member, zeros may follow. `taken` and `given` are 0 only if there is no input, or no space. Throws InputError with the reason.
  Step step(const std::uint8_t* from, std::size_t bytes, char* to, std::size_t space);

  /// Between two members, or behind the last.
  bool between() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::kmers
