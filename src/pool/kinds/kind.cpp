// kind.cpp: the list of kinds.
#include "pool/kinds/kind.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "holdfast/error.hpp"
#include "pool/kinds/built_in_kinds.hpp"

namespace holdfast::pool {

namespace {

class Kinds {
 public:
  Kinds() {
    for (const ObjectKind* kind : built_in_kinds()) add(*kind);
  }
  void add(const ObjectKind& kind) {
    const std::lock_guard guard(mutex_);
    for (const ObjectKind* const other : kinds_) {
      const bool same_name = std::strcmp(other->name, kind.name) == 0;
      if (!same_name && other->type != kind.type) continue;
      throw InvalidArgument("the kind of object \"" + std::string(kind.name) + "\" cannot be registered: " +
                            (same_name ? "its name" : "its type " + std::to_string(kind.type)) +
                            " is that of the kind \"" + other->name + "\"; choose another");
    }
    kinds_.push_back(&kind);
  }
  const ObjectKind* find(std::uint32_t type) {
    const std::lock_guard guard(mutex_);
    const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto* kind) { return kind->type == type; });
    return found == kinds_.end() ? nullptr : *found;
  }

 private:
  std::mutex mutex_;
  std::vector<const ObjectKind*> kinds_;
};

Kinds& all_kinds() {
  static Kinds* const kinds = new Kinds;  // never destroyed: objects are closed at the end of the process too
  return *kinds;
}

}  // namespace

std::string ObjectKind::describe_extent(const Extent& extent) const { return "role " + std::to_string(extent.role); }

std::unique_ptr<CompactCopy> ObjectKind::compact(const std::shared_ptr<PoolFile>& /*pool*/,
                                                 const ObjectEntry& /*entry*/, const Quiesced* /*open*/,
                                                 const CompactHow& /*how*/) const {
  return nullptr;
}

void register_kind(const ObjectKind& kind) { all_kinds().add(kind); }
const ObjectKind* find_kind(std::uint32_t type) { return all_kinds().find(type); }

std::string kind_with_article(std::uint32_t type) {
  const ObjectKind* const kind = find_kind(type);
  if (kind == nullptr) return "an object of type " + std::to_string(type);
  const bool vowel = std::string_view("aeio").find(kind->name[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(kind->name);
}

void require_kind(const ObjectEntry& entry, const ObjectKind& kind, const std::string& label) {
  const std::string wanted = kind_with_article(kind.type);
  if (entry.type != kind.type) {
    throw PoolMismatch(label + " is " + kind_with_article(entry.type) + ", not " + wanted + ": open it as " +
                       kind_with_article(entry.type) + ", or name " + wanted +
                       " (holdfast info lists the objects of a pool)");
  }
  if (entry.type_version == 0) {
    throw PoolCorrupt(label + " is " + wanted + " of version 0, which there is not; restore the pool from a copy");
  }
  if (entry.type_version <= kind.version && entry.required == 0) return;
  throw PoolVersion(label + " is " + wanted + " of version " + std::to_string(entry.type_version) + " with features " +
                    std::to_string(entry.required) + "; this Holdfast knows version " + std::to_string(kind.version) +
                    " without any: install a newer one");
}

void require_same_kind(const ObjectEntry& replaced, std::uint32_t type, const std::string& label) {
  if (replaced.type == type) return;
  throw PoolMismatch(label + " is " + kind_with_article(replaced.type) + ", which " + kind_with_article(type) +
                     " does not replace: drop it first, or give another name");
}

}  // namespace holdfast::pool
