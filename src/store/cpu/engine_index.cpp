// engine_index.cpp: an index other than the CPU's, and what happens when it fails.
//
// When it fails, its entries are gone, and changes are under way: an item is committed and not named yet, or dead and named still. Their threads
// hold the claims, find the index closed, and wait at the gate. The CPU's index is built from the headers, the newest item of each key; then each thread
// makes its call again. So an exchange may find its item named already, and a removal may find nothing.
#include "store/cpu/engine_index.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "core/both.hpp"
#include "holdfast/error.hpp"

namespace holdfast::store::cpu {

EngineIndex::EngineIndex(const cuckoo::cpu::CpuOptions& options, Make make, Rebuild rebuild)
    : options_(options), make_(std::move(make)), rebuild_(std::move(rebuild)) {
  cuckoo::cpu::CpuOptions its = options_;
  if (make_) its.capacity = 0;
  cpu_.emplace(its);
}

std::vector<cuckoo::Row> EngineIndex::fill(std::span<const cuckoo::FreshRows> found) {
  if (!make_) return cpu_->fill(found);
  cuckoo::cpu::CpuOptions its = options_;
  std::uint64_t rows = 0;
  for (const cuckoo::FreshRows& one : found) rows += one.size();
  its.capacity = std::max(its.capacity, rows);
  other_ = std::make_unique<cuckoo::DeferredIndex>(make_(its));
  mode_.store(Mode::filling, std::memory_order_release);
  return other_->index().fill(found);
}

void EngineIndex::begin() {
  if (is_filling()) mode_.store(Mode::batched, std::memory_order_release);
}

std::string EngineIndex::failure() const {
  return mode_.load(std::memory_order_acquire) == Mode::fallen ? failure_ : std::string();
}

void EngineIndex::require_any() const {
  if (mode_.load(std::memory_order_acquire) != Mode::lost) return;
  throw NoSpace("the index of the store has failed (" + failure_ +
                "), and there is no memory for another one: close the store, free memory, and open it again");
}

/// False: the CPU's is to be used.
bool EngineIndex::by_other(const Use& use) {
  if (is_filling()) {
    use(*other_);
    return true;
  }
  std::string why;
  {
    const std::shared_lock inside(gate_);
    if (!is_batched()) {
      require_any();
      return false;
    }
    try {
      use(*other_);
      return true;
    } catch (const DeviceError& error) {
      why = error.what();
    }
  }
  fall_back(why);
  return false;
}

void EngineIndex::fall_back(const std::string& why) {
  const std::unique_lock alone(gate_);
  require_any();
  if (!is_batched()) return;  // another thread was first
  failure_ = why;
  other_->close();
  try {
    cpu_.emplace(options_);
    rebuild_(*cpu_);
  } catch (...) {  // only an opening can distinguish the items whose changes are under way
    mode_.store(Mode::lost, std::memory_order_release);
    require_any();
  }
  mode_.store(Mode::fallen, std::memory_order_release);
}

std::uint64_t EngineIndex::size() {
  std::uint64_t size = 0;
  const bool is_other = !is_direct() && by_other([&](cuckoo::DeferredIndex& index) { size = index.size(); });
  return is_other ? size : cpu_->size();
}

std::unique_ptr<cuckoo::AnyIndex> EngineIndex::another(std::uint64_t capacity) {
  std::unique_ptr<cuckoo::AnyIndex> made;
  if (!is_direct() && by_other([&](cuckoo::DeferredIndex& index) { made = index.index().another(capacity); }))
    return made;
  cuckoo::cpu::CpuOptions options = options_;
  options.capacity = capacity;
  return std::make_unique<cuckoo::AnyIndexOf<cuckoo::cpu::CpuIndex, cuckoo::cpu::CpuOptions>>(options);
}

void EngineIndex::search_otherwise(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Location> locations) {
  if (by_other([&](cuckoo::DeferredIndex& index) { index.search(hashes, locations); })) return;
  cpu_->search(hashes, locations);
}

void EngineIndex::Searching::begin(std::span<const cuckoo::Hash> hashes) {
  hashes_ = hashes;
  is_begun_ = !index_.is_direct() && index_.by_other([&](cuckoo::DeferredIndex& index) {
    if (!other_) other_ = index.searching();
    other_->begin(hashes);
  });
}

/// If the other index has failed meanwhile, the CPU's is searched.
void EngineIndex::Searching::finish(std::span<cuckoo::Location> locations) {
  const auto finish = [&](cuckoo::DeferredIndex&) { other_->finish(locations); };
  if (is_begun_ && index_.by_other(finish)) return;
  index_.search(hashes_, locations);
}

void EngineIndex::candidates_otherwise(std::span<const cuckoo::Hash> hashes, std::span<cuckoo::Candidates> lists) {
  if (by_other([&](cuckoo::DeferredIndex& index) { index.candidates(hashes, lists); })) return;
  cpu_->candidates(hashes, lists);
}

/// On the CPU, of a change that the other index may have made, or not.
cuckoo::Outcome EngineIndex::exchange_again(cuckoo::Hash hash, cuckoo::Location old, cuckoo::Location next) {
  cuckoo::Candidates list;
  cpu_->candidates({&hash, 1}, {&list, 1});
  const auto names = [&](cuckoo::Location location) {
    return std::find(list.locations, list.locations + list.size, location) != list.locations + list.size;
  };
  const cuckoo::Outcome done = old == cuckoo::kNone ? cuckoo::Outcome::inserted : cuckoo::Outcome::replaced;
  if (names(next)) return done;
  const cuckoo::Location its = names(old) ? old : cuckoo::kNone;
  cuckoo::Outcome outcome{};
  cpu_->exchange({&hash, 1}, {&its, 1}, {&next, 1}, {&outcome, 1});
  return outcome == cuckoo::Outcome::no_cell ? outcome : done;
}

/// `exchange(row)` for each row, of the other index. False: it has failed, and there is the CPU's.
template <class Exchange>
bool EngineIndex::change(std::size_t rows, const Exchange& exchange) {
  std::string why;
  try {
    bool is_open = is_batched();
    for (std::size_t row = 0; is_open && row < rows; ++row) is_open = exchange(row);
    if (is_open) return true;
  } catch (const DeviceError& error) {
    why = error.what();
  }
  if (!why.empty()) fall_back(why);
  const std::shared_lock until_it_is_built(gate_);
  require_any();
  return false;
}

void EngineIndex::exchange_otherwise(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> old,
                                     std::span<const cuckoo::Location> locations, std::span<cuckoo::Outcome> outcomes) {
  if (is_filling()) return other_->index().exchange(hashes, old, locations, outcomes);
  const bool is_other = change(hashes.size(), [&](std::size_t row) {
    outcomes[row] = old[row] == cuckoo::kNone ? cuckoo::Outcome::inserted : cuckoo::Outcome::replaced;
    return other_->exchange(hashes[row], old[row], locations[row]);
  });
  if (is_other) return;
  for (std::size_t i = 0; i < hashes.size(); ++i) outcomes[i] = exchange_again(hashes[i], old[i], locations[i]);
}

void EngineIndex::erase_otherwise(std::span<const cuckoo::Hash> hashes, std::span<const cuckoo::Location> locations,
                                  std::span<cuckoo::Outcome> outcomes) {
  if (is_filling()) return other_->index().erase(hashes, locations, outcomes);
  const auto erase = [&](std::size_t row) { return other_->exchange(hashes[row], locations[row], cuckoo::kNone); };
  if (!change(hashes.size(), erase)) cpu_->erase(hashes, locations, outcomes);
  std::fill(outcomes.begin(), outcomes.end(), cuckoo::Outcome::erased);
}

}  // namespace holdfast::store::cpu
