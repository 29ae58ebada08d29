// checkpoint_kind.cpp: registers checkpoints as a kind of object.
#include "checkpoint/checkpoint_kind.hpp"

#include "checkpoint/checkpoint_object.hpp"

namespace holdfast {

namespace {

class CheckpointKind final : public memory::ObjectKind {
 public:
  CheckpointKind() : ObjectKind(5, checkpoint::kVersion, "checkpoint") {}

  void describe(const memory::Directory& directory, const memory::ObjectEntry& entry, const memory::ObjectPage& page,
                ObjectInfo& info) const override {
    info.damage = checkpoint::flaw_in(directory, entry, page);
  }

  CheckReport check(const std::shared_ptr<memory::PoolFile>& pool, const memory::ObjectEntry& entry,
                    const std::string& label) const override {
    return checkpoint::CheckpointObject::open(pool, entry, {.label = label})->check();
  }
};

}  // namespace

const memory::ObjectKind& kinds::checkpoint_kind() {
  static const CheckpointKind kind;
  return kind;
}

}  // namespace holdfast
