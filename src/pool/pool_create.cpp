// pool_create.cpp: makes a pool under a temporary name, and gives it its own when it is whole.
#include <cstring>
#include <ctime>

#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "pool/medium/owner.hpp"
#include "pool/pool_file.hpp"

namespace holdfast::pool {

namespace {

Superblock first_superblock() {
  Superblock block = {};
  block.magic = kMagic;
  block.version = kVersion;
  random_bytes(block.pool_id, sizeof block.pool_id);
  block.created = static_cast<std::uint64_t>(std::time(nullptr));
  return block;
}

/// An empty file without a name, locked: to be filled where it is. Closed if `path` leads to anything else.
system::File nameless(const std::string& path) {
  system::FileFacts there;
  if (system::look_at(path, &there) == system::AtPath::nothing || there.links != 0 || there.bytes != 0) return {};
  system::File file = open_locked(path, true, LockKind::exclusive);
  there = file.facts();
  return there.links == 0 && there.bytes == 0 ? std::move(file) : system::File();
}

}  // namespace

NewPool::NewPool(const std::string& path, bool overwrite) {
  system::File file = nameless(path);
  if (!file.is_open()) {
    name_.emplace(path, overwrite);
    system::remove_leftovers(name_->target());
    file = system::make_temporary(name_->target(), temporary_);
    file.set_path(path);
  }
  pool_.reset(new PoolFile(std::move(file), Access::read_write));
  pool_->file_.allocate(0, pool_->rounded(kFirstExtent));
  pool_->block_ = first_superblock();
  pool_->map_header();
  pool_->commit({});
  pool_->take_ownership();
}

void NewPool::publish() {
  pool_->sync_data();
  if (name_) {
    HOLDFAST_FAILPOINT(pool_unnamed);
    name_->give_to(pool_->file(), pool_->medium().medium, temporary_);
    pool_->name_ = system::resolve(name_->target());
  }
  published_ = true;
}

NewPool::~NewPool() {
  if (name_ || published_ || pool_.use_count() != 1) return;
  pool_->owns_ = false;
  try {
    pool_->file_.resize(0);  // as it was
  } catch (const Error&) {
    // It stays a pool without its objects.
  }
}

}  // namespace holdfast::pool
