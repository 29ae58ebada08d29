// pool_whole.cpp: what is done to all objects of a pool at once: snapshots and checks.
#include <utility>

#include "core/clock.hpp"
#include "pool/snapshot.hpp"
#include "table/aside.hpp"
#include "table/describe.hpp"
#include "table/impl.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

namespace {

void require_no_resize(const gphash::TableObject& table) {
  if (!table.shape().is_resizing) return;
  throw NoSpace("a resize of " + table.path() +
                " did not end, for want of room on its medium or of memory: make room, open it again, and take the "
                "snapshot then");
}

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
  for (const std::string& repair : report.repairs) total.repairs.push_back(prefix + repair);
  for (const std::string& error : report.errors) total.errors.push_back(prefix + error);
}

/// Opens a table as its recovery would, and verifies it.
CheckReport check_closed(const std::shared_ptr<memory::PoolFile>& pool, const memory::ObjectEntry& entry,
                         const std::string& label) {
  const auto object = gphash::TableObject::open(pool, entry, {.label = label});
  const bool repairs = pool->writes_file();
  if (repairs && !object->was_clean()) object->mark_changed();
  const auto machine = machine::make_cpu_machine(*object, {});
  CheckReport report = machine->check();
  pool->require_whole();
  pool->keep_room();
  if (repairs) object->sync();
  return report;
}

}  // namespace

/// Another thread of ours is about to wait for the sessions of these tables.
void Pool::Impl::refuse_own_sessions() const {
  const auto guard = pass();
  for (const auto& table : open_tables()) table->sessions->refuse_own();
}

SnapshotResult Pool::Impl::snapshot(const std::string& to, const SnapshotOptions& how) {
  const auto begun = Clock::now();
  SnapshotResult result;
  const std::shared_ptr<memory::PoolFile> pool = file();  // a closed pool makes no file
  memory::Snapshot snapshot(to, how.overwrite);           // refuses a name before anybody waits
  if (how.progress) refuse_own_sessions();
  const auto copy = [&](const table::Progress& progress) {
    const auto guard = pass();
    const std::vector<std::shared_ptr<Table::Impl>> tables = open_tables();
    if (const auto others = open_objects(); !others.empty()) {
      throw ObjectInUse(others[0]->path() + " is open in this process, and kernels may write it: close it first");
    }
    std::vector<std::unique_lock<Gate>> still;
    std::vector<const memory::Object*> objects;
    for (const auto& table : tables) {
      if (!how.wait_for_sessions && table->sessions->is_open()) {
        throw InvalidArgument("a session is open on " + table->path + ": commit it, or let the snapshot wait for it");
      }
      std::unique_lock<Gate> lock = table->keep_still_if_open();
      if (!lock) continue;      // closed meanwhile: copied as it lies
      table->machine().wait();  // for what was enqueued: from then on the pool's bytes are all there is
      require_no_resize(table->object());
      result.items += table->machine().size();
      objects.push_back(&table->object());
      still.push_back(std::move(lock));
    }
    // Edits of the directory come from these tables or from this pool: none is under way, and none begins.
    const auto held = Clock::now();
    const auto go_on = [&](std::uint64_t done, std::uint64_t total) {
      return (!progress || progress(done, total)) && !how.stop.stop_requested();
    };
    result.stopped = !snapshot.copy(*pool, objects, how.threads, go_on);
    result.held_ms = ms_since(held);
    pool->require_whole();  // else zeroes were copied
  };
  if (how.progress) {
    const auto ask = [&](std::uint64_t done, std::uint64_t total) {
      how.progress(done, total);
      return !how.stop.stop_requested();
    };
    if (!table::run_aside(copy, ask)) result.stopped = true;
  } else {
    copy({});
  }
  result.bytes = snapshot.bytes();
  result.written = snapshot.written();
  if (!result.stopped) snapshot.finish();
  result.total_ms = ms_since(begun);
  return result;
}

CheckReport Pool::Impl::check() {
  const std::shared_ptr<memory::PoolFile> pool = file();
  const auto guard = pass();
  CheckReport total;
  total.was_clean = true;
  const auto directory = pool->directory();
  const bool alone = directory->objects.size() == 1;
  for (const memory::ObjectEntry& entry : directory->objects) {
    const std::string label = alone ? path : label_of(std::string(entry.title()));
    const bool is_table = entry.type == static_cast<std::uint32_t>(memory::ObjectType::table);
    try {
      add(total, check_object(pool, *directory, entry, label), alone || !is_table ? "" : label + ": ");
    } catch (const Error& error) {
      if (alone && is_table) throw;  // there is nothing else to report
      total.errors.push_back(error.what());
    }
  }
  return total;
}

CheckReport Pool::Impl::check(const std::string& name) {
  const std::shared_ptr<memory::PoolFile> pool = file();
  const auto guard = pass();
  const auto directory = pool->directory();
  return check_object(pool, *directory, require(*directory, name), label_of(name));
}

CheckReport Pool::Impl::check_object(const std::shared_ptr<memory::PoolFile>& pool, const memory::Directory& directory,
                                     const memory::ObjectEntry& entry, const std::string& label) const {
  if (entry.type == static_cast<std::uint32_t>(memory::ObjectType::table)) return check_table(pool, entry, label);
  if (!table::is_data(entry)) {
    throw PoolVersion(label + " is " + memory::kind_with_article(entry.type) + " of version " +
                      std::to_string(entry.type_version) +
                      ", which this Holdfast cannot verify; check it with a newer one");
  }
  const ObjectInfo info = table::describe(pool->file(), directory, entry);
  CheckReport report;
  report.was_clean = info.clean;
  if (!info.damage.empty()) report.errors.push_back(label + " is damaged: " + info.damage);
  return report;
}

/// The caller has passed the pool's gate: what is closed, or closes meanwhile, is opened by nobody else.
CheckReport Pool::Impl::check_table(const std::shared_ptr<memory::PoolFile>& pool, const memory::ObjectEntry& entry,
                                    const std::string& label) const {
  if (const std::shared_ptr<Table::Impl> open = find_open(entry.number)) {
    try {
      return open->check();
    } catch (const TableClosed&) {
    }
  }
  return check_closed(pool, entry, label);
}

CheckReport check(const std::string& path, bool repair, const std::string& name) {
  Pool pool = Pool::open(path, {.read_only = !repair, .salvage = !repair});
  return name.empty() ? pool.check() : pool.check(name);
}

}  // namespace holdfast
