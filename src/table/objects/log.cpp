// log.cpp: the public Log, on the CPU and as kernels are given it.
#include "holdfast/log.hpp"

#include <cstring>
#include <utility>

#include "log/check.hpp"
#include "log/kinds.hpp"
#include "table/objects/log_impl.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

namespace {

log::LogShape shape_for(const LogOptions& options) {
  log::LogShape shape{log::LogKind::hierarchical, options.entry_bytes / 4, options.capacity, options.blocks,
                      options.threads};
  if (options.partitions != 0) {
    shape.kind = log::LogKind::conventional;
    shape.blocks = options.partitions;
    shape.threads = 1;
  }
  std::string what = log::flaw_in(shape);
  if (options.entry_bytes % 4 != 0) what = "entries have a multiple of 4 bytes";
  if (!what.empty()) throw InvalidArgument("there is no such log: " + what);
  return shape;
}

/// In words, or 0: too many bytes, or no multiple of 4.
std::uint32_t words_of(const log::LogShape& shape, std::size_t bytes) {
  return bytes % 4 != 0 || bytes > std::size_t{shape.entry_words} * 4 ? 0 : static_cast<std::uint32_t>(bytes / 4);
}

}  // namespace

Log::Impl::Impl(std::unique_ptr<log::DataObject> data, bool gpu)
    : MappedObject(std::move(data), gpu), shape_(log::shape_of(object().header_as<log::LogHeader>())) {
  if (shape_.kind == log::LogKind::conventional) holds_.resize(shape_.places());
  log::CpuMemory cpu = memory();
  const std::uint64_t damaged = log::load_tails(cpu, view());
  if (damaged != log::LogShape::none()) {
    throw PoolCorrupt(path + " is damaged: the tail of place " + std::to_string(damaged) +
                      " is none that was written; restore it from a copy");
  }
}

log::View<log::CpuMemory> Log::Impl::view() const { return log::view_of(shape_, object().data(), holds_.data()); }

CheckReport Log::Impl::check() {
  log::CpuMemory cpu = memory();
  CheckReport report = log::check_tails(cpu, view());
  report.was_clean = object().was_clean();
  object().pool().require_whole();
  return report;
}

void Log::Impl::change() {
  object().pool().require_kept();
  object().pool().keep_space();
  object().mark_changed();
#ifdef HOLDFAST_WITH_CUDA
  stale_.store(true, std::memory_order_relaxed);
#endif
}

LogHandle Log::Impl::handle(Domain domain) {
  begin_section(domain, Writer::gpu);
  end_section(domain);
  const log::View<log::CpuMemory> all = view();
  LogHandle handle{static_cast<std::uint32_t>(shape_.kind),
                   shape_.entry_words,
                   shape_.capacity,
                   shape_.blocks,
                   shape_.threads,
                   all.flag,
                   all.tails,
                   all.entries};
#ifdef HOLDFAST_WITH_CUDA
  const std::uint64_t places = shape_.places();
  if (held_.size() == 0 && shape_.kind == log::LogKind::conventional) {
    gpu::check(cudaMemset(held_.at_least(places), 0, places * 4), "preparing the partitions of a log");
  }
  if (stale_.exchange(false)) {
    gpu::check(cudaMemcpy(shown_.at_least(places), all.tails, places * 4, cudaMemcpyHostToDevice),
               "copying the tails of a log");
  }
  handle.shown = shown_.data();
  handle.holds = held_.data();
#endif
  return handle;
}

Log::Log(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Log Log::create(Pool& pool, const std::string& name, const LogOptions& options) {
  const log::LogHeader header = log::header_of(shape_for(options), options.eadr);
  const auto make = [&](pool::Edit& edit, const std::shared_ptr<pool::PoolFile>& file, const std::string& label) {
    auto object = log::DataObject::create(edit, file, name, kinds::log_kind(), std::as_bytes(std::span(&header, 1)),
                                          {.label = label, .flush = options.flush});
    return std::make_shared<Impl>(std::move(object), options.gpu);
  };
  return Log(PoolAccess::create<Impl>(pool, kinds::log_kind(), name, options.overwrite, make));
}

Log Log::open(Pool& pool, const std::string& name, const LogOptions& options) {
  const auto reopen = [&](const std::shared_ptr<pool::PoolFile>& file, const pool::ObjectEntry& entry,
                          const std::string& label) {
    auto object = log::DataObject::open(
        file, entry, kinds::log_kind(), sizeof(log::LogHeader),
        {.label = label, .flush = options.flush, .salvage = PoolAccess::of(pool).options.salvage});
    const auto header = object->header_as<log::LogHeader>();
    if (const std::string what = log::flaw_in(header); !what.empty()) {
      throw PoolCorrupt(label + " is damaged: " + what + "; restore it from a copy");
    }
    if (options.entry_bytes != 0 && options.entry_bytes != header.entry_words * 4) {
      throw PoolMismatch(label + " has entries of " + std::to_string(header.entry_words * 4) + " bytes, not " +
                         std::to_string(options.entry_bytes) + ": open it with its own size, or make another log");
    }
    return std::make_shared<Impl>(std::move(object), options.gpu);
  };
  return Log(PoolAccess::open<Impl>(pool, name, reopen));
}

std::uint64_t Log::places() const { return impl_->shape().places(); }
std::uint32_t Log::entry_bytes() const { return impl_->shape().entry_words * 4; }
std::uint32_t Log::capacity() const { return impl_->shape().capacity; }
std::uint32_t Log::blocks() const { return impl_->shape().blocks; }
std::uint32_t Log::threads() const { return impl_->shape().threads; }
bool Log::is_conventional() const { return impl_->shape().kind == log::LogKind::conventional; }

std::uint32_t Log::count(std::uint64_t place) const {
  if (place >= places()) return 0;
  log::CpuMemory memory = impl_->memory();
  return log::count(memory, impl_->view(), place);
}

LogStatus Log::insert(std::uint64_t place, const void* entry, std::size_t bytes) {
  const std::uint32_t words = words_of(impl_->shape(), bytes);
  if (words == 0) return LogStatus::too_large;
  impl_->change();
  Impl::Entry copy;
  std::memcpy(copy.data(), entry, bytes);
  log::CpuMemory memory = impl_->memory();
  return log::insert(memory, impl_->view(), place, copy.data(), words);
}

LogStatus Log::read(std::uint64_t place, void* entry, std::size_t bytes, std::uint32_t back) const {
  const std::uint32_t words = words_of(impl_->shape(), bytes);
  if (words == 0) return LogStatus::too_large;
  Impl::Entry copy;
  log::CpuMemory memory = impl_->memory();
  const LogStatus status = log::read(memory, impl_->view(), place, copy.data(), words, back);
  if (status == LogStatus::ok) std::memcpy(entry, copy.data(), bytes);
  return status;
}

LogStatus Log::remove(std::uint64_t place) {
  impl_->change();
  log::CpuMemory memory = impl_->memory();
  return log::remove(memory, impl_->view(), place);
}

LogStatus Log::clear(std::uint64_t place) {
  impl_->change();
  log::CpuMemory memory = impl_->memory();
  return log::clear(memory, impl_->view(), place);
}

void Log::clear() {
  impl_->change();
  log::CpuMemory memory = impl_->memory();
  log::clear_all(memory, impl_->view());
}

LogHandle Log::handle(Domain domain) { return impl_->handle(domain); }

void Log::close() {
  if (impl_) impl_->close();
}
bool Log::is_open() const { return impl_ && impl_->is_open(); }

}  // namespace holdfast
