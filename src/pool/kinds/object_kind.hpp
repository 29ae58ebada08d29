// object_kind.hpp: what kind of object a directory entry is, and the refusal of every other kind where one is asked for.
#pragma once

#include <cstdint>
#include <string>

#include "pool/directory.hpp"

namespace holdfast::memory {

/// A kind of object: its number in a directory, the newest version that this Holdfast knows, and its name in messages.
struct Kind {
  ObjectType type;
  std::uint32_t version;
  const char* name;
};

/// "table", "checkpoint"; "type 7" where this Holdfast does not know it.
std::string kind_name(std::uint32_t type);

/// "a checkpoint", "an object of type 7".
std::string kind_with_article(std::uint32_t type);

/// Whether the entry is of this kind, in a version that this Holdfast can open.
bool is_known(const ObjectEntry& entry, const Kind& kind);

/// Throws PoolMismatch where the entry is of another kind, PoolCorrupt for version 0, and PoolVersion for a newer version or for
/// features that are not known. `label` names the object in the message.
void require_kind(const ObjectEntry& entry, const Kind& kind, const std::string& label);

/// Throws PoolMismatch where an object of kind `type` would take the place of one of another kind.
void require_same_kind(const ObjectEntry& replaced, std::uint32_t type, const std::string& label);

}  // namespace holdfast::memory
