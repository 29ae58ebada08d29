// transaction.cpp: transactions of a log and a region, on the CPU.
#include "holdfast/transaction.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "log/kinds.hpp"
#include "log/protocol/transaction.hpp"
#include "table/objects/log_impl.hpp"
#include "table/objects/region_impl.hpp"

namespace holdfast {

namespace {

void refuse_bad_undo(const std::string& path, std::uint64_t place) {
  if (place == log::LogShape::none()) return;
  throw PoolCorrupt(path + " is damaged: place " + std::to_string(place) +
                    " has an entry that no transaction wrote; restore it from a copy");
}

/// The region of a flag that is not 0 and not that of the region at hand.
[[noreturn]] void throw_other_region(const std::string& path, const pool::PoolFile& pool, std::uint32_t number,
                                     const std::string& region) {
  const std::string what = " has a transaction of the object with number " + std::to_string(number);
  const auto directory = pool.directory();
  const pool::ObjectEntry* const entry = directory->find(number);
  if (entry == nullptr || entry->type != kinds::region_kind().type) {
    throw PoolCorrupt(path + what +
                      ", which is no region of its pool: the log is damaged, or the region was dropped. " +
                      "Restore the pool from a copy, or drop the log and make another");
  }
  throw InvalidArgument(path + what + ", and not of " + region + ": recover it with its own region");
}

void refuse_bad_flag(const std::string& path, std::uint32_t flag) {
  if (log::is_flag(flag)) return;
  throw PoolCorrupt(path + " is damaged: no transaction wrote " + std::to_string(flag) +
                    " where its region is named; restore the pool from a copy, or drop the log and make another");
}

bool is_empty(log::CpuMemory& memory, const log::View<log::CpuMemory>& view) {
  for (std::uint64_t place = 0; place < view.shape.places(); ++place) {
    if (log::count(memory, view, place) != 0) return false;
  }
  return true;
}

}  // namespace

bool Transaction::recover(Log& log, Region& region) {
  Log::Impl& its = *log.impl_;
  Region::Impl& data = *region.impl_;
  log::CpuMemory memory = its.memory();
  const log::View<log::CpuMemory> view = its.view();
  const std::uint32_t flag = memory.load(view.flag);
  refuse_bad_flag(its.path, flag);
  if (flag != 0 && flag != log::flag_of(data.number)) {
    throw_other_region(its.path, its.object().pool(), log::region_in(flag), data.path);
  }
  for (const log::DataObject* object : {&its.object(), &data.object()}) object->pool().require_kept();
  if (flag == 0 && is_empty(memory, view)) return false;  // and the clean marks stay
  if (flag != 0) refuse_bad_undo(its.path, log::find_false_undo(memory, view, data.object().size() / 4));
  const Section section = region.section();
  its.change();
  Log::Impl::Entry scratch;
  return log::recover(memory, view, reinterpret_cast<std::uint32_t*>(section.bytes().data()), scratch.data());
}

Transaction::Transaction(Log& log, Region& region, Domain domain, Writer writer)
    : log_(&log), region_(&region), section_(region.section(domain, writer)), domain_(domain) {
  Log::Impl& its = *log.impl_;
  if (region.impl_->number > log::kMostRegion) {
    throw InvalidArgument(region.impl_->path + " is object " + std::to_string(region.impl_->number) +
                          " of its pool, and transactions name regions up to " + std::to_string(log::kMostRegion) +
                          ": make it in a new pool");
  }
  log::CpuMemory memory = its.memory();
  const log::View<log::CpuMemory> view = its.view();
  if (memory.load(view.flag) != 0 || !is_empty(memory, view)) {
    throw InvalidArgument(its.path + " is not empty: call Transaction::recover first");
  }
  its.begin_section(domain, writer);
  its.end_section(domain);
  its.change();
  log::begin(memory, view, log::flag_of(region.impl_->number));
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    section_.end();
    recover(*log_, *region_);
  } catch (const Error&) {
    // the next opening recovers it
  }
}

LogStatus Transaction::update(std::uint64_t place, std::uint64_t offset, const void* value, std::size_t bytes) {
  const std::span<std::byte> all = section_.bytes();
  if (bytes % 4 != 0 || bytes == 0 || bytes > log::kMostUpdateWords * 4) return LogStatus::too_large;
  if (offset % 4 != 0 || offset > all.size() || bytes > all.size() - offset) return LogStatus::no_place;
  Log::Impl::Entry words, scratch;
  std::memcpy(words.data(), value, bytes);
  log::CpuMemory memory = log_->impl_->memory();
  return log::update(memory, log_->impl_->view(), place, reinterpret_cast<std::uint32_t*>(all.data()), offset / 4,
                     words.data(), static_cast<std::uint32_t>(bytes / 4), scratch.data());
}

TransactionHandle Transaction::handle() {
  const std::span<std::byte> all = section_.bytes();
  return {log_->handle(domain_), reinterpret_cast<std::uint32_t*>(all.data()), all.size() / 4};
}

/// What two places have updated has no one state from before.
void Transaction::refuse_shared_locations() const {
  struct Location {
    std::uint64_t begin, end, place;
    bool operator<(const Location& other) const { return begin < other.begin; }
  };
  std::vector<Location> all;
  log::CpuMemory memory = log_->impl_->memory();
  const log::View<log::CpuMemory> view = log_->impl_->view();
  for (std::uint64_t place = 0; place < view.shape.places(); ++place) {
    for (std::uint32_t back = log::count(memory, view, place); back-- > 0;) {
      log::Undo undo = {};
      log::read(memory, view, place, undo.words, log::kUndoWords, back);
      all.push_back({undo.offset(), undo.offset() + undo.size(), place});
    }
  }
  std::sort(all.begin(), all.end());
  Location reaching = {};
  for (const Location& one : all) {
    if (one.begin < reaching.end && one.place != reaching.place) {
      throw InvalidArgument("places " + std::to_string(reaching.place) + " and " + std::to_string(one.place) +
                            " have updated byte " + std::to_string(one.begin * 4) +
                            " in one transaction, which is undone: let one thread update a location");
    }
    if (one.end > reaching.end) reaching = one;
  }
}

void Transaction::commit() {
  if (!open_) throw InvalidArgument("the transaction has ended: begin another");
#ifndef NDEBUG
  refuse_shared_locations();
#endif
  log_->impl_->change();
  log::CpuMemory memory = log_->impl_->memory();
  log::end(memory, log_->impl_->view());
  open_ = false;
  section_.end();
}

}  // namespace holdfast
