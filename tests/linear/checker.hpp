// checker.hpp: decides whether what concurrent callers saw of one key can be put in one order (Wing and Gong's search,
// with memory of what was tried), and whether that order survived the crashes between its epochs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "holdfast/status.hpp"

namespace holdfast::test::linear {

using State = std::optional<std::uint64_t>;  ///< a key's value; none: absent

inline constexpr std::uint64_t kPending = ~std::uint64_t{0};
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};
inline constexpr std::size_t kMaxOperations = 64;

/// What an operation does that no `Op` does: those of a store.
enum class Special : std::uint8_t {
  none,
  compare,    ///< replaces the value `expected`; a key that has another stays, and the status is `exists`
  increment,  ///< adds `given` to the value of a key that is there, and reads the sum
  take,       ///< removes the key, and reads the value that it had
  flush       ///< removes what there is, and does not say whether there was something
};

/// One operation on the key, as its caller saw it.
struct Operation {
  Op op = Op::find;
  Special special = Special::none;  ///< instead of `op`
  std::uint64_t expected = 0;
  std::uint64_t given = 0;
  Combine combine = Combine::add;
  std::uint64_t begun = 0;
  std::uint64_t ended = kPending;   ///< kPending: the caller died before it returned
  std::uint32_t after = kNone;      ///< the operation of this epoch that must come before: same batch, array order
  Status status = Status::not_run;  ///< this and the next two are not looked at if it is pending
  bool found = false;
  State out;  ///< what a reading operation read
};

/// What happened to a key between two moments of rest: the end of all callers, or their common death. Pending operations
/// took effect before that moment or never.
using Epoch = std::vector<Operation>;

/// Every state the key can be in after `epoch`, from any of the states in `before`: empty if no order explains it.
/// At most kMaxOperations operations.
std::set<State> linearize(const Epoch& epoch, const std::set<State>& before);

/// True if some order of each epoch, one after the other, explains everything. The key is `first` at the beginning.
bool is_linearizable(const std::vector<Epoch>& epochs, const State& first = {});

}  // namespace holdfast::test::linear
