// object_kind.cpp: the names of the kinds of objects, and the errors for an object of another kind.
#include "pool/kinds/object_kind.hpp"

#include "holdfast/error.hpp"

namespace holdfast::memory {

std::string kind_name(std::uint32_t type) {
  switch (static_cast<ObjectType>(type)) {
    case ObjectType::table: return "table";
    case ObjectType::region: return "region";
    case ObjectType::log: return "log";
    case ObjectType::checkpoint: return "checkpoint";
    case ObjectType::journal: break;  // none is made yet
  }
  return "type " + std::to_string(type);
}

std::string kind_with_article(std::uint32_t type) {
  const std::string name = kind_name(type);
  return (name.starts_with("type ") ? "an object of " : "a ") + name;
}

bool is_known(const ObjectEntry& entry, const Kind& kind) {
  return entry.type == static_cast<std::uint32_t>(kind.type) && entry.required == 0 && entry.type_version != 0 &&
         entry.type_version <= kind.version;
}

void require_kind(const ObjectEntry& entry, const Kind& kind, const std::string& label) {
  if (entry.type != static_cast<std::uint32_t>(kind.type)) {
    throw PoolMismatch(label + " is " + kind_with_article(entry.type) + ", not a " + kind.name +
                       ": name an object of that kind (holdfast info lists the objects of a pool)");
  }
  if (entry.type_version == 0) {
    throw PoolCorrupt(label + " is a " + kind.name + " of version 0, which there is not; restore the pool from a copy");
  }
  if (is_known(entry, kind)) return;
  throw PoolVersion(label + " is a " + kind.name + " of version " + std::to_string(entry.type_version) +
                    " with features " + std::to_string(entry.required) + "; this Holdfast knows version " +
                    std::to_string(kind.version) + " without any: install a newer one");
}

void require_same_kind(const ObjectEntry& replaced, std::uint32_t type, const std::string& label) {
  if (replaced.type == type) return;
  throw PoolMismatch(label + " is " + kind_with_article(replaced.type) + ", which " + kind_with_article(type) +
                     " does not replace: drop it first, or give another name");
}

}  // namespace holdfast::memory
