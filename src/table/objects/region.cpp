// region.cpp: the public Region and its sections.
#include "holdfast/region.hpp"

#include <cstring>
#include <utility>

#include "log/kinds.hpp"
#include "table/objects/region_impl.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

Region::Region(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Region Region::create(Pool& pool, const std::string& name, std::uint64_t bytes, const RegionOptions& options) {
  const log::DataHeader header = {bytes, options.eadr ? 1u : 0u, 0};
  const auto make = [&](pool::Edit& edit, const std::shared_ptr<pool::PoolFile>& file, const std::string& label) {
    auto object = log::DataObject::create(edit, file, name, kinds::region_kind(), std::as_bytes(std::span(&header, 1)),
                                          {.label = label, .flush = options.flush});
    return std::make_shared<Impl>(std::move(object), options.gpu);
  };
  return Region(PoolAccess::create<Impl>(pool, kinds::region_kind(), name, options.overwrite, make));
}

Region Region::open(Pool& pool, const std::string& name, const RegionOptions& options) {
  const auto reopen = [&](const std::shared_ptr<pool::PoolFile>& file, const pool::ObjectEntry& entry,
                          const std::string& label) {
    auto object = log::DataObject::open(
        file, entry, kinds::region_kind(), sizeof(log::DataHeader),
        {.label = label, .flush = options.flush, .salvage = PoolAccess::of(pool).options.salvage});
    return std::make_shared<Impl>(std::move(object), options.gpu);
  };
  return Region(PoolAccess::open<Impl>(pool, name, reopen));
}

std::uint64_t Region::size() const { return impl_->object().size(); }

std::span<const std::byte> Region::bytes() const {
  const log::DataObject& object = impl_->object();
  return {object.data(), object.size()};
}

Domain Region::domain(Writer writer) const { return impl_->object().kept(writer == Writer::gpu); }

Section Region::section(Domain domain, Writer writer) {
  impl_->begin_section(domain, writer);
  return Section(impl_.pointer(), domain);
}

void Region::close() {
  if (impl_) impl_->close();
}

bool Region::is_open() const { return impl_ && impl_->is_open(); }

Section& Section::operator=(Section&& other) noexcept {
  if (this == &other) return *this;
  end();
  region_ = std::move(other.region_);
  domain_ = other.domain_;
  return *this;
}

Section::~Section() { end(); }

void Section::end() {
  if (region_) region_->end_section(domain_);
  region_.reset();
}

std::span<std::byte> Section::bytes() const {
  if (!region_) throw InvalidArgument("the section has ended: begin another with Region::section");
  const log::DataObject& object = region_->object();
  return {object.data(), object.size()};
}

void Section::persist(const void* address, std::size_t size) const {
  const std::span<std::byte> all = bytes();
  const auto begin = reinterpret_cast<std::uintptr_t>(all.data());
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at < begin || at - begin > all.size() || size > all.size() - (at - begin)) {
    throw InvalidArgument(region_->path + ": bytes to persist lie outside the region; give a part of Section::bytes");
  }
  const pool::Persist& persist = region_->object().persist();
  persist.flush(address, size);
  persist.fence();
}

}  // namespace holdfast
