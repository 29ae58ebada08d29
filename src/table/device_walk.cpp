// device_walk.cpp: walks through a table as their users see them: begun, checked, ended. src/structures/gphash has what they do.
#include "holdfast/device_walk.hpp"

#include <mutex>
#include <shared_mutex>

#include "pool/kinds/describe.hpp"
#include "table/impl.hpp"

namespace holdfast {

namespace {

void must_agree(const WalkPlan& plan, const std::string& path, std::uint32_t key_bytes, std::uint32_t value_bytes,
                std::uint64_t cell_bytes) {
  if (plan.key_bytes != WalkPlan::kAnySize && plan.key_bytes != key_bytes) {
    throw PoolMismatch(path + " has " + pool::in_bytes("keys", key_bytes) + ", and the predicate asks about keys of " +
                       std::to_string(plan.key_bytes) + ": give a Key of that size, or void");
  }
  const bool some = plan.column_bytes != 0;
  if (some && (plan.column_bytes > value_bytes || plan.column > value_bytes - plan.column_bytes)) {
    throw InvalidArgument("column " + std::to_string(plan.column) + " of " + std::to_string(plan.column_bytes) +
                          " bytes is not in " + pool::in_bytes("values", value_bytes) + ", which " + path +
                          " has: give a part of them");
  }
  const std::uint32_t given = some ? plan.column_bytes : value_bytes;
  if (plan.value_bytes != WalkPlan::kAnySize && plan.value_bytes != given) {
    throw PoolMismatch(path + " gives the predicate " + pool::in_bytes(some ? "columns" : "values", given) +
                       ", and its Value has " + std::to_string(plan.value_bytes) +
                       ": give a Value of that size, or std::byte");
  }
  const std::uint64_t apart = cell_bytes == 0 ? 8 : cell_bytes;
  if (plan.reads_values && (plan.column % plan.value_align != 0 || apart % plan.value_align != 0)) {
    throw InvalidArgument("values of " + path + " lie " + std::to_string(apart) +
                          " bytes apart, and the predicate's at " + std::to_string(plan.column) +
                          " in them, where no Value that is aligned to " + std::to_string(plan.value_align) +
                          " bytes can be: give std::byte, and copy it");
  }
}

}  // namespace

struct DeviceWalk::State {
  // Given back in the opposite order.
  std::shared_lock<threads::Gate> open;      ///< of a walk that looks
  std::unique_lock<threads::Gate> changing;  ///< of one that erases: as erase_if on the host
  std::uint32_t key_bytes = 0;
  std::unique_ptr<gphash::Walk> walk;
};

DeviceWalk::DeviceWalk(Table& table, void* stream, const WalkPlan& plan) : state_(std::make_unique<State>()) {
  Table::Impl& impl = *table.impl_;
  const bool erases = plan.purpose == WalkPlan::Purpose::erase;
  if (erases) {
    state_->changing = impl.keep_still();
  } else {
    state_->open = impl.use_between_sessions();
  }
  if (!impl.machine().on_gpu()) {
    throw InvalidArgument("predicates in GPU memory are for tables on a GPU, and " + impl.path +
                          " is worked on by the CPU: open the table with device=\"cuda\", or use a Selection");
  }
  if (impl.key_bytes == kVariableBytes) {
    throw InvalidArgument(
        impl.path +
        " has keys and values of any length, from which none are selected in this version: export its "
        "items, choose, and erase the keys");
  }
  must_agree(plan, impl.path, impl.key_bytes, impl.value_bytes, impl.object().shape().cell_bytes);
  if (plan.reads_scores || plan.scores != nullptr) impl.require_scores();
  if (erases) impl.require_writable();
  state_->key_bytes = impl.key_bytes;
  state_->walk = impl.machine().walk(
      plan, [&impl] { impl.about_to_change(); }, stream);
}

DeviceWalk::~DeviceWalk() = default;

bool DeviceWalk::next(ItemArrays& items) { return state_->walk->next(items); }

Chosen DeviceWalk::finish() {
  const Chosen chosen = state_->walk->finish();
  state_->walk.reset();
  return chosen;
}

std::uint32_t DeviceWalk::key_bytes() const { return state_->key_bytes; }

}  // namespace holdfast
