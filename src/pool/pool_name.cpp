// pool_name.cpp: looks at what has the name, locks it, and looks again.
#include "pool/pool_name.hpp"

#include "core/failpoint.hpp"
#include "holdfast/error.hpp"
#include "pool/medium/owner.hpp"
#include "pool/pool_image.hpp"
#include "system/calls.hpp"

namespace holdfast::pool {

PoolName::PoolName(const std::string& path, bool overwrite) : target_(system::resolve(path)) {
  system::FileFacts there;
  if (system::look_at(path, &there) == system::AtPath::nothing) return;
  if (!overwrite) throw PoolExists(path + " exists already; open it, name another file, or overwrite it");
  if (there.links == 0)
    throw MediumError(path + " has no name in a folder, so nothing can take its place; name another file");
  replaced_ = open_locked(path, false, LockKind::exclusive);
  if (!looks_like_pool(replaced_)) {
    throw PoolExists(path + " is no pool, and a pool replaces nothing else; remove it, or name another file");
  }
}

void PoolName::give_to(const system::File& file, Medium medium, system::TemporaryName& temporary) const {
  const bool has_device = medium != Medium::shm;
  system::FileFacts replaced;
  if (replaced_.is_open()) replaced = replaced_.facts();
  try {
    system::give_name(temporary.path, target_, replaced_.is_open() ? &replaced : nullptr);
  } catch (const Error&) {
    if (has_device) settle_names(file);
    throw;
  }
  HOLDFAST_FAILPOINT(name_given);
  if (system::unlink(temporary.path.c_str()) == 0) temporary.path.clear();  // of what it replaced, or a second name
  if (has_device) system::sync_folder(target_, file);
}

/// Names that were exchanged, and exchanged again, are as they were on the device too.
void PoolName::settle_names(const system::File& file) const noexcept try {
  system::sync_folder(target_, file);
} catch (const Error&) {
  // Another error is reported.
}

}  // namespace holdfast::pool
