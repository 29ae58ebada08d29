// pool_create.cpp: makes a pool under a temporary name, and gives it its own when it is whole.
#include <cstring>
#include <ctime>

#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "pool/medium/owner.hpp"
#include "pool/pool_file.hpp"

namespace holdfast::memory {

namespace {

[[noreturn]] void throw_exists(const std::string& path) {
  throw PoolExists(path + " exists already; open it, or create it with overwrite");
}

Superblock first_superblock() {
  Superblock block = {};
  block.magic = kMagic;
  block.version = kVersion;
  random_bytes(block.pool_id, sizeof block.pool_id);
  block.created = static_cast<std::uint64_t>(std::time(nullptr));
  return block;
}

}  // namespace

NewPool::NewPool(const std::string& path, bool overwrite) : overwrite_(overwrite), target_(resolve(path)) {
  FileFacts there;
  const bool exists = look_at(path, &there) == AtPath::file;
  in_place_ = exists && there.links == 0;
  if (exists && !overwrite && !(in_place_ && there.bytes == 0)) throw_exists(path);
  File file;
  if (in_place_) {
    file = File::open(path, true);
    lock(file, LockKind::exclusive);
    file.resize(0);
  } else {
    if (exists) {
      replaced_ = File::open(path, false);
      lock(replaced_, LockKind::exclusive);
    }
    remove_leftovers(target_);
    file = make_temporary(target_);
    temporary_.path = file.path();
    file.set_path(path);
    lock(file, LockKind::exclusive);
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
  if (in_place_) return;
  HOLDFAST_FAILPOINT(pool_unnamed);
  give_name(temporary_.path, target_, overwrite_);
  if (overwrite_) temporary_.path.clear();
  if (pool_->medium().medium != Medium::shm) sync_folder(target_, pool_->file());
}

}  // namespace holdfast::memory
