// log_kind.cpp: registers logs as a kind of object.
#include <cstring>

#include "log/check.hpp"
#include "log/kinds.hpp"
#include "log/log_header.hpp"
#include "pool/kinds/describe.hpp"

namespace holdfast {

namespace {

log::LogHeader log_header_in(const pool::ObjectPage& page) {
  log::LogHeader header;
  std::memcpy(&header, page.header, sizeof header);
  return header;
}

class LogKind final : public pool::ObjectKind {
 public:
  LogKind() : ObjectKind(4, 1, "log") {}

  void describe(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page,
                ObjectInfo& info) const override {
    info.damage = log::flaw_in(directory, entry, page, sizeof(log::LogHeader));
    if (info.damage.empty()) info.damage = log::flaw_in(log_header_in(page));
  }

  CheckReport check(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                    const std::string& label) const override {
    const bool clean = pool::describe_intact(*pool, entry, *this, label).clean;
    const auto directory = pool->directory();
    const auto pages = pool::read_page(pool->file(), directory->extents_of(entry.number, pool::kPagesRole).at(0));
    const pool::Extent extent = directory->extents_of(entry.number, log::kDataRole).at(0);
    pool::Range data = pool->map(extent.offset, extent.bytes, false);
    CheckReport report = log::check(log::shape_of(log_header_in(pages.page)), data.address, *pool);
    system::unmap(data.address, data.mapped);
    report.was_clean = clean;
    pool->require_whole();
    return report;
  }
};

}  // namespace

const pool::ObjectKind& kinds::log_kind() {
  static const LogKind kind;
  return kind;
}

}  // namespace holdfast
