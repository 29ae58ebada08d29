// mark_watch.cpp: looks at the versions that pages of an object may have on its device.
#include "mark_watch.hpp"

#include <algorithm>
#include <cstring>

#include "pool/object_page.hpp"

namespace holdfast::proof {

namespace {

/// What a file may hold at one moment.
class Versions {
 public:
  Versions(const Moment& moment, bool on_disk)
      : file_(*moment.files.at(static_cast<std::size_t>(moment.names.at("a.hold")))), on_disk_(on_disk) {}
  std::vector<Page> of(std::uint64_t page) const {
    if (page >= file_.pages.size()) return {nullptr};
    const std::vector<Page>& all = file_.pages[page];
    return on_disk_ ? all : std::vector<Page>{all.back()};
  }
  Page newest(std::uint64_t page) const { return page < file_.pages.size() ? file_.pages[page].back() : nullptr; }

 private:
  const FileHistory& file_;
  const bool on_disk_;
};

pool::ObjectPage page_of(const Page& bytes) {
  pool::ObjectPage page = {};
  if (bytes) std::memcpy(&page, bytes->data(), sizeof page);
  return page;
}

pool::ObjectPage chosen(const Page& a, const Page& b) {
  const pool::ObjectPage copies[] = {page_of(a), page_of(b)};
  const auto is_intact = [](const pool::ObjectPage& page) { return pool::is_intact(page); };
  const pool::Choice choice = pool::choose_copy(copies[0], copies[1], is_intact);
  return choice.copy < 0 ? pool::ObjectPage{} : copies[choice.copy];
}

/// Whether the mark of before may be there still; one that a sync has set since then is another.
bool may_be_clean(const Versions& now, const Versions& before, std::uint64_t first) {
  const std::uint64_t generation = chosen(before.newest(first), before.newest(first + 1)).generation;
  for (const Page& a : now.of(first)) {
    for (const Page& b : now.of(first + 1)) {
      const pool::ObjectPage page = chosen(a, b);
      if (page.generation == 0 || (page.clean == 1 && page.generation <= generation)) return true;
    }
  }
  return false;
}

/// Pages of equal content are one.
bool may_differ(const Versions& now, const Versions& before, std::uint64_t page) {
  const std::vector<Page> versions = now.of(page);
  const Page was = before.newest(page);
  return std::any_of(versions.begin(), versions.end(), [&](const Page& version) { return version != was; });
}

/// The first page of the object's data that may be another; 0: none.
std::uint64_t changed_page(const ObjectInfo& object, const Versions& now, const Versions& before) {
  for (const ExtentInfo& extent : object.extents) {
    const std::uint64_t skipped = extent.kind == "pages" ? 2 : 0;  // the marks: a store's record is behind them
    for (std::uint64_t at = extent.offset / kDiskPage + skipped; at < (extent.offset + extent.bytes) / kDiskPage;
         ++at) {
      if (may_differ(now, before, at)) return at;
    }
  }
  return 0;
}

}  // namespace

std::string changed_under_mark(const std::vector<ObjectInfo>& objects, const Recorder::Kept& before,
                               const std::vector<Recorder::Kept>& moments, bool on_disk) {
  const Versions old(before.moment, on_disk);
  for (const Recorder::Kept& moment : moments) {
    const Versions now(moment.moment, on_disk);
    for (const ObjectInfo& object : objects) {
      if (!may_be_clean(now, old, object.extents.at(0).offset / kDiskPage)) continue;
      const std::uint64_t page = changed_page(object, now, old);
      if (page != 0) return object.name + ": page " + std::to_string(page) + " has changed, and its mark may be set";
    }
  }
  return {};
}

bool data_changed(const std::vector<ObjectInfo>& objects, const Recorder::Kept& before, const Recorder::Kept& after) {
  const Versions old(before.moment, false), now(after.moment, false);
  return std::any_of(objects.begin(), objects.end(),
                     [&](const ObjectInfo& object) { return changed_page(object, now, old) != 0; });
}

}  // namespace holdfast::proof
