// pool_whole.cpp: what is done to all objects of a pool at once: snapshots and checks.
#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "pool/kinds/kind.hpp"
#include "pool/snapshot.hpp"
#include "table/helper_thread.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

namespace {

void add(CheckReport& total, const CheckReport& report, const std::string& prefix) {
  total.items += report.items;
  total.slots += report.slots;
  total.cells += report.cells;
  total.free_cells += report.free_cells;
  total.repaired_slots += report.repaired_slots;
  total.finished_moves += report.finished_moves;
  total.rehashed += report.rehashed;
  total.was_clean = total.was_clean && report.was_clean;
  total.recovery_ms += report.recovery_ms;
  total.map_ms += report.map_ms;
  for (const std::string& line : report.checked) total.checked.push_back(prefix + line);
  for (const std::string& repair : report.repairs) total.repairs.push_back(prefix + repair);
  for (const std::string& error : report.errors) total.errors.push_back(prefix + error);
}

}  // namespace

void Pool::Impl::refuse_wait_for_self() const {
  const auto guard = pass();
  for (const auto& object : open_objects()) object->refuse_wait_for_self();
}

SnapshotResult Pool::Impl::snapshot(const std::string& to, const SnapshotOptions& how) {
  const auto begun = Clock::now();
  SnapshotResult result;
  const std::shared_ptr<pool::PoolFile> pool = file();  // a closed pool makes no file
  if (how.overwrite && pool->is_file(to)) {
    throw ObjectInUse(to + " is the pool that is to be copied: source and target are one file; name another target");
  }
  pool::Snapshot snapshot(to, how.overwrite);  // refuses a name before any wait
  if (how.progress) refuse_wait_for_self();
  const auto copy = [&](const table::Progress& progress) {
    const auto guard = pass();
    Objects all = open_objects();
    std::stable_partition(all.begin(), all.end(), [](const auto& object) { return object->waits_for_user(); });
    const auto go_on = [&](std::uint64_t done, std::uint64_t total) {
      return (!progress || progress(done, total)) && !how.stop.stop_requested();
    };
    std::vector<std::unique_ptr<pool::Frozen>> frozen;  // destroyed when nothing is quiesced
    for (const auto& object : all) {
      if (auto its = object->freeze()) frozen.push_back(std::move(its));
    }
    std::vector<std::unique_ptr<pool::Quiesced>> quiesced;
    for (const auto& object : all) {
      std::unique_ptr<pool::Quiesced> still = object->quiesce(how);
      if (!still) continue;  // closed meanwhile: copied as it lies
      result.items += still->items;
      result.damaged += still->damaged;
      quiesced.push_back(std::move(still));
    }
    // Edits of the directory come from these objects or from this pool: none is under way.
    const auto held = Clock::now();
    std::erase_if(frozen, [](const auto& its) { return !its->begin(); });
    snapshot.begin(pool, quiesced, frozen);
    const auto is_frozen = [&](const auto& its) {
      return std::any_of(frozen.begin(), frozen.end(), [&](const auto& one) { return one->object == its->object; });
    };
    std::erase_if(quiesced, is_frozen);
    result.held_ms = ms_since(held);
    result.stopped = !snapshot.copy(pool, quiesced, how.threads, go_on);
    if (!quiesced.empty()) result.held_ms = ms_since(held);
    quiesced.clear();
    result.stopped = result.stopped || !snapshot.copy_frozen(how.threads, go_on);
    pool->require_whole();  // else zeroes were copied
  };
  if (how.progress) {
    const auto ask = [&](std::uint64_t done, std::uint64_t total) {
      how.progress(done, total);
      return !how.stop.stop_requested();
    };
    if (!table::run_on_helper_thread(copy, ask)) result.stopped = true;
  } else {
    copy({});
  }
  result.bytes = snapshot.bytes();
  result.written = snapshot.written();
  result.left_out = snapshot.take_left_out();
  if (!result.stopped) snapshot.finish();
  result.total_ms = ms_since(begun);
  return result;
}

CheckReport Pool::Impl::check() {
  const std::shared_ptr<pool::PoolFile> pool = file();
  const auto guard = pass();
  CheckReport total;
  total.was_clean = true;
  const auto directory = pool->directory();
  const bool alone = directory->objects.size() == 1;
  for (const pool::ObjectEntry& entry : directory->objects) {
    const std::string label = alone ? path : label_of(std::string(entry.title()));
    const std::string prefix = alone ? "" : label + ": ";
    try {
      add(total, check_object(pool, entry, label), prefix);
    } catch (const Error& error) {
      if (alone) throw;  // there is nothing else to report
      total.errors.push_back(error.what());
    }
  }
  return total;
}

CheckReport Pool::Impl::check(const std::string& name) {
  const std::shared_ptr<pool::PoolFile> pool = file();
  const auto guard = pass();
  const auto directory = pool->directory();
  return check_object(pool, require(*directory, name), label_of(name));
}

/// The caller has passed the pool's gate: what is closed, or closes meanwhile, is opened by no other thread.
CheckReport Pool::Impl::check_object(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                                     const std::string& label) const {
  if (const auto open = find_open(entry.number)) {
    try {
      return open->check();
    } catch (const ObjectClosed&) {
    }
  }
  const pool::ObjectKind* const kind = pool::find_kind(entry.type);
  if (kind != nullptr) return kind->check(pool, entry, label);
  throw PoolVersion(label + " is of a kind that this Holdfast does not know (type " + std::to_string(entry.type) +
                    "): check it with a newer one");
}

CheckReport check(const std::string& path, bool repair, const std::string& name) {
  Pool pool = Pool::open(path, {.read_only = !repair, .salvage = !repair});
  return name.empty() ? pool.check() : pool.check(name);
}

}  // namespace holdfast
