// checkpoint_kind.cpp: registers checkpoints as a kind of object.
#include "checkpoint/checkpoint_kind.hpp"

#include "checkpoint/checkpoint_object.hpp"

namespace holdfast {

namespace {

class CheckpointKind final : public pool::ObjectKind {
 public:
  CheckpointKind() : ObjectKind(5, checkpoint::kVersion, "checkpoint") {}

  void describe(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page,
                ObjectInfo& info) const override {
    info.damage = checkpoint::flaw_in(directory, entry, page);
  }

  CheckReport check(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                    const std::string& label) const override {
    return checkpoint::CheckpointObject::open(pool, entry, {.label = label})->check();
  }
};

}  // namespace

const pool::ObjectKind& kinds::checkpoint_kind() {
  static const CheckpointKind kind;
  return kind;
}

}  // namespace holdfast
